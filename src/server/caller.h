/* SPDX-License-Identifier: BSD-3-Clause */
/* One connection of the control socket: lines in, one command at a time, lines
 * out. All functions are the main thread's, but for the one that says so. */
#ifndef NBDRAM_SERVER_CALLER_H
#define NBDRAM_SERVER_CALLER_H

#include <event2/buffer.h>
#include <event2/event.h>
#include <sys/queue.h>

#include "commands.h"
#include "control.h"
#include "jobs.h"

/* Connections at a time; more wait until one has ended. */
#define CALLERS_MOST 64

/* How often callers are looked at, in milliseconds. */
#define CALLERS_TICK_MSEC 500

struct caller;
TAILQ_HEAD(caller_list, caller);

/* A line on its way from a command's thread to its caller. */
struct post {
	struct post *next;
	struct call *call;
	char *text;
	size_t len;
	bool last; /* the call is over */
};

struct callers {
	struct server *server; /* fixed, as the next two */
	struct event_base *base;
	struct jobs *jobs;
	struct caller_list list; /* longest idle first */
	unsigned count;

	pthread_mutex_t lock;
	struct post *posts, **posts_end; /* guarded by lock */
	int wake_fd;			 /* eventfd: there are some */
};

/* Take an accepted socket over, from somebody who may command. */
void caller_new(struct callers *callers, int fd);

/* One line to somebody who is let go at once: at most what the socket takes. */
void caller_refuse(int fd, const char *code, const char *error);

/* Close the one that has been idle for longest, if it has been for a while; or
 * the one whose last whole line is longest ago. False: there is none. */
bool callers_make_room(struct callers *callers);

/* Bring posts to their callers. */
void callers_deliver(struct callers *callers);

/* Look who does not take answers, or has gone. */
void callers_tick(struct callers *callers);

/* Close all; what they had running is cancelled. */
void callers_close(struct callers *callers);

/* Any thread: a line for whoever made the call. Takes text over. After the last
 * one the call is the main thread's again. */
void callers_post(struct callers *callers, struct post *post);

#endif
