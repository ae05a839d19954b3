/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: one attached device, whatever connections it has. A client opens
 * NAME;s=UUID.EPOCH; a higher epoch first ends all connections of lower ones, so
 * that a request left over on a stalled old one can never land on newer data.
 * An equal epoch adds a connection, a lower one is refused. Only who has opened a
 * session may come back to it: identity.host, see access.h. */
#ifndef NBDRAM_SERVER_SESSIONS_H
#define NBDRAM_SERVER_SESSIONS_H

#include <pthread.h>
#include <stdint.h>

#include "proto.h"

#define SESSIONS_BUCKETS 1024

/* Sessions that are remembered although nobody is connected; the one that was
 * not used for longest is forgotten. */
#define SESSIONS_IDLE_MOST 4096

struct session;

struct sessions {
	pthread_mutex_t lock;
	struct session *bucket[SESSIONS_BUCKETS];
	unsigned idle;
	uint64_t clock;
};

enum session_answer {
	SESSION_IN, /* welcome */
	/* Welcome once lower epochs have been closed, also when another
	 * connection of this one waits for that already. */
	SESSION_TAKEOVER,
	SESSION_OLD,	 /* a higher epoch has been heard of */
	SESSION_FOREIGN, /* opened by somebody else */
	SESSION_NO_MEMORY,
};

void sessions_init(struct sessions *s);
void sessions_destroy(struct sessions *s);

/* A connection of that identity.host wants in. With the first two answers it is
 * counted until sessions_leave(). Any thread. */
enum session_answer sessions_enter(struct sessions *s,
				   const struct proto_session *who,
				   const char *from);

/* What SESSION_TAKEOVER began is over; once for each. */
void sessions_taken_over(struct sessions *s, const struct proto_session *who);

/* Whether no higher epoch has been heard of since. */
bool sessions_current(struct sessions *s, const struct proto_session *who);

void sessions_leave(struct sessions *s, const struct proto_session *who);

#endif
