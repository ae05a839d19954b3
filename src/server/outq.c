/* SPDX-License-Identifier: BSD-3-Clause */
/* See outq.h. */
#include "outq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* One gathered write: so many pieces, views and bytes of data. */
#define GATHER_PIECES 512
#define GATHER_VIEWS 128
#define GATHER_BYTES (UINT64_C(4) << 20)
#define SPARE_MOST 1024

/* Beyond a disk's end, should it have shrunk since the request was read: a block, and
 * as much behind it, since what is left of a block is looked at as a whole. */
static const uint8_t zeroes[2 * RAM_BLOCK];

struct out *outq_push(struct outq *q, struct out_pool *pool, size_t head_len,
		      uint64_t len, uint64_t off)
{
	struct out *out = pool->free;

	if (out) {
		pool->free = out->next;
		pool->spare--;
	} else {
		out = malloc(sizeof(*out));
		if (!out)
			return NULL;
	}
	out->heap = NULL;
	out->heap_len = 0;
	if (head_len > OUT_HEAD) {
		out->heap = malloc(head_len);
		if (!out->heap) {
			free(out);
			return NULL;
		}
		out->heap_len = head_len;
		q->heap += head_len;
	}
	out->next = NULL;
	out->head_len = head_len;
	out->head_sent = 0;
	out->len = len;
	out->off = off;
	if (q->last)
		q->last->next = out;
	else
		q->first = out;
	q->last = out;
	q->count++;
	return out;
}

uint8_t *out_head(struct out *out)
{
	return out->heap ? out->heap : out->head;
}

static void out_free(struct out_pool *pool, struct out *out)
{
	free(out->heap);
	if (pool->spare >= SPARE_MOST) {
		free(out);
		return;
	}
	out->next = pool->free;
	pool->free = out;
	pool->spare++;
}

static void pop(struct outq *q, struct out_pool *pool)
{
	struct out *out = q->first;

	q->first = out->next;
	if (!q->first)
		q->last = NULL;
	q->count--;
	q->heap -= out->heap_len;
	out_free(pool, out);
}

void outq_drop(struct outq *q, struct out_pool *pool)
{
	while (q->first)
		pop(q, pool);
}

void out_pool_empty(struct out_pool *pool)
{
	struct out *out;

	while ((out = pool->free)) {
		pool->free = out->next;
		free(out);
	}
	pool->spare = 0;
}

struct gather {
	struct iovec iov[GATHER_PIECES];
	unsigned pieces;
	uint64_t bytes;
	struct ram_view view[GATHER_VIEWS];
	unsigned views;
	int error; /* why there is no more, if the store says so */
};

static void add(struct gather *g, const void *base, uint64_t len)
{
	g->iov[g->pieces].iov_base = (void *)base;
	g->iov[g->pieces].iov_len = len;
	g->pieces++;
	g->bytes += len;
}

/* Add data of the disk. False: there is no more room for pieces of data, or it is not
 * there (any more: the disk has become an older one meanwhile). */
static bool add_data(struct gather *g, struct ram_disk *disk,
		     struct ram_thread *thread, uint64_t len, uint64_t off)
{
	struct ram_view *view;
	unsigned i;
	int error;

	while (len > 0) {
		if (g->views == GATHER_VIEWS || g->bytes >= GATHER_BYTES ||
		    g->pieces + RAM_VIEW_MAX > GATHER_PIECES)
			return false;
		view = &g->view[g->views];
		error = ram_disk_view(disk, thread, len, off, view);
		if (error && error != -EINVAL) {
			g->error = error;
			return false;
		}
		if (error || view->len == 0) {
			add(g, zeroes, min_u64(len, RAM_BLOCK));
			off += min_u64(len, RAM_BLOCK);
			len -= min_u64(len, RAM_BLOCK);
			continue;
		}
		g->views++;
		for (i = 0; i < view->count; i++)
			add(g, view->iov[i].iov_base, view->iov[i].iov_len);
		off += view->len;
		len -= view->len;
	}
	return true;
}

/* All that fits into one system call, from the front of the queue. */
static void collect(struct gather *g, const struct outq *q,
		    struct ram_disk *disk, struct ram_thread *thread)
{
	struct out *out;

	g->pieces = g->views = 0;
	g->bytes = 0;
	g->error = 0;
	for (out = q->first; out; out = out->next) {
		if (g->pieces + RAM_VIEW_MAX + 1 > GATHER_PIECES ||
		    g->bytes >= GATHER_BYTES)
			break;
		if (out->head_sent < out->head_len)
			add(g, out_head(out) + out->head_sent,
			    out->head_len - out->head_sent);
		if (!add_data(g, disk, thread, out->len, out->off))
			break;
	}
}

/* A block is being cut: what is left of it is kept as it is. `rest` is where it
 * lies now. */
static int keep_rest(struct outq *q, struct out *out, const uint8_t *rest)
{
	uint64_t n = min_u64(RAM_BLOCK - out->off % RAM_BLOCK, out->len);
	uint8_t *copy = malloc(n);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, rest, n);
	free(out->heap);
	q->heap += n;
	q->heap -= out->heap_len;
	out->heap = copy;
	out->heap_len = n;
	out->head_len = n;
	out->head_sent = 0;
	out->off += n;
	out->len -= n;
	return 0;
}

/* Take what was sent off the queue. */
static int sent(struct outq *q, struct out_pool *pool, struct gather *g,
		uint64_t n)
{
	struct out *out;
	uint64_t part, left = n;
	unsigned i;
	bool began;

	while ((out = q->first)) {
		part = min_u64(out->head_len - out->head_sent, left);
		out->head_sent += part;
		left -= part;
		part = min_u64(out->len, left);
		began = part > 0;
		out->off += part;
		out->len -= part;
		left -= part;
		if (out->head_sent < out->head_len)
			return 0;
		if (out->len > 0)
			break;
		pop(q, pool);
	}
	if (!out || !began || out->off % RAM_BLOCK == 0)
		return 0;
	for (i = 0; n >= g->iov[i].iov_len; i++)
		n -= g->iov[i].iov_len;
	return keep_rest(q, out, (const uint8_t *)g->iov[i].iov_base + n);
}

int outq_flush(struct outq *q, struct out_pool *pool, struct io *io,
	       struct ram_disk *disk, struct ram_thread *thread, uint64_t most)
{
	/* Large, and of use only within this call. */
	static _Thread_local struct gather g;
	uint64_t done = 0;
	ssize_t put;
	int error;

	while (q->first && done < most) {
		collect(&g, q, disk, thread);
		if (g.bytes == 0 && g.error)
			return g.error;
		put = io_writev(io, g.iov, g.pieces);
		error = put < 0 ? (int)put : sent(q, pool, &g, put);
		q->sent += put > 0 ? put : 0;
		while (g.views > 0)
			ram_view_release(&g.view[--g.views], thread);
		if (error)
			return error;
		if ((uint64_t)put < g.bytes)
			return -EAGAIN;
		done += put;
	}
	return 0;
}
