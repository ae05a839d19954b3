/* SPDX-License-Identifier: BSD-3-Clause */
/* See payload.h. */
#include "payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Staged at a time, as payload arrives; published together, a piece. */
#define STAGE_MOST (UINT64_C(1) << 20)
#define STAGE_LEAST (UINT64_C(256) << 10)

static bool take_turn(struct conn *c)
{
	_Atomic uint64_t *turn = &c->worker->server->landing_turn;
	uint64_t nobody = 0;

	return atomic_load(turn) == c->id ||
	       atomic_compare_exchange_strong(turn, &nobody, c->id);
}

static bool has_turn(struct conn *c)
{
	return atomic_load(&c->worker->server->landing_turn) == c->id;
}

void payload_end_turn(struct conn *c)
{
	if (has_turn(c))
		atomic_store(&c->worker->server->landing_turn, 0);
}

void payload_free(struct conn *c, struct payload *payload)
{
	struct payload *next;

	for (; payload; payload = next) {
		next = payload->next;
		if (payload->kept)
			atomic_fetch_sub(&c->worker->server->kept,
					 payload->kept);
		ram_view_release(&payload->view, c->worker->ram);
		free(payload);
	}
}

uint64_t payload_done(const struct payload *payload)
{
	uint64_t done = 0;

	for (; payload; payload = payload->next)
		done += payload->view.done;
	return done;
}

bool payload_wants_stage(const struct conn *c)
{
	return c->piece_left > 0 &&
	       (!c->payload || c->payload->filled == c->payload->view.len);
}

/* Of [off, off+len), of which not all is taken: up to where a block ends, for a
 * block takes effect as a whole. */
static uint64_t cut(uint64_t len, uint64_t off, uint64_t all)
{
	return len < all ? round_down(off + len, RAM_BLOCK) - off : len;
}

static uint64_t next_offset(const struct conn *c)
{
	return c->request.offset + c->request.length - c->payload_left;
}

uint64_t payload_piece(const struct conn *c)
{
	uint64_t len = min_u64(c->payload_left,
			       ram_pool_piece(c->worker->server->pool));

	return cut(len, next_offset(c), c->payload_left);
}

/* How much to stage: not what is claimed, but in proportion to what came, now or
 * with the last write. */
static uint64_t stage_size(const struct conn *c)
{
	uint64_t came = c->proven, len;
	const struct payload *p;

	for (p = c->payload; p; p = p->next)
		came += p->view.len;
	len = min_u64(c->piece_left,
		      min_u64(max_u64(came, STAGE_LEAST), STAGE_MOST));
	return cut(len, next_offset(c), c->piece_left);
}

/* Whether so much more may lie in landing for want of memory elsewhere. */
static bool may_keep(struct conn *c, uint64_t len)
{
	struct server *s = c->worker->server;

	if (atomic_fetch_add(&s->kept, len) + len <= s->kept_most)
		return true;
	atomic_fetch_sub(&s->kept, len);
	return false;
}

/* A place in landing, although the pool has no memory for it yet. */
static int stage_kept(struct conn *c, struct payload *p, uint64_t len,
		      uint64_t off)
{
	int error;

	if (!may_keep(c, len))
		return -ENOSPC;
	error = ram_disk_stage(c->export->disk, c->worker->ram, len, off,
			       RAM_UNCHARGED, &p->view);
	if (error) {
		atomic_fetch_sub(&c->worker->server->kept, len);
		return error;
	}
	p->kept = p->view.len;
	atomic_fetch_sub(&c->worker->server->kept, len - p->kept);
	return 0;
}

static int stage_view(struct conn *c, struct payload *p)
{
	uint64_t off = next_offset(c), len = stage_size(c);
	struct ram_thread *ram = c->worker->ram;
	int error;

	p->kept = 0;
	error = ram_disk_stage(c->export->disk, ram, len, off,
			       has_turn(c) ? RAM_LAST : 0, &p->view);
	if (error == -EAGAIN && !has_turn(c) && take_turn(c))
		error = ram_disk_stage(c->export->disk, ram, len, off, RAM_LAST,
				       &p->view);
	/* The pool is full; or may not be for long, but as long as it is what came
	 * before of this payload that holds the rest, waiting here were in vain. */
	if ((error == -ENOSPC || (error == -EAGAIN && c->payload)) &&
	    stage_kept(c, p, len, off) == 0)
		error = 0;
	return error;
}

int payload_stage(struct conn *c)
{
	struct payload *p = malloc(sizeof(*p));
	int error = p ? stage_view(c, p) : -ENOMEM;

	if (error) {
		free(p);
		return error;
	}
	p->filled = 0;
	p->next = c->payload;
	c->payload = p;
	worker_need_tick(c->worker);
	return 0;
}

int payload_place(const struct conn *c, struct iovec *iov, int most)
{
	const struct ram_view *view = &c->payload->view;
	uint64_t skip = c->payload->filled;
	unsigned i;
	int n = 0;

	for (i = 0; i < view->count && n < most; i++) {
		if (skip >= view->iov[i].iov_len) {
			skip -= view->iov[i].iov_len;
			continue;
		}
		iov[n].iov_base = (uint8_t *)view->iov[i].iov_base + skip;
		iov[n].iov_len = view->iov[i].iov_len - skip;
		skip = 0;
		n++;
	}
	return n;
}

size_t payload_copy(struct conn *c, const uint8_t *buf, size_t n)
{
	uint64_t room = min_u64(c->payload->view.len - c->payload->filled, n);
	struct iovec iov[RAM_VIEW_MAX];
	int i, count = payload_place(c, iov, RAM_VIEW_MAX);
	uint64_t part, done = 0;

	for (i = 0; i < count && done < room; i++) {
		part = min_u64(iov[i].iov_len, room - done);
		memcpy(iov[i].iov_base, buf + done, part);
		done += part;
	}
	return done;
}

static void copy_all(const struct ram_view *view, const uint8_t *buf)
{
	unsigned i;

	for (i = 0; i < view->count; i++) {
		memcpy(view->iov[i].iov_base, buf, view->iov[i].iov_len);
		buf += view->iov[i].iov_len;
	}
}

struct payload *payload_keep(struct conn *c, const uint8_t *buf)
{
	uint64_t done = 0, len = c->request.length, here;
	struct payload *list = NULL, *p;

	while (done < len) {
		p = malloc(sizeof(*p));
		if (!p)
			break;
		here = cut(min_u64(len - done, STAGE_MOST),
			   c->request.offset + done, len - done);
		if (stage_kept(c, p, here, c->request.offset + done)) {
			free(p);
			break;
		}
		copy_all(&p->view, buf + done);
		p->filled = p->view.len;
		ram_view_filled(&p->view);
		done += p->view.len;
		p->next = list;
		list = p;
	}
	if (done == len)
		return list;
	payload_free(c, list);
	return NULL;
}
