/* SPDX-License-Identifier: BSD-3-Clause */
/* See log-limit.h. */
#include "log-limit.h"

#include <stddef.h>

/* Kinds that can be told from each other in a second; it is a power of two. */
#define KINDS 256u
/* Where one of them may lie. When all of these are taken it counts only as one of its
 * format. */
#define TRIES 8u
/* More formats than the program has. */
#define FORMATS 512u

struct place {
	uint64_t key; /* 0: free */
	time_t second;
	unsigned lines; /* that were written in it */
	struct log_held held;
};

static struct place places[KINDS + FORMATS];
static unsigned holding; /* places with lines held */

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

/* One that holds lines still has to tell of them first. */
static bool is_free(const struct place *p, time_t now)
{
	return p->key == 0 || (p->second != now && p->held.lines == 0);
}

/* NULL: there is no room. */
static struct place *find(struct place *table, unsigned size, unsigned tries,
			  uint64_t key, time_t now)
{
	struct place *p, *room = NULL;
	unsigned i;

	for (i = 0; i < tries; i++) {
		p = &table[(key / 2 + i) % size];
		if (p->key == key && p->second == now)
			return p;
		if (!room && is_free(p, now))
			room = p;
	}
	if (room) {
		room->key = key;
		room->second = now;
		room->lines = 0;
	}
	return room;
}

bool log_limit(const void *format, uint64_t about, time_t now,
	       struct log_held **held)
{
	uint64_t key = mix((uintptr_t)format);
	struct place *all, *kind;

	*held = NULL;
	all = find(places + KINDS, FORMATS, FORMATS, key | 1, now);
	if (!all)
		return true;
	kind = find(places, KINDS, TRIES, mix(key ^ about) | 1, now);
	if (!kind)
		kind = all;
	if (all->lines < LOG_LIMIT_FORMAT &&
	    (kind == all || kind->lines < LOG_LIMIT_KIND)) {
		all->lines++;
		kind->lines += kind != all;
		return true;
	}
	if (kind->held.lines++ == 0) {
		holding++;
		*held = &kind->held;
	}
	return false;
}

const struct log_held *log_limit_over(time_t now)
{
	static struct log_held told;
	unsigned i;

	for (i = 0; holding > 0 && i < KINDS + FORMATS; i++) {
		if (places[i].held.lines == 0 || places[i].second == now)
			continue;
		told = places[i].held;
		places[i].held.lines = 0;
		holding--;
		return &told;
	}
	return NULL;
}

bool log_limit_holds(void)
{
	return holding > 0;
}
