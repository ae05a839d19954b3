/* SPDX-License-Identifier: BSD-3-Clause */
/* One RAM disk, served by nbdkit.
 *
 * nbdkit does everything that has to do with clients; this file turns its
 * callbacks into calls of the store and says in words what the store says in
 * numbers. Four things are worth knowing:
 *
 *   Life. Parameters are looked at in .config and .config_complete, the pool is
 *   opened and the disk found or made in .get_ready: all that can fail does so
 *   where the user still sees it. nbdkit may fork afterwards, so the pool's
 *   housekeeper starts in .after_fork. --help and --dump-plugin make no pool.
 *
 *   Places. The store wants a registration of each thread, and nbdkit has
 *   sixteen threads for each connection, perhaps thousands in all, of which few
 *   are inside a call at one time. So there is a fixed number of registrations,
 *   and a call borrows one for as long as it takes (see "places" below).
 *
 *   Disks. All connections have the one disk, or, with clone=per-connection,
 *   each a copy-on-write clone of it, which is made in .open and is gone after
 *   .close; then nobody writes to the disk itself. The handle of a connection
 *   is its disk.
 *
 *   Waiting. The store never blocks; it answers -EAGAIN. Here is where waiting
 *   happens, at most WAIT_MAX in all for one request. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "check.h"
#include "cleanup.h"
#include "files.h"
#include "parse.h"
#include "store.h"

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

/* The name of the disk inside its pool: the one that nbdramd gives to a disk
 * made on its command line, so that either opens the other's pool. */
#define DISK_NAME "default"

/* Name of the file that holds the pool, inside its folder. */
#define POOL_FILE "pool"

/* The longest request that is announced, and that nbdkit takes. */
#define REQUEST_MAX (64u << 20)

/* How long one request waits for memory, in all. Long enough for a trim or a
 * delete to give some back; short enough for a client to notice: its kernel
 * takes an error as final, so waiting comes first. */
#define WAIT_MAX UINT64_C(5000000000) /* ns */

/* Most extents looked up for one request, so that a disk in small pieces does
 * not hold up one thread for long; the client asks on from there. */
#define EXTENTS_MAX 16384

/* ------------------------------------------------------------ parameters */

/* As given; set before .config_complete, fixed afterwards. */
static struct {
	uint64_t size; /* 0: not given */
	uint64_t memory;
	bool alloc_given;
	bool fixed;
	bool clones;  /* each connection has one of its own */
	char *folder; /* absolute; NULL: anonymous memory */
	uint64_t headroom;
	enum ram_pages hugepages;
	bool lock;
	int numa; /* as in struct ram_pool_config */
} given = {.memory = RAM_DEFAULT, .headroom = RAM_DEFAULT};

/* What is served; fixed from .get_ready on. */
static struct ram_pool *pool;
static struct ram_disk *disk;
static char description[128];

#define SIZE_TEXT 32

/* A size as it would be given: "16G", "1000003". buf has SIZE_TEXT bytes. */
static const char *size_text(uint64_t size, char *buf)
{
	static const char suffix[] = {0, 'K', 'M', 'G', 'T', 'P', 'E'};
	unsigned i = 0;

	while (size && size % 1024 == 0 && i + 1 < ARRAY_SIZE(suffix)) {
		size /= 1024;
		i++;
	}
	snprintf(buf, SIZE_TEXT, "%" PRIu64 "%.1s", size, &suffix[i]);
	return buf;
}

static int config_size(const char *key, const char *value, uint64_t *size)
{
	switch (parse_size(value, size)) {
	case 0:
		return 0;
	case -ERANGE:
		nbdkit_error("%s=%s: more than the largest size, 2^63 - 1 bytes"
			     " (just under 8E)",
			     key, value);
		return -1;
	default:
		nbdkit_error(
			"%s=%s: not a size; write a number of bytes or one "
			"with a suffix: 1048576, 512M, 16G, 2T",
			key, value);
		return -1;
	}
}

static int config_disk(const char *key, const char *value)
{
	char text[SIZE_TEXT];
	uint64_t size;

	if (strcmp(key, "size") == 0) {
		if (given.size) {
			nbdkit_error("size=%s: a size was given before; give "
				     "one",
				     value);
			return -1;
		}
		if (config_size(key, value, &size) < 0)
			return -1;
		if (size == 0) {
			nbdkit_error("size=%s: a disk has at least one byte",
				     value);
			return -1;
		}
		given.size = size;
	} else if (strcmp(key, "memory") == 0) {
		if (config_size(key, value, &size) < 0)
			return -1;
		if (size < RAM_POOL_MIN || size > RAM_POOL_MAX) {
			nbdkit_error(
				"memory=%s: %s this can be is %s", value,
				size < RAM_POOL_MIN ? "the least" : "the most",
				size_text(size < RAM_POOL_MIN ? RAM_POOL_MIN
							      : RAM_POOL_MAX,
					  text));
			return -1;
		}
		given.memory = size;
	} else if (strcmp(key, "alloc") == 0) {
		given.alloc_given = true;
		if (strcmp(value, "fixed") == 0) {
			given.fixed = true;
		} else if (strcmp(value, "thin") == 0) {
			given.fixed = false;
		} else {
			nbdkit_error("alloc=%s: not known; thin takes memory "
				     "as data is written, fixed guarantees all "
				     "of it from the start",
				     value);
			return -1;
		}
	} else if (strcmp(key, "clone") == 0) {
		if (strcmp(value, "per-connection") != 0) {
			nbdkit_error("clone=%s: not known; per-connection "
				     "gives each client a copy of the disk for "
				     "itself, for as long as it is connected",
				     value);
			return -1;
		}
		given.clones = true;
	} else if (strcmp(key, "pool") == 0) {
		if (!value[0]) {
			nbdkit_error("pool=: name the folder that keeps the "
				     "disk, or leave pool= out");
			return -1;
		}
		free(given.folder);
		given.folder = nbdkit_absolute_path(value);
		if (!given.folder)
			return -1;
	} else {
		nbdkit_error("unknown parameter '%s'; there are size, image, "
			     "save, alloc, memory, pool, clone, headroom, "
			     "hugepages, lock and numa",
			     key);
		return -1;
	}
	return 0;
}

static int config_hugepages(const char *value)
{
	if (strcmp(value, "no") == 0) {
		given.hugepages = RAM_PAGES_SMALL;
	} else if (strcmp(value, "2M") == 0) {
		given.hugepages = RAM_PAGES_2M;
	} else if (strcmp(value, "thp") == 0) {
		given.hugepages = RAM_PAGES_THP;
	} else {
		nbdkit_error("hugepages=%s: not known; there are no, 2M (which "
			     "the system must have set aside) and thp",
			     value);
		return -1;
	}
	return 0;
}

static int config_numa(const char *value)
{
	uint64_t node;

	if (strcmp(value, "any") == 0) {
		given.numa = RAM_NUMA_ANY;
	} else if (strcmp(value, "interleave") == 0) {
		given.numa = RAM_NUMA_INTERLEAVE;
	} else if (!value[strspn(value, "0123456789")] &&
		   parse_size(value, &node) == 0 && node < 1024) {
		given.numa = RAM_NUMA_NODE((int)node);
	} else {
		nbdkit_error("numa=%s: not known; there are any, interleave "
			     "and the number of a node",
			     value);
		return -1;
	}
	return 0;
}

/* How the pool's memory is to be. 1: it is another parameter. */
static int config_memory(const char *key, const char *value)
{
	if (strcmp(key, "headroom") == 0)
		return config_size(key, value, &given.headroom);
	if (strcmp(key, "hugepages") == 0)
		return config_hugepages(value);
	if (strcmp(key, "numa") == 0)
		return config_numa(value);
	if (strcmp(key, "lock") != 0)
		return 1;
	if (parse_bool(value, &given.lock) == 0)
		return 0;
	nbdkit_error("lock=%s: yes or no is wanted", value);
	return -1;
}

static int ram_config(const char *key, const char *value)
{
	int r = config_memory(key, value);

	if (r > 0)
		r = files_config(key, value);
	return r > 0 ? config_disk(key, value) : r;
}

static int ram_config_complete(void)
{
	if (!given.size && !given.folder && !files_load_given()) {
		nbdkit_error("how large is the disk to be? Give a size, such "
			     "as: nbdkit ram 16G");
		return -1;
	}
	if (given.clones && files_save_given()) {
		nbdkit_error("save=: with clone=per-connection nobody writes "
			     "to the disk itself; leave save= out");
		return -1;
	}
	if (given.clones && given.fixed) {
		nbdkit_error("alloc=fixed: with clone=per-connection nobody "
			     "writes to the disk itself, and its clones take "
			     "memory as they are written; leave alloc= out");
		return -1;
	}
	return 0;
}

#define ram_config_help                                                        \
	"[size=]<SIZE>          (required, unless pool= holds a disk, or "     \
	"there\n"                                                              \
	"                       is an image) Size of the disk: 512M, 16G, "    \
	"2T\n"                                                                 \
	"image=<FILE>           Load a new disk from this file, raw or .zst\n" \
	"save=<FILE>            Save the disk to this file at the end, and "   \
	"load a\n"                                                             \
	"                       new one from it if it is there\n"              \
	"alloc=thin|fixed       Take memory as data is written (default), "    \
	"or\n"                                                                 \
	"                       guarantee all of it from the start\n"          \
	"memory=<SIZE>          Most memory that may be used (default: what\n" \
	"                       the host can spare)\n"                         \
	"pool=<FOLDER>          Keep the disk in this folder, best on a "      \
	"tmpfs,\n"                                                             \
	"                       so that it outlives nbdkit\n"                  \
	"clone=per-connection   Each client gets a copy of the disk for "      \
	"itself,\n"                                                            \
	"                       which is dropped when it disconnects\n"        \
	"headroom=<SIZE>        Memory that is left to the host\n"             \
	"hugepages=no|2M|thp    Huge pages: of 2 MiB that were set aside, "    \
	"or\n"                                                                 \
	"                       transparent ones\n"                            \
	"lock=yes|no            Never swap its memory\n"                       \
	"numa=any|interleave|N  The node that memory comes from"

static void ram_dump_plugin(void)
{
	printf("ram_block=%u\n", RAM_BLOCK);
	printf("ram_disk_max=%" PRIu64 "\n", (uint64_t)RAM_DISK_MAX);
	printf("ram_pool_min=%" PRIu64 "\n", RAM_POOL_MIN);
	printf("ram_pool_max=%" PRIu64 "\n", RAM_POOL_MAX);
	printf("ram_alloc=thin,fixed\n");
	printf("ram_clone=per-connection\n");
	printf("ram_disk_name=%s\n", DISK_NAME);
}

/* ---------------------------------------------------------------- places */

/* A registration that calls borrow. `busy` is exchanged to take and to give
 * back; nothing else is shared by two threads that find a free one. */
#define PLACES 64

static struct place {
	_Alignas(128) atomic_bool busy; /* two lines: neighbours are fetched */
	struct ram_thread *thread;
} places[PLACES];

/* For the few that find no place, or may not wait in theirs. */
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t places_change = PTHREAD_COND_INITIALIZER;
static atomic_uint places_wanted; /* threads that sleep on places_change */

/* Calls that wait for memory hold at most this many places. The others are for
 * those that give memory back, and for reads. */
#define WAITERS_MAX (PLACES / 2)
static atomic_uint waiters;

static struct place *place_try(void)
{
	/* Where a thread runs is the best guess at which place is free and has
	 * its lines in this processor's cache. (No system call: the kernel
	 * keeps the number where the C library reads it.) */
	unsigned at = (unsigned)sched_getcpu() % PLACES;

	for (unsigned i = 0; i < PLACES; i++) {
		struct place *p = &places[(at + i) % PLACES];

		if (!atomic_load_explicit(&p->busy, memory_order_relaxed) &&
		    !atomic_exchange(&p->busy, true))
			return p;
	}
	return NULL;
}

/* Sleep until a place or a right to wait has come free, or until `until`. */
static void places_sleep(const struct timespec *until)
{
	if (until)
		pthread_cond_clockwait(&places_change, &places_lock,
				       CLOCK_MONOTONIC, until);
	else
		pthread_cond_wait(&places_change, &places_lock);
}

static struct place *place_take(void)
{
	struct place *p = place_try();

	if (p)
		return p;
	pthread_mutex_lock(&places_lock);
	atomic_fetch_add(&places_wanted, 1);
	/* place_give() looks at places_wanted after it has freed its place, and
	 * we look at the places after we have raised it: one sees the other. */
	while (!(p = place_try()))
		places_sleep(NULL);
	atomic_fetch_sub(&places_wanted, 1);
	pthread_mutex_unlock(&places_lock);
	return p;
}

static void places_tell(void)
{
	if (atomic_load(&places_wanted) == 0)
		return;
	pthread_mutex_lock(&places_lock);
	pthread_cond_broadcast(&places_change);
	pthread_mutex_unlock(&places_lock);
}

static void place_give(struct place *p)
{
	atomic_store(&p->busy, false);
	places_tell();
}

/* --------------------------------------------------------------- waiting */

/* One request's dealings with the store. */
struct call {
	struct place *place;
	uint64_t waited; /* ns, of WAIT_MAX */
};

static void call_begin(struct call *c)
{
	c->place = place_take();
	c->waited = 0;
}

static void call_end(struct call *c)
{
	place_give(c->place);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Enough others wait in their places: sleep without one. */
static bool wait_outside(struct call *c, uint64_t begin)
{
	uint64_t end = begin + (WAIT_MAX - c->waited);
	struct timespec until = {
		.tv_sec = (time_t)(end / 1000000000),
		.tv_nsec = (long)(end % 1000000000),
	};

	/* Leave the store's line, for this place is about to serve another
	 * call; unless our turn has come already. */
	if (ram_wait(c->place->thread, 0) == 0)
		return true;
	place_give(c->place);
	pthread_mutex_lock(&places_lock);
	atomic_fetch_add(&places_wanted, 1);
	while (atomic_load(&waiters) >= WAITERS_MAX && now() < end)
		places_sleep(&until);
	atomic_fetch_sub(&places_wanted, 1);
	pthread_mutex_unlock(&places_lock);
	c->place = place_take();
	return now() < end;
}

/* After -EAGAIN: true when the store call is worth repeating, false when the
 * request has waited long enough. The end of a slice of long work wakes before
 * it is waited for, so that what is counted is waiting and nothing else. */
static bool call_again(struct call *c)
{
	uint64_t begin = now(), left = WAIT_MAX - c->waited;
	bool again;

	if (atomic_fetch_add(&waiters, 1) < WAITERS_MAX) {
		again = ram_wait(c->place->thread,
				 (unsigned)div_up(left, 1000000)) == 0;
		atomic_fetch_sub(&waiters, 1);
		places_tell();
	} else {
		atomic_fetch_sub(&waiters, 1);
		again = wait_outside(c, begin);
	}
	c->waited += min_u64(left, now() - begin);
	return again;
}

/* Report a request that failed, and give the client its error. What the disk
 * of a busy client says about a full pool it says often: one line a second. */
static int request_failed(const char *what, uint64_t offset, int err)
{
	static _Atomic uint64_t last;
	uint64_t t = now(), seen = atomic_load(&last);

	if ((seen == 0 || t - seen >= 1000000000) &&
	    atomic_compare_exchange_strong(&last, &seen, t)) {
		if (err == ENOSPC)
			nbdkit_error(
				"%s at %" PRIu64 ": no memory left in the "
				"pool; trim or delete data on the disk, or "
				"start with a larger memory=",
				what, offset);
		else
			nbdkit_error("%s at %" PRIu64 ": %s", what, offset,
				     strerror(err));
	}
	nbdkit_set_error(err);
	return -1;
}

/* ---------------------------------------------------------------- memory */

/* Blocks that a pool of `memory` bytes has for disks: not those for the counts
 * of its blocks (8 bytes each), nor landing, where payloads arrive: a 64th of
 * the pool, at least 64 MiB, but at most an eighth. Only for advice; what
 * counts is the store's own bookkeeping. */
static uint64_t blocks_for_disks(uint64_t memory)
{
	uint64_t all = memory / RAM_BLOCK, limit = all - div_up(all, 512);
	uint64_t landing = max_u64(memory / 64, 64 << 20) / RAM_BLOCK;

	return limit - min_u64(landing, limit / 8);
}

/* The least memory=, in whole MiB, that holds a fixed disk of this size: its
 * data, its tables (one block for 512 below it), and a little for the slot and
 * what leads to it. */
static uint64_t fixed_needs(uint64_t size)
{
	uint64_t blocks = div_up(size, RAM_BLOCK), need = blocks + 16;
	uint64_t least = 1, most = UINT64_C(1) << 43; /* MiB */

	for (unsigned level = 1; level <= 6; level++)
		need += blocks = div_up(blocks, 512);
	while (least < most) {
		uint64_t middle = (least + most) / 2;

		if (blocks_for_disks(middle << 20) >= need)
			most = middle;
		else
			least = middle + 1;
	}
	return least << 20;
}

/* ---------------------------------------------------- pool and disk ready */

/* Was there a pool before we looked? Only for clearer messages and for cleaning
 * up after ourselves; the store looks for itself. */
struct before {
	bool folder;
	bool file;
	char *path; /* of the file; NULL: no pool= */
};

static int look_before(struct before *b)
{
	struct stat st;

	*b = (struct before){0};
	if (!given.folder)
		return 0;
	if (asprintf(&b->path, "%s/%s", given.folder, POOL_FILE) < 0) {
		b->path = NULL;
		nbdkit_error("pool=%s: no memory to start with", given.folder);
		return -1;
	}
	b->folder = lstat(given.folder, &st) == 0;
	b->file = lstat(b->path, &st) == 0;
	return 0;
}

static void close_all(void)
{
	for (unsigned i = 0; i < PLACES; i++) {
		if (places[i].thread)
			ram_pool_leave(places[i].thread);
		places[i].thread = NULL;
	}
	ram_disk_put(disk);
	disk = NULL;
	ram_pool_close(pool);
	pool = NULL;
}

/* Nobody finds it before all of it is there, a restart neither. */
static int load_disk(const char *file)
{
	char need[SIZE_TEXT];
	int r = files_load(file, disk, places[0].thread, given.size);

	if (r < 0)
		return -1;
	if (given.fixed && !given.size) {
		r = ram_disk_promise(disk, true, 0, 0, NULL, NULL);
		if (r == -ENOSPC) {
			nbdkit_error("alloc=fixed: a disk as large as %s "
				     "needs memory=%s",
				     file,
				     size_text(fixed_needs(ram_disk_size(disk)),
					       need));
			return -1;
		}
	}
	if (r == 0)
		r = ram_disk_state(disk, RAM_WHOLE);
	if (r < 0)
		nbdkit_error("cannot make a disk of %s: %s", file,
			     strerror(-r));
	return r;
}

/* Make the disk, which the pool does not hold yet. */
static int make_disk(void)
{
	const char *file = files_source();
	struct ram_disk_spec spec = {
		.name = DISK_NAME,
		.size = given.size ? given.size : 1,
		.fixed = given.fixed && given.size,
		.state = file ? RAM_MAKING : RAM_WHOLE,
	};
	char size[SIZE_TEXT], have[SIZE_TEXT], need[SIZE_TEXT];
	struct ram_usage usage;
	int r;

	size_text(given.size, size);
	r = ram_disk_create(pool, &spec, &disk);
	if (r == 0 && file) {
		r = load_disk(file);
		if (r < 0)
			ram_disk_delete(disk);
		return r;
	}
	if (r == 0)
		return 0;
	if (r == -ENOSPC && given.fixed) {
		ram_pool_usage(pool, &usage);
		nbdkit_error("alloc=fixed: a disk of %s needs memory=%s and "
			     "the pool may have %s; make the disk smaller, "
			     "give it more memory, or take alloc=thin",
			     size, size_text(fixed_needs(given.size), need),
			     size_text(usage.size, have));
	} else {
		nbdkit_error("cannot make a disk of %s: %s", size,
			     strerror(-r));
	}
	return -1;
}

/* Use the disk that the pool holds: as it is, grown, or not at all. */
static int use_disk(void)
{
	char size[SIZE_TEXT], old[SIZE_TEXT], needs[SIZE_TEXT];
	struct ram_disk_info info;
	int r;

	r = ram_disk_info(disk, NULL, 0, &info);
	if (r < 0) {
		nbdkit_error("pool=%s: disk %s: %s", given.folder, DISK_NAME,
			     strerror(-r));
		return -1;
	}
	if (given.alloc_given && given.fixed != info.fixed) {
		nbdkit_error("alloc=%s: the disk in %s is %s and stays so; "
			     "leave alloc= out",
			     given.fixed ? "fixed" : "thin", given.folder,
			     info.fixed ? "fixed" : "thin");
		return -1;
	}
	if (!given.size || given.size == info.size)
		return 0;
	size_text(given.size, size);
	size_text(info.size, old);
	r = ram_disk_resize(disk, given.size);
	if (r == 0) {
		nbdkit_debug("disk %s: %s, was %s", DISK_NAME, size, old);
		return 0;
	}
	if (r == -EBUSY)
		nbdkit_error(
			"size=%s: the disk in %s has %s and data beyond "
			"that size; leave size= out, or trim its end first",
			size, given.folder, old);
	else if (r == -EROFS)
		nbdkit_error("size=%s: the disk in %s is a snapshot of %s and "
			     "never changes; leave size= out",
			     size, given.folder, old);
	else if (r == -ENOSPC)
		nbdkit_error("size=%s: no memory to grow the fixed disk in %s "
			     "from %s; give it more by memory=%s",
			     size, given.folder, old,
			     size_text(fixed_needs(given.size), needs));
	else
		nbdkit_error("size=%s: cannot change the disk in %s from %s: "
			     "%s",
			     size, given.folder, old, strerror(-r));
	return -1;
}

static void say_size(void)
{
	if (files_save_given())
		nbdkit_error("save=: the file is not there yet; say by size= "
			     "how large the disk is to be");
	else
		nbdkit_error("pool=%s: there is no disk in it yet; say by "
			     "size= how large it is to be",
			     given.folder);
}

static int find_disk(void)
{
	int r = ram_disk_open(pool, DISK_NAME, &disk);

	if (r == 0)
		return use_disk();
	if (r != -ENOENT) {
		nbdkit_error("pool=%s: disk %s: %s", given.folder, DISK_NAME,
			     strerror(-r));
		return -1;
	}
	if (!given.size && !files_source()) {
		say_size();
		return -1;
	}
	return make_disk();
}

static int open_places(void)
{
	for (unsigned i = 0; i < PLACES; i++) {
		int r = ram_pool_join(pool, NULL, NULL, &places[i].thread);

		if (r < 0) {
			places[i].thread = NULL;
			nbdkit_error("cannot register with the pool: %s",
				     strerror(-r));
			return -1;
		}
	}
	return 0;
}

/* The uuid tells a client that attaches again whether it is the same disk. */
static void describe(void)
{
	struct ram_disk_info info;
	char hex[2 * sizeof info.uuid + 1];

	if (ram_disk_info(disk, NULL, 0, &info) < 0)
		return;
	for (unsigned i = 0; i < sizeof info.uuid; i++)
		snprintf(hex + 2 * i, 3, "%02x", info.uuid[i]);
	snprintf(description, sizeof description,
		 "RAM disk [uuid=%.8s-%.4s-%.4s-%.4s-%.12s gen=%" PRIu64 "]",
		 hex, hex + 8, hex + 12, hex + 16, hex + 20, info.generation);
	if (info.size % RAM_BLOCK)
		nbdkit_debug("the size, %" PRIu64 " bytes, is no multiple of "
			     "%u: kernel clients will not show the last bytes",
			     info.size, RAM_BLOCK);
}

static int ram_get_ready(void)
{
	struct ram_pool_config config = {
		.size = given.memory,
		.warm = RAM_DEFAULT,
		.headroom = given.headroom,
		.path = given.folder,
		.hugepages = given.hugepages,
		.lock = given.lock,
		.numa = given.numa,
	};
	CLEANUP_FREE char *path = NULL;
	struct before before;
	struct ram_why why;
	int r;

	if (look_before(&before) < 0)
		return -1;
	path = before.path;
	if (!given.size && !before.file && !files_source()) {
		/* Looked at before the folder is made for nothing. */
		say_size();
		return -1;
	}
	why.text[0] = 0;
	r = ram_pool_open(&config, &pool, &why);
	if (r < 0) {
		nbdkit_error("%s", why.text[0] ? why.text : strerror(-r));
		return -1;
	}
	if (open_places() < 0 || find_disk() < 0) {
		/* A pool that was made just now goes again. It is removed while
		 * it is still locked by us: nobody else can have begun with it.
		 */
		if (given.folder && !before.file) {
			unlink(before.path);
			if (!before.folder)
				rmdir(given.folder);
		}
		close_all();
		return -1;
	}
	describe();
	return 0;
}

/* All connections are closed. */
static void ram_cleanup(void)
{
	if (disk)
		files_save(disk, places[0].thread);
	close_all();
}

static int ram_after_fork(void)
{
	int r = ram_pool_start(pool);

	if (r < 0) {
		nbdkit_error("cannot lock memory again, or start the "
			     "housekeeper's thread: %s",
			     strerror(-r));
		return -1;
	}
	return 0;
}

static void ram_unload(void)
{
	close_all();
	files_free();
	free(given.folder);
}

/* ------------------------------------------------------------ negotiation */

/* A clone for one connection, under a name that nobody has. */
static struct ram_disk *clone_disk(void)
{
	static _Atomic uint64_t last;
	char name[32];
	struct ram_disk_spec spec = {.name = name, .state = RAM_TEMPORARY};
	struct ram_disk *clone;
	int r;

	do {
		snprintf(name, sizeof name, "connection %" PRIu64,
			 atomic_fetch_add(&last, 1) + 1);
		r = ram_disk_clone(disk, &spec, 0, &clone);
	} while (r == -EEXIST);
	if (r == 0)
		return clone;
	if (r == -ENOSPC)
		nbdkit_error("clone=per-connection: no memory left in the pool "
			     "for one more; start with a larger memory=");
	else
		nbdkit_error("clone=per-connection: cannot make one: %s",
			     strerror(-r));
	nbdkit_set_error(-r);
	return NULL;
}

static void *ram_open(int readonly)
{
	(void)readonly;
	return given.clones ? clone_disk() : disk;
}

static void ram_close(void *handle)
{
	if (!given.clones)
		return;
	ram_disk_delete(handle);
	ram_disk_put(handle);
}

static int64_t ram_get_size(void *handle)
{
	return (int64_t)ram_disk_size(handle);
}

static const char *ram_export_description(void *handle)
{
	(void)handle;
	return description[0] ? description : NULL;
}

static int ram_block_size(void *handle, uint32_t *minimum, uint32_t *preferred,
			  uint32_t *maximum)
{
	(void)handle;
	*minimum = 1;
	*preferred = RAM_BLOCK;
	*maximum = REQUEST_MAX;
	return 0;
}

static int ram_can_write(void *handle)
{
	return !ram_disk_readonly(handle);
}

/* A write is where it will stay before it is answered, for all connections: so
 * FUA and flush have nothing left to do, and several connections see one disk,
 * unless each is to have its own. */
static int ram_can_fua(void *handle)
{
	(void)handle;
	return NBDKIT_FUA_NATIVE;
}

static int ram_can_multi_conn(void *handle)
{
	(void)handle;
	return !given.clones;
}

static int ram_can_cache(void *handle)
{
	(void)handle;
	return NBDKIT_CACHE_NATIVE;
}

static int ram_can_fast_zero(void *handle)
{
	(void)handle;
	return 1;
}

/* --------------------------------------------------------------- requests */

static int ram_pread(void *handle, void *buf, uint32_t count, uint64_t offset,
		     uint32_t flags)
{
	struct call call;
	int err = 0;

	(void)flags;
	call_begin(&call);
	while (count > 0) {
		int64_t n = ram_disk_read(handle, call.place->thread, buf,
					  count, offset);

		if (n >= 0) {
			buf = (char *)buf + n;
			offset += (uint64_t)n;
			count -= (uint32_t)n;
		} else if (n != -EAGAIN) {
			err = (int)-n;
			break;
		} else if (!call_again(&call)) {
			err = EIO;
			break;
		}
	}
	call_end(&call);
	return err ? request_failed("read", offset, err) : 0;
}

static int ram_pwrite(void *handle, const void *buf, uint32_t count,
		      uint64_t offset, uint32_t flags)
{
	struct call call;
	int err = 0;

	(void)flags; /* NBDKIT_FLAG_FUA: is always so */
	call_begin(&call);
	while (count > 0) {
		int64_t n = ram_disk_write(handle, call.place->thread, buf,
					   count, offset);

		if (n >= 0) {
			buf = (const char *)buf + n;
			offset += (uint64_t)n;
			count -= (uint32_t)n;
		} else if (n != -EAGAIN) {
			err = (int)-n;
			break;
		} else if (!call_again(&call)) {
			err = ENOSPC;
			break;
		}
	}
	call_end(&call);
	return err ? request_failed("write", offset, err) : 0;
}

static int zero_range(const char *what, struct ram_disk *of, uint32_t count,
		      uint64_t offset, unsigned flags)
{
	uint64_t cursor = 0;
	struct call call;
	int err;

	call_begin(&call);
	while ((err = -ram_disk_zero(of, call.place->thread, count, offset,
				     flags, &cursor)) == EAGAIN) {
		if (!call_again(&call)) {
			err = ENOSPC;
			break;
		}
	}
	call_end(&call);
	return err ? request_failed(what, offset, err) : 0;
}

static int ram_trim(void *handle, uint32_t count, uint64_t offset,
		    uint32_t flags)
{
	(void)flags;
	return zero_range("trim", handle, count, offset, 0);
}

/* Making holes is fast, whatever lies there: a fast zero may do that. Without
 * NBDKIT_FLAG_MAY_TRIM memory has to be taken and cleared for each block, which
 * is what writing zeroes does too; who asks for a fast zero then is told at
 * once, and can do what suits it. */
static int ram_zero(void *handle, uint32_t count, uint64_t offset,
		    uint32_t flags)
{
	if (flags & NBDKIT_FLAG_MAY_TRIM)
		return zero_range("zero", handle, count, offset, 0);
	if (flags & NBDKIT_FLAG_FAST_ZERO) {
		nbdkit_set_error(EOPNOTSUPP);
		return -1;
	}
	return zero_range("zero", handle, count, offset, RAM_KEEP);
}

static int ram_flush(void *handle, uint32_t flags)
{
	(void)handle;
	(void)flags;
	return 0;
}

/* What is in memory is cached. A flag that we do not know might ask for more. */
static int ram_cache(void *handle, uint32_t count, uint64_t offset,
		     uint32_t flags)
{
	(void)handle;
	(void)count;
	(void)offset;
	if (flags) {
		nbdkit_error("cache: unknown flags 0x%" PRIx32, flags);
		nbdkit_set_error(EINVAL);
		return -1;
	}
	return 0;
}

static uint32_t extent_type(enum ram_extent_kind kind)
{
	return kind == RAM_HOLE ? NBDKIT_EXTENT_HOLE | NBDKIT_EXTENT_ZERO : 0;
}

/* The store may answer in shorter pieces than there are; nbdkit joins
 * neighbours of one type. With NBDKIT_FLAG_REQ_ONE it reports the first and
 * drops the rest, so looking goes on only to where that one ends. */
static int ram_extents(void *handle, uint32_t count, uint64_t offset,
		       uint32_t flags, struct nbdkit_extents *extents)
{
	uint64_t len = count, off = offset;
	uint32_t first = 0;
	struct call call;
	int err = 0;

	call_begin(&call);
	for (unsigned i = 0; len > 0 && i < EXTENTS_MAX;) {
		struct ram_extent extent;
		uint32_t type;

		err = -ram_disk_extent(handle, call.place->thread, NULL, len,
				       off, 0, &extent);
		if (err == EAGAIN) {
			if (call_again(&call))
				continue;
			err = EIO;
		}
		if (err)
			break;
		type = extent_type(extent.kind);
		if (i == 0)
			first = type;
		else if ((flags & NBDKIT_FLAG_REQ_ONE) && type != first)
			break;
		if (nbdkit_add_extent(extents, off, extent.len, type) < 0) {
			call_end(&call);
			return -1;
		}
		off += extent.len;
		len -= extent.len;
		i++;
	}
	call_end(&call);
	/* Part of an answer is an answer. */
	if (err && off == offset)
		return request_failed("extents", offset, err);
	return 0;
}

static struct nbdkit_plugin plugin = {
	.name = "ram",
	.longname = "nbdram RAM disk",
	.version = PACKAGE_VERSION,
	.description = "A disk in memory that gives back what is trimmed, is "
		       "bounded, and can outlive nbdkit.",
	.unload = ram_unload,
	.dump_plugin = ram_dump_plugin,
	.config = ram_config,
	.config_complete = ram_config_complete,
	.config_help = ram_config_help,
	.magic_config_key = "size",
	.get_ready = ram_get_ready,
	.after_fork = ram_after_fork,
	.cleanup = ram_cleanup,
	.open = ram_open,
	.close = ram_close,
	.get_size = ram_get_size,
	.export_description = ram_export_description,
	.block_size = ram_block_size,
	.can_write = ram_can_write,
	.can_fua = ram_can_fua,
	.can_multi_conn = ram_can_multi_conn,
	.can_cache = ram_can_cache,
	.can_fast_zero = ram_can_fast_zero,
	.pread = ram_pread,
	.pwrite = ram_pwrite,
	.flush = ram_flush,
	.trim = ram_trim,
	.zero = ram_zero,
	.cache = ram_cache,
	.extents = ram_extents,
};

NBDKIT_REGISTER_PLUGIN(plugin)
