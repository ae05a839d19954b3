/* SPDX-License-Identifier: BSD-3-Clause */
/* See caller.h. */
#include "caller.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"
#include "worker.h"

/* Requests of one connection that may wait; it is not read from beyond that. */
#define WAITING_MOST 16

/* How long an answer may lie unread. */
#define UNREAD_MSEC 10000

/* How long a connection must have been idle to give way to another; or, if it
 * sends something now and then, have sent no whole line. */
#define IDLE_MSEC 1000
#define TRICKLE_MSEC 5000

/* Read at a time. */
#define INPUT 16384

struct caller {
	TAILQ_ENTRY(caller) link;
	struct callers *callers;
	int fd;
	struct event *readable, *writable;
	bool reading, writing; /* which are armed */
	bool ended;	       /* nothing more comes from it */
	bool closing;	       /* what is queued is the last */
	/* A line that is no request: told, and the last, when what came before
	 * it has been answered. */
	bool wrong;
	char *verdict;
	size_t verdict_len;
	struct control_lines lines;
	struct evbuffer *out;
	struct call *waiting[WAITING_MOST]; /* in order, from `first` on */
	unsigned first, waiting_count;
	struct call *now; /* that runs */
	uint64_t moved;	  /* msec: it took something, or owed nothing */
	uint64_t whole;	  /* msec: it sent a whole line, or got an answer */
};

static void caller_close(struct caller *c)
{
	struct callers *callers = c->callers;
	unsigned i;

	if (c->now) {
		atomic_store(&c->now->job.cancelled, true);
		c->now->caller = NULL;
	}
	for (i = 0; i < c->waiting_count; i++)
		call_free(c->waiting[(c->first + i) % WAITING_MOST]);
	TAILQ_REMOVE(&callers->list, c, link);
	callers->count--;
	if (c->readable)
		event_free(c->readable);
	if (c->writable)
		event_free(c->writable);
	if (c->out)
		evbuffer_free(c->out);
	control_lines_free(&c->lines);
	free(c->verdict);
	close(c->fd);
	free(c);
}

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

static void queue(struct caller *c, char *text, size_t len)
{
	if (evbuffer_get_length(c->out) == 0)
		c->moved = now_msec();
	/* Without memory for an answer there is nothing left to say. */
	if (!text || evbuffer_add(c->out, text, len) < 0)
		c->closing = true;
	free(text);
}

/* The line that has just come is the last that is looked at. */
static void queue_error(struct caller *c, const char *code, const char *error)
{
	c->wrong = true;
	c->verdict = control_failed(code, error, &c->verdict_len);
}

/* When its turn has come. */
static void pass_verdict(struct caller *c)
{
	if (!c->wrong || c->closing || c->now || c->waiting_count > 0)
		return;
	queue(c, c->verdict, c->verdict_len);
	c->verdict = NULL;
	c->closing = true;
}

/* Start what waits, unless something is under way. */
static void start_next(struct caller *c)
{
	struct call *call;

	/* An answer that is not read is one too many already. */
	if (c->now || c->waiting_count == 0 || c->closing ||
	    evbuffer_get_length(c->out) > 0)
		return;
	call = c->waiting[c->first];
	c->first = (c->first + 1) % WAITING_MOST;
	c->waiting_count--;
	c->now = call;
	call->caller = c;
	jobs_add(c->callers->jobs, &call->job);
}

/* One line. */
static void take_line(struct caller *c, const char *line, size_t len)
{
	struct control_request request;
	struct call *call;
	const char *word;
	struct ram_why why;
	unsigned at;

	c->whole = now_msec();
	if (control_request_read(line, len, &request, &word)) {
		snprintf(why.text, sizeof(why.text), "this is no request: %s",
			 word);
		queue_error(c, "protocol", why.text);
		return;
	}
	call = call_new(c->callers, c->callers->server, &request, &why);
	if (!call) {
		control_request_free(&request);
		queue_error(c, "usage", why.text);
		return;
	}
	at = (c->first + c->waiting_count++) % WAITING_MOST;
	c->waiting[at] = call;
}

static void take_lines(struct caller *c)
{
	char *line;
	size_t len;
	int got = 0;

	while (!c->closing && !c->wrong && c->waiting_count < WAITING_MOST &&
	       (got = control_lines_next(&c->lines, &line, &len)) > 0)
		take_line(c, line, len);
	if (got < 0)
		queue_error(c, "protocol",
			    "this is no request: it is longer than 64 KiB");
	else if (got == 0 && c->ended && !c->closing && !c->wrong &&
		 c->waiting_count < WAITING_MOST &&
		 control_lines_partial(&c->lines))
		queue_error(c, "protocol",
			    "this is no request: its line has no end");
}

/* The other side has closed both directions, and hears nothing any more. */
static bool has_gone(const struct caller *c)
{
	struct pollfd p = {.fd = c->fd, .events = 0};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

/* After anything has happened. The caller may be gone afterwards. */
static void settle(struct caller *c)
{
	size_t owed, before;
	int n;

	for (;;) {
		take_lines(c);
		start_next(c);
		pass_verdict(c);
		before = evbuffer_get_length(c->out);
		n = before > 0 ? evbuffer_write(c->out, c->fd) : 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			caller_close(c);
			return;
		}
		owed = evbuffer_get_length(c->out);
		if (owed != before)
			c->moved = now_msec();
		if (owed > 0 || before == 0)
			break;
	}
	if (owed == 0 && !c->now &&
	    (c->closing || (c->ended && c->waiting_count == 0))) {
		caller_close(c);
		return;
	}
	arm(c->readable, &c->reading,
	    !c->ended && !c->closing && !c->wrong &&
		    c->waiting_count < WAITING_MOST);
	arm(c->writable, &c->writing, owed > 0);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct caller *c = arg;
	char buf[INPUT];
	ssize_t n = read(fd, buf, sizeof(buf));

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Ctrl-C ends what it has begun; `nc -N` waits for the answer. */
	if (n < 0 || (n == 0 && has_gone(c))) {
		caller_close(c);
		return;
	}
	if (n == 0)
		c->ended = true;
	else if (control_lines_add(&c->lines, buf, n)) {
		log_error("control: no memory for a request");
		caller_close(c);
		return;
	}
	/* Sending is no way to be owed an answer for longer. */
	if (evbuffer_get_length(c->out) == 0)
		c->moved = now_msec();
	/* The longest idle one comes first. */
	TAILQ_REMOVE(&c->callers->list, c, link);
	TAILQ_INSERT_TAIL(&c->callers->list, c, link);
	settle(c);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	settle(arg);
}

void caller_new(struct callers *callers, int fd)
{
	struct caller *c = calloc(1, sizeof(*c));

	if (!c) {
		log_error("control: no memory for a connection");
		close(fd);
		return;
	}
	c->callers = callers;
	c->fd = fd;
	c->moved = c->whole = now_msec();
	control_lines_init(&c->lines, CONTROL_REQUEST_MAX);
	TAILQ_INSERT_TAIL(&callers->list, c, link);
	callers->count++;
	c->out = evbuffer_new();
	c->readable = event_new(callers->base, fd, EV_READ | EV_PERSIST,
				on_readable, c);
	c->writable = event_new(callers->base, fd, EV_WRITE | EV_PERSIST,
				on_writable, c);
	if (!c->out || !c->readable || !c->writable) {
		log_error("control: no memory for a connection");
		caller_close(c);
		return;
	}
	settle(c);
}

void caller_refuse(int fd, const char *code, const char *error)
{
	size_t len;
	char *text = control_failed(code, error, &len);

	if (text && send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		/* It does not listen either. */
	}
	free(text);
	close(fd);
}

bool callers_make_room(struct callers *callers)
{
	uint64_t now = now_msec();
	struct caller *c, *oldest = NULL;

	TAILQ_FOREACH(c, &callers->list, link)
	{
		if (c->now || c->waiting_count > 0)
			continue;
		if (now - c->moved >= IDLE_MSEC) {
			caller_close(c);
			return true;
		}
		if (!oldest || c->whole < oldest->whole)
			oldest = c;
	}
	if (!oldest || now - oldest->whole < TRICKLE_MSEC)
		return false;
	caller_close(oldest);
	return true;
}

void callers_post(struct callers *callers, struct post *post)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&callers->lock);
	post->next = NULL;
	*callers->posts_end = post;
	callers->posts_end = &post->next;
	/* Within the lock: what it belongs to ends once the last post was
	 * taken. */
	if (write(callers->wake_fd, &one, sizeof(one)) < 0) {
		/* It is full, so somebody is about to look. */
	}
	pthread_mutex_unlock(&callers->lock);
}

static void deliver(struct post *post)
{
	struct call *call = post->call;
	struct caller *c = call->caller;
	bool last = post->last;

	if (c && (last || evbuffer_get_length(c->out) == 0))
		queue(c, post->text, post->len);
	else
		free(post->text);
	if (last) {
		call_free(call); /* and the post */
		if (c) {
			c->now = NULL;
			c->whole = now_msec();
		}
	} else {
		atomic_fetch_sub(&call->progress, 1);
		free(post);
	}
	if (c)
		settle(c);
}

void callers_deliver(struct callers *callers)
{
	struct post *post, *next;

	pthread_mutex_lock(&callers->lock);
	post = callers->posts;
	callers->posts = NULL;
	callers->posts_end = &callers->posts;
	pthread_mutex_unlock(&callers->lock);
	for (; post; post = next) {
		next = post->next;
		deliver(post);
	}
}

void callers_tick(struct callers *callers)
{
	uint64_t now = now_msec();
	struct caller *c, *next;

	TAILQ_FOREACH_SAFE(c, &callers->list, link, next)
	{
		if (has_gone(c)) {
			caller_close(c);
		} else if (evbuffer_get_length(c->out) > 0 &&
			   now - c->moved >= UNREAD_MSEC) {
			log_warning("control: a client does not read its "
				    "answer; it is let go");
			caller_close(c);
		}
	}
}

void callers_close(struct callers *callers)
{
	struct caller *c;

	while ((c = TAILQ_FIRST(&callers->list)))
		caller_close(c);
}
