/* SPDX-License-Identifier: BSD-3-Clause */
/* What one nbdramd leaves to the next: the sockets that are listened to, that of
 * nbdramctl, and the pool, as descriptors and as text. It goes from process to
 * process in one message; or it stays in this one, which then goes on where it was. */
#ifndef NBDRAM_SERVER_HANDOVER_H
#define NBDRAM_SERVER_HANDOVER_H

#include <stdbool.h>

#include "unix-socket.h"

/* Descriptors that one message may carry (the kernel's SCM_MAX_FD). */
#define HANDOVER_MOST 253

struct handed_socket {
	struct unix_socket socket; /* without a path: any other kind */
	char *text; /* as the configuration has it; NULL: inherited */
};

struct handover {
	struct handed_socket *listeners;
	unsigned count;
	struct unix_socket control; /* fd -1: there is none */
	int pool;		    /* -1: none */
	char *pool_path;	    /* NULL: anonymous memory */
};

void handover_init(struct handover *h);

/* Close what is in there; the files of sockets stay. Fine after handover_init(). */
void handover_free(struct handover *h);

/* Add copies of a socket, of a text (NULL is fine). -ENOMEM, or why there is no
 * copy of a descriptor; unchanged then. */
int handover_add(struct handover *h, const struct unix_socket *socket,
		 const char *text);
int handover_control(struct handover *h, const struct unix_socket *socket);

/* The same for the pool. */
int handover_pool(struct handover *h, int pool, const char *path);

/* Send all of it in one message. -E2BIG: more than HANDOVER_MOST descriptors. */
int handover_send(const struct handover *h, int fd);

/* Receive that: *h, which is free to be overwritten, is the caller's then. -EPROTO:
 * it is something else. */
int handover_receive(struct handover *h, int fd);

/* Remove the file of the control socket, unless it has this path still. */
void handover_forget_control(struct handover *h, const char *path);

/* A copy of a Unix socket, with a descriptor of its own. -ENOMEM and so on. */
int handover_copy(struct unix_socket *to, const struct unix_socket *from);

#endif
