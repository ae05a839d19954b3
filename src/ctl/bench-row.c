/* SPDX-License-Identifier: BSD-3-Clause */
/* See bench-row.h. As little as can be is done between an answer and the next request:
 * what this program and libnbd need is part of what is measured. */
#include "bench-row.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "histogram.h"
#include "print.h"
#include "table.h"

#define SECOND UINT64_C(1000000000)
/* How often progress is told, and the longest sleep. */
#define TICK (SECOND / 4)
/* A server that answers nothing for so long does not answer. nbdramd has a write wait
 * for memory for some seconds. */
#define SILENCE (60 * SECOND)
/* So much of what is written is different each time. */
#define STAMP_EVERY 4096u

struct run;

/* A request in flight, or room for one. */
struct slot {
	struct run *run;
	uint8_t *bytes;
	uint64_t offset, begun;
};

struct run {
	struct bench_ground *ground;
	const struct bench_row *row;
	uint64_t next; /* offset of a stream */
	uint64_t left; /* requests that are still to be sent, if time is left */
	struct slot slots[BENCH_DEPTH_MOST];
	struct slot *idle[BENCH_DEPTH_MOST];
	unsigned idle_count;
	uint64_t last; /* when the last answer came */
	int error;     /* the first that the server has answered */
	uint64_t error_offset;
	struct histogram latency; /* nanoseconds */
};

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
	(void)number;
	signalled = 1;
}

void bench_heed_signals(void)
{
	/* No SA_RESTART: it is to end poll(2). */
	const struct sigaction act = {.sa_handler = on_signal,
				      .sa_flags = SA_RESETHAND};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* Steele, Lea and Flood's SplitMix: good enough from any seed, 0 too. */
static uint64_t random_number(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

char *bench_row_title(const struct bench_row *row, char title[32])
{
	char size[16];

	snprintf(title, 32, "%s %s %s",
		 row->once    ? "fill"
		 : row->write ? "write"
			      : "read",
		 human_size(row->bytes, size),
		 row->random ? "random" : "stream");
	return title;
}

/* ---------------------------------------------------------------- memory */

void bench_ground_free(struct bench_ground *ground)
{
	free(ground->memory);
	free(ground->run);
}

/* For all requests of a row; what is in it is random. */
static bool have_memory(struct bench_ground *g, uint64_t len)
{
	void *memory;
	uint64_t i, word;

	if (len <= g->memory_len)
		return true;
	free(g->memory);
	g->memory = NULL;
	g->memory_len = 0;
	if (posix_memalign(&memory, STAMP_EVERY, round_up(len, 8)) != 0) {
		complain("no memory for requests of %" PRIu64 " bytes in all",
			 len);
		return false;
	}
	for (i = 0; i < len; i += 8) {
		word = random_number(&g->stamps);
		memcpy((uint8_t *)memory + i, &word, 8);
	}
	g->memory = memory;
	g->memory_len = len;
	return true;
}

/* No page is what another was before, for servers that look for such. */
static void stamp(struct bench_ground *g, uint8_t *bytes, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i += STAMP_EVERY) {
		uint64_t word = random_number(&g->stamps);

		memcpy(bytes + i, &word, min_u64(len - i, sizeof(word)));
	}
}

/* -------------------------------------------------------------- requests */

static uint64_t next_offset(struct run *r)
{
	const uint64_t bytes = r->row->bytes;
	uint64_t offset;

	if (r->row->random) {
		offset = random_number(&r->ground->places) %
			 (r->ground->area / bytes);
		return offset * bytes;
	}
	if (r->next + bytes > r->ground->area)
		r->next = 0;
	offset = r->next;
	r->next += bytes;
	return offset;
}

/* libnbd calls it with the handle locked: nothing may be asked of it here. */
static int on_answer(void *arg, int *error)
{
	struct slot *s = arg;
	struct run *r = s->run;

	r->last = now();
	histogram_add(&r->latency, r->last - s->begun);
	if (*error && !r->error) {
		r->error = *error;
		r->error_offset = s->offset;
	}
	r->idle[r->idle_count++] = s;
	/* It needs no further attention. */
	return 1;
}

/* The connection is of no use any more. */
static bool lost(const struct run *r)
{
	char title[32];

	complain("%s, depth %u: %s", bench_row_title(r->row, title),
		 r->row->depth, r->ground->nbd->get_error());
	return false;
}

/* One more request. */
static bool ask(struct run *r)
{
	struct bench_ground *g = r->ground;
	struct slot *s = r->idle[--r->idle_count];
	const nbd_completion_callback done = {.callback = on_answer,
					      .user_data = s};
	const uint32_t len = r->row->bytes;
	int64_t cookie;

	r->left--;
	s->offset = next_offset(r);
	if (r->row->write) {
		stamp(g, s->bytes, len);
		s->begun = now();
		cookie = g->nbd->aio_pwrite(g->handle, s->bytes, len, s->offset,
					    done, 0);
	} else {
		s->begun = now();
		cookie = g->nbd->aio_pread(g->handle, s->bytes, len, s->offset,
					   done, 0);
	}
	return cookie >= 0 || lost(r);
}

/* Sleep until the socket can do what libnbd waits for, and have it done. */
static bool turn(struct run *r)
{
	const struct nbd_library *nbd = r->ground->nbd;
	struct nbd_handle *h = r->ground->handle;
	const unsigned wants = nbd->aio_get_direction(h);
	struct pollfd fd = {.fd = nbd->aio_get_fd(h)};
	int result = 0;

	/* It is closed; all that was in flight has been told. */
	if (fd.fd < 0)
		return r->error || lost(r);
	if (wants & LIBNBD_AIO_DIRECTION_READ)
		fd.events |= POLLIN;
	if (wants & LIBNBD_AIO_DIRECTION_WRITE)
		fd.events |= POLLOUT;
	if (poll(&fd, 1, TICK / 1000000) <= 0)
		return true;
	/* What was read may have changed what is to be written: one at a time. */
	if (fd.revents & ~POLLOUT && wants & LIBNBD_AIO_DIRECTION_READ)
		result = nbd->aio_notify_read(h);
	else
		result = nbd->aio_notify_write(h);
	return result >= 0 || lost(r);
}

static void tell_progress(const struct run *r, unsigned n, unsigned all)
{
	char title[32], text[96];

	bench_row_title(r->row, title);
	if (r->row->once)
		snprintf(text, sizeof(text), "%s: before the %u rows", title,
			 all);
	else
		snprintf(text, sizeof(text), "%s, depth %u: row %u of %u",
			 title, r->row->depth, n, all);
	progress_text(text);
}

/* ------------------------------------------------------------------ rows */

/* 0; -EINTR; -EIO: told. */
static int go_on(struct run *r, unsigned n, unsigned all)
{
	const uint64_t begin = now();
	const uint64_t until =
		begin + (uint64_t)(r->ground->seconds * (double)SECOND);
	uint64_t told = 0, time = begin;
	char title[32];

	for (r->last = begin; !signalled; time = now()) {
		while (r->idle_count > 0 && r->left > 0 && time < until &&
		       !r->error && !signalled)
			if (!ask(r))
				return -EIO;
		if (r->idle_count == r->row->depth)
			return 0;
		if (!turn(r))
			return -EIO;
		if (time - told >= TICK) {
			tell_progress(r, n, all);
			told = time;
		}
		if (time > r->last && time - r->last > SILENCE) {
			complain("%s, depth %u: the server has not answered "
				 "for %u seconds",
				 bench_row_title(r->row, title), r->row->depth,
				 (unsigned)(SILENCE / SECOND));
			return -EIO;
		}
	}
	return -EINTR;
}

static void take_figures(const struct run *r, uint64_t begin,
			 struct bench_figures *f)
{
	const struct histogram *h = &r->latency;

	f->requests = h->count;
	f->seconds = (double)max_u64(r->last - begin, 1) / (double)SECOND;
	f->average_us = histogram_mean(h) / 1000;
	f->p99_us = (double)histogram_at(h, 0.99) / 1000;
	f->p999_us = (double)histogram_at(h, 0.999) / 1000;
	f->most_us = (double)h->most / 1000;
}

/* NULL: told. */
static struct run *prepare(struct bench_ground *g, const struct bench_row *row)
{
	struct run *r = g->run ? g->run : malloc(sizeof(*r));
	unsigned i;

	g->run = r;
	if (!r)
		complain("no memory");
	if (!r || !have_memory(g, (uint64_t)row->depth * row->bytes))
		return NULL;
	*r = (struct run){.ground = g, .row = row};
	r->left = row->once ? g->area / row->bytes : UINT64_MAX;
	for (i = 0; i < row->depth; i++) {
		r->slots[i].run = r;
		r->slots[i].bytes = g->memory + (uint64_t)i * row->bytes;
		r->idle[r->idle_count++] = &r->slots[i];
	}
	return r;
}

static int refused(const struct run *r)
{
	char title[32];

	bench_row_title(r->row, title);
	/* libnbd's own, for what was in flight; no server can answer that. */
	if (r->error == ENOTCONN)
		complain("%s, depth %u: the server has closed the connection",
			 title, r->row->depth);
	else
		complain("%s, depth %u: the server answers at offset %" PRIu64
			 ": %s",
			 title, r->row->depth, r->error_offset,
			 strerror(r->error));
	return -EIO;
}

int bench_row_run(struct bench_ground *ground, const struct bench_row *row,
		  unsigned n, unsigned all, struct bench_figures *figures)
{
	struct run *r = prepare(ground, row);
	const uint64_t begin = now();
	int error;

	if (!r)
		return -ENOMEM;
	error = go_on(r, n, all);
	if (!error && r->error)
		error = refused(r);
	if (error)
		return error;
	take_figures(r, begin, figures);
	return 0;
}
