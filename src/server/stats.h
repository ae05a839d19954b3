/* SPDX-License-Identifier: BSD-3-Clause */
/* What is counted. Each worker has counters of its own, which it alone changes,
 * without a locked instruction; anybody may read them, and sums are made when
 * somebody asks. */
#ifndef NBDRAM_SERVER_STATS_H
#define NBDRAM_SERVER_STATS_H

#include <stdatomic.h>
#include <stdint.h>

enum stat_kind {
	/* Requests by command, as they are read. */
	STAT_READS,
	STAT_WRITES,
	STAT_TRIMS,
	STAT_ZEROES,
	STAT_FLUSHES,
	STAT_OTHERS,
	STAT_READ,	  /* bytes that were asked for and sent */
	STAT_WRITTEN,	  /* bytes that took effect */
	STAT_ERRORS,	  /* requests that were answered with an error */
	STAT_WAITS,	  /* times that a request had to wait for the store */
	STAT_CONNECTIONS, /* accepted */
	STAT_REFUSED,	  /* exports that a client asked for and did not get */
	STAT_TURNED_AWAY, /* connections that were one too many */
	STATS,
};

struct stats {
	_Alignas(64) _Atomic uint64_t n[STATS];
};

/* The words by which control shows them. */
extern const char *const stats_words[STATS];

/* By the one thread that owns them. */
static inline void stats_add(struct stats *s, enum stat_kind what, uint64_t n)
{
	atomic_store_explicit(
		&s->n[what],
		atomic_load_explicit(&s->n[what], memory_order_relaxed) + n,
		memory_order_relaxed);
}

static inline uint64_t stats_get(const struct stats *s, enum stat_kind what)
{
	return atomic_load_explicit(&s->n[what], memory_order_relaxed);
}

/* A request of this NBD command has come. */
void stats_command(struct stats *s, uint16_t command);

#endif
