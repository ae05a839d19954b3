/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast the store alone is, and against what: bare memcpy over an area of
 * the same size in the same random order, in the same run, taking turns.
 *
 * Each measurement is repeated, the median of all rounds is judged (for ratios
 * the median of the rounds' ratios), and the middle 80 % are shown beside it, so
 * that noise can be seen. Everything is touched before anything is measured. */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "parse.h"
#include "store.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define ROUNDS_MAX 101

static struct {
	unsigned rounds;
	uint64_t area;	   /* bytes of a random access area */
	uint64_t accesses; /* in one round */
	uint64_t full;	   /* bytes of the disk that is cloned */
	uint64_t opened;   /* bytes that a pool holds when it is opened */
	const char *tmpfs;
} options = {
	.rounds = 15,
	.area = 512 * MIB,
	.accesses = 200000,
	.full = 16 * GIB,
	.opened = 8 * GIB,
	.tmpfs = "/dev/shm",
};

static unsigned missed;

static void die(const char *what, int rc)
{
	fprintf(stderr, "store-bench: %s: %s\n", what, strerror(rc));
	exit(1);
}

static void must(const char *what, int64_t rc)
{
	if (rc < 0)
		die(what, (int)-rc);
}

static double clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pin(unsigned cpu)
{
	cpu_set_t all, one;
	int at = -1;

	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		return;
	/* The cpu-th of those that we may use. */
	for (unsigned i = 0; i <= cpu % (unsigned)CPU_COUNT(&all); i++)
		while (++at < CPU_SETSIZE && !CPU_ISSET(at, &all))
			;
	CPU_ZERO(&one);
	CPU_SET(at, &one);
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

/* ----------------------------------------------------------------- results */

struct series {
	unsigned count;
	double value[ROUNDS_MAX];
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const struct series *s, double q)
{
	double sorted[ROUNDS_MAX];

	memcpy(sorted, s->value, s->count * sizeof(sorted[0]));
	qsort(sorted, s->count, sizeof(sorted[0]), compare);
	return sorted[(unsigned)(q * (s->count - 1) + 0.5)];
}

static void add(struct series *s, double value)
{
	s->value[s->count++] = value;
}

static void row(const char *name, const struct series *s, const char *unit,
		const char *goal, double most, double least)
{
	double median = quantile(s, 0.5);
	bool good = median <= most && median >= least;

	printf("%-42s %10.3f %-8s %9.3f %9.3f  %-9s %s\n", name, median, unit,
	       quantile(s, 0.1), quantile(s, 0.9), goal,
	       *goal ? good ? "yes" : "NO" : "");
	fflush(stdout);
	missed += *goal && !good;
}

#define NO_GOAL "", 1e300, -1e300

/* ------------------------------------------------------------------- random */

/* Block numbers, the same for the store and for memcpy. */
static uint32_t *order;

static void order_make(void)
{
	uint64_t z = 88172645463325252;

	order = malloc(options.accesses * sizeof(*order));
	if (!order)
		die("memory", ENOMEM);
	for (uint64_t i = 0; i < options.accesses; i++) {
		z ^= z << 13;
		z ^= z >> 7;
		z ^= z << 17;
		order[i] = (uint32_t)(z % (options.area / RAM_BLOCK));
	}
}

/* --------------------------------------------------- one access, all ways */

struct job {
	struct ram_disk *disk;
	struct ram_thread *thread;
	uint8_t *area;	   /* for memcpy */
	uint8_t *buf;	   /* one block */
	uint64_t from, to; /* in order[] */
	unsigned cpu;
	double took; /* ns of wall time for one access */
	void (*run)(struct job *job);
	pthread_barrier_t *start;
};

static void run_view(struct job *j)
{
	struct ram_view view;

	for (uint64_t i = j->from; i < j->to; i++) {
		must("view",
		     ram_disk_view(j->disk, j->thread, RAM_BLOCK,
				   (uint64_t)order[i] * RAM_BLOCK, &view));
		ram_view_release(&view, j->thread);
	}
}

static void run_read(struct job *j)
{
	for (uint64_t i = j->from; i < j->to; i++)
		must("read",
		     ram_disk_read(j->disk, j->thread, j->buf, RAM_BLOCK,
				   (uint64_t)order[i] * RAM_BLOCK));
}

static void run_write(struct job *j)
{
	for (uint64_t i = j->from; i < j->to;) {
		int64_t n = ram_disk_write(j->disk, j->thread, j->buf,
					   RAM_BLOCK,
					   (uint64_t)order[i] * RAM_BLOCK);

		if (n == -EAGAIN) {
			must("wait", ram_wait(j->thread, 10000));
			continue;
		}
		must("write", n);
		i++;
	}
}

/* Not inlined away: the copies have no other effect. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static void run_copy_out(struct job *j)
{
	for (uint64_t i = j->from; i < j->to; i++)
		copy(j->buf, j->area + (uint64_t)order[i] * RAM_BLOCK,
		     RAM_BLOCK);
}

static void run_copy_in(struct job *j)
{
	for (uint64_t i = j->from; i < j->to; i++)
		copy(j->area + (uint64_t)order[i] * RAM_BLOCK, j->buf,
		     RAM_BLOCK);
}

static void *run_job(void *arg)
{
	struct job *j = arg;
	double wall;

	pin(j->cpu);
	if (j->start)
		pthread_barrier_wait(j->start);
	wall = clock_ns(CLOCK_MONOTONIC);
	j->run(j);
	j->took =
		(clock_ns(CLOCK_MONOTONIC) - wall) / (double)(j->to - j->from);
	return NULL;
}

/* Accesses per microsecond of two threads together. */
static double run_two(struct job jobs[2], void (*run)(struct job *job))
{
	pthread_barrier_t start;
	pthread_t threads[2];
	double rate = 0;

	pthread_barrier_init(&start, NULL, 2);
	for (unsigned i = 0; i < 2; i++) {
		jobs[i].run = run;
		jobs[i].start = &start;
		jobs[i].cpu = i;
		jobs[i].from = i * options.accesses / 2;
		jobs[i].to = (i + 1) * options.accesses / 2;
		if (pthread_create(&threads[i], NULL, run_job, &jobs[i]) != 0)
			die("pthread_create", EAGAIN);
	}
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		rate += 1000 / jobs[i].took;
	}
	pthread_barrier_destroy(&start);
	return rate;
}

/* Processor time of one access, with what the housekeeper does meanwhile: what
 * it frees for a writer is part of the price. */
static double run_one(struct job *j, void (*run)(struct job *job))
{
	double begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	j->run = run;
	j->start = NULL;
	j->cpu = 0;
	j->from = 0;
	j->to = options.accesses;
	run_job(j);
	return (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) /
	       (double)options.accesses;
}

/* -------------------------------------------------------------- pool, disks */

/* A pool that holds so much: landing is the larger of 64 MiB and 1/64, tables
 * are 1/512, and freed blocks on their way back need some room. */
static uint64_t room_for(uint64_t size)
{
	return size + size / 32 + 256 * MIB;
}

static struct ram_pool *open_pool(uint64_t size, const char *path)
{
	struct ram_pool_config config = {
		.size = size,
		.warm = RAM_DEFAULT,
		.path = path,
	};
	struct ram_pool *pool;
	struct ram_why why = {""};

	if (ram_pool_open(&config, &pool, &why) != 0) {
		fprintf(stderr, "store-bench: %s\n", why.text);
		exit(1);
	}
	return pool;
}

static struct ram_disk *make_disk(struct ram_pool *pool, const char *name,
				  uint64_t size)
{
	struct ram_disk_spec spec = {
		.name = name,
		.size = size,
		.state = RAM_WHOLE,
	};
	struct ram_disk *disk;

	must("create", ram_disk_create(pool, &spec, &disk));
	return disk;
}

static void fill_disk(struct ram_disk *disk, struct ram_thread *thread,
		      uint64_t size)
{
	static uint8_t piece[MIB];

	for (uint64_t off = 0; off < size;) {
		int64_t n;

		memset(piece, (int)(off >> 20) | 1, sizeof(piece));
		n = ram_disk_write(disk, thread, piece,
				   min_u64(sizeof(piece), size - off), off);
		if (n == -EAGAIN) {
			must("wait", ram_wait(thread, 10000));
			continue;
		}
		must("write", n);
		off += (uint64_t)n;
	}
}

static void touch_views(struct ram_disk *disk, struct ram_thread *thread,
			uint64_t size)
{
	static uint8_t block[RAM_BLOCK];

	for (uint64_t off = 0; off < size; off += RAM_BLOCK)
		must("read",
		     ram_disk_read(disk, thread, block, RAM_BLOCK, off));
}

/* ------------------------------------------------------------- measurements */

static void random_access(void)
{
	struct series view = {0}, read = {0}, write = {0}, out = {0}, in = {0};
	struct series read_ratio = {0}, write_ratio = {0};
	struct series read_gain = {0}, write_gain = {0};
	struct ram_pool *pool =
		open_pool(options.area + options.area / 2, NULL);
	struct ram_thread *threads[2];
	struct ram_disk *disk;
	struct job jobs[2];
	uint8_t *area;

	order_make();
	area = mmap(NULL, options.area, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (area == MAP_FAILED)
		die("mmap", errno);
	memset(area, 3, options.area);
	must("start", ram_pool_start(pool));
	memset(jobs, 0, sizeof(jobs));
	for (unsigned i = 0; i < 2; i++) {
		must("join", ram_pool_join(pool, NULL, NULL, &threads[i]));
		jobs[i].thread = threads[i];
		jobs[i].area = area;
		jobs[i].buf = aligned_alloc(RAM_BLOCK, RAM_BLOCK);
		if (!jobs[i].buf)
			die("memory", ENOMEM);
		memset(jobs[i].buf, (int)i + 1, RAM_BLOCK);
	}
	disk = make_disk(pool, "disk", options.area);
	jobs[0].disk = jobs[1].disk = disk;
	pin(0);
	fill_disk(disk, threads[0], options.area);
	touch_views(disk, threads[0], options.area);
	/* Once through all, unmeasured. */
	run_one(&jobs[0], run_write);
	run_one(&jobs[0], run_read);
	run_one(&jobs[0], run_copy_out);

	for (unsigned r = 0; r < options.rounds; r++) {
		double store, bare, one, two;

		/* What the writers of the last round left to be done is no part
		 * of reading. */
		ram_pool_tidy(pool);
		add(&view, run_one(&jobs[0], run_view));

		/* Which of the two goes first changes from round to round. */
		if (r & 1) {
			store = run_one(&jobs[0], run_read);
			bare = run_one(&jobs[0], run_copy_out);
		} else {
			bare = run_one(&jobs[0], run_copy_out);
			store = run_one(&jobs[0], run_read);
		}
		add(&read, store);
		add(&out, bare);
		add(&read_ratio, store / bare);

		if (r & 1) {
			store = run_one(&jobs[0], run_write);
			bare = run_one(&jobs[0], run_copy_in);
		} else {
			bare = run_one(&jobs[0], run_copy_in);
			store = run_one(&jobs[0], run_write);
		}
		add(&write, store);
		add(&in, bare);
		add(&write_ratio, store / bare);

		one = 1000 / (run_one(&jobs[0], run_read), jobs[0].took);
		two = run_two(jobs, run_read);
		store = two / one;
		one = 1000 / (run_one(&jobs[0], run_copy_out), jobs[0].took);
		two = run_two(jobs, run_copy_out);
		add(&read_gain, store / (two / one));

		one = 1000 / (run_one(&jobs[0], run_write), jobs[0].took);
		two = run_two(jobs, run_write);
		store = two / one;
		one = 1000 / (run_one(&jobs[0], run_copy_in), jobs[0].took);
		two = run_two(jobs, run_copy_in);
		add(&write_gain, store / (two / one));
	}
	row("view and release, 4 KiB random", &view, "ns", "< 300", 300, 0);
	row("ram_disk_read, 4 KiB random", &read, "ns", NO_GOAL);
	row("memcpy out of an area as large", &out, "ns", NO_GOAL);
	row("  read / memcpy", &read_ratio, "", "<= 1.15", 1.15, 0);
	row("ram_disk_write, 4 KiB random", &write, "ns", NO_GOAL);
	row("memcpy into an area as large", &in, "ns", NO_GOAL);
	row("  write / memcpy", &write_ratio, "", "<= 1.6", 1.6, 0);
	row("two threads: gain of reads / of memcpy", &read_gain, "", ">= 0.95",
	    1e300, 0.95);
	row("two threads: gain of writes / of memcpy", &write_gain, "",
	    ">= 0.95", 1e300, 0.95);

	ram_disk_put(disk);
	for (unsigned i = 0; i < 2; i++) {
		ram_pool_leave(threads[i]);
		free(jobs[i].buf);
	}
	ram_pool_close(pool);
	munmap(area, options.area);
	free(order);
}

static void first_write(void)
{
	struct series cpu = {0}, wall = {0};
	uint64_t size = options.area;

	for (unsigned r = 0; r < options.rounds / 3 + 1; r++) {
		struct ram_pool *pool = open_pool(room_for(size), NULL);
		struct ram_thread *thread;
		struct ram_disk *disk;
		double begin_cpu, begin;

		must("start", ram_pool_start(pool));
		must("join", ram_pool_join(pool, NULL, NULL, &thread));
		disk = make_disk(pool, "disk", size);
		begin = clock_ns(CLOCK_MONOTONIC);
		begin_cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		fill_disk(disk, thread, size);
		add(&wall, (clock_ns(CLOCK_MONOTONIC) - begin) / 1e9 *
				   (double)GIB / (double)size);
		add(&cpu, (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu) /
				  1e9 * (double)GIB / (double)size);
		ram_disk_put(disk);
		ram_pool_leave(thread);
		ram_pool_close(pool);
	}
	row("first write, 1 MiB pieces, wall", &wall, "s/GiB", NO_GOAL);
	row("first write, all threads' processor time", &cpu, "s/GiB", NO_GOAL);
}

static void clone_full(void)
{
	struct series wall = {0}, gone = {0};
	struct ram_pool *pool =
		open_pool(options.full + options.full / 16, NULL);
	struct ram_thread *thread;
	struct ram_disk *disk;
	char name[80];

	must("start", ram_pool_start(pool));
	must("join", ram_pool_join(pool, NULL, NULL, &thread));
	disk = make_disk(pool, "disk", options.full);
	fill_disk(disk, thread, options.full);
	for (unsigned r = 0; r < options.rounds; r++) {
		struct ram_disk_spec spec = {
			.name = "clone",
			.state = RAM_WHOLE,
		};
		struct ram_disk *clone;
		double begin = clock_ns(CLOCK_MONOTONIC);

		must("clone", ram_disk_clone(disk, &spec, 0, &clone));
		add(&wall, (clock_ns(CLOCK_MONOTONIC) - begin) / 1e6);
		begin = clock_ns(CLOCK_MONOTONIC);
		must("delete", ram_disk_delete(clone));
		ram_disk_put(clone);
		add(&gone, (clock_ns(CLOCK_MONOTONIC) - begin) / 1e6);
	}
	snprintf(name, sizeof(name), "clone of a full disk of %llu MiB",
		 (unsigned long long)(options.full / MIB));
	row(name, &wall, "ms", "< 1", 1, 0);
	row("delete of that clone", &gone, "ms", NO_GOAL);
	ram_disk_put(disk);
	ram_pool_leave(thread);
	ram_pool_close(pool);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static char folder[4096];

static void remove_folder(void)
{
	if (*folder)
		nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void open_held(void)
{
	struct series wall = {0}, cpu = {0};
	struct ram_pool *pool;
	struct ram_thread *thread;
	struct ram_disk *disk;
	char name[80];

	snprintf(folder, sizeof(folder), "%s/store-bench-XXXXXX",
		 options.tmpfs);
	if (!mkdtemp(folder)) {
		*folder = '\0';
		die(options.tmpfs, errno);
	}
	atexit(remove_folder);
	pool = open_pool(room_for(options.opened), folder);
	must("join", ram_pool_join(pool, NULL, NULL, &thread));
	disk = make_disk(pool, "disk", options.opened);
	fill_disk(disk, thread, options.opened);
	ram_disk_put(disk);
	ram_pool_leave(thread);
	ram_pool_close(pool);
	for (unsigned r = 0; r < options.rounds; r++) {
		double begin = clock_ns(CLOCK_MONOTONIC);
		double begin_cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

		pool = open_pool(room_for(options.opened), folder);
		add(&wall, (clock_ns(CLOCK_MONOTONIC) - begin) / 1e6);
		add(&cpu,
		    (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu) / 1e6);
		ram_pool_close(pool);
	}
	snprintf(name, sizeof(name), "open of a pool that holds %llu MiB",
		 (unsigned long long)(options.opened / MIB));
	row(name, &wall, "ms", "< 50", 50, 0);
	row("  of that, processor time", &cpu, "ms", NO_GOAL);
	remove_folder();
	*folder = '\0';
}

static void usage(FILE *to)
{
	fprintf(to,
		"usage: store-bench [--quick] [--access] [--rounds N]\n"
		"                   [--area SIZE] [--size SIZE] [--open SIZE]\n"
		"                   [--tmpfs DIR]\n"
		"  --quick        a few rounds, small disks: for a first "
		"look;\n"
		"                 what depends on the size proves nothing\n"
		"  --rounds N     how often to measure (15; at most %d)\n"
		"  --area SIZE    area of random accesses (512M)\n"
		"  --size SIZE    the full disk that is cloned (16G)\n"
		"  --open SIZE    what the pool holds that is opened (8G)\n"
		"  --access       random accesses only\n"
		"  --tmpfs DIR    where its folder is made (/dev/shm)\n",
		ROUNDS_MAX);
}

static uint64_t size_option(const char *text)
{
	uint64_t size;

	if (parse_size(text, &size) != 0 || size < 16 * MIB) {
		fprintf(stderr, "store-bench: %s: not a size of at least 16M\n",
			text);
		exit(2);
	}
	return size / MIB * MIB;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"quick", no_argument, NULL, 'q'},
		{"rounds", required_argument, NULL, 'r'},
		{"area", required_argument, NULL, 'a'},
		{"size", required_argument, NULL, 's'},
		{"open", required_argument, NULL, 'o'},
		{"tmpfs", required_argument, NULL, 't'},
		{"access", no_argument, NULL, 'x'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	bool only_access = false;
	int option;

	while ((option = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (option) {
		case 'q':
			options.rounds = 5;
			options.area = 128 * MIB;
			options.accesses = 50000;
			options.full = GIB;
			options.opened = GIB;
			break;
		case 'r':
			options.rounds = (unsigned)strtoul(optarg, NULL, 10);
			if (options.rounds < 1 || options.rounds > ROUNDS_MAX) {
				usage(stderr);
				return 2;
			}
			break;
		case 'a':
			options.area = size_option(optarg);
			break;
		case 's':
			options.full = size_option(optarg);
			break;
		case 'o':
			options.opened = size_option(optarg);
			break;
		case 't':
			options.tmpfs = optarg;
			break;
		case 'x':
			only_access = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	printf("%-42s %10s %-8s %9s %9s  %-9s %s\n", "", "median", "", "10 %",
	       "90 %", "goal", "met");
	random_access();
	if (!only_access) {
		first_write();
		clone_full();
		open_held();
	}
	if (missed)
		printf("%u goals were missed\n", missed);
	return missed ? 1 : 0;
}
