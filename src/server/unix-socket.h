/* SPDX-License-Identifier: BSD-3-Clause */
/* Unix sockets to listen to. The file of one that has died is replaced, that of
 * one that lives is never taken, and nothing else is touched. */
#ifndef NBDRAM_SERVER_UNIX_SOCKET_H
#define NBDRAM_SERVER_UNIX_SOCKET_H

#include <sys/types.h>

#include "store.h"

struct unix_socket {
	int fd;	    /* -1: none */
	char *path; /* NULL: none */
	dev_t device;
	ino_t inode; /* of the file, as we made it */
};

/* Make the socket and listen; mode: who may connect (less the umask; 0: as
 * that alone says). Negative errno and why: nothing is left then. Any thread. */
int unix_socket_listen(struct unix_socket *u, const char *path, mode_t mode,
		       struct ram_why *why);

/* Only whether something lies at the path that is no socket, so that the above
 * would be refused. Negative errno and why. Any thread. */
int unix_socket_look(const char *path, struct ram_why *why);

/* Close it and remove the file, if it is still ours. */
void unix_socket_close(struct unix_socket *u);

#endif
