/* SPDX-License-Identifier: BSD-3-Clause */
/* Disks that templates make when a client opens their name: on threads of their
 * own, while its connection waits and all others go on. Who asks for the same name
 * meanwhile waits for the same disk. */
#ifndef NBDRAM_SERVER_MAKING_H
#define NBDRAM_SERVER_MAKING_H

#include "conn.h"
#include "template.h"

struct makers;

/* How it went; of no use after the call that it is passed to. */
struct making_answer {
	int error;	    /* 0: the disk is exported */
	uint32_t rep;	    /* else NBD_REP_ERR_..., */
	char text[200];	    /* ... what the client is told, */
	struct ram_why why; /* ... and the log */
};

/* Start the threads, once there is a pool. NULL: they cannot be had. */
struct makers *makers_open(struct server *server);

/* Give up what is under way and wait for that; before workers are destroyed, and
 * when no worker runs any more or none asks. NULL is fine. */
void makers_close(struct makers *makers);

/* Have the disk made, and conn_made() called on the connection's worker if it is
 * still there then. Takes *t over unless the result is -ENOMEM; -EAGAIN: too many
 * are being made. */
int makers_ask(struct makers *makers, struct conn *c, struct template_disk *t);

/* After a reload, with change_lock held: what templates have made is exported as
 * they say now, or not any more. What is different is a line in *lines. */
void makers_reloaded(struct server *server, struct config_errors *lines);

/* Which templates are there now, gone or others: a line in *lines for each. */
void makers_differences(const struct config *old, const struct config *now,
			struct config_errors *lines);

/* At start: what templates have made in the life of the pool so far is exported
 * again. */
void makers_restore(struct server *server);

#endif
