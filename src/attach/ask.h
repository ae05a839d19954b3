/* SPDX-License-Identifier: BSD-3-Clause */
/* Asking the watcher, which is started if it does not run. Over a Unix socket of
 * whole messages:
 *
 *	attach <newline> RECORD		answer: ok <newline> RECORD, or error ...
 *	detach NAME			NAME: a device or URI; likewise
 *	detach! NAME			... whoever uses it
 *	list				answer: any number of device <newline>
 *					RECORD, and then ok
 *	error TEXT			one line
 *
 * RECORD as in record.h; of one that is asked to be made only what is wished for
 * counts. Who hangs up while something is attached for him has it undone. */
#ifndef NBDRAM_ATTACH_ASK_H
#define NBDRAM_ATTACH_ASK_H

#include <stdbool.h>

#include "record.h"
#include "why.h"

#define ATTACH_SOCKET "watch"
#define ATTACH_MESSAGE_MOST (ATTACH_RECORD_TEXT_MOST + 64)

/* The name of the socket's address. */
struct sockaddr_un;
void attach_socket_address(struct sockaddr_un *address);

/* Attach, or find what is attached by that URI. record: what it is then; trouble is
 * a warning. Errors are the watcher's own words: -EIO. */
int attach_ask_attach(const struct attach_wish *wish,
		      struct attach_record *record, struct attach_why *why);

int attach_ask_detach(const char *name, bool force, struct attach_why *why);

/* Each device, in no order. Starts no watcher: without one those of state files are
 * told. */
int attach_ask_list(void (*each)(const struct attach_record *, void *),
		    void *arg, struct attach_why *why);

#endif
