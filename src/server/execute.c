/* SPDX-License-Identifier: BSD-3-Clause */
/* See execute.h. */
#include "execute.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bitmaps.h"
#include "check.h"

/* Chunks of one read, and extents of one block status: bounds on the work and
 * the memory of one request. Beyond the first the rest is sent as data, beyond
 * the second the client asks again. */
#define CHUNKS_MOST 64
#define EXTENTS_MOST 1024

/* Bytes, besides holes, that one block status looks at: about 3 ms. */
#define LOOK_MOST (UINT64_C(1) << 30)

static int queue_head(struct conn *c, const void *head, size_t head_len,
		      uint64_t len, uint64_t off)
{
	struct out *out =
		outq_push(&c->out, &c->worker->outs, head_len, len, off);

	if (!out)
		return -ENOMEM;
	memcpy(out_head(out), head, head_len);
	return 0;
}

int execute_ack(struct conn *c, const struct proto_request *request)
{
	uint8_t head[PROTO_REPLY_MAX];

	return queue_head(c, head, proto_put_ack(&c->terms, request, head), 0,
			  0);
}

int execute_error(struct conn *c, const struct proto_request *request,
		  int error, const char *text)
{
	uint8_t head[PROTO_REPLY_MAX];
	size_t len = proto_put_error(&c->terms, request, error, text, head);

	stats_add(&c->worker->stats, STAT_ERRORS, 1);
	return queue_head(c, head, len, 0, 0);
}

/* ------------------------------------------------------------------ read */

static int put_data(struct conn *c, const struct proto_request *request,
		    uint64_t len, uint64_t off, bool last)
{
	uint8_t head[PROTO_REPLY_MAX];
	size_t n = proto_put_data(&c->terms, request, len, off, last, head);

	return queue_head(c, head, n, len, off);
}

static int put_hole(struct conn *c, const struct proto_request *request,
		    uint64_t len, uint64_t off, bool last)
{
	uint8_t head[PROTO_REPLY_MAX];
	size_t n = proto_put_hole(&c->terms, request, len, off, last, head);

	return queue_head(c, head, n, 0, 0);
}

/* In chunks, so that holes need not be sent. */
static int read_chunks(struct conn *c, const struct proto_request *request)
{
	uint64_t off = request->offset, end = off + request->length, len;
	struct ram_disk *disk = c->export->disk;
	struct ram_extent extent;
	unsigned chunks = 0;
	bool hole;
	int error;

	while (off < end) {
		len = end - off;
		hole = false;
		if (++chunks < CHUNKS_MOST &&
		    ram_disk_extent(disk, c->worker->ram, NULL, len, off, 0,
				    &extent) == 0) {
			hole = extent.kind == RAM_HOLE;
			/* A hole in the middle of one block is data. */
			len = min_u64(len, extent.len);
		}
		error = hole ? put_hole(c, request, len, off, off + len == end)
			     : put_data(c, request, len, off, off + len == end);
		if (error)
			return error;
		off += len;
	}
	return 0;
}

/* Of a disk that is loaded behind: not before all of it is there, since what is begun
 * has to be sent. */
static __attribute__((noinline, cold)) int read_lazy(
	struct conn *c, const struct proto_request *request, bool *ready)
{
	int error = ram_disk_ready(c->export->disk, c->worker->ram,
				   request->length, request->offset);

	*ready = error == 0;
	if (!error || error == -EINPROGRESS || error == -ENOSPC)
		return error;
	return execute_error(c, request, error,
			     "it is not loaded yet, and cannot be; the "
			     "server's log says why");
}

static int execute_read(struct conn *c, const struct proto_request *request)
{
	bool ready = true;
	int error = 0;

	if (ram_disk_lazy(c->export->disk))
		error = read_lazy(c, request, &ready);
	if (!ready)
		return error;
	c->read += request->length;
	stats_add(&c->worker->stats, STAT_READ, request->length);
	if (c->terms.replies == PROTO_SIMPLE ||
	    request->flags & NBD_CMD_FLAG_DF)
		return put_data(c, request, request->length, request->offset,
				true);
	return read_chunks(c, request);
}

/* ---------------------------------------------------------- block status */

static uint32_t extent_flags(enum proto_context_kind kind,
			     enum ram_extent_kind extent)
{
	switch (kind) {
	case PROTO_ALLOCATION:
		return extent == RAM_HOLE ? NBD_STATE_HOLE | NBD_STATE_ZERO : 0;
	case PROTO_DEPTH:
		return extent == RAM_HOLE ? 0 : extent == RAM_OWN ? 1 : 2;
	case PROTO_BITMAP:
		return extent == RAM_CHANGED ? NBD_STATE_DIRTY : 0;
	}
	return 0;
}

/* The extents of one context into buf, which has room for so many of them. Returns
 * how many there are. */
static unsigned put_extents(struct conn *c, const struct proto_request *request,
			    unsigned context, unsigned room, uint8_t *buf,
			    size_t *used)
{
	enum proto_context_kind kind = c->terms.contexts[context].kind;
	uint64_t off = request->offset, end = off + request->length, len = 0;
	uint64_t most = proto_extent_max(&c->terms);
	unsigned flags = kind == PROTO_DEPTH ? RAM_EXTENT_SHARED : 0, n = 0;
	unsigned wanted = request->flags & NBD_CMD_FLAG_REQ_ONE ? 1 : room;
	struct ram_extent extent;
	uint64_t looked = 0;
	uint32_t value = 0, next;

	*used = 0;
	while (off < end && n < wanted && looked < LOOK_MOST) {
		if (ram_disk_extent(c->export->disk, c->worker->ram,
				    bitmaps_base(c, context), end - off, off,
				    flags, &extent))
			break;
		next = extent_flags(kind, extent.kind);
		/* The store may stop early: neighbours of one kind are one. */
		if (len > 0 && (next != value || len + extent.len > most)) {
			*used += proto_put_extent(&c->terms, len, value,
						  buf + *used);
			n++;
			len = 0;
			continue;
		}
		value = next;
		extent.len = min_u64(extent.len, most);
		if (extent.kind != RAM_HOLE)
			looked += extent.len;
		len += extent.len;
		off += extent.len;
	}
	if (len > 0 && n < wanted) {
		*used += proto_put_extent(&c->terms, len, value, buf + *used);
		n++;
	}
	return n;
}

static int status_of(struct conn *c, const struct proto_request *request,
		     unsigned i, bool last)
{
	const struct proto_context *context = &c->terms.contexts[i];
	uint8_t *buf, head[PROTO_REPLY_MAX];
	size_t used, head_len;
	unsigned n, room;
	int error;

	/* All contexts of a request together: they wait in memory until they are
	 * sent. */
	room = EXTENTS_MOST / __builtin_popcount(request->contexts);
	buf = malloc(room * PROTO_EXTENT_SIZE_MAX);
	if (!buf)
		return -ENOMEM;
	n = put_extents(c, request, i, room, buf, &used);
	if (n == 0) {
		/* Not yet; nothing of this context is queued. */
		free(buf);
		return -EAGAIN;
	}
	head_len = proto_put_status(&c->terms, request, context, n, last, head);
	error = queue_head(c, head, head_len, 0, 0);
	if (!error)
		error = queue_head(c, buf, used, 0, 0);
	free(buf);
	return error;
}

/* *cursor: how many contexts have been answered. */
static int execute_status(struct conn *c, const struct proto_request *request,
			  uint64_t *cursor)
{
	uint32_t left = request->contexts;
	unsigned i;
	int error = 0;

	for (i = 0; i < c->terms.context_count && !error && left; i++) {
		if (!(left >> i & 1))
			continue;
		left &= ~(1u << i);
		if (i < *cursor)
			continue;
		error = status_of(c, request, i, left == 0);
		if (!error)
			*cursor = i + 1;
	}
	return error;
}

/* -------------------------------------------------------------- the rest */

static int execute_zero(struct conn *c, const struct proto_request *request,
			uint64_t *cursor)
{
	unsigned keep = request->command == NBD_CMD_WRITE_ZEROES &&
			request->flags & NBD_CMD_FLAG_NO_HOLE;
	int error;

	/* Filling blocks is no faster than writing them. */
	if (keep && request->flags & NBD_CMD_FLAG_FAST_ZERO)
		return execute_error(c, request, -ENOTSUP,
				     "zeroing without holes is as slow as "
				     "writing");
	error = ram_disk_zero(c->export->disk, c->worker->ram, request->length,
			      request->offset, keep ? RAM_KEEP : 0, cursor);
	if (error == -EAGAIN || error == -ENOSPC || error == -EINPROGRESS)
		return error;
	if (error)
		return execute_error(c, request, error, NULL);
	return execute_ack(c, request);
}

int execute_request(struct conn *c, const struct proto_request *request,
		    uint64_t *cursor)
{
	switch (request->command) {
	case NBD_CMD_READ:
		return execute_read(c, request);
	case NBD_CMD_BLOCK_STATUS:
		return execute_status(c, request, cursor);
	case NBD_CMD_TRIM:
	case NBD_CMD_WRITE_ZEROES:
		return execute_zero(c, request, cursor);
	case NBD_CMD_FLUSH: /* an acknowledged write is in memory that stays */
	case NBD_CMD_CACHE: /* and all of it is there */
		return execute_ack(c, request);
	}
	return execute_error(c, request, -EINVAL, "unknown command");
}

int execute_write(struct conn *c, const struct proto_request *request,
		  const void *payload)
{
	uint64_t done = 0;
	int64_t n;

	while (done < request->length) {
		n = ram_disk_write(c->export->disk, c->worker->ram,
				   (const uint8_t *)payload + done,
				   request->length - done,
				   request->offset + done);
		if (n <= 0)
			return (int)n;
		done += n;
	}
	return 0;
}

/* The oldest part first: those that were staged later are in front of it. */
int execute_publish(struct conn *c, struct payload *payload)
{
	int error;

	if (!payload)
		return 0;
	error = execute_publish(c, payload->next);
	return error ? error : ram_view_publish(&payload->view);
}
