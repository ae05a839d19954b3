/* SPDX-License-Identifier: BSD-3-Clause */
/* See ask.h. */
#include "ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "run.h"
#include "state.h"
#include "wait.h"

#define START_MS 10000
#define UNIT "nbdram-attach.service"

void attach_socket_address(struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	snprintf(address->sun_path, sizeof(address->sun_path), "%s/%s",
		 attach_state_folder, ATTACH_SOCKET);
}

/* A descriptor, or a negative errno: nobody is there. */
static int connect_to(void)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), error;

	attach_socket_address(&address);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

/* systemd's, if it is there and installed: what runs in nobody's session is ended
 * with none. */
static bool start_unit(void)
{
	static const char *const words[] = {"systemctl", "start", UNIT, NULL};
	char text[200];

	return access("/run/systemd/system", F_OK) == 0 &&
	       attach_run(words, text, sizeof(text)) == 0;
}

/* @ in front of its name: systemd does not end it before the disks are gone. */
static void become_watcher(void)
{
	int log;

	setsid();
	log = open("/dev/kmsg", O_WRONLY | O_NOCTTY);
	if (log < 0)
		log = open("/dev/null", O_WRONLY);
	if (log >= 0)
		dup2(log, STDERR_FILENO);
	log = open("/dev/null", O_RDWR);
	if (log >= 0) {
		dup2(log, STDIN_FILENO);
		dup2(log, STDOUT_FILENO);
	}
	/* Whatever this process has inherited is none of the watcher's. */
	close_range(3, ~0U, 0);
	signal(SIGINT, SIG_DFL);
	if (chdir("/") == 0)
		execl("/proc/self/exe", "@nbdramctl", "attach-watch",
		      "--while-needed", (char *)NULL);
	_exit(127);
}

static void start_watcher(void)
{
	pid_t pid;

	if (start_unit())
		return;
	pid = fork();
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (pid != 0)
		return;
	/* Nobody waits for it. */
	if (fork() == 0)
		become_watcher();
	_exit(0);
}

/* Connect, and start one if there is none. */
static int reach(struct attach_why *why)
{
	const int64_t until = attach_now() + START_MS;
	int fd = connect_to();

	if (fd >= 0)
		return fd;
	if (geteuid() != 0)
		return attach_fail(why, -EACCES,
				   "block devices are root's: run it as root");
	if (fd != -ENOENT && fd != -ECONNREFUSED)
		return attach_fail(why, fd, "%s/" ATTACH_SOCKET ": %s",
				   attach_state_folder, strerror(-fd));
	start_watcher();
	while ((fd = connect_to()) < 0) {
		if (attach_now() >= until)
			return attach_fail(why, -ETIMEDOUT,
					   "the watcher does not start; see "
					   "what nbdramctl attach-watch says");
		poll(NULL, 0, 20);
	}
	return fd;
}

/* One message, with a 0 behind it. -EPIPE: there is none any more. */
static int receive(int fd, char *text, struct attach_why *why)
{
	ssize_t len;

	do
		len = recv(fd, text, ATTACH_MESSAGE_MOST, 0);
	while (len < 0 && errno == EINTR);
	if (len <= 0)
		return attach_fail(why, -EPIPE,
				   "the watcher has ended; try again");
	text[len] = 0;
	if (strncmp(text, "error ", 6) == 0)
		return attach_fail(why, -EIO, "%s", text + 6);
	return 0;
}

/* A watcher that is not needed any more ends, perhaps just when it is asked. */
#define TRIES 3

static int ask(const char *text, size_t len, char *answer,
	       struct attach_why *why)
{
	int error = -EPIPE, fd, tries;

	for (tries = 0; tries < TRIES && error == -EPIPE; tries++) {
		fd = reach(why);
		if (fd < 0)
			return fd;
		error = send(fd, text, len, MSG_NOSIGNAL) < 0
				? attach_fail(why, -EPIPE,
					      "the watcher does not listen")
				: receive(fd, answer, why);
		close(fd);
	}
	return error;
}

/* A record behind a first line. */
static int read_answer(char *answer, struct attach_record *record,
		       struct attach_why *why)
{
	char *rest = strchr(answer, '\n');

	if (!rest || attach_record_read(rest + 1, record))
		return attach_fail(why, -EPROTO,
				   "the watcher is of another release: restart "
				   "it");
	return 0;
}

int attach_ask_attach(const struct attach_wish *wish,
		      struct attach_record *record, struct attach_why *why)
{
	CLEANUP_FREE char *text = malloc(ATTACH_MESSAGE_MOST + 1);
	size_t len;
	int error;

	if (!text)
		return attach_fail(why, -ENOMEM, "no memory");
	attach_record_clear(record);
	record->wish = *wish;
	len = sprintf(text, "attach\n");
	len += attach_record_write(record, false, text + len);
	error = ask(text, len, text, why);
	return error ? error : read_answer(text, record, why);
}

int attach_ask_detach(const char *name, bool force, struct attach_why *why)
{
	CLEANUP_FREE char *text = malloc(ATTACH_MESSAGE_MOST + 1);
	int len;

	if (!text)
		return attach_fail(why, -ENOMEM, "no memory");
	len = snprintf(text, ATTACH_MESSAGE_MOST, "detach%s %s",
		       force ? "!" : "", name);
	if (len >= ATTACH_MESSAGE_MOST)
		return attach_fail(why, -EINVAL, "the name is too long");
	return ask(text, len, text, why);
}

struct telling {
	void (*each)(const struct attach_record *, void *);
	void *arg;
};

static int tell_one(const struct attach_record *record, void *arg)
{
	const struct telling *t = arg;
	struct attach_record copy = *record;
	int index;

	if (record->phase != ATTACH_FAILED &&
	    attach_device_find(record->identifier, &index) == -ENOENT)
		return 0;
	snprintf(copy.trouble, sizeof(copy.trouble),
		 "no watcher: nbdramctl attach-watch");
	t->each(&copy, t->arg);
	return 0;
}

static void pass_over(const char *file, void *arg)
{
	(void)file;
	(void)arg;
}

static int list_files(struct telling *t, struct attach_why *why)
{
	CLEANUP_CLOSE int folder = -1;
	int error;

	if (access(attach_state_folder, F_OK) < 0 && errno == ENOENT)
		return 0;
	error = attach_state_open(&folder, why);
	return error ? error
		     : attach_state_each(folder, tell_one, pass_over, t);
}

int attach_ask_list(void (*each)(const struct attach_record *, void *),
		    void *arg, struct attach_why *why)
{
	CLEANUP_FREE char *text = malloc(ATTACH_MESSAGE_MOST + 1);
	CLEANUP_CLOSE int fd = connect_to();
	struct attach_record record;
	struct telling t = {each, arg};
	int error;

	if (!text)
		return attach_fail(why, -ENOMEM, "no memory");
	if (fd == -EACCES || (fd < 0 && geteuid() != 0))
		return attach_fail(why, -EACCES,
				   "block devices are root's: run it as root");
	if (fd < 0 || send(fd, "list", 4, MSG_NOSIGNAL) < 0)
		return list_files(&t, why);
	while ((error = receive(fd, text, why)) == 0 &&
	       strncmp(text, "device\n", 7) == 0) {
		error = read_answer(text, &record, why);
		if (error)
			return error;
		each(&record, arg);
	}
	return error;
}
