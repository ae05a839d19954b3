/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets that are listened to: TCP, Unix, inherited. The main thread's. */
#ifndef NBDRAM_SERVER_LISTENER_H
#define NBDRAM_SERVER_LISTENER_H

#include <event2/event.h>

#include "server.h"

struct listeners;

/* None yet. NULL: no memory. */
struct listeners *listeners_new(struct server *server, struct event_base *base);

/* Open all that config asks for and that is not open yet (and, the first time,
 * what the service manager hands over), without accepting there; those that it
 * no longer asks for go on. What cannot be had is a line in *errors; then, and
 * only then, the result is negative, and nothing has changed. */
int listeners_prepare(struct listeners *l, const struct config *config,
		      struct config_errors *errors);

/* After listeners_prepare(): accept on the new ones, close those that are no
 * longer asked for. tell hears of each; NULL:
 * the log does. */
void listeners_commit(struct listeners *l,
		      void (*tell)(void *arg, const char *address, bool opened),
		      void *arg);

/* After listeners_prepare(): close the new ones again. */
void listeners_undo(struct listeners *l);

struct handover;

/* Add copies of all to what another is to have: then listeners_keep_files() before
 * listeners_close(), which leaves the files of sockets where they are. 0 or a
 * negative errno. */
int listeners_hand_over(const struct listeners *l, struct handover *h);
void listeners_keep_files(struct listeners *l);

/* How often they have become others. */
unsigned listeners_changes(const struct listeners *l);

/* Before the first listeners_prepare(): begin with copies of what another had.
 * Their files are left alone until listeners_commit(). Negative, and a line in
 * *errors: it cannot be. */
int listeners_adopt(struct listeners *l, const struct handover *h,
		    struct config_errors *errors);

/* Stop accepting, close, remove socket files that are ours. NULL is fine. */
void listeners_close(struct listeners *l);

#endif
