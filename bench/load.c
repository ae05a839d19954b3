/* SPDX-License-Identifier: BSD-3-Clause */
/* Load on an NBD export by libnbd, and what it costs the server.
 *
 *   load [OPTION]... URI     (-h lists them)
 *
 * One thread keeps `depth` requests in flight on each connection. At the end
 * one line is printed, fields divided by tabs:
 *
 *   requests  seconds  bytes  server CPU ns per request  server CPU s per GiB
 *
 * Processor time of the server is read from its process clock: to the
 * nanosecond, all threads, also those that have ended. The first requests,
 * which find caches cold and threads asleep, are sent before it is read. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libnbd.h>

#include "check.h"
#include "parse.h"

#define CONNECTIONS_MAX 64
#define DEPTH_MAX 256

enum mode {
	RANDREAD,
	RANDWRITE,
	READ,
	WRITE,
};
static const char *const mode_names[] = {"randread", "randwrite", "read",
					 "write"};

static struct {
	enum mode mode;
	uint64_t block;
	uint64_t range; /* bytes of the disk that are used; 0: all */
	unsigned depth;
	unsigned connections;
	double seconds; /* 0: once over the range */
	double warmup;	/* seconds before counting begins */
	pid_t pid;	/* server; 0: its time is not told */
} options = {
	.mode = RANDREAD,
	.block = 4096,
	.depth = 64,
	.connections = 1,
	.seconds = 2,
	.warmup = 0.2,
};

struct connection;

struct slot {
	struct connection *connection;
	void *buffer;
};

struct connection {
	struct nbd_handle *handle;
	struct slot slots[DEPTH_MAX];
	struct slot *idle[DEPTH_MAX];
	unsigned idle_count;
	unsigned in_flight;
};

static struct connection connections[CONNECTIONS_MAX];
static uint64_t next_block, blocks; /* of the range, in units of block */
static uint64_t sent, done;
static uint64_t seed = 88172645463325252u;

static void die(const char *what)
{
	const char *why = nbd_get_error();

	fprintf(stderr, "load: %s: %s\n", what, why ? why : strerror(errno));
	exit(1);
}

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		die("clock");
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static int request_done(void *data, int *error)
{
	struct slot *slot = data;
	struct connection *c = slot->connection;

	if (*error) {
		fprintf(stderr, "load: a request failed: %s\n",
			strerror(*error));
		exit(1);
	}
	done++;
	c->in_flight--;
	c->idle[c->idle_count++] = slot;
	return 1; /* nothing more to ask libnbd about it */
}

static void send_one(struct connection *c)
{
	struct slot *slot = c->idle[--c->idle_count];
	nbd_completion_callback callback = {
		.callback = request_done,
		.user_data = slot,
	};
	bool at_random = options.mode == RANDREAD || options.mode == RANDWRITE;
	bool writing = options.mode == RANDWRITE || options.mode == WRITE;
	uint64_t at = at_random ? random_number() % blocks
				: next_block++ % blocks;
	int64_t r;

	c->in_flight++;
	sent++;
	if (writing)
		r = nbd_aio_pwrite(c->handle, slot->buffer, options.block,
				   at * options.block, callback, 0);
	else
		r = nbd_aio_pread(c->handle, slot->buffer, options.block,
				  at * options.block, callback, 0);
	if (r < 0)
		die("request");
}

/* One turn: fill up what may be in flight, unless `until` requests were sent;
 * then wait for sockets and let libnbd work. */
static void turn(uint64_t until)
{
	struct pollfd fds[CONNECTIONS_MAX];

	for (unsigned i = 0; i < options.connections; i++) {
		struct connection *c = &connections[i];
		unsigned direction;

		while (c->idle_count > 0 && sent < until)
			send_one(c);
		direction = nbd_aio_get_direction(c->handle);
		fds[i] = (struct pollfd){
			.fd = c->in_flight ? nbd_aio_get_fd(c->handle) : -1,
		};
		if (direction & LIBNBD_AIO_DIRECTION_READ)
			fds[i].events |= POLLIN;
		if (direction & LIBNBD_AIO_DIRECTION_WRITE)
			fds[i].events |= POLLOUT;
	}
	if (poll(fds, options.connections, -1) < 0 && errno != EINTR)
		die("poll");
	for (unsigned i = 0; i < options.connections; i++) {
		struct nbd_handle *h = connections[i].handle;
		unsigned direction = nbd_aio_get_direction(h);

		if ((fds[i].revents & (POLLIN | POLLHUP | POLLERR)) &&
		    (direction & LIBNBD_AIO_DIRECTION_READ)) {
			if (nbd_aio_notify_read(h) < 0)
				die("read");
		} else if ((fds[i].revents & POLLOUT) &&
			   (direction & LIBNBD_AIO_DIRECTION_WRITE)) {
			if (nbd_aio_notify_write(h) < 0)
				die("write");
		}
	}
}

static void open_connection(struct connection *c, const char *uri)
{
	c->handle = nbd_create();
	if (!c->handle || nbd_connect_uri(c->handle, uri) < 0)
		die(uri);
	for (unsigned i = 0; i < options.depth; i++) {
		void *buffer;

		if (posix_memalign(&buffer, 4096, options.block) != 0)
			die("no memory");
		/* No zeroes, and no two blocks alike. */
		for (uint64_t j = 0; j < options.block / 8; j++)
			((uint64_t *)buffer)[j] = random_number();
		c->slots[i] = (struct slot){c, buffer};
		c->idle[c->idle_count++] = &c->slots[i];
	}
}

static void usage(FILE *to)
{
	fprintf(to,
		"load [-m randread|randwrite|read|write] [-b BLOCK] "
		"[-d DEPTH]\n"
		"     [-c CONNECTIONS] [-r RANGE] [-t SECONDS (0: once over "
		"the range)]\n"
		"     [-w SECONDS to warm up] [-p PID of the server] URI\n");
}

static void read_options(int argc, char **argv)
{
	uint64_t number;
	int o;

	while ((o = getopt(argc, argv, "m:b:d:c:r:t:w:p:h")) != -1) {
		bool bad = false;

		switch (o) {
		case 'm':
			bad = true;
			for (unsigned i = 0; i < ARRAY_SIZE(mode_names); i++) {
				if (strcmp(optarg, mode_names[i]) == 0) {
					options.mode = (enum mode)i;
					bad = false;
				}
			}
			break;
		case 'b':
			bad = parse_size(optarg, &options.block) < 0 ||
			      options.block == 0 || options.block > 32 << 20;
			break;
		case 'd':
			bad = parse_size(optarg, &number) < 0 || number == 0 ||
			      number > DEPTH_MAX;
			options.depth = (unsigned)number;
			break;
		case 'c':
			bad = parse_size(optarg, &number) < 0 || number == 0 ||
			      number > CONNECTIONS_MAX;
			options.connections = (unsigned)number;
			break;
		case 'r':
			bad = parse_size(optarg, &options.range) < 0;
			break;
		case 't':
			options.seconds = atof(optarg);
			break;
		case 'w':
			options.warmup = atof(optarg);
			break;
		case 'p':
			options.pid = atoi(optarg);
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
		if (bad) {
			fprintf(stderr, "load: -%c %s: not a value for it\n", o,
				optarg);
			exit(2);
		}
	}
	if (optind != argc - 1) {
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	double begin, seconds, cpu = 0;
	uint64_t first, count, bytes;
	clockid_t clock = CLOCK_MONOTONIC;
	int64_t size;

	read_options(argc, argv);
	if (options.pid && clock_getcpuclockid(options.pid, &clock) != 0)
		die("no such server process");
	for (unsigned i = 0; i < options.connections; i++)
		open_connection(&connections[i], argv[optind]);
	size = nbd_get_size(connections[0].handle);
	if (size < 0)
		die("size");
	if (!options.range || options.range > (uint64_t)size)
		options.range = (uint64_t)size;
	blocks = options.range / options.block;
	if (blocks == 0) {
		fprintf(stderr, "load: the disk is smaller than one block\n");
		return 1;
	}

	if (options.seconds > 0) {
		begin = seconds_of(CLOCK_MONOTONIC);
		while (seconds_of(CLOCK_MONOTONIC) - begin < options.warmup)
			turn(UINT64_MAX);
	}
	first = done;
	if (options.pid)
		cpu = seconds_of(clock);
	begin = seconds_of(CLOCK_MONOTONIC);
	if (options.seconds > 0) {
		while (seconds_of(CLOCK_MONOTONIC) - begin < options.seconds)
			turn(UINT64_MAX);
	} else {
		while (done < blocks)
			turn(blocks);
	}
	seconds = seconds_of(CLOCK_MONOTONIC) - begin;
	if (options.pid)
		cpu = seconds_of(clock) - cpu;
	count = done - first;
	bytes = count * options.block;
	printf("%" PRIu64 "\t%.3f\t%" PRIu64 "\t%.0f\t%.4f\n", count, seconds,
	       bytes, cpu / (double)count * 1e9,
	       cpu / (double)bytes * (1 << 30));
	while (done < sent)
		turn(0);
	for (unsigned i = 0; i < options.connections; i++) {
		nbd_shutdown(connections[i].handle, 0);
		nbd_close(connections[i].handle);
	}
	return 0;
}
