/* SPDX-License-Identifier: BSD-3-Clause */
/* See exports-index.h. */
#include "exports-index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ chains */

/* FNV-1a of the name. */
static unsigned by_name(const struct exports *exports, const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	return hash & (exports->chains - 1);
}

static unsigned by_disk(const struct exports *exports,
			const struct ram_disk *disk)
{
	uint64_t mixed =
		(uint64_t)(uintptr_t)disk * UINT64_C(0x9e3779b97f4a7c15);

	return (mixed >> 40) & (exports->chains - 1);
}

static void chain(struct exports *exports, struct export *e)
{
	struct export **at = &exports->named[by_name(exports, e->name)];

	e->next_named = *at;
	*at = e;
	if (e->is_default)
		exports->fallback = e;
}

static void unchain(struct exports *exports, struct export *e)
{
	struct export **at = &exports->named[by_name(exports, e->name)];

	for (; *at != e; at = &(*at)->next_named)
		;
	*at = e->next_named;
	if (exports->fallback == e)
		exports->fallback = NULL;
}

/* All exports of the list anew, in chains that are there and empty. */
static void chain_all(struct exports *exports)
{
	unsigned i;

	exports->fallback = NULL;
	for (i = 0; i < exports->count; i++) {
		exports->list[i]->place = i;
		chain(exports, exports->list[i]);
	}
}

/* As many chains as that, a power of two, or more. */
static int set_chains(struct exports *exports, unsigned wanted)
{
	struct export_use **used, **old_used = exports->used, *use, *next;
	struct export **named;
	unsigned chains = EXPORTS_FEW, old_chains = exports->chains, i;

	while (chains < wanted)
		chains *= 2;
	if (chains <= exports->chains)
		return 0;
	named = calloc(chains, sizeof(*named));
	used = calloc(chains, sizeof(struct export_use *));
	if (!named || !used) {
		free(named);
		free(used);
		return -ENOMEM;
	}
	if (exports->named != exports->few_named)
		free(exports->named);
	exports->named = named;
	exports->used = used;
	exports->chains = chains;
	chain_all(exports);
	for (i = 0; i < old_chains; i++) {
		for (use = old_used[i]; use; use = next) {
			next = use->next;
			exports_use_add(exports, use);
		}
	}
	if (old_used != exports->few_used)
		free(old_used);
	return 0;
}

void exports_index_init(struct exports *exports)
{
	exports->named = exports->few_named;
	exports->used = exports->few_used;
	exports->chains = EXPORTS_FEW;
}

void exports_index_free(struct exports *exports)
{
	if (exports->named != exports->few_named) {
		free(exports->named);
		free(exports->used);
	}
	free(exports->list);
}

/* -------------------------------------------------------------------- list */

unsigned exports_find(const struct exports *exports, const char *name)
{
	const struct export *e = exports->fallback;

	if (*name) {
		e = exports->named[by_name(exports, name)];
		while (e && strcmp(e->name, name) != 0)
			e = e->next_named;
	}
	return e ? e->place : exports->count;
}

int exports_make_room(struct exports *exports)
{
	unsigned room = exports->room ? 2 * exports->room : EXPORTS_FEW;
	struct export **list;

	if (exports->count < exports->room)
		return 0;
	if (set_chains(exports, room))
		return -ENOMEM;
	list = realloc(exports->list, room * sizeof(*list));
	if (!list)
		return -ENOMEM;
	exports->list = list;
	exports->room = room;
	return 0;
}

void exports_append(struct exports *exports, struct export *e)
{
	e->place = exports->count;
	exports->list[exports->count++] = e;
	chain(exports, e);
}

void exports_exchange(struct exports *exports, unsigned place, struct export *e)
{
	unchain(exports, exports->list[place]);
	exports->list[place] = e;
	e->place = place;
	chain(exports, e);
}

void exports_take_out(struct exports *exports, unsigned place)
{
	unsigned i;

	unchain(exports, exports->list[place]);
	exports->count--;
	for (i = place; i < exports->count; i++) {
		exports->list[i] = exports->list[i + 1];
		exports->list[i]->place = i;
	}
}

int exports_take_list(struct exports *exports, struct export **list,
		      unsigned count, unsigned room, struct export ***old)
{
	unsigned i;

	if (set_chains(exports, room))
		return -ENOMEM;
	for (i = 0; i < exports->count; i++)
		unchain(exports, exports->list[i]);
	*old = exports->list;
	exports->list = list;
	exports->count = count;
	exports->room = room;
	chain_all(exports);
	return 0;
}

/* -------------------------------------------------------------------- uses */

struct export_use *exports_use(const struct exports *exports,
			       const struct ram_disk *disk)
{
	struct export_use *use = exports->used[by_disk(exports, disk)];

	while (use && use->disk != disk)
		use = use->next;
	return use;
}

void exports_use_add(struct exports *exports, struct export_use *use)
{
	struct export_use **at = &exports->used[by_disk(exports, use->disk)];

	use->next = *at;
	*at = use;
}

void exports_use_remove(struct exports *exports, struct export_use *use)
{
	struct export_use **at = &exports->used[by_disk(exports, use->disk)];

	for (; *at != use; at = &(*at)->next)
		;
	*at = use->next;
}
