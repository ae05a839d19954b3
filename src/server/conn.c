/* SPDX-License-Identifier: BSD-3-Clause */
/* Life of a connection: its events, its ends. See conn.h; what its bytes mean is
 * in stream.c. */
#include "conn.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bitmaps.h"
#include "check.h"
#include "handshake.h"
#include "log.h"
#include "parked.h"
#include "secure.h"
#include "stream.h"

/* Sent in one go, before other connections have their turn. */
#define FLUSH_MOST (UINT64_C(4) << 20)

/* Queued replies, and bytes of long ones, beyond which no more is read: with what
 * is stashed, 64 KiB a connection. */
#define OUT_MOST 256
#define OUT_HEAP_MOST (8u << 10)

/* How long a client may take to take its last replies. */
#define DRAIN_MSEC 3000

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);

/* A dead peer must be noticed, a small reply must not wait. */
static void tune(int fd, bool local)
{
	const int yes = 1, idle = 30, interval = 10, count = 3;
	const int room = 1 << 20;

	if (local) {
		/* The usual 208 KiB make a system call of each two replies of
		 * a stream; memory is taken only for what is unread. */
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

/* Each socket may hold so much in either direction that all together stay within
 * the memory that the server has for them: the kernel doubles what it is told.
 * While there are few, the kernel's own bounds are tighter. */
#define SHARE_FEW (2u << 20)
#define SHARE_LEAST (8u << 10)

static uint32_t share_now(struct server *s)
{
	uint64_t n = 1;

	/* In steps, so that it changes seldom. */
	while (n < atomic_load(&s->connections))
		n *= 2;
	return max_u64(min_u64(s->socket_memory / 4 / n, SHARE_FEW),
		       SHARE_LEAST);
}

static void share(struct conn *c, uint32_t bytes)
{
	const int size = bytes;

	setsockopt(c->io.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(c->io.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

void conns_share(struct worker *w)
{
	uint32_t bytes = share_now(w->server);
	struct conn *c;

	if (bytes == w->socket_share)
		return;
	/* Never back to the kernel's own: that cannot be asked for. */
	if (w->socket_share == 0 && bytes == SHARE_FEW)
		return;
	w->socket_share = bytes;
	TAILQ_FOREACH(c, &w->conns, link)
	share(c, bytes);
}

/* Too many have begun and not finished: the oldest of this worker gives way, of
 * those that do not wait for us. */
static void make_room(struct worker *w)
{
	struct conn *c;

	if (atomic_load(&w->server->unfinished) <
	    atomic_load(&w->server->limits.unfinished))
		return;
	TAILQ_FOREACH(c, &w->conns, link)
	{
		if (c->handshake && !c->lookup_waits) {
			conn_close(c, "too many handshakes are unfinished");
			return;
		}
	}
}

/* Who is at the other end of a Unix socket. */
static uid_t peer_uid(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
		return (uid_t)-1;
	return who.uid;
}

static_assert((int)CONFIG_TLS_OFF == PROTO_TLS_OFF &&
		      (int)CONFIG_TLS_ON == PROTO_TLS_ON &&
		      (int)CONFIG_TLS_REQUIRE == PROTO_TLS_REQUIRE,
	      "the words of the configuration are the codec's");

/* Before the client can see that it is closed: it may come back at once, and its
 * place must be free then. */
static void leave_server(struct worker *w, const struct address *address)
{
	addresses_leave(&w->server->addresses, address);
	atomic_fetch_sub(&w->server->connections, 1);
	atomic_fetch_sub(&w->load, 1);
}

void conn_new(struct worker *w, struct arrival *a)
{
	struct conn *c;

	make_room(w);
	c = calloc(1, sizeof(*c));
	if (c)
		c->peer = strdup(a->peer);
	if (c)
		c->handshake = proto_handshake_new(
			(enum proto_tls)atomic_load(&w->server->limits.tls),
			false);
	if (!c || !c->peer || !c->handshake) {
		log_error("%s: no memory for a connection", a->peer);
		goto fail;
	}
	c->worker = w;
	c->id = a->id;
	c->began = now_msec();
	c->address = a->address;
	c->local = a->local;
	identity_begin(&c->identity, &a->address, a->local,
		       a->local ? peer_uid(a->fd) : (uid_t)-1);
	c->state = CONN_HANDSHAKE;
	c->parked_end = &c->parked;
	c->deadline =
		now_msec() + atomic_load(&w->server->limits.handshake_msec);
	io_plain(&c->io, a->fd);
	tune(a->fd, a->local);
	if (w->socket_share)
		share(c, w->socket_share);
	event_assign(&c->readable, w->base, a->fd, EV_READ | EV_PERSIST,
		     on_readable, c);
	event_assign(&c->writable, w->base, a->fd, EV_WRITE | EV_PERSIST,
		     on_writable, c);
	TAILQ_INSERT_TAIL(&w->conns, c, link);
	atomic_fetch_add(&w->server->unfinished, 1);
	stats_add(&w->stats, STAT_CONNECTIONS, 1);
	free(a);
	worker_need_tick(w);
	log_debug("%llu %s: connected", (unsigned long long)c->id, c->peer);
	on_readable(-1, 0, c);
	return;
fail:
	leave_server(w, &a->address);
	close(a->fd);
	if (c) {
		free(c->peer);
		proto_handshake_free(c->handshake);
	}
	free(c);
	free(a);
}

void conn_handshake_over(struct conn *c)
{
	if (!c->handshake)
		return;
	proto_handshake_free(c->handshake);
	c->handshake = NULL;
	c->deadline = 0;
	atomic_fetch_sub(&c->worker->server->unfinished, 1);
}

void conn_close(struct conn *c, const char *why)
{
	struct worker *w = c->worker;

	log_debug("%llu %s: closed: %s", (unsigned long long)c->id, c->peer,
		  why);
	conn_handshake_over(c);
	stream_drop(c);
	if (c->is_waiting)
		TAILQ_REMOVE(&w->waiting, c, waiting);
	if (c->reading)
		event_del(&c->readable);
	if (c->writing)
		event_del(&c->writable);
	outq_drop(&c->out, &w->outs);
	/* Before it can be seen, as for leave_server(). */
	handshake_leave_export(c);
	export_put(&w->server->exports, c->listed);
	bitmaps_drop(c);
	if (c->in_session)
		sessions_leave(&w->server->sessions, &c->session);
	leave_server(w, &c->address);
	io_close(&c->io);
	TAILQ_REMOVE(&w->conns, c, link);
	identity_end(&c->identity);
	free(c->real_name);
	free(c->peer);
	free(c);
}

void conn_wait(struct conn *c)
{
	if (c->is_waiting)
		return;
	c->is_waiting = true;
	TAILQ_INSERT_TAIL(&c->worker->waiting, c, waiting);
	worker_need_tick(c->worker);
}

bool conn_full(const struct conn *c)
{
	return c->out.count >= OUT_MOST || c->out.heap >= OUT_HEAP_MOST ||
	       parked_full(c);
}

uint64_t conn_about(const struct conn *c, const char *reason)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const uint8_t *byte = c->address.byte;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	unsigned i, n;

	/* FNV-1a. An IPv6 host has 2^64 addresses of its own. */
	n = memcmp(byte, mapped, sizeof(mapped)) == 0 ? sizeof(c->address) : 8;
	for (i = 0; i < n; i++)
		hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
	if (c->local)
		hash = (hash ^ c->identity.uid) * UINT64_C(0x100000001b3);
	for (; *reason && *reason != '"' && *reason != '('; reason++)
		hash = (hash ^ (uint8_t)*reason) * UINT64_C(0x100000001b3);
	return hash / 2;
}

/* ---------------------------------------------------------------- events */

static void arm(struct event *event, bool *armed, bool wanted)
{
	if (*armed == wanted)
		return;
	if (wanted)
		event_add(event, NULL);
	else
		event_del(event);
	*armed = wanted;
}

/* TLS cannot begin before all that was said in clear has left. */
static bool before_tls(const struct conn *c)
{
	return c->state == CONN_TLS && !c->io.tls;
}

/* State and queue say which events matter; nothing else arms any. */
static void arm_events(struct conn *c)
{
	bool hungry = c->state != CONN_DRAIN && !c->stalled &&
		      !c->lookup_waits && !c->wants_room && !conn_full(c) &&
		      !before_tls(c);

	arm(&c->readable, &c->reading, hungry);
	arm(&c->writable, &c->writing,
	    (c->out.first && !c->unready) || c->wants_room ||
		    io_unsent(&c->io) > 0);
	/* What was decrypted already is not seen at the socket. Others have
	 * their turn first. */
	if (hungry && io_pending(&c->io) > 0)
		event_active(&c->readable, EV_READ, 0);
}

static int flush(struct conn *c)
{
	struct ram_disk *disk = c->export ? c->export->disk : NULL;
	int error;

	if (!c->out.first) {
		error = io_flush(&c->io);
		if (error && error != -EAGAIN)
			return stream_end(c, "sending failed");
		return 0;
	}
	error = outq_flush(&c->out, &c->worker->outs, &c->io, disk,
			   c->worker->ram, FLUSH_MOST);
	c->unready = error == -EINPROGRESS;
	if (c->unready) {
		conn_wait(c);
		return 0;
	}
	if (error && error != -EAGAIN)
		return stream_end(c, "sending failed");
	return 0;
}

/* It has time as long as it takes something, or we have something to do; when
 * the server stops, so much in all. */
static void set_drain_deadline(struct conn *c)
{
	if (c->deadline &&
	    (c->worker->stopping || (c->out.sent == c->drained && !c->parked)))
		return;
	c->drained = c->out.sent;
	c->deadline = now_msec() + DRAIN_MSEC;
	worker_need_tick(c->worker);
}

/* After anything has happened: send, use what was left over, and see what to
 * wait for. Negative: it is over. */
static int settle(struct conn *c)
{
	size_t before = 0;
	int error;

	/* Nothing of it counts any more but that it goes. */
	if (c->state == CONN_REFUSED) {
		arm(&c->readable, &c->reading, true);
		arm(&c->writable, &c->writing, false);
		return 0;
	}
	error = flush(c);

	/* Room in the queue lets requests go on that were read already. */
	while (!error && c->stash_len > 0 && c->stash_len != before &&
	       !c->stalled && !c->lookup_waits && !conn_full(c) &&
	       c->state != CONN_DRAIN) {
		before = c->stash_len;
		error = stream_use_stash(c);
		if (!error)
			error = flush(c);
	}
	/* A turn at a time, however fast it takes them. */
	if (!error && c->wants_room && !conn_full(c)) {
		error = handshake_room_again(c);
		if (!error)
			error = flush(c);
	}
	if (!error && before_tls(c) && !c->out.first)
		error = secure_step(c);
	if (error)
		return error;
	if (c->state == CONN_REFUSED)
		return settle(c);
	if (c->state == CONN_DRAIN) {
		if (!c->out.first && !c->parked && io_unsent(&c->io) == 0)
			return stream_end(c, "done");
		set_drain_deadline(c);
	}
	wait_blocked(c, (c->stalled && !c->wants_landing) || parked_full(c));
	arm_events(c);
	return 0;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	int error = 0;

	(void)what;
	/* -1: it has just begun, and the greeting is to be made. */
	if (fd == -1)
		error = stream_use(c, NULL, 0) < 0 ? -ECONNRESET : 0;
	else if (c->state == CONN_TLS || c->state == CONN_REFUSED)
		error = secure_step(c);
	else
		error = stream_read(c);
	c->worker->active = true;
	if (!error)
		error = settle(c);
	if (error)
		conn_close(c, c->why);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	int error = 0;

	(void)fd;
	(void)what;
	/* It may be what the TLS handshake waits for. */
	if (c->state == CONN_TLS && c->io.tls)
		error = secure_step(c);
	if (!error)
		error = settle(c);
	if (error)
		conn_close(c, c->why);
}

void conn_session_ready(struct conn *c)
{
	int error;

	c->lookup_waits = false;
	error = handshake_session_ready(c);
	if (!error)
		error = settle(c);
	if (error)
		conn_close(c, c->why);
}

void conn_made(struct conn *c, const struct making_answer *answer)
{
	int error;

	/* What it waited for took as long as it took. */
	c->deadline = now_msec() +
		      atomic_load(&c->worker->server->limits.handshake_msec);
	worker_need_tick(c->worker);
	c->lookup_waits = false;
	error = handshake_made(c, answer);
	if (!error)
		error = settle(c);
	if (error)
		conn_close(c, c->why);
}

static void try_place(struct conn *c)
{
	int error = handshake_place_again(c);

	if (!error)
		error = settle(c);
	if (error)
		conn_close(c, c->why);
}

void conn_resume(struct conn *c)
{
	int error = stream_resume(c);

	if (!error)
		error = settle(c);
	if (error)
		conn_close(c, c->why);
}

void conn_tick(struct conn *c, uint64_t now)
{
	int r;

	if (c->state == CONN_DRAIN && c->parked)
		set_drain_deadline(c);
	r = stream_hoard(c);
	if (r != 0) {
		if (r < 0 || settle(c))
			conn_close(c, c->why);
		return;
	}
	if (c->deadline && now >= c->deadline) {
		if (c->state == CONN_TLS)
			secure_too_long(c);
		conn_close(c, c->state == CONN_REFUSED
				      ? "its TLS handshake failed"
			      : c->handshake ? "its handshake took too long"
					     : "it does not take its replies");
		return;
	}
	if (c->wants_place) {
		try_place(c);
		return;
	}
	if (!c->stalled && !c->parked && !c->unready)
		return;
	/* Somebody may have given memory back without anybody telling. */
	conn_resume(c);
}

void conn_stop(struct conn *c)
{
	if (c->handshake) {
		conn_close(c, "the server stops");
		return;
	}
	/* No error to anyone: a kernel's client takes that as final, while a
	 * closed connection makes it come back. */
	parked_drop(c);
	c->state = CONN_DRAIN;
	if (settle(c))
		conn_close(c, c->why);
}
