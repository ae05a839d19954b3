/* SPDX-License-Identifier: BSD-3-Clause */
/* Who descends from whom: a part of show. See commands.h. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"

/* One disk. */
struct node {
	char *name;
	uint8_t uuid[16], parent[16], origin[16];
	uint64_t size, held, own, generation, order;
	bool snapshot, orphan; /* what it was made of is gone */
	struct node *above, *first, *last, *next;
	unsigned depth;
};

struct family {
	struct node *nodes;
	size_t count, room;
};

static void drop(struct family *f)
{
	size_t i;

	for (i = 0; i < f->count; i++)
		free(f->nodes[i].name);
	free(f->nodes);
}

/* Room for one more. NULL: no memory. */
static struct node *add(struct family *f)
{
	size_t room = f->room ? 2 * f->room : 16;
	struct node *nodes;

	if (f->count == f->room) {
		nodes = realloc(f->nodes, room * sizeof(*nodes));
		if (!nodes)
			return NULL;
		f->nodes = nodes;
		f->room = room;
	}
	return memset(&f->nodes[f->count], 0, sizeof(*f->nodes));
}

/* All disks of that origin; NULL: all there are. flags: of ram_disk_info(). */
static int collect(struct call *call, const uint8_t *origin, unsigned flags,
		   struct family *f)
{
	struct ram_disk_info info;
	struct ram_disk *disk;
	uint64_t cursor = 0;
	struct node *n;

	while (!call_cancelled(call) &&
	       ram_disk_next(call->server->pool, &cursor, &disk) == 0) {
		ram_disk_info(disk, NULL, 0, &info);
		if (flags && (!origin || memcmp(info.origin, origin, 16) == 0))
			ram_disk_info(disk, call->ram, flags, &info);
		ram_disk_put(disk);
		if (origin && memcmp(info.origin, origin, 16) != 0)
			continue;
		n = add(f);
		if (!n || !(n->name = strdup(info.name)))
			return -1;
		memcpy(n->uuid, info.uuid, 16);
		memcpy(n->parent, info.parent, 16);
		memcpy(n->origin, info.origin, 16);
		n->size = info.size;
		n->held = info.held;
		n->own = info.own;
		n->generation = info.generation;
		n->snapshot = info.readonly;
		n->order = f->count++;
		call_progress(call, "disks", f->count, 0);
	}
	return 0;
}

static int by_uuid(const void *a, const void *b)
{
	return memcmp(((const struct node *)a)->uuid,
		      ((const struct node *)b)->uuid, 16);
}

static int of_uuid(const void *uuid, const void *node)
{
	return memcmp(uuid, ((const struct node *)node)->uuid, 16);
}

/* By lineage, and within one as they were met. */
static int by_origin(const void *a, const void *b)
{
	const struct node *const *x = a, *const *y = b;
	int order = memcmp((*x)->origin, (*y)->origin, 16);

	if (order)
		return order;
	return (*x)->order < (*y)->order ? -1 : (*x)->order > (*y)->order;
}

/* Hang each below what it was made of; `order` is in by_origin()'s. */
static void connect(struct family *f, struct node **order)
{
	static const uint8_t none[16];
	struct node *n;
	size_t i;

	for (i = 0; i < f->count; i++) {
		n = order[i];
		n->above = bsearch(n->parent, f->nodes, f->count,
				   sizeof(*f->nodes), of_uuid);
		if (n->above == n)
			n->above = NULL;
		n->orphan = !n->above &&
			    memcmp(n->parent, none, sizeof(none)) != 0;
		if (!n->above)
			continue;
		if (n->above->last)
			n->above->last->next = n;
		else
			n->above->first = n;
		n->above->last = n;
	}
}

static void put_node(struct call *call, const struct node *n)
{
	struct control_writer *w = &call->out;

	control_open(w, NULL, '{');
	control_put_name(w, "name", n->name, strlen(n->name));
	control_put_number(w, "depth", n->depth);
	if (n->above)
		control_put_name(w, "parent-name", n->above->name,
				 strlen(n->above->name));
	control_put_truth(w, "parent-gone", n->orphan);
	control_put_truth(w, "snapshot", n->snapshot);
	control_put_number(w, "size", n->size);
	control_put_number(w, "held", n->held);
	control_put_number(w, "own", n->own);
	control_put_number(w, "shared", n->held - n->own);
	control_put_number(w, "generation", n->generation);
	control_put_text(w, "kind",
			 n->snapshot && n->orphan ? "snapshot of what is gone"
			 : n->snapshot		  ? "snapshot"
			 : n->orphan		  ? "clone of what is gone"
			 : n->above		  ? "clone"
						  : "disk");
	control_close(w, '}');
}

/* It, and all below it. */
static void put_tree(struct call *call, struct node *root)
{
	struct node *n = root;

	while (n) {
		n->depth = n->above ? n->above->depth + 1 : 0;
		put_node(call, n);
		if (n->first) {
			n = n->first;
			continue;
		}
		while (n != root && !n->next)
			n = n->above;
		n = n == root ? NULL : n->next;
	}
}

int put_lineage(struct call *call, const uint8_t *origin)
{
	struct family f = {0};
	struct node **order = NULL;
	size_t i;
	int error = collect(call, origin, RAM_INFO_USAGE, &f);

	if (!error)
		order = calloc(f.count + 1, sizeof(struct node *));
	if (!order) {
		drop(&f);
		return call_no_memory(call);
	}
	if (f.count > 0)
		qsort(f.nodes, f.count, sizeof(*f.nodes), by_uuid);
	for (i = 0; i < f.count; i++)
		order[i] = &f.nodes[i];
	qsort(order, f.count, sizeof(struct node *), by_origin);
	connect(&f, order);
	control_open(&call->out, "lineage", '[');
	for (i = 0; i < f.count; i++) {
		if (!order[i]->above)
			put_tree(call, order[i]);
	}
	control_close(&call->out, ']');
	free(order);
	drop(&f);
	return 0;
}

struct family *family_new(struct call *call)
{
	struct family *f = calloc(1, sizeof(*f));

	if (f && collect(call, NULL, 0, f)) {
		family_free(f);
		return NULL;
	}
	if (f && f->count > 0)
		qsort(f->nodes, f->count, sizeof(*f->nodes), by_uuid);
	return f;
}

const char *family_name(const struct family *f, const uint8_t uuid[16])
{
	const struct node *n = f->count ? bsearch(uuid, f->nodes, f->count,
						  sizeof(*f->nodes), of_uuid)
					: NULL;

	return n ? n->name : NULL;
}

void family_free(struct family *f)
{
	if (f)
		drop(f);
	free(f);
}
