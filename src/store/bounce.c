/* SPDX-License-Identifier: BSD-3-Clause */
/* See bounce.h. */
#include "bounce.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "disk.h"
#include "fault.h"
#include "thread.h"
#include "write.h"

bool bounce_possible(const struct ram_view *view, const struct ram_thread *t)
{
	/* Whole blocks that may be zeroes are looked at next, where they are. */
	return !t->bounce_taken &&
	       !backing_grouped(&view->disk->pool->backing) &&
	       !disk_wants_holes(view->disk);
}

uint8_t *bounce_take(struct ram_view *view, struct ram_thread *t,
		     const struct run *run)
{
	if (!t->bounce && !fault(RAM_FAULT_ALLOC))
		t->bounce = aligned_alloc(BLOCK_SIZE,
					  (size_t)RUN_BLOCKS * BLOCK_SIZE);
	if (!t->bounce)
		return NULL;
	t->bounce_taken = true;
	view->cold = run->first;
	return t->bounce;
}

/* What stands in the buffer around the payload is another's. */
static void clear_edges(uint8_t *buf, uint64_t from, uint64_t to)
{
	memset(buf, 0, from);
	memset(buf + to, 0, round_up(to, BLOCK_SIZE) - to);
}

int bounce_write(struct ram_view *view)
{
	struct ram_thread *t = view->thread;
	struct ram_pool *pool = t->pool;
	uint64_t from = view->off % BLOCK_SIZE, to = from + view->len;
	unsigned depth;
	int error;

	if (!view->cold)
		return 0;
	clear_edges(t->bounce, from, to);
	depth = thread_step_out(t);
	/* The kernel lets one write at a time into a file. */
	pthread_mutex_lock(&pool->cold_mutex);
	error = backing_write(&pool->backing, t->bounce, view->cold,
			      div_up(to, BLOCK_SIZE));
	pthread_mutex_unlock(&pool->cold_mutex);
	thread_step_in(t, depth);
	if (error)
		return error;
	view->iov[0].iov_base = (uint8_t *)pool_block(pool, view->cold) + from;
	bounce_drop(view);
	return 0;
}

void bounce_drop(struct ram_view *view)
{
	if (view->cold)
		view->thread->bounce_taken = false;
	view->cold = 0;
}
