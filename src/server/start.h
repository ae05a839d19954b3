/* SPDX-License-Identifier: BSD-3-Clause */
/* All that must be there before anybody is served, in its order. The main
 * thread's. */
#ifndef NBDRAM_SERVER_START_H
#define NBDRAM_SERVER_START_H

#include <event2/event.h>

#include "control-socket.h"
#include "disks-before.h"
#include "disks.h"
#include "predecessor.h"
#include "server.h"

struct start {
	/* The caller's. */
	struct server *server;
	struct event_base *base;
	const struct handover *had; /* what another leaves to us; NULL: none */
	struct predecessor *before; /* to be talked to; NULL: none */
	bool again; /* this process served before, and goes on */
	/* ... the disks that there were then; NULL: not known. */
	const struct disks_before *disks;

	/* What has come of it. */
	struct control_socket *control; /* NULL: none, and why */
	struct ram_why why;

	/* Its own. */
	struct disks_plan plan;
	struct config_errors errors;
	int error;	/* of what was run aside */
	unsigned ticks; /* since it is to stop */
};

/* Whatever may fail, and disks as the last of it: a start that fails leaves the
 * pool as it was. Negative, and said why, or -EINTR: it is to stop already. Listeners,
 * control socket and workers are the caller's to end in any case. */
int start_begin(struct start *start);

/* Tell them in the log, and free them. */
void start_log_errors(struct config_errors *errors);

#endif
