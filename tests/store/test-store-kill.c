/* SPDX-License-Identifier: BSD-3-Clause */
/* kill -9 at random moments, again and again on one pool: several writers, a
 * thread that clones, deletes and grows, and the housekeeper are at work.
 * Reopened, everything that was acknowledged is there, what was on its way is
 * old or new for each block, and snapshots are what they were. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util.h"
#include "filewalk.h"

#define POOL_SIZE (32 * MIB)
#define WRITERS 3
#define SECTOR 512u
#define SECTORS (BLOCK_SIZE / SECTOR) /* in a block */

/* Blocks in use: three areas, two of them where tables meet. */
#define AREA_BLOCKS 168u
#define AREAS 3u
#define BLOCKS (AREA_BLOCKS * AREAS)
#define CHUNK 7u /* neighbouring blocks of one writer */
static const uint64_t area_at[AREAS] = {
	0,
	2 * MIB - AREA_BLOCKS / 2 * BLOCK_SIZE,
	GIB - AREA_BLOCKS / 2 * BLOCK_SIZE,
};
#define SIZE_FIRST (GIB + 2 * MIB)

#define SNAPSHOTS 4

enum snap_state {
	SNAP_NONE,
	SNAP_MAKING,
	SNAP_MADE,
	SNAP_HASHED,
	SNAP_ENDING
};

struct snap {
	_Atomic unsigned state;
	unsigned serial;
	uint64_t hash;
};

/* A version is a number that grows, times two, plus one if it is a trim. */
struct shared {
	_Atomic uint32_t begun[BLOCKS][SECTORS];
	_Atomic uint32_t acked[BLOCKS][SECTORS];
	_Atomic uint64_t size_begun, size_acked;
	_Atomic uint64_t acks; /* of any kind */
	unsigned serial;
	struct snap snap[SNAPSHOTS];
};

static struct shared *shared;
static struct ram_pool *the_pool;
static unsigned generation; /* of children */

static uint64_t block_at(unsigned block)
{
	return area_at[block / AREA_BLOCKS] +
	       (uint64_t)(block % AREA_BLOCKS) * BLOCK_SIZE;
}

static void sector_fill(uint8_t *to, unsigned block, unsigned sector,
			uint32_t version)
{
	if (version == 0 || version & 1)
		memset(to, 0, SECTOR);
	else
		fill_pattern(to, SECTOR,
			     (uint64_t)version << 32 | block * SECTORS |
				     sector);
}

/* ------------------------------------------------------------------- child */

struct writer {
	struct env env;
	struct ram_disk *disk;
	struct rng rng;
	unsigned number;
};

static void *write_thread(void *arg)
{
	static const unsigned chunks = BLOCKS / CHUNK;
	struct writer *w = arg;
	uint8_t buf[CHUNK * BLOCK_SIZE];

	for (;;) {
		unsigned chunk =
			(unsigned)rng_below(&w->rng, chunks / WRITERS) *
				WRITERS +
			w->number;
		unsigned first = (unsigned)rng_below(&w->rng, CHUNK * SECTORS);
		unsigned n = 1 + (unsigned)rng_below(&w->rng,
						     CHUNK * SECTORS - first);
		bool trim = rng_chance(&w->rng, 25);
		uint64_t off = block_at(chunk * CHUNK) + first * SECTOR;
		uint32_t version = 0;

		/* Whole blocks more often than chance would have it. */
		if (rng_chance(&w->rng, 40)) {
			first = first / SECTORS * SECTORS;
			n = max_u64(n / SECTORS, 1) * SECTORS;
			off = block_at(chunk * CHUNK) + first * SECTOR;
		}
		for (unsigned s = first; s < first + n; s++)
			version = (uint32_t)max_u64(
				version,
				shared->begun[chunk * CHUNK + s / SECTORS]
					     [s % SECTORS]);
		version = (version / 2 + 1) * 2 + trim;
		for (unsigned s = first; s < first + n; s++) {
			unsigned block = chunk * CHUNK + s / SECTORS;

			shared->begun[block][s % SECTORS] = version;
			sector_fill(buf + (s - first) * SECTOR, block,
				    s % SECTORS, version);
		}
		if (trim)
			CHECK_RC(env_zero(&w->env, w->disk, n * SECTOR, off,
					  rng_chance(&w->rng, 20) ? RAM_KEEP
								  : 0),
				 0);
		else
			CHECK_RC(env_write(&w->env, w->disk, buf, n * SECTOR,
					   off, NULL),
				 0);
		for (unsigned s = first; s < first + n; s++)
			shared->acked[chunk * CHUNK + s / SECTORS]
				     [s % SECTORS] = version;
		shared->acks++;
	}
	return NULL;
}

static uint64_t hash_disk(struct env *env, struct ram_disk *disk)
{
	static uint64_t buf[AREA_BLOCKS * BLOCK_SIZE / 8];
	uint64_t hash = 1;

	for (unsigned area = 0; area < AREAS; area++) {
		CHECK_RC(env_read(env, disk, buf, sizeof(buf), area_at[area]),
			 0);
		for (unsigned i = 0; i < ARRAY_SIZE(buf); i++)
			hash = (hash ^ buf[i]) * UINT64_C(0x100000001b3);
	}
	return hash ^ ram_disk_size(disk);
}

static void snap_name(char *name, size_t size, unsigned serial)
{
	snprintf(name, size, "snapshot-%u", serial);
}

/* A snapshot has each sector not older than what was acknowledged before it was
 * taken, and not newer than what was begun after. */
static void snap_check(struct env *env, struct ram_disk *disk,
		       uint32_t (*from)[SECTORS])
{
	uint8_t got[BLOCK_SIZE], want[SECTOR];

	for (unsigned block = 0; block < BLOCKS; block++) {
		CHECK_RC(env_read(env, disk, got, BLOCK_SIZE, block_at(block)),
			 0);
		for (unsigned s = 0; s < SECTORS; s++) {
			uint32_t to = shared->begun[block][s];
			uint32_t version = from[block][s] / 2;
			bool found = false;

			for (; version <= to / 2 && !found; version++) {
				sector_fill(want, block, s, version * 2);
				found = memcmp(want, got + s * SECTOR,
					       SECTOR) == 0;
			}
			/* a trim, somewhere in between */
			sector_fill(want, block, s, 0);
			found = found ||
				memcmp(want, got + s * SECTOR, SECTOR) == 0;
			if (!found)
				FAIL("block %u sector %u of a snapshot is none "
				     "of versions %u to %u",
				     block, s, from[block][s] / 2, to / 2);
		}
	}
}

static void snap_step(struct env *env, struct ram_disk *disk, struct rng *rng)
{
	static uint32_t from[BLOCKS][SECTORS];
	struct snap *snap = &shared->snap[rng_below(rng, SNAPSHOTS)];
	struct ram_disk *taken;
	char name[32];

	if (snap->state == SNAP_NONE) {
		snap->serial = ++shared->serial;
		snap_name(name, sizeof(name), snap->serial);
		for (unsigned b = 0; b < BLOCKS; b++)
			for (unsigned s = 0; s < SECTORS; s++)
				from[b][s] = shared->acked[b][s];
		snap->state = SNAP_MAKING;
		taken = env_clone(disk, name, RAM_SNAPSHOT);
		snap->state = SNAP_MADE;
		snap->hash = hash_disk(env, taken);
		snap->state = SNAP_HASHED;
		if (rng_chance(rng, 20))
			snap_check(env, taken, from);
		ram_disk_put(taken);
	} else {
		snap_name(name, sizeof(name), snap->serial);
		taken = env_disk(env, name);
		snap->state = SNAP_ENDING;
		env_delete(taken);
		snap->state = SNAP_NONE;
	}
	shared->acks++;
}

static void *clone_thread(void *arg)
{
	struct writer *w = arg;

	for (;;) {
		uint64_t size = shared->size_acked;

		if (rng_chance(&w->rng, 80)) {
			snap_step(&w->env, w->disk, &w->rng);
			continue;
		}
		size += 1 + rng_below(&w->rng, 3 * BLOCK_SIZE);
		shared->size_begun = size;
		CHECK_RC(ram_disk_resize(w->disk, size), 0);
		shared->size_acked = size;
	}
	return NULL;
}

static void child(const char *folder, int ready)
{
	static struct writer writers[WRITERS + 1];
	struct env env;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	env_open(&env, folder, POOL_SIZE, 2 * MIB);
	the_pool = env.pool;
	env_keeper(&env);
	for (unsigned i = 0; i <= WRITERS; i++) {
		struct writer *w = &writers[i];

		w->env.pool = env.pool;
		w->env.keeper = true;
		CHECK_RC(ram_pool_join(env.pool, NULL, NULL, &w->env.thread),
			 0);
		w->number = i;
		w->rng = rng_make(1000 + generation * 10 + i);
		w->disk = env_disk(&env, "disk");
		CHECK(pthread_create(&thread, NULL,
				     i < WRITERS ? write_thread : clone_thread,
				     w) == 0);
	}
	if (write(ready, "x", 1) != 1)
		_exit(2);
	for (;;)
		pause();
}

/* ------------------------------------------------------------------ parent */

/* Every sector is what was acknowledged last or what was begun; those begun in
 * one block by one call are all the one or all the other. */
static void verify_block(struct env *env, struct ram_disk *disk, unsigned block)
{
	uint8_t got[BLOCK_SIZE], old[SECTOR], new[SECTOR];
	int side = -1; /* of those on their way: 0 old, 1 new */

	CHECK_RC(env_read(env, disk, got, BLOCK_SIZE, block_at(block)), 0);
	for (unsigned s = 0; s < SECTORS; s++) {
		uint32_t acked = shared->acked[block][s];
		uint32_t begun = shared->begun[block][s];
		const uint8_t *is = got + s * SECTOR;
		bool is_old, is_new;

		sector_fill(old, block, s, acked);
		sector_fill(new, block, s, begun);
		is_old = memcmp(is, old, SECTOR) == 0;
		is_new = memcmp(is, new, SECTOR) == 0;
		if (!is_old && !is_new)
			FAIL("kill %u: block %u sector %u (at %#llx) is "
			     "neither version %u nor %u",
			     generation, block, s,
			     (unsigned long long)block_at(block) + s * SECTOR,
			     acked, begun);
		if (is_old != is_new) {
			if (acked != begun && side == is_old)
				FAIL("kill %u: block %u is torn at sector %u "
				     "(versions %u and %u)",
				     generation, block, s, acked, begun);
			if (acked != begun)
				side = is_new;
		}
		shared->acked[block][s] = is_new ? begun : acked;
	}
	/* From now on it is what it is. (Both at once are the same bytes.) */
	for (unsigned s = 0; s < SECTORS; s++)
		shared->begun[block][s] = shared->acked[block][s];
}

static void verify_snap(struct env *env, struct snap *snap)
{
	struct ram_disk *disk = NULL;
	char name[32];
	int rc;

	if (snap->serial == 0)
		return;
	snap_name(name, sizeof(name), snap->serial);
	rc = ram_disk_open(env->pool, name, &disk);
	if (rc != -ENOENT)
		CHECK_RC(rc, 0);
	switch ((unsigned)snap->state) {
	case SNAP_NONE:
		if (disk)
			FAIL("kill %u: deleted %s is back", generation, name);
		break;
	case SNAP_MADE:
	case SNAP_HASHED:
		if (!disk)
			FAIL("kill %u: %s is lost", generation, name);
		break;
	default:
		break;
	}
	if (disk) {
		uint64_t hash = hash_disk(env, disk);

		CHECK(ram_disk_readonly(disk));
		if ((snap->state == SNAP_HASHED ||
		     snap->state == SNAP_ENDING) &&
		    hash != snap->hash)
			FAIL("kill %u: %s has changed", generation, name);
		snap->hash = hash;
		snap->state = SNAP_HASHED;
	} else {
		snap->state = SNAP_NONE;
	}
	ram_disk_put(disk);
}

static void verify(const char *folder)
{
	unsigned expected = 1, seen = 0;
	struct ram_disk *disk;
	struct ram_usage usage;
	uint64_t cursor = 0, size;
	struct filewalk walk;
	struct env env;
	char *file = test_pool_file(folder);

	CHECK(file);
	if (!filewalk_read(file, &walk))
		FAIL("kill %u: the file is unsound: %s", generation,
		     walk.error);
	filewalk_free(&walk);
	env_open(&env, folder, POOL_SIZE, 0);
	env_check(&env);
	disk = env_disk(&env, "disk");
	size = ram_disk_size(disk);
	CHECK(size == shared->size_acked || size == shared->size_begun);
	shared->size_acked = shared->size_begun = size;
	for (unsigned block = 0; block < BLOCKS; block++)
		verify_block(&env, disk, block);
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		verify_snap(&env, &shared->snap[i]);
		expected += shared->snap[i].state != SNAP_NONE;
	}
	ram_disk_put(disk);
	while (ram_disk_next(env.pool, &cursor, &disk) == 0) {
		ram_disk_put(disk);
		seen++;
	}
	CHECK_U64(seen, expected);
	ram_pool_tidy(env.pool);
	env_check(&env);
	usage = env_usage(&env);
	env_close(&env);

	if (!filewalk_read(file, &walk))
		FAIL("kill %u: the file is unsound: %s", generation,
		     walk.error);
	if (usage.held < walk.reached * BLOCK_SIZE ||
	    usage.held > (walk.reached + 2) * BLOCK_SIZE)
		FAIL("kill %u: held is %llu blocks, a walk finds %llu",
		     generation, (unsigned long long)(usage.held / BLOCK_SIZE),
		     (unsigned long long)walk.reached);
	filewalk_free(&walk);
	free(file);
}

static void one_kill(const char *folder, struct rng *rng)
{
	struct timespec pause = {0, 0};
	int ends[2], status;
	char byte;
	pid_t pid;

	CHECK(pipe(ends) == 0);
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		close(ends[0]);
		child(folder, ends[1]);
	}
	close(ends[1]);
	/* The moment is random: often under load, sometimes while it opens. */
	if (rng_chance(rng, 90)) {
		if (read(ends[0], &byte, 1) != 1)
			FAIL("kill %u: the child did not come up", generation);
		pause.tv_nsec = (long)rng_below(rng, 30000000);
	} else {
		pause.tv_nsec = (long)rng_below(rng, 3000000);
	}
	nanosleep(&pause, NULL);
	close(ends[0]);
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		FAIL("kill %u: the child ended with status %#x", generation,
		     status);
}

int main(void)
{
	struct rng rng;
	struct env env;
	uint64_t kills;
	char *folder;

	test_begin("test-store-kill");
	kills = test_count(300, 20);
	rng = rng_make(30);
	folder = test_folder();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	shared->size_begun = shared->size_acked = SIZE_FIRST;
	env_open(&env, folder, POOL_SIZE, 0);
	ram_disk_put(env_create(&env, "disk", SIZE_FIRST));
	env_close(&env);

	test_part("%llu kills", (unsigned long long)kills);
	for (generation = 1; generation <= kills; generation++) {
		one_kill(folder, &rng);
		verify(folder);
	}
	printf("%llu operations were acknowledged, %u snapshots taken\n",
	       (unsigned long long)shared->acks, shared->serial);
	CHECK(shared->acks > kills);
	munmap(shared, sizeof(*shared));
	free(folder);
	return test_end();
}
