/* SPDX-License-Identifier: BSD-3-Clause */
/* The map of free blocks, in groups of 512 (2 MiB). See freemap.h.
 *
 * A group has a bit for each block that is free and one for each free block that
 * holds memory. Two maps with a bit a group tell where there is something of
 * either kind, so that a search looks at few groups. */
#include "freemap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fault.h"

#define WORD_BITS 64

/* How many groups one search for a long run looks at. */
#define SEARCH_MOST 8

static inline void map_set(uint64_t *map, uint64_t bit, bool value)
{
	if (value)
		map[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
	else
		map[bit / WORD_BITS] &= ~(UINT64_C(1) << bit % WORD_BITS);
}

/* The first bit from `bit` on, below `bits`, that is `value`; else `bits`. */
static uint64_t map_next(const uint64_t *map, uint64_t bit, uint64_t bits,
			 bool value)
{
	uint64_t word, flip = value ? 0 : UINT64_MAX;

	while (bit < bits) {
		word = (map[bit / WORD_BITS] ^ flip) >> bit % WORD_BITS;
		if (word)
			return min_u64(bit + __builtin_ctzll(word), bits);
		bit = round_down(bit, WORD_BITS) + WORD_BITS;
	}
	return bits;
}

int freemap_init(struct blocks *b, uint64_t total)
{
	uint64_t words;

	b->total = total;
	b->groups = div_up(total, RUN_BLOCKS);
	words = div_up(b->groups, WORD_BITS);
	if (!fault(RAM_FAULT_ALLOC)) {
		b->group = calloc(b->groups, sizeof(*b->group));
		b->warm_map = calloc(words, sizeof(uint64_t));
		b->cold_map = calloc(words, sizeof(uint64_t));
		b->unmapped = calloc(words, sizeof(uint64_t));
	}
	if (!b->group || !b->warm_map || !b->cold_map || !b->unmapped) {
		freemap_destroy(b);
		return -ENOMEM;
	}
	return 0;
}

void freemap_destroy(struct blocks *b)
{
	free(b->group);
	free(b->warm_map);
	free(b->cold_map);
	free(b->unmapped);
	b->group = NULL;
	b->warm_map = b->cold_map = b->unmapped = NULL;
}

static void group_told(struct blocks *b, uint64_t number)
{
	struct group *g = &b->group[number];
	bool whole = g->backed_count == RUN_BLOCKS;

	b->whole += whole - g->whole;
	g->whole = whole;
	map_set(b->warm_map, number, g->backed_count > 0);
	map_set(b->cold_map, number, g->free_count > g->backed_count);
}

/* Set or clear n bits from `first` on. */
static void bits_fill(uint64_t *map, unsigned first, unsigned n, bool value)
{
	uint64_t mask;
	unsigned here;

	while (n > 0) {
		here = min_u64(WORD_BITS - first % WORD_BITS, n);
		mask = (here == WORD_BITS ? UINT64_MAX
					  : (UINT64_C(1) << here) - 1)
		       << first % WORD_BITS;
		if (value)
			map[first / WORD_BITS] |= mask;
		else
			map[first / WORD_BITS] &= ~mask;
		first += here;
		n -= here;
	}
}

void freemap_add(struct blocks *b, struct run run)
{
	uint64_t first = run.first, left = run.count, number;
	struct group *g;
	unsigned here;

	b->free += left;
	if (!run.cold)
		b->free_backed += left;
	while (left > 0) {
		number = first / RUN_BLOCKS;
		here = min_u64(RUN_BLOCKS - first % RUN_BLOCKS, left);
		g = &b->group[number];
		bits_fill(g->free, first % RUN_BLOCKS, here, true);
		g->free_count += here;
		g->longest[!run.cold] = RUN_BLOCKS;
		if (!run.cold) {
			bits_fill(g->backed, first % RUN_BLOCKS, here, true);
			g->backed_count += here;
		}
		group_told(b, number);
		first += here;
		left -= here;
	}
}

void freemap_fill(struct blocks *b)
{
	struct run run = {.cold = true};
	uint64_t at = BLOCK_FIRST;

	for (; at < b->total; at += run.count) {
		run.first = at;
		run.count =
			min_u64(RUN_BLOCKS - at % RUN_BLOCKS, b->total - at);
		freemap_add(b, run);
	}
}

static void group_map(const struct group *g, bool warm,
		      uint64_t map[RUN_BLOCKS / WORD_BITS])
{
	unsigned i;

	for (i = 0; i < RUN_BLOCKS / WORD_BITS; i++)
		map[i] = warm ? g->backed[i] : g->free[i] & ~g->backed[i];
}

/* The longest run of one kind in a group, but no longer than `most`. */
static unsigned group_search(struct group *g, bool warm, unsigned most,
			     unsigned *first)
{
	uint64_t map[RUN_BLOCKS / WORD_BITS];
	unsigned at = 0, end, best = 0;

	group_map(g, warm, map);
	while (best < most) {
		at = map_next(map, at, RUN_BLOCKS, true);
		if (at >= RUN_BLOCKS)
			break;
		end = map_next(map, at, min_u64(at + most, RUN_BLOCKS), false);
		if (end - at > best) {
			best = end - at;
			*first = at;
		}
		at = end;
	}
	if (best < most)
		g->longest[warm] = best;
	return best;
}

/* Take n blocks of one kind out of a group. */
static void group_take(struct blocks *b, uint64_t number, unsigned first,
		       unsigned n, bool warm)
{
	struct group *g = &b->group[number];

	bits_fill(g->free, first, n, false);
	g->free_count -= n;
	b->free -= n;
	if (warm) {
		bits_fill(g->backed, first, n, false);
		g->backed_count -= n;
		b->free_backed -= n;
		b->backed_low = min_u64(b->backed_low, b->free_backed);
	}
	group_told(b, number);
}

/* The next group from *number on, round the end, that has some of one kind. */
static bool group_next(const struct blocks *b, bool warm, uint64_t *number)
{
	const uint64_t *map = warm ? b->warm_map : b->cold_map;

	*number = map_next(map, *number, b->groups, true);
	if (*number >= b->groups)
		*number = map_next(map, 0, b->groups, true);
	return *number < b->groups;
}

struct run freemap_take_kind(struct blocks *b, uint32_t most, bool warm)
{
	uint64_t *hint = warm ? &b->warm_hint : &b->cold_hint;
	uint64_t number = *hint, best_group = 0;
	struct run run = {.cold = !warm};
	unsigned tries, length, first = 0, best = 0, best_first = 0;

	most = min_u64(most, RUN_BLOCKS);
	for (tries = 0; tries < SEARCH_MOST && best < most; tries++) {
		if (!group_next(b, warm, &number))
			break;
		if (b->group[number].longest[warm] > best) {
			length = group_search(&b->group[number], warm, most,
					      &first);
			if (length > best) {
				best = length;
				best_first = first;
				best_group = number;
			}
		}
		number++;
	}
	if (best == 0)
		return run;
	*hint = best_group;
	group_take(b, best_group, best_first, best, warm);
	run.first = best_group * RUN_BLOCKS + best_first;
	run.count = best;
	return run;
}

/* A first use of memory that is not there yet: the group wants mapping. */
static void took_cold(struct blocks *b, uint64_t number)
{
	map_set(b->unmapped, number, true);
}

unsigned freemap_take_some(struct blocks *b, uint32_t most, struct run *run,
			   unsigned room)
{
	bool warm = b->free_backed > 0;
	uint64_t *hint = warm ? &b->warm_hint : &b->cold_hint;
	uint64_t map[RUN_BLOCKS / WORD_BITS];
	unsigned at, end, n = 0;

	b->takes++;
	if (!warm && b->grouped)
		return 0;
	while (most > 0 && n < room && group_next(b, warm, hint)) {
		group_map(&b->group[*hint], warm, map);
		if (!warm)
			took_cold(b, *hint);
		for (at = 0; most > 0 && n < room; at = end) {
			at = map_next(map, at, RUN_BLOCKS, true);
			if (at >= RUN_BLOCKS)
				break;
			end = map_next(map, at,
				       min_u64((uint64_t)at + most, RUN_BLOCKS),
				       false);
			group_take(b, *hint, at, end - at, warm);
			run[n].first = *hint * RUN_BLOCKS + at;
			run[n].count = end - at;
			run[n++].cold = !warm;
			most -= end - at;
		}
	}
	return n;
}

struct run freemap_take(struct blocks *b, uint32_t most)
{
	struct run run = freemap_take_kind(b, most, true);

	b->takes++;
	if (run.count > 0 || b->grouped)
		return run;
	run = freemap_take_kind(b, most, false);
	if (run.count > 0)
		took_cold(b, run.first / RUN_BLOCKS);
	return run;
}

struct run freemap_take_whole(struct blocks *b)
{
	struct run run = {.count = 0};
	uint64_t number = b->warm_hint;

	if (b->whole == 0)
		return run;
	while (group_next(b, true, &number) && !b->group[number].whole)
		number++;
	run.first = number * RUN_BLOCKS;
	run.count = RUN_BLOCKS;
	group_take(b, number, 0, RUN_BLOCKS, true);
	return run;
}

bool freemap_unmapped(struct blocks *b, uint64_t *number)
{
	*number = map_next(b->unmapped, *number, b->groups, true);
	if (*number >= b->groups)
		*number = map_next(b->unmapped, 0, b->groups, true);
	if (*number >= b->groups)
		return false;
	map_set(b->unmapped, *number, false);
	return true;
}

void freemap_all_unmapped(struct blocks *b)
{
	uint64_t i;

	for (i = 0; i < b->groups; i++) {
		if (b->group[i].free_count < RUN_BLOCKS)
			map_set(b->unmapped, i, true);
	}
}

uint64_t freemap_room(const struct blocks *b)
{
	uint64_t taken = b->total - b->free - b->hand;

	return b->limit > taken ? b->limit - taken : 0;
}

bool freemap_group_empty(const struct blocks *b, uint64_t block)
{
	const struct group *g = &b->group[block / RUN_BLOCKS];

	return g->free_count == RUN_BLOCKS && g->backed_count == 0;
}

unsigned freemap_take_cold(struct blocks *b, uint64_t number,
			   uint64_t taken[RUN_BLOCKS / 64])
{
	struct group *g = &b->group[number];
	unsigned i, n = g->free_count - g->backed_count;

	for (i = 0; i < RUN_BLOCKS / WORD_BITS; i++) {
		taken[i] = g->free[i] & ~g->backed[i];
		g->free[i] &= g->backed[i];
	}
	g->free_count -= n;
	b->free -= n;
	group_told(b, number);
	return n;
}
