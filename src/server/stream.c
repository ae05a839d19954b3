/* SPDX-License-Identifier: BSD-3-Clause */
/* See stream.h. */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "execute.h"
#include "handshake.h"
#include "log.h"
#include "parked.h"
#include "payload.h"
#include "tls.h"

/* How much of the input buffer is offered to the socket when only headers are
 * expected, so that what has to be stashed stays small. */
#define INPUT_USUAL (64u << 10)

/* The same for requests while much is stashed: with OUT_MOST replies a connection
 * has no more than 64 KiB of memory then. */
#define INPUT_SCARCE (24u << 10)

/* Stashed by all connections of a worker: from here on they read less. */
#define STASHED_MUCH (UINT64_C(8) << 20)

/* So often is a payload read on while it comes, before others have their turn:
 * with STAGE_MOST at a time, a piece at most. */
#define READS_MOST 8

/* From here on payloads are received where they will stay, and so much more. */
#define BULK (128u << 10)
#define INPUT_BULK (4u << 10)

/* So much of its payload has to come in HOARD_MSEC while others wait for landing; and
 * a client of which so much was waiting was held back by us. */
#define HOARD_BYTES (64u << 10)

int stream_end(struct conn *c, const char *why)
{
	c->why = why;
	return -ECONNRESET;
}

int stream_no_memory(struct conn *c)
{
	log_error("%llu %s: no memory for its replies; it is let go",
		  (unsigned long long)c->id, c->peer);
	return stream_end(c, "no memory");
}

/* The stream stands still until there is a place for its payload, which others may
 * hold. */
static void stall_for_landing(struct conn *c)
{
	if (!c->wants_landing)
		atomic_fetch_add(&c->worker->server->stalled, 1);
	c->wants_landing = c->late = true;
	wait_stall(c);
}

static void unstall(struct conn *c)
{
	wait_unstall(c);
	if (c->wants_landing)
		atomic_fetch_sub(&c->worker->server->stalled, 1);
	c->wants_landing = false;
}

/* What could not be used yet is buf now, which is taken over. */
static void replace_stash(struct conn *c, uint8_t *buf, size_t n)
{
	c->worker->stashed += n;
	c->worker->stashed -= c->stash_len;
	free(c->stash);
	c->stash = buf;
	c->stash_len = n;
}

void stream_drop(struct conn *c)
{
	parked_drop(c);
	replace_stash(c, NULL, 0);
	payload_free(c, c->payload);
	c->payload = NULL;
	payload_end_turn(c);
	unstall(c);
}

int stream_answer(struct conn *c, const struct proto_request *request,
		  int error)
{
	if (!error && request->command == NBD_CMD_WRITE) {
		c->written += request->length;
		stats_add(&c->worker->stats, STAT_WRITTEN, request->length);
	}
	error = error ? execute_error(c, request, error,
				      error == -ENOSPC ? "the memory of the "
							 "pool is used up"
						       : NULL)
		      : execute_ack(c, request);
	return error ? stream_no_memory(c) : 0;
}

/* -------------------------------------------------------------- payloads */

/* Part of it has come, but it cannot be taken: let the rest go by. */
static void refuse_payload(struct conn *c, int error)
{
	payload_free(c, c->payload);
	c->payload = NULL;
	payload_end_turn(c);
	c->error = error;
	c->error_text = error == -ENOSPC ? "the memory of the pool is used up"
					 : NULL;
	c->state = CONN_DISCARD;
}

/* A place for the next bytes. 0; 1: the stream stalls; or it was refused, and
 * the state is another. */
static int stage(struct conn *c)
{
	int error = payload_stage(c);

	if (!error)
		return 0;
	if (wait_worth(c, error)) {
		if (error == -EAGAIN)
			stall_for_landing(c);
		else
			wait_stall(c);
		return 1;
	}
	refuse_payload(c, error == -EAGAIN ? -ENOSPC : error);
	return 0;
}

/* n more bytes of payload are in their place. */
static int payload_came(struct conn *c, uint64_t n)
{
	struct payload *payload = c->payload;
	int error;

	payload->filled += n;
	/* If it fails, so will publishing. */
	if (payload->filled == payload->view.len)
		ram_view_filled(&payload->view);
	c->payload_left -= n;
	c->piece_left -= n;
	if (c->piece_left > 0)
		return 0;
	error = execute_publish(c, payload);
	if (error != -EAGAIN || c->payload_left == 0)
		payload_end_turn(c);
	if (c->payload_left > 0) {
		/* A piece of a very long write. */
		if (wait_worth(c, error)) {
			wait_stall(c);
			return 0;
		}
		if (error) {
			refuse_payload(c, error == -EAGAIN ? -ENOSPC : error);
			return 0;
		}
		payload_free(c, payload);
		c->payload = NULL;
		c->piece_left = payload_piece(c);
		return 0;
	}
	c->payload = NULL;
	c->proven = c->request.payload;
	c->state = CONN_REQUEST;
	if (wait_worth(c, error))
		return parked_add(c, payload, 0);
	payload_free(c, payload);
	return stream_answer(c, &c->request,
			     error == -EAGAIN ? -ENOSPC : error);
}

static int use_payload(struct conn *c, const uint8_t *buf, size_t n,
		       size_t *used)
{
	*used = 0;
	if (c->piece_left == 0)
		return payload_came(c, 0); /* was stalled at publishing */
	if (payload_wants_stage(c) && stage(c))
		return 0;
	if (c->state != CONN_PAYLOAD)
		return 0;
	*used = payload_copy(c, buf, n);
	return *used > 0 ? payload_came(c, *used) : 0;
}

static int use_discard(struct conn *c, size_t n, size_t *used)
{
	*used = min_u64(n, c->payload_left);
	c->payload_left -= *used;
	if (c->payload_left > 0)
		return 0;
	c->state = CONN_REQUEST;
	if (execute_error(c, &c->request, c->error, c->error_text))
		return stream_no_memory(c);
	return 0;
}

/* -------------------------------------------------------------- requests */

/* Once for each request, however often its header is looked at. */
static void count_request(struct conn *c)
{
	c->requests++;
	stats_command(&c->worker->stats, c->request.command);
}

/* A write of which all is here: no need for a place of its own, unless it has to
 * wait. 1: the stream stalls. */
static int write_now(struct conn *c, const uint8_t *buf)
{
	int error = execute_write(c, &c->request, buf);
	struct payload *payload;

	if (wait_worth(c, error)) {
		payload = parked_full(c) ? NULL : payload_keep(c, buf);
		if (payload) {
			count_request(c);
			return parked_add(c, payload, 0);
		}
		wait_stall(c);
		return 1;
	}
	count_request(c);
	return stream_answer(c, &c->request,
			     error == -EAGAIN ? -ENOSPC : error);
}

static int begin_write(struct conn *c, const uint8_t *buf, size_t n,
		       size_t *used)
{
	int error;

	if (n >= c->request.payload) {
		error = write_now(c, buf);
		if (error != 1)
			*used += c->request.payload;
		return error;
	}
	count_request(c);
	c->state = CONN_PAYLOAD;
	c->late = false;
	c->moved = c->worker->looked;
	c->brought = 0;
	c->payload_left = c->request.payload;
	c->piece_left = payload_piece(c);
	return 0;
}

static int begin_discard(struct conn *c, int error, const char *text)
{
	count_request(c);
	c->state = CONN_DISCARD;
	c->payload_left = c->request.payload;
	c->error = error;
	c->error_text = text;
	return 0;
}

/* A request without payload, or with the small one of a block status. */
static int run(struct conn *c)
{
	uint64_t cursor = 0;
	int error;

	count_request(c);
	error = execute_request(c, &c->request, &cursor);
	if (wait_worth(c, error))
		return parked_add(c, NULL, cursor);
	if (error == -EAGAIN || error == -ENOSPC)
		return stream_answer(c, &c->request, -ENOSPC);
	return error ? stream_no_memory(c) : 0;
}

/* One header and what belongs to it. *used 0: more is needed, or it stalls. */
static int use_request(struct conn *c, const uint8_t *buf, size_t n,
		       size_t *used)
{
	struct proto_request *r = &c->request;
	uint64_t size = ram_disk_size(c->export->disk);
	const char *text = NULL;
	int header, error;

	*used = 0;
	header = proto_parse_request(&c->terms, buf, n, r);
	if (header < 0)
		return stream_end(c, "it sent no request where one was due");
	if (header == 0)
		return 0;
	*used = header;
	wait_begin(c);
	if (r->command == NBD_CMD_DISC) {
		c->state = CONN_DRAIN;
		return 0;
	}
	error = proto_check_request(&c->terms, size, r, &text);
	if (error == -ECONNABORTED)
		return stream_end(c, text);
	if (error && r->payload > 0)
		return begin_discard(c, error, text);
	if (error) {
		count_request(c);
		return execute_error(c, r, error, text) ? stream_no_memory(c)
							: 0;
	}
	if (r->command == NBD_CMD_WRITE) {
		error = begin_write(c, buf + header, n - header, used);
		if (error == 1)
			*used = 0; /* again from the header on */
		return error < 0 ? error : 0;
	}
	if (r->payload > 0) {
		if (n - header < r->payload) {
			*used = 0;
			return 0;
		}
		*used += r->payload;
		error = proto_parse_status(&c->terms, buf + header, size, r,
					   &text);
		if (error) {
			count_request(c);
			return execute_error(c, r, error, text)
				       ? stream_no_memory(c)
				       : 0;
		}
	}
	return run(c);
}

/* ------------------------------------------------------------------ input */

static int stash(struct conn *c, const uint8_t *buf, size_t n)
{
	uint8_t *copy = NULL;

	if (n > 0) {
		copy = malloc(n);
		if (!copy)
			return stream_no_memory(c);
		memcpy(copy, buf, n);
	}
	replace_stash(c, copy, n);
	return 0;
}

static int use_some(struct conn *c, const uint8_t *buf, size_t n, size_t *used)
{
	switch (c->state) {
	case CONN_HANDSHAKE:
		return handshake_use(c, buf, n, used);
	case CONN_TLS:
	case CONN_REFUSED:
		*used = 0;
		return 0;
	case CONN_REQUEST:
		*used = 0;
		return conn_full(c) ? 0 : use_request(c, buf, n, used);
	case CONN_PAYLOAD:
		return use_payload(c, buf, n, used);
	case CONN_DISCARD:
		return use_discard(c, n, used);
	case CONN_DRAIN:
		*used = n; /* nobody wants it */
		return 0;
	}
	return 0;
}

int stream_use(struct conn *c, const uint8_t *buf, size_t n)
{
	enum conn_state before;
	size_t used;
	int error;

	/* One entry for all of it: no locked instruction for each request. */
	ram_epoch_enter(c->worker->ram);
	do {
		before = c->state;
		error = use_some(c, buf, n, &used);
		buf += used;
		n -= used;
	} while (!error && !c->stalled &&
		 ((n > 0 && used > 0) || before != c->state));
	ram_epoch_leave(c->worker->ram);
	return error ? error : stash(c, buf, n);
}

int stream_use_stash(struct conn *c)
{
	uint8_t *old = c->stash;
	size_t n = c->stash_len;
	int error;

	c->stash = NULL;
	error = stream_use(c, old, n);
	free(old);
	return error;
}

/* Many small writes in one read save processor time. What of it cannot be used yet
 * is kept for each connection: while there is much of that, all read less. */
static size_t input_room(const struct conn *c)
{
	if (c->state == CONN_HANDSHAKE)
		return INPUT_USUAL;
	return c->worker->stashed > STASHED_MUCH ? INPUT_SCARCE : WORKER_INPUT;
}

/* Payload has come. A byte now and then is none. */
static void note_progress(struct conn *c, size_t n)
{
	c->brought += n;
	if (c->brought < HOARD_BYTES && !c->late)
		return;
	c->moved = c->worker->looked;
	/* What little it sent while it waited says nothing of now. */
	if (c->brought < HOARD_BYTES)
		c->moved -= HOARD_MSEC - HOARD_LATE_MSEC;
	c->brought = 0;
	c->late = false;
}

/* One read. *more: all that was asked for came, and there may be more of the same
 * payload. */
static int read_once(struct conn *c, bool *more)
{
	struct worker *w = c->worker;
	struct iovec iov[RAM_VIEW_MAX + 1];
	uint64_t direct = 0, part;
	size_t room = input_room(c), kept = c->stash_len;
	ssize_t got;
	int n = 0, error;

	*more = false;
	if (c->state == CONN_PAYLOAD) {
		if (payload_wants_stage(c) && stage(c))
			return 0;
	}
	if (c->state == CONN_PAYLOAD && c->piece_left > 0) {
		n = payload_place(c, iov, RAM_VIEW_MAX);
		direct = c->payload->view.len - c->payload->filled;
	}
	if (direct == c->payload_left || c->state != CONN_PAYLOAD) {
		/* Requests may follow. What is stashed comes before them. */
		if (kept > 0) {
			if (kept > room / 2)
				return stream_end(c, "too much is stashed");
			memcpy(w->input, c->stash, kept);
		}
		/* After a large write comes another: its payload should go to
		 * its own place and not by way of here. */
		if (c->request.length >= BULK && c->state != CONN_HANDSHAKE)
			room = kept + INPUT_BULK;
		iov[n].iov_base = w->input + kept;
		iov[n++].iov_len = room - kept;
	}
	got = io_readv(&c->io, iov, n);
	if (got == -EAGAIN) {
		wait_drained(c);
		return 0;
	}
	if (got == 0) {
		/* It may still listen to what it has been promised. What waits is
		 * dropped: if it is gone, it may come back with newer data. */
		stream_drop(c);
		c->state = CONN_DRAIN;
		return 0;
	}
	if (got < 0)
		return stream_end(c, c->io.tls ? io_reason(&c->io)
					       : strerror(-(int)got));
	note_progress(c, got);
	part = min_u64(got, direct);
	if (part > 0) {
		error = payload_came(c, part);
		*more = part == direct && c->state == CONN_PAYLOAD;
		if (error || (uint64_t)got == part)
			return error;
		return stream_use(c, w->input, got - part);
	}
	replace_stash(c, NULL, 0);
	return stream_use(c, w->input, kept + got);
}

int stream_read(struct conn *c)
{
	unsigned i;
	bool more = true;
	int error = 0;

	for (i = 0; i < READS_MOST && more && !error && !c->stalled; i++)
		error = read_once(c, &more);
	return error;
}

static bool hoards(const struct conn *c)
{
	return c->state == CONN_PAYLOAD && c->payload && !c->stalled &&
	       c->worker->looked - c->moved >= HOARD_MSEC &&
	       atomic_load(&c->worker->server->stalled) > 0;
}

int stream_hoard(struct conn *c)
{
	int error;

	if (!hoards(c))
		return 0;
	/* It may have sent, and it was us who did not look. */
	error = stream_read(c);
	if (!error && hoards(c))
		error = stream_end(c, "its payload does not come, and others "
				      "wait for the memory that it holds");
	return error ? error : 1;
}

int stream_resume(struct conn *c)
{
	int error = parked_repeat(c);

	if (!error && c->stalled) {
		unstall(c);
		error = c->stash_len > 0 ? stream_use_stash(c)
					 : stream_use(c, NULL, 0);
	}
	if (!error)
		error = stream_hoard(c);
	return error < 0 ? error : 0;
}
