/* SPDX-License-Identifier: BSD-3-Clause */
/* Load on an NBD export, and what it costs the server.
 *
 *   load [OPTION]... HOST:PORT | unix:PATH     (-h lists them)
 *
 * One thread keeps `depth` requests in flight on each connection. It is lean on
 * purpose: many replies are taken by one system call and many requests sent by
 * one, so that the server is what is slow; a client that spends 30 us on each
 * request shows nothing of a server that needs 3.
 *
 * At the end one line is printed, fields divided by tabs:
 *
 *   requests  seconds  bytes  server CPU ns per request  server CPU s per GiB
 *   client CPU ns per request
 *
 * Processor time of the server is read from its process clock: to the
 * nanosecond, all threads, also those that have ended, and its child processes
 * of that moment. The first requests, which find caches cold and threads asleep,
 * are sent before it is read.
 *
 * With -m connect: opens the connections, -d at a time in the handshake, prints
 *
 *   connections  seconds  server CPU ns per connection
 *
 * and holds them until its standard input ends. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "dial.h"
#include "nbd.h"
#include "parse.h"

#define CONNECTIONS_MAX 20000
#define DEPTH_MAX 256
#define PROCESSES_MAX 128
#define EVENTS_MAX 64

/* One receive: all replies of 4 KiB at depth 64, and small enough to stay in a
 * cache of the processor. */
#define INPUT (320u << 10)

enum mode {
	RANDREAD,
	RANDWRITE,
	READ,
	WRITE,
	CONNECT,
};
static const char *const mode_names[] = {"randread", "randwrite", "read",
					 "write", "connect"};

static struct {
	enum mode mode;
	uint64_t block;
	uint64_t range; /* bytes of the disk that are used; 0: all */
	unsigned depth;
	unsigned connections;
	double seconds; /* 0: once over the range */
	double warmup;	/* seconds before counting begins */
	pid_t pid;	/* server; 0: its time is not told */
	const char *export;
} options = {
	.mode = RANDREAD,
	.block = 4096,
	.depth = 64,
	.connections = 1,
	.seconds = 2,
	.warmup = 0.2,
	.export = "",
};

struct connection {
	struct dial dial;
	unsigned in_flight;
	bool wants_room; /* EPOLLOUT is armed */

	/* Requests that are not yet sent whole: a ring, the first of them from
	 * byte `sent` on. */
	struct nbd_request ring[DEPTH_MAX];
	unsigned ring_first, ring_count;
	uint64_t sent;

	/* The reply that is arriving. */
	uint8_t head[sizeof(struct nbd_simple_reply)];
	unsigned head_have;
	uint64_t payload_left;
};

static struct connection *connections;
static int epoll_fd;
static uint8_t *payload; /* of all writes */
static uint8_t input[INPUT];
static uint64_t next_block, blocks; /* of the range, in units of block */
static uint64_t asked, done, until = UINT64_MAX;
static uint64_t seed = 88172645463325252u;
static clockid_t processes[PROCESSES_MAX];
static unsigned process_count;

/* ----------------------------------------------------------------- clocks */

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) < 0)
		die("clock of a process", strerror(errno));
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double now(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

/* The clocks of this process and of those that it has forked. */
static void find_processes(pid_t pid)
{
	char path[64];
	FILE *children;
	int child;

	if (process_count == PROCESSES_MAX)
		die("server", "too many processes");
	if (clock_getcpuclockid(pid, &processes[process_count++]) != 0)
		die("server", "no such process");
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	children = fopen(path, "r");
	while (children && fscanf(children, "%d", &child) == 1)
		find_processes(child);
	if (children)
		fclose(children);
}

static double server_cpu(void)
{
	double sum = 0;

	for (unsigned i = 0; i < process_count; i++)
		sum += seconds_of(processes[i]);
	return sum;
}

/* ---------------------------------------------------------------- sending */

static uint64_t random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static bool writing(void)
{
	return options.mode == RANDWRITE || options.mode == WRITE;
}

static void ask_one(struct connection *c)
{
	bool at_random = options.mode == RANDREAD || options.mode == RANDWRITE;
	uint64_t at = at_random ? random_number() % blocks
				: next_block++ % blocks;
	struct nbd_request *r =
		&c->ring[(c->ring_first + c->ring_count++) % DEPTH_MAX];

	*r = (struct nbd_request){
		.magic = htobe32(NBD_REQUEST_MAGIC),
		.type = htobe16(writing() ? NBD_CMD_WRITE : NBD_CMD_READ),
		.cookie = asked++,
		.offset = htobe64(at * options.block),
		.length = htobe32(options.block),
	};
	c->in_flight++;
}

/* All requests of the ring, less what was sent of the first. */
static int gather(struct connection *c, struct iovec *iov)
{
	uint64_t skip = c->sent;
	int n = 0;

	for (unsigned i = 0; i < c->ring_count; i++) {
		struct nbd_request *r =
			&c->ring[(c->ring_first + i) % DEPTH_MAX];
		uint64_t part = min_u64(skip, sizeof(*r));

		if (part < sizeof(*r))
			iov[n++] = (struct iovec){(uint8_t *)r + part,
						  sizeof(*r) - part};
		skip -= part;
		if (writing())
			iov[n++] = (struct iovec){payload + skip,
						  options.block - skip};
		skip = 0;
	}
	return n;
}

static void arm(struct connection *c, bool room)
{
	struct epoll_event e = {
		.events = EPOLLIN | (room ? EPOLLOUT : 0),
		.data.ptr = c,
	};

	if (room == c->wants_room)
		return;
	c->wants_room = room;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->dial.fd, &e) < 0)
		die("epoll", strerror(errno));
}

/* Fill up what may be in flight, and send what the socket takes. */
static void push(struct connection *c)
{
	static struct iovec iov[2 * DEPTH_MAX];
	uint64_t whole =
		sizeof(struct nbd_request) + (writing() ? options.block : 0);
	struct msghdr msg = {.msg_iov = iov};
	ssize_t n;

	while (c->in_flight < options.depth && asked < until)
		ask_one(c);
	if (c->ring_count > 0) {
		msg.msg_iovlen = gather(c, iov);
		n = sendmsg(c->dial.fd, &msg, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			die("send", strerror(errno));
		for (c->sent += n > 0 ? n : 0; c->sent >= whole;
		     c->sent -= whole) {
			c->ring_first = (c->ring_first + 1) % DEPTH_MAX;
			if (--c->ring_count == 0)
				break;
		}
		if (c->ring_count == 0)
			c->sent = 0;
	}
	arm(c, c->ring_count > 0);
}

/* -------------------------------------------------------------- receiving */

static void reply_done(struct connection *c)
{
	if (c->in_flight == 0)
		die("reply", "to no request");
	c->in_flight--;
	c->head_have = 0;
	done++;
}

static void use_head(struct connection *c)
{
	const struct nbd_simple_reply *r = (void *)c->head;

	if (be32toh(r->magic) != NBD_SIMPLE_REPLY_MAGIC)
		die("reply", "is none");
	if (r->error)
		die("a request failed", strerror(be32toh(r->error)));
	if (!writing())
		c->payload_left = options.block;
	else
		reply_done(c);
}

static void use_input(struct connection *c, const uint8_t *at, size_t n)
{
	while (n > 0) {
		size_t part;

		if (c->payload_left > 0) {
			part = min_u64(n, c->payload_left);
			c->payload_left -= part;
			if (c->payload_left == 0)
				reply_done(c);
		} else {
			part = min_u64(n, sizeof(c->head) - c->head_have);
			memcpy(c->head + c->head_have, at, part);
			c->head_have += part;
			if (c->head_have == sizeof(c->head))
				use_head(c);
		}
		at += part;
		n -= part;
	}
}

static void pull(struct connection *c)
{
	ssize_t n = recv(c->dial.fd, input, sizeof(input), 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		die("receive", n < 0 ? strerror(errno) : "hung up on");
	use_input(c, input, n);
}

static void turn(void)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(epoll_fd, events, EVENTS_MAX, -1);

	if (n < 0 && errno != EINTR)
		die("epoll", strerror(errno));
	for (int i = 0; i < n; i++) {
		struct connection *c = events[i].data.ptr;

		if (events[i].events & ~EPOLLOUT)
			pull(c);
		push(c);
	}
}

/* ------------------------------------------------------------ connections */

static void begin_connection(struct connection *c)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};

	dial_begin(&c->dial);
	c->wants_room = dial_connecting(&c->dial);
	if (c->wants_room)
		e.events |= EPOLLOUT;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->dial.fd, &e) < 0)
		die("epoll", strerror(errno));
}

/* Open all, `most` of them in the handshake at a time. */
static void open_connections(unsigned most)
{
	struct epoll_event events[EVENTS_MAX];
	unsigned begun = 0, open = 0;

	while (open < options.connections) {
		int n;

		while (begun < options.connections && begun - open < most)
			begin_connection(&connections[begun++]);
		n = epoll_wait(epoll_fd, events, EVENTS_MAX, -1);
		for (int i = 0; i < n; i++) {
			struct connection *c = events[i].data.ptr;

			open += dial_go_on(&c->dial);
			arm(c, dial_connecting(&c->dial));
		}
	}
}

static void close_connections(void)
{
	const struct nbd_request bye = {
		.magic = htobe32(NBD_REQUEST_MAGIC),
		.type = htobe16(NBD_CMD_DISC),
	};

	for (unsigned i = 0; i < options.connections; i++) {
		if (send(connections[i].dial.fd, &bye, sizeof(bye),
			 MSG_NOSIGNAL) < 0) {
			/* It has hung up first. */
		}
		close(connections[i].dial.fd);
	}
}

/* ---------------------------------------------------------------- options */

static void usage(FILE *to)
{
	fprintf(to,
		"load [-m randread|randwrite|read|write|connect] [-b BLOCK] "
		"[-d DEPTH]\n"
		"     [-c CONNECTIONS] [-r RANGE] [-t SECONDS (0: once over "
		"the range)]\n"
		"     [-w SECONDS to warm up] [-p PID of the server] [-e "
		"EXPORT]\n"
		"     HOST:PORT | unix:PATH\n");
}

static bool set_mode(const char *text)
{
	for (unsigned i = 0; i < ARRAY_SIZE(mode_names); i++) {
		if (strcmp(text, mode_names[i]) == 0) {
			options.mode = (enum mode)i;
			return true;
		}
	}
	return false;
}

static bool set_count(const char *text, uint64_t most, unsigned *value)
{
	uint64_t number;

	if (parse_size(text, &number) < 0 || number == 0 || number > most)
		return false;
	*value = (unsigned)number;
	return true;
}

static void read_options(int argc, char **argv)
{
	int o;

	while ((o = getopt(argc, argv, "m:b:d:c:r:t:w:p:e:h")) != -1) {
		bool good = true;

		switch (o) {
		case 'm':
			good = set_mode(optarg);
			break;
		case 'b':
			good = parse_size(optarg, &options.block) == 0 &&
			       options.block > 0 && options.block <= 32 << 20;
			break;
		case 'd':
			good = set_count(optarg, DEPTH_MAX, &options.depth);
			break;
		case 'c':
			good = set_count(optarg, CONNECTIONS_MAX,
					 &options.connections);
			break;
		case 'r':
			good = parse_size(optarg, &options.range) == 0;
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
		case 'e':
			options.export = optarg;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
		if (!good) {
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

/* ------------------------------------------------------------------- runs */

static void make_payload(void)
{
	void *memory;

	if (posix_memalign(&memory, 4096, round_up(options.block, 8)) != 0)
		die("payload", "no memory");
	payload = memory;
	/* No zeroes. */
	for (uint64_t i = 0; i < div_up(options.block, 8); i++)
		((uint64_t *)memory)[i] = random_number();
}

static void run_connect(void)
{
	double cpu = server_cpu(), begin = now(), seconds;
	char byte;

	open_connections(options.depth);
	seconds = now() - begin;
	/* Children that were forked meanwhile would be missing. */
	cpu = server_cpu() - cpu;
	printf("%u\t%.4f\t%.0f\n", options.connections, seconds,
	       cpu / options.connections * 1e9);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

static void turns_for(double seconds)
{
	double begin = now();

	while (now() - begin < seconds)
		turn();
}

static void run_load(void)
{
	double begin, seconds, cpu, own;
	uint64_t first, count, bytes;
	unsigned i;

	open_connections(options.connections);
	process_count = 0;
	if (options.pid)
		find_processes(options.pid);
	if (!options.range || options.range > connections[0].dial.size)
		options.range = connections[0].dial.size;
	blocks = options.range / options.block;
	if (blocks == 0)
		die("the disk", "is smaller than one block");
	if (options.seconds <= 0)
		until = blocks;

	for (i = 0; i < options.connections && options.seconds > 0; i++)
		push(&connections[i]);
	if (options.seconds > 0)
		turns_for(options.warmup);
	first = done;
	cpu = server_cpu();
	own = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	begin = now();
	for (i = 0; i < options.connections && options.seconds <= 0; i++)
		push(&connections[i]);
	if (options.seconds > 0)
		turns_for(options.seconds);
	while (options.seconds <= 0 && done < until)
		turn();
	seconds = now() - begin;
	cpu = server_cpu() - cpu;
	own = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - own;
	count = done - first;
	bytes = count * options.block;
	printf("%" PRIu64 "\t%.3f\t%" PRIu64 "\t%.0f\t%.4f\t%.0f\n", count,
	       seconds, bytes, cpu / (double)count * 1e9,
	       cpu / (double)bytes * (1 << 30), own / (double)count * 1e9);
	until = 0;
	while (done < asked)
		turn();
}

int main(int argc, char **argv)
{
	read_options(argc, argv);
	connections = calloc(options.connections, sizeof(*connections));
	if (!connections)
		die("connections", "no memory");
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		die("epoll", strerror(errno));
	if (options.pid)
		find_processes(options.pid);
	make_payload();
	dial_to(argv[optind], options.export);
	if (options.mode == CONNECT)
		run_connect();
	else
		run_load();
	close_connections();
	return 0;
}
