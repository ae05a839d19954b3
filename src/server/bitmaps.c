/* SPDX-License-Identifier: BSD-3-Clause */
/* See bitmaps.h. Who may open a snapshot may compare with it. One that was
 * selected is held: it may be deleted meanwhile, and goes with the last connection
 * that compares with it. */
#include "bitmaps.h"

#include <errno.h>

#include "handshake.h"
#include "stream.h"

static struct exports *exports_of(struct conn *c)
{
	return &c->worker->server->exports;
}

static void let_go(struct conn *c, unsigned i)
{
	export_put(exports_of(c), c->bases[i]);
	c->bases[i] = NULL;
}

void bitmaps_drop(struct conn *c)
{
	unsigned i;

	for (i = 0; i < PROTO_CONTEXTS_MAX; i++)
		let_go(c, i);
	export_put(exports_of(c), c->told);
	c->told = NULL;
}

void bitmaps_agreed(struct conn *c)
{
	unsigned i;

	for (i = 0; i < PROTO_CONTEXTS_MAX; i++) {
		if (i >= c->terms.context_count ||
		    c->terms.contexts[i].kind != PROTO_BITMAP)
			let_go(c, i);
	}
}

struct ram_disk *bitmaps_base(const struct conn *c, unsigned context)
{
	return c->bases[context] ? c->bases[context]->disk : NULL;
}

/* Is it a snapshot that the disk may be compared with? */
static bool fits(const struct conn *c, const struct export *e,
		 const struct ram_disk *disk)
{
	return ram_disk_readonly(e->disk) && e->disk != disk &&
	       ram_disk_related(e->disk, disk) &&
	       export_access(e, &c->identity) != ACCESS_NONE;
}

/* Offer one to the codec, which may select it. 1: there is no room for it yet,
 * offer it again. */
static int offer(struct conn *c, struct export *e)
{
	unsigned i;
	int result;

	while ((result = proto_handshake_bitmap(c->handshake, e->name)) ==
	       -EAGAIN) {
		c->wants_room = conn_full(c);
		if (c->wants_room)
			return 1;
		if (handshake_queue(c))
			return -1;
	}
	if (result <= 0)
		return 0;
	/* What an earlier option has selected is void. */
	for (i = 0; i < PROTO_CONTEXTS_MAX && !c->bases_chosen; i++)
		let_go(c, i);
	c->bases_chosen = true;
	let_go(c, result - 1);
	atomic_fetch_add(&e->refs, 1);
	c->bases[result - 1] = e;
	return 0;
}

/* c->told is the next one to be offered. */
static int offer_all(struct conn *c, const struct ram_disk *disk)
{
	struct exports *exports = exports_of(c);
	int error;

	if (!c->told)
		c->told = exports_next(exports, NULL, &c->bases_at);
	while (c->told) {
		error = fits(c, c->told, disk) ? offer(c, c->told) : 0;
		if (error)
			return error;
		c->told = exports_next(exports, c->told, &c->bases_at);
	}
	return 0;
}

/* Those that were asked for by name: there may be thousands of others. */
static int offer_named(struct conn *c, const struct ram_disk *disk)
{
	struct exports *exports = exports_of(c);
	char name[PROTO_NAME_MAX + 1];
	uint32_t at = c->bases_at;
	struct export *e;
	int error = 0;

	while (!error &&
	       proto_handshake_bitmap_asked(c->handshake, &at, name)) {
		e = exports_get(exports, name);
		if (e && fits(c, e, disk))
			error = offer(c, e);
		export_put(exports, e);
		if (!error)
			c->bases_at = at;
	}
	return error;
}

int bitmaps_answer(struct conn *c)
{
	struct export *e = exports_get(exports_of(c), handshake_name(c));
	int error = 0;

	if (e && proto_handshake_bitmaps_all(c->handshake))
		error = offer_all(c, e->disk);
	else if (e)
		error = offer_named(c, e->disk);
	export_put(exports_of(c), e);
	if (error)
		return error > 0 ? 0 : -1; /* goes on when there is room */
	export_put(exports_of(c), c->told);
	c->told = NULL;
	c->bases_at = 0;
	c->bases_chosen = false;
	proto_handshake_bitmaps_end(c->handshake);
	return 0;
}
