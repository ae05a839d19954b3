/* SPDX-License-Identifier: BSD-3-Clause */
/* See bitmaps.h. A snapshot that was selected is held: it may be deleted
 * meanwhile, and goes with the last connection that compares with it. */
#include "bitmaps.h"

#include <errno.h>

#include "handshake.h"
#include "stream.h"

void bitmaps_drop(struct conn *c)
{
	unsigned i;

	for (i = 0; i < PROTO_CONTEXTS_MAX; i++) {
		ram_disk_put(c->bases[i]);
		c->bases[i] = NULL;
	}
}

void bitmaps_agreed(struct conn *c)
{
	unsigned i;

	for (i = 0; i < PROTO_CONTEXTS_MAX; i++) {
		if (i < c->terms.context_count &&
		    c->terms.contexts[i].kind == PROTO_BITMAP)
			continue;
		ram_disk_put(c->bases[i]);
		c->bases[i] = NULL;
	}
}

/* Offer one to the codec, which may select it. Takes the handle over. 1: there is
 * no room for it yet, offer it again. */
static int offer(struct conn *c, struct ram_disk *snapshot, const char *name)
{
	int result, error = 0;

	while (!error && (result = proto_handshake_bitmap(c->handshake,
							  name)) == -EAGAIN) {
		c->wants_room = conn_full(c);
		error = c->wants_room ? 1 : handshake_queue(c);
	}
	if (error || result <= 0) {
		ram_disk_put(snapshot);
		return error;
	}
	/* What an earlier option has selected is void. */
	if (!c->bases_chosen)
		bitmaps_drop(c);
	c->bases_chosen = true;
	ram_disk_put(c->bases[result - 1]);
	c->bases[result - 1] = snapshot;
	return 0;
}

static int offer_all(struct conn *c, struct ram_disk *disk)
{
	uint64_t at = c->bases_at;
	struct ram_disk_info info;
	struct ram_disk *snapshot;
	int error = 0;

	while (!error && ram_disk_next_snapshot(disk, &at, &snapshot) == 0) {
		ram_disk_info(snapshot, NULL, 0, &info);
		error = offer(c, snapshot, info.name);
		if (!error)
			c->bases_at = at;
	}
	return error;
}

/* Those that were asked for by name: there may be thousands of others. */
static int offer_named(struct conn *c, struct ram_disk *disk)
{
	char name[PROTO_NAME_MAX + 1];
	uint32_t at = (uint32_t)c->bases_at;
	struct ram_disk *snapshot;
	int error = 0;

	while (!error &&
	       proto_handshake_bitmap_asked(c->handshake, &at, name)) {
		if (ram_disk_open(c->worker->server->pool, name, &snapshot))
			continue;
		if (ram_disk_readonly(snapshot) && snapshot != disk &&
		    ram_disk_related(snapshot, disk))
			error = offer(c, snapshot, name);
		else
			ram_disk_put(snapshot);
		if (!error)
			c->bases_at = at;
	}
	return error;
}

int bitmaps_answer(struct conn *c)
{
	struct exports *exports = &c->worker->server->exports;
	const struct proto_lookup *l = proto_handshake_lookup(c->handshake);
	struct export *e = exports_get(exports, l->name);
	int error = 0;

	if (e && proto_handshake_bitmaps_all(c->handshake))
		error = offer_all(c, e->disk);
	else if (e)
		error = offer_named(c, e->disk);
	export_put(exports, e);
	if (error > 0)
		return 0; /* goes on when there is room */
	c->bases_at = 0;
	c->bases_chosen = false;
	if (!error)
		proto_handshake_bitmaps_end(c->handshake);
	return error;
}
