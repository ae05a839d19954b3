/* SPDX-License-Identifier: BSD-3-Clause */
/* See watch.h. The main thread takes in who asks; each of them has a thread while it
 * is served, see serve.c, and each device one that keeps it, see keep.c. */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ask.h"
#include "keep.h"
#include "say.h"
#include "serve.h"
#include "state.h"

/* Since Linux 5.6. */
#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif
/* For a few hundred devices. */
#define DESCRIPTORS 65536
/* How often one that is there while needed looks whether it is. */
#define NEEDED_MS 500

/* The memory of a process that disks wait for is never paged out to them, nor freed
 * by waiting for them. */
static void settle(void)
{
	struct rlimit limit;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	/* A link through a relay has four, and a device up to 16 links. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur < DESCRIPTORS) {
		limit.rlim_cur = DESCRIPTORS;
		if (limit.rlim_max < DESCRIPTORS)
			limit.rlim_max = DESCRIPTORS;
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			attach_say("no more than the usual number of "
				   "descriptors: %s",
				   strerror(errno));
	}
	/* Threads share what they allocate. */
	mallopt(M_ARENA_MAX, 1);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		attach_say("its memory cannot be locked: %s", strerror(errno));
	prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, "-1000", 5) < 0)
			attach_say("it is not safe from the OOM killer: %s",
				   strerror(errno));
		close(fd);
	}
}

static int listen_there(int *fd, struct attach_why *why)
{
	struct sockaddr_un address;

	attach_socket_address(&address);
	unlink(address.sun_path);
	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (*fd >= 0 &&
	    bind(*fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    listen(*fd, 64) == 0)
		return 0;
	return attach_fail(why, -errno, "%s: %s", address.sun_path,
			   strerror(errno));
}

/* ------------------------------------------------- devices of the one before */

/* It was being made, and nobody was told of it. False: somebody has it all the
 * same. */
static bool undo(const struct attach_record *record, int folder)
{
	struct attach_disk disk;
	struct attach_why why = {""};
	int error, claim;

	error = attach_disk_adopt(&disk, record, folder, -1, &why);
	if (error == -ENOENT) {
		attach_state_remove(folder, record);
	} else if (!error) {
		error = attach_device_claim(disk.record.index, &claim);
		if (!error)
			error = attach_disk_detach(&disk, claim, false, &why);
		if (error != -EBUSY)
			attach_say("nbd%d: was not wholly attached, and is "
				   "undone",
				   disk.record.index);
	}
	attach_disk_end(&disk);
	return error != -EBUSY;
}

static int adopt(const struct attach_record *record, void *arg)
{
	struct attach_watch *w = arg;
	struct attach_record whole = *record;
	struct attach_why why = {""};
	struct attach_keeper *k;
	int error;

	if (record->phase == ATTACH_MAKING && undo(record, w->folder))
		return 0;
	if (record->phase == ATTACH_MAKING)
		whole.phase = ATTACH_ATTACHED;
	k = attach_keeper_adopt(&whole, w->folder, &w->lock, &w->changed,
				&error, &why);
	if (k)
		error = attach_keeper_start(k);
	if (!error) {
		k->next = w->keepers;
		w->keepers = k;
		return 0;
	}
	if (error == -ENOENT)
		attach_state_remove(w->folder, record);
	attach_say("nbd%d: %s", record->index,
		   *why.text ? why.text : strerror(-error));
	if (k)
		attach_keeper_free(k);
	return 0;
}

static void tell_bad(const char *file, void *arg)
{
	(void)arg;
	attach_say("%s/%s: is no state file of this release, and is left alone",
		   attach_state_folder, file);
}

/* ---------------------------------------------------------------- serving */

static void take_in(struct attach_watch *w)
{
	int fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0) {
		/* Without descriptors there is no other way. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			poll(NULL, 0, 100);
		return;
	}
	if (attach_serve(w, fd))
		close(fd);
}

static bool is_needed(struct attach_watch *w)
{
	bool needed;

	pthread_mutex_lock(&w->lock);
	attach_watch_reap(w);
	needed = w->keepers || w->clients > 0;
	pthread_mutex_unlock(&w->lock);
	return needed;
}

static void run(struct attach_watch *w, bool while_needed)
{
	struct pollfd listener = {.fd = w->listener, .events = POLLIN};
	unsigned idle = 0;
	int ready;

	while (!while_needed || idle < 2) {
		ready = poll(&listener, 1, while_needed ? NEEDED_MS : -1);
		if (ready > 0) {
			take_in(w);
			idle = 0;
		} else {
			idle = is_needed(w) ? 0 : idle + 1;
		}
	}
}

int attach_watch(bool while_needed, struct attach_why *why)
{
	static struct attach_watch w = {.lock = PTHREAD_MUTEX_INITIALIZER,
					.changed = PTHREAD_COND_INITIALIZER};
	int error, lock;

	error = attach_state_open(&w.folder, why);
	umask(077);
	if (!error)
		error = attach_state_lock(w.folder, false, &lock, why);
	if (error == -EBUSY && !while_needed) {
		attach_say("%s; waiting for it to end", why->text);
		error = attach_state_lock(w.folder, true, &lock, why);
	}
	if (!error)
		error = listen_there(&w.listener, why);
	if (error)
		return error;
	settle();
	attach_state_each(w.folder, adopt, tell_bad, &w);
	run(&w, while_needed);
	/* The lock goes with the process; without the socket nobody comes. */
	unlinkat(w.folder, ATTACH_SOCKET, 0);
	return 0;
}
