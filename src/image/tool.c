/* SPDX-License-Identifier: BSD-3-Clause */
/* See tool.h. */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "cleanup.h"

#define FILE_FD 3
#define LOOK_MSEC 20
#define USUAL_PATH \
	"/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"

static uint64_t now_msec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ----------------------------------------------------------------- finding */

static char *find_in(const char *folders, const char *name)
{
	size_t len;
	char *path;

	for (;; folders += len + 1) {
		len = strcspn(folders, ":");
		/* An empty part would be the folder where we are. */
		if (len > 0) {
			if (asprintf(&path, "%.*s/%s", (int)len, folders,
				     name) < 0)
				return NULL;
			if (access(path, X_OK) == 0)
				return path;
			free(path);
		}
		if (!folders[len])
			return NULL;
	}
}

char *tool_find(const char *name)
{
	const char *own = getenv("PATH");
	char *path = own ? find_in(own, name) : NULL;

	return path ? path : find_in(USUAL_PATH, name);
}

/* ---------------------------------------------------------------- starting */

/* Signals are as a program expects them; a group of its own, so that all of it can
 * be ended. */
static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t set;
	int error;

	error = posix_spawnattr_setflags(
		attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
				    POSIX_SPAWN_SETSIGMASK);
	if (!error)
		error = posix_spawnattr_setpgroup(attributes, 0);
	sigfillset(&set);
	sigdelset(&set, SIGKILL);
	sigdelset(&set, SIGSTOP);
	if (!error)
		error = posix_spawnattr_setsigdefault(attributes, &set);
	sigemptyset(&set);
	if (!error)
		error = posix_spawnattr_setsigmask(attributes, &set);
	return error;
}

/* 0 to 3 and nothing else: all of ours is closed by exec. */
static int set_files(posix_spawn_file_actions_t *files, int fd, int out)
{
	int error = posix_spawn_file_actions_addopen(files, STDIN_FILENO,
						     "/dev/null", O_RDONLY, 0);

	if (!error)
		error = posix_spawn_file_actions_adddup2(files, out,
							 STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(files, out,
							 STDERR_FILENO);
	/* The last, for `out` may be 3. */
	if (!error)
		error = posix_spawn_file_actions_adddup2(files, fd, FILE_FD);
#if __GLIBC_PREREQ(2, 34)
	/* Nor what whoever started us has left open. */
	if (!error)
		error = posix_spawn_file_actions_addclosefrom_np(files,
								 FILE_FD + 1);
#endif
	return error;
}

static int spawn(const struct tool *t, int out, pid_t *pid)
{
	const char *own = getenv("PATH");
	CLEANUP_FREE char *path = NULL;
	char *environment[] = {NULL, (char *)"LC_ALL=C", NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int error;

	if (asprintf(&path, "PATH=%s", own ? own : USUAL_PATH) < 0) {
		path = NULL;
		return ENOMEM;
	}
	environment[0] = path;
	error = posix_spawnattr_init(&attributes);
	if (error)
		return error;
	error = posix_spawn_file_actions_init(&files);
	if (error) {
		posix_spawnattr_destroy(&attributes);
		return error;
	}
	error = set_attributes(&attributes);
	if (!error)
		error = set_files(&files, t->fd, out);
	if (!error)
		error = posix_spawn(pid, t->argv[0], &files, &attributes,
				    t->argv, environment);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return error;
}

/* ----------------------------------------------------------------- waiting */

/* All that lies there, so that it is never held up; the beginning is kept. False:
 * nothing more will come. */
static bool hear(struct tool *t, int in)
{
	char buf[4096];
	size_t have, i;
	ssize_t n;

	while ((n = read(in, buf, sizeof(buf))) > 0) {
		have = strlen(t->said);
		for (i = 0; i < (size_t)n && have + 1 < sizeof(t->said); i++) {
			/* Lines become one. */
			if ((unsigned char)buf[i] > ' ')
				t->said[have++] = buf[i];
			else if (have > 0 && t->said[have - 1] != ' ')
				t->said[have++] = ' ';
		}
		t->said[have] = 0;
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = {0};

	/* It stays a zombie, so that its group is not another's. */
	return waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0
		       ? errno != EINTR
		       : info.si_pid == pid;
}

/* Until it ends by itself, or has to. */
static int wait_for(struct tool *t, int in, pid_t pid)
{
	uint64_t end = now_msec() + t->msec;
	struct pollfd heard = {.fd = in, .events = POLLIN};

	while (!has_ended(pid)) {
		if (t->stop && t->stop(t->arg))
			return -ECANCELED;
		if (now_msec() >= end)
			return -ETIMEDOUT;
		poll(&heard, 1, heard.fd < 0 ? 2 : LOOK_MSEC);
		/* It ends soon after that. */
		if (heard.fd >= 0 && !hear(t, in))
			heard.fd = -1;
	}
	return 0;
}

int tool_run(struct tool *t)
{
	int ends[2], error;
	size_t len;
	pid_t pid;

	t->said[0] = 0;
	t->status = -1;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	/* Its own end blocks as it expects. */
	error = fcntl(ends[1], F_SETFL, 0) < 0 ? errno
					       : spawn(t, ends[1], &pid);
	close(ends[1]);
	if (error) {
		close(ends[0]);
		return -error;
	}
	error = wait_for(t, ends[0], pid);
	kill(-pid, SIGKILL);
	while (waitpid(pid, &t->status, 0) < 0 && errno == EINTR)
		;
	hear(t, ends[0]);
	close(ends[0]);
	len = strlen(t->said);
	if (len > 0 && t->said[len - 1] == ' ')
		t->said[len - 1] = 0;
	if (!error && t->status != 0)
		error = -EIO;
	return error;
}
