/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket by which nbdramctl reaches us. The main thread's; it reads and
 * writes, commands run on threads of their own (jobs.h). */
#ifndef NBDRAM_SERVER_CONTROL_SOCKET_H
#define NBDRAM_SERVER_CONTROL_SOCKET_H

#include <event2/event.h>

#include "server.h"

struct control_socket;
struct handover;
struct unix_socket;

/* Listen at server->config->control, without accepting yet; the folder is made
 * if the one above it is there. had: a copy of that socket is taken, if it is the
 * one of that path; its file is left alone until control_socket_start(). NULL is
 * fine. NULL: it cannot be had, why says so. */
struct control_socket *control_socket_open(struct server *server,
					   struct event_base *base,
					   const struct unix_socket *had,
					   struct ram_why *why);

/* Add a copy to what another is to have: then control_socket_keep_file() (NULL is
 * fine) before control_socket_close(), which leaves its file where it is. */
int control_socket_hand_over(const struct control_socket *control,
			     struct handover *h);
void control_socket_keep_file(struct control_socket *control);

/* Begin to accept: not before workers run. */
void control_socket_start(struct control_socket *control);

/* Cancel what runs, wait for it, close. Before workers end, which commands may
 * wait for. NULL is fine. */
void control_socket_close(struct control_socket *control);

#endif
