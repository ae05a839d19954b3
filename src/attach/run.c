/* SPDX-License-Identifier: BSD-3-Clause */
/* See run.h. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cleanup.h"
#include "log.h"

#define KEPT 1000

extern char **environ;

/* The folders in which mkfs and modprobe are belong to no user's PATH. */
static const char *const folders[] = {"/usr/sbin", "/usr/bin", "/sbin", "/bin",
				      "/usr/local/sbin"};

static int find(const char *name, char path[256])
{
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, 256, "%s/%s", folders[i], name);
		if (access(path, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

static int start(const char *path, const char *const *words, int output,
		 pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t how;
	sigset_t none;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&how);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
	error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null",
						 O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, 1);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, 2);
	if (!error)
		error = posix_spawn(pid, path, &actions, &how,
				    (char *const *)words, environ);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

/* Its last words, as many as are kept. */
static size_t listen_to(int fd, char *kept)
{
	char part[KEPT];
	size_t len = 0;
	ssize_t got;

	while ((got = read(fd, part, sizeof(part))) > 0 ||
	       (got < 0 && errno == EINTR)) {
		if (got < 0)
			continue;
		if (len + got > KEPT) {
			memmove(kept, kept + (len + got - KEPT), KEPT - got);
			len = KEPT - got;
		}
		memcpy(kept + len, part, got);
		len += got;
	}
	return len;
}

/* The last line of it that has anything in it. */
static void last_line(char *kept, size_t len, char *text, size_t size)
{
	size_t from;

	while (len > 0 && (kept[len - 1] == '\n' || kept[len - 1] == ' '))
		len--;
	for (from = len; from > 0 && kept[from - 1] != '\n'; from--)
		;
	log_escape(kept + from, len - from, text, size);
}

int attach_run(const char *const *words, char *text, size_t size)
{
	CLEANUP_CLOSE int from = -1;
	char path[256], kept[KEPT];
	int ends[2], error, status;
	pid_t pid;

	*text = 0;
	error = find(words[0], path);
	if (error)
		return error;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	error = start(path, words, ends[1], &pid);
	close(ends[1]);
	if (error)
		return error;
	last_line(kept, listen_to(from, kept), text, size);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}
