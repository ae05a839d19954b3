/* SPDX-License-Identifier: BSD-3-Clause */
/* One client. The state machine:
 *
 *	   TLS --it has failed--> REFUSED --heard, or a moment--> CLOSED
 *	    ^ STARTTLS, and back: all that was heard in clear is forgotten
 *	    v
 *	HANDSHAKE --terms agreed--> REQUEST <--> PAYLOAD, DISCARD
 *	    |                          | disconnect asked, stopping
 *	    v                          v
 *	  CLOSED <--all sent-------- DRAIN
 *
 * Reading is the state; sending is a queue beside it. A request that the store
 * cannot do now is parked, and others go on; one whose payload has no place yet
 * makes the stream stand still (stalled). All functions: the worker's thread. */
#ifndef NBDRAM_SERVER_CONN_H
#define NBDRAM_SERVER_CONN_H

#include <event2/event_struct.h>

#include "access.h"
#include "io.h"
#include "proto.h"
#include "worker.h"

/* How long a request may wait for memory that is on its way, where none waits
 * for more (full = error). */
#define MEMORY_MSEC 1000

/* How long a client may hold landing that others wait for, and send nothing; of the
 * time that its worker had for looking, see worker.looked. */
#define HOARD_MSEC 2000

/* The same for one that had to wait itself, and could have sent meanwhile. */
#define HOARD_LATE_MSEC 500

enum conn_state {
	CONN_HANDSHAKE, /* options; nothing of a disk is touched yet */
	CONN_TLS,	/* STARTTLS was granted; the TLS handshake */
	CONN_REFUSED, /* ... has failed, and the client is left time to hear why */
	CONN_REQUEST, /* the next bytes are a request's header */
	CONN_PAYLOAD, /* ... the payload of a legal write */
	CONN_DISCARD, /* ... the payload of a refused one */
	CONN_DRAIN,   /* nothing more is read; what is begun is finished */
};

/* The payload of one write on its way into landing blocks. */
struct payload {
	struct payload *next; /* staged before this one, same piece */
	struct ram_view view;
	uint64_t filled; /* bytes received into it */
	uint64_t kept;	 /* of server.kept; 0: it is charged already */
};

/* A request that the store has put off. */
struct parked {
	struct parked *next;
	struct proto_request request;
	struct payload *payload; /* of a write, whole */
	uint64_t cursor;	 /* of a trim or zeroing */
	uint64_t waited;	 /* msec, until it was ... */
	uint64_t tried;		 /* msec: ... tried last */
};

struct conn {
	TAILQ_ENTRY(conn) link;	   /* in worker.conns */
	TAILQ_ENTRY(conn) waiting; /* in worker.waiting, if is_waiting */
	struct worker *worker;
	struct io io;
	struct event readable, writable;
	enum conn_state state;
	bool reading, writing; /* which events are armed */
	bool is_waiting;
	bool late;	    /* its payload had to wait for a place */
	bool wants_landing; /* ... and waits for it now */
	bool unready;	    /* what it is to send next is not loaded yet */
	const char *why;    /* it has to end */

	uint64_t id;
	uint64_t began; /* msec */
	uint64_t requests;
	uint64_t read, written; /* bytes of the disk */
	uint64_t deadline;	/* msec: of the handshake, or of draining */
	char *peer;
	struct address address;
	bool local; /* a Unix socket */
	struct identity identity;
	bool in_session, lookup_waits;
	/* What the name that it asks for is, if not what it says (NAME@SIZE). */
	char *real_name;
	unsigned remade; /* how often it was gone again when it was there */
	struct proto_session session; /* valid if in_session */

	struct proto_handshake *handshake; /* NULL once it is over */
	struct proto_terms terms;
	struct export *export; /* counted; NULL before it has asked for one */
	/* By the index of its context: the snapshot that a bitmap compares
	 * with; counted. */
	struct export *bases[PROTO_CONTEXTS_MAX];
	unsigned bases_at;     /* how far the list of them has been told, ... */
	struct export *told;   /* ... with this one last; counted */
	bool bases_chosen;     /* one was selected in answer to it */
	bool entered;	       /* ... and one of its places is taken */
	bool writes;	       /* ... to write */
	bool wants_place;      /* ... or none is free just now */
	bool wants_room;       /* in out, for the next answers to options */
	struct export *listed; /* of LIST: to be told next; counted */
	unsigned list_at;      /* exports_next()'s */
	uint64_t wants_place_by; /* msec: then it is told so */

	struct proto_request request; /* of PAYLOAD and DISCARD */
	struct payload *payload;      /* newest first */
	uint64_t payload_left;	      /* bytes of it still to come */
	uint64_t piece_left;	      /* of them, before it is published */
	uint64_t proven;	      /* the length of the last one that came */
	int error;		      /* DISCARD: what it will be answered */
	const char *error_text;

	uint64_t waited; /* msec: request, for memory */
	uint64_t
		blocked_since; /* msec: reads nothing for want of memory; or 0 */
	uint64_t held_since;   /* likewise what is read now did not; or 0 */
	uint64_t held_until;   /* msec: ... as long as it is read */
	bool stalled;	       /* request waits, and nothing is read */
	uint64_t stalled_since;	 /* msec */
	uint64_t stalled_looked; /* worker.looked then */
	uint64_t moved;	  /* worker.looked when payload came last, in earnest */
	uint64_t brought; /* bytes of it since */
	uint8_t *stash;	  /* input that could not be used yet */
	size_t stash_len;

	uint64_t drained; /* out.sent when the deadline was set last */
	struct outq out;
	struct parked *parked, **parked_end;
	unsigned parked_count;
};

/* Begin with an accepted socket; takes the arrival over. */
void conn_new(struct worker *w, struct arrival *arrival);

/* Try again what waited for the store. */
void conn_resume(struct conn *c);

/* Look at deadlines. The connection may be gone afterwards. */
void conn_tick(struct conn *c, uint64_t now);

/* The server stops: finish what is begun, take nothing new. May be gone. */
void conn_stop(struct conn *c);

/* End it, now, whatever is under way. */
void conn_close(struct conn *c, const char *why);

/* Its device's older connections are gone: let it in. May be gone. */
void conn_session_ready(struct conn *c);

/* A template has made its disk, or has not. May be gone. */
struct making_answer;
void conn_made(struct conn *c, const struct making_answer *answer);

/* For log_about(): lines that one host brings about (of IPv6: its network) for one
 * reason. What stands behind a " or ( in it is not looked at: names and numbers
 * are without end. Any thread that may read c. */
uint64_t conn_about(const struct conn *c, const char *reason);

/* Tell sockets how much memory is theirs, when that has changed. */
void conns_share(struct worker *w);

/* Remember that it wants to be resumed when the store says so. */
void conn_wait(struct conn *c);

/* How long a request may wait for memory, in msec; and whether it waits for what
 * is not on its way (-ENOSPC), as [pool] full says now. */
static inline unsigned conn_patience(const struct conn *c)
{
	unsigned msec = atomic_load_explicit(
		&c->worker->server->limits.full_msec, memory_order_relaxed);

	return msec ? msec : MEMORY_MSEC;
}

static inline bool conn_waits_for(const struct conn *c, int error)
{
	if (error == -ENOSPC)
		return atomic_load_explicit(
			       &c->worker->server->limits.full_msec,
			       memory_order_relaxed) > 0;
	return error == -EAGAIN;
}

#endif
