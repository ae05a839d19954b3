/* SPDX-License-Identifier: BSD-3-Clause */
/* See unix-socket.h. */
#include "unix-socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "reason.h"

/* How long to wait for others who listen in the same folder. */
#define LOCK_MSEC 5000u
#define LOCK_PAUSE_MSEC 5u

/* Whether somebody answers there. */
static bool alive(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int result = fd < 0 ? -1
			    : connect(fd, (const struct sockaddr *)address,
				      sizeof(*address));
	bool refused = result < 0 && errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return !refused;
}

/* 1: there is a socket. */
static int look(const char *path, struct ram_why *why)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		if (errno == ENOENT)
			return 0;
		return reason(why, -EACCES, "unix:%s: cannot be looked at: %s",
			      path, strerror(errno));
	}
	if (!S_ISSOCK(st.st_mode))
		return reason(why, -EEXIST,
			      "unix:%s: is something else than a socket; move "
			      "it away or take another path",
			      path);
	return 1;
}

int unix_socket_look(const char *path, struct ram_why *why)
{
	int error = look(path, why);

	return error < 0 ? error : 0;
}

/* What lies at the path may be the socket of one that died; nothing else is
 * touched. */
static int clear_path(const struct sockaddr_un *address, const char *path,
		      struct ram_why *why)
{
	int there = look(path, why);

	if (there <= 0)
		return there;
	if (alive(address))
		return reason(why, -EADDRINUSE,
			      "unix:%s: another program listens there; stop it "
			      "or take another path",
			      path);
	if (unlink(path) < 0 && errno != ENOENT)
		return reason(why, -EACCES,
			      "unix:%s: nobody listens there, but the socket "
			      "cannot be removed: %s",
			      path, strerror(errno));
	return 0;
}

/* Between another's bind() and its listen() nobody seems to be there; and what
 * was found dead may have been replaced by one that lives before it is removed.
 * So of those who listen in one folder one at a time looks, clears the path and
 * listens: *fd is to be closed then. Where that cannot be (a folder that may not
 * be read, a file system without locks) it is -1. */
static int lock_folder(const char *path, int *fd, struct ram_why *why)
{
	CLEANUP_FREE char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MSEC * 1000000};
	unsigned tries = LOCK_MSEC / LOCK_PAUSE_MSEC;

	*fd = -1;
	if (!folder)
		return reason(why, -ENOMEM, "unix:%s: no memory", path);
	if (slash)
		slash[slash == folder] = 0;
	*fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (*fd >= 0 && flock(*fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		if (tries-- == 0) {
			close(*fd);
			return reason(why, -EBUSY,
				      "unix:%s: another program has a lock on "
				      "the folder for %u s already; stop it or "
				      "take another folder",
				      path, LOCK_MSEC / 1000);
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int listen_at(struct unix_socket *u, const struct sockaddr_un *address,
		     mode_t mode)
{
	struct stat st;

	u->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The file gets the mode that the socket has when it is bound. */
	if (u->fd < 0 || (mode && fchmod(u->fd, mode) < 0) ||
	    bind(u->fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		return -errno;
	if (lstat(u->path, &st) == 0) {
		u->device = st.st_dev;
		u->inode = st.st_ino;
	}
	return listen(u->fd, 4096) < 0 ? -errno : 0;
}

static int listen_cleared(struct unix_socket *u,
			  const struct sockaddr_un *address, const char *path,
			  mode_t mode, struct ram_why *why)
{
	int error = clear_path(address, path, why);

	if (error)
		return error;
	u->path = strdup(path);
	error = u->path ? listen_at(u, address, mode) : -ENOMEM;
	if (error) {
		reason(why, error, "unix:%s: cannot listen: %s", path,
		       strerror(-error));
		unix_socket_close(u);
	}
	return error;
}

int unix_socket_listen(struct unix_socket *u, const char *path, mode_t mode,
		       struct ram_why *why)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int error, lock;

	*u = (struct unix_socket){.fd = -1};
	if (!*path || strlen(path) >= sizeof(address.sun_path))
		return reason(why, -EINVAL,
			      "unix:%s: a socket's path has 1 to %zu bytes",
			      path, sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	error = lock_folder(path, &lock, why);
	if (error)
		return error;
	error = listen_cleared(u, &address, path, mode, why);
	if (lock >= 0)
		close(lock);
	return error;
}

void unix_socket_close(struct unix_socket *u)
{
	struct stat st;

	/* Another may have taken its place. */
	if (u->path && u->inode && lstat(u->path, &st) == 0 &&
	    st.st_dev == u->device && st.st_ino == u->inode)
		unlink(u->path);
	if (u->fd >= 0)
		close(u->fd);
	free(u->path);
	*u = (struct unix_socket){.fd = -1};
}
