/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing a pool. See store.h. */
#include "pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "bounds.h"
#include "check.h"
#include "disk.h"
#include "fault.h"
#include "freemap.h"
#include "keeper.h"
#include "group.h"
#include "rebuild.h"
#include "settings.h"
#include "tree.h"
#include "why.h"

#define WARM_USUAL (UINT64_C(256) << 20)

uint32_t pool_new_owner(struct ram_pool *pool)
{
	uint32_t last = atomic_load(&pool->owners);

	do {
		if (last == OWNER_MAX)
			return 0;
	} while (!atomic_compare_exchange_weak(&pool->owners, &last, last + 1));
	return last + 1;
}

/* ------------------------------------------------------------ superblock */

static int damaged(const struct backing *b, struct ram_why *why,
		   const char *what)
{
	return why_set(why, -EINVAL,
		       "%s/" BACKING_FILE ": %s; it is left as it is: move it "
		       "away to begin a new pool",
		       backing_name(b), what);
}

int pool_super_read(const struct backing *b, uint64_t *blocks,
		    struct ram_why *why)
{
	struct layout_super super;
	char text[200];
	ssize_t got;

	got = pread(b->fd, &super, sizeof(super), 0);
	if (got < 0)
		return why_set(why, -errno, "%s/" BACKING_FILE ": %s",
			       backing_name(b), strerror(errno));
	if (got < (ssize_t)sizeof(super) || super.magic != SUPER_MAGIC)
		return damaged(b, why, "not a pool of nbdram");
	if (super.block_size != BLOCK_SIZE || super.version < LAYOUT_VERSION)
		return damaged(b, why, "its superblock is damaged");
	if (super.version > LAYOUT_VERSION ||
	    super.incompatible & ~(uint64_t)FEATURES_INCOMPATIBLE) {
		snprintf(
			text, sizeof(text),
			"made by a later release (layout %u, features %#llx "
			"that this one does not know)",
			super.version,
			(unsigned long long)(super.incompatible &
					     ~(uint64_t)FEATURES_INCOMPATIBLE));
		return damaged(b, why, text);
	}
	if (super.checksum != super_checksum(&super))
		return damaged(b, why, "its superblock is damaged");
	if (super.blocks > backing_length(b) >> BLOCK_SHIFT) {
		snprintf(text, sizeof(text),
			 "truncated: %llu bytes long and not %llu",
			 (unsigned long long)backing_length(b),
			 (unsigned long long)super.blocks << BLOCK_SHIFT);
		return damaged(b, why, text);
	}
	if (super.blocks < RAM_POOL_MIN / BLOCK_SIZE ||
	    super.blocks > RAM_POOL_MAX / BLOCK_SIZE)
		return damaged(b, why, "its superblock is damaged");
	*blocks = super.blocks;
	return 0;
}

static int super_write(struct ram_pool *pool, struct ram_why *why)
{
	uint8_t block[BLOCK_SIZE] = {0};
	struct layout_super *super = (struct layout_super *)block;

	super->magic = SUPER_MAGIC;
	super->version = LAYOUT_VERSION;
	super->block_size = BLOCK_SIZE;
	super->blocks = pool->backing.blocks;
	super->compatible = FEATURES_COMPATIBLE;
	super->incompatible = FEATURES_INCOMPATIBLE;
	if (getrandom(super->uuid, sizeof(super->uuid), 0) !=
	    sizeof(super->uuid))
		return why_set(why, -EIO, "no random numbers for a uuid");
	super->slots_root = root_make(ENTRY_HOLE, 1);
	super->checksum = super_checksum(super);
	if (backing_write(&pool->backing, block, BLOCK_SUPER, 1))
		return why_set(why, -ENOSPC,
			       "no memory for the first block of the pool");
	return 0;
}

/* ------------------------------------------------------------------ open */

static int check_config(const struct ram_pool_config *config,
			struct ram_why *why)
{
	if (config->size != RAM_DEFAULT &&
	    (config->size < RAM_POOL_MIN || config->size > RAM_POOL_MAX))
		return why_set(why, -EINVAL,
			       "a pool has from %llu to %llu bytes, not %llu",
			       (unsigned long long)RAM_POOL_MIN,
			       (unsigned long long)RAM_POOL_MAX,
			       (unsigned long long)config->size);
	return 0;
}

/* A server that waits for its counts to be swapped in is as slow as one that
 * waits for its data. */
static int lock_counts(struct ram_pool *pool, struct ram_why *why)
{
	return pool->backing.lock
		       ? settings_lock(pool->meta,
				       pool->blocks.total * sizeof(struct meta),
				       why)
		       : 0;
}

int pool_lock(struct ram_pool *pool)
{
	const struct backing *b = &pool->backing;
	int error = 0;

	if (b->lock && !b->huge)
		error = settings_lock(b->base, b->blocks << BLOCK_SHIFT, NULL);
	return error ? error : lock_counts(pool, NULL);
}

/* Volatile state around a mapping of `total` blocks. */
static int make_volatile(struct ram_pool *pool, uint64_t total,
			 struct ram_why *why)
{
	void *zeroes;
	int error;

	zeroes = fault(RAM_FAULT_ALLOC)
			 ? MAP_FAILED
			 : mmap(NULL, RUN_BLOCKS * BLOCK_SIZE, PROT_READ,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (zeroes == MAP_FAILED)
		goto fail;
	pool->zeroes = zeroes;
	if (blocks_init(pool, total))
		goto fail;
	pool->blocks.grouped = backing_grouped(&pool->backing);
	error = lock_counts(pool, why);
	if (error)
		return error;
	if (ram_pool_join(pool, NULL, NULL, &pool->service) ||
	    ram_pool_join(pool, NULL, NULL, &pool->keeper_thread))
		goto fail;
	return 0;
fail:
	return why_set(why, -ENOMEM,
		       "no memory for the counts of %llu blocks; make the pool "
		       "smaller",
		       (unsigned long long)total);
}

/* What the folder holds already: checked, and nothing written before. */
static int take_over(struct ram_pool *pool, uint64_t blocks,
		     struct ram_why *why)
{
	int error;

	blocks_expect(pool, backing_occupied(&pool->backing) / BLOCK_SIZE);
	error = rebuild(pool, blocks, why);

	if (error)
		return error;
	error = backing_extend(&pool->backing, why);
	if (error)
		return error;
	if (pool->blocks.grouped) {
		error = group_take_over(pool, why);
	} else {
		blocks_free_unused(pool);
		pool->sweep = true;
	}
	freemap_all_unmapped(&pool->blocks);
	return error;
}

static int begin_new(struct ram_pool *pool, struct ram_why *why)
{
	int error = backing_extend(&pool->backing, why);

	if (!error)
		error = super_write(pool, why);
	if (error)
		return error;
	if (pool->blocks.grouped)
		group_fill(pool);
	else
		freemap_fill(&pool->blocks);
	return 0;
}

static int too_small(struct ram_pool *pool, uint64_t size, struct ram_why *why)
{
	return why_set(why, -ENOSPC,
		       "%s: a pool of %llu KiB is too small: %llu KiB are held "
		       "and %llu KiB promised in it, and an eighth (at most) "
		       "is for payloads on their way; make it larger",
		       backing_name(&pool->backing),
		       (unsigned long long)size / 1024,
		       (unsigned long long)pool->charge.used * 4,
		       (unsigned long long)pool->charge.promised * 4);
}

/* Everything after the backing has been opened and sized. */
static int open_sized(struct ram_pool *pool,
		      const struct ram_pool_config *config, uint64_t size,
		      uint64_t blocks, struct ram_why *why)
{
	uint64_t total = max_u64(size / BLOCK_SIZE, blocks);
	bool fresh = pool->backing.fresh;
	struct layout_super *super;
	int error;

	if (backing_grouped(&pool->backing))
		total = round_up(total, RUN_BLOCKS);
	error = backing_map(&pool->backing, total, why);
	if (!error)
		error = settings_apply(&pool->backing, config, why);
	if (!error)
		error = make_volatile(pool, total, why);
	if (error)
		return error;
	error = fresh ? begin_new(pool, why) : take_over(pool, blocks, why);
	if (error)
		return error;
	error = bounds_set(pool, size);
	/* A restart must not lose disks because little memory is left: only a
	 * size that was asked for can be too small. */
	if (error && config->size == RAM_DEFAULT)
		error = bounds_set(pool, max_u64(size, bounds_needed(pool)));
	if (error)
		return too_small(pool, size, why);
	error = backing_commit(&pool->backing, why);
	if (error)
		return error;

	/* From here on it is ours to write. */
	super = pool_block(pool, BLOCK_SUPER);
	if (super->blocks < total)
		publish((entry_t *)&super->blocks, total);
	lock_take(&pool->slots.lock);
	ram_epoch_enter(pool->service);
	rebuild_drop(pool);
	limbo_push(pool->service);
	ram_epoch_leave(pool->service);
	lock_drop(&pool->slots.lock);
	/* What is promised must be there before anybody relies on it. */
	if (pool->charge.promised > 0 && populate(pool, NULL, NULL))
		return why_set(why, -ENOSPC,
			       "%s: no memory for what its disks are "
			       "guaranteed; free some",
			       pool->backing.path ? pool->backing.path
						  : "the pool");
	return 0;
}

static void locks_init(struct ram_pool *pool)
{
	unsigned i;

	for (i = 0; i < TABLE_LOCKS; i++)
		lock_init(&pool->table_locks[i], RANK_TABLES);
	lock_init(&pool->freeze_lock, RANK_FREEZE);
	lock_init(&pool->fetch_lock, RANK_FETCH);
	lock_init(&pool->charge.lock, RANK_CHARGE);
	lock_init(&pool->slots.lock, RANK_DISKS);
	lock_init(&pool->threads_lock, RANK_THREADS);
	lock_init(&pool->waiters_lock, RANK_WAITERS);
	pthread_mutex_init(&pool->cold_mutex, NULL);
	keeper_init(pool);
}

int ram_pool_open(const struct ram_pool_config *config, struct ram_pool **out,
		  struct ram_why *why)
{
	uint64_t size = config->size, blocks = 0, warm;
	struct ram_pool *pool = NULL;
	int error;

	why->text[0] = 0;
	error = check_config(config, why);
	if (!error)
		error = settings_check(config, why);
	if (error)
		return error;
	if (!fault(RAM_FAULT_ALLOC))
		pool = aligned_alloc(64, round_up(sizeof(*pool), 64));
	if (!pool)
		return why_set(why, -ENOMEM, "no memory for a pool");
	memset(pool, 0, sizeof(*pool));
	locks_init(pool);
	/* The rings of epochs look back from here. */
	atomic_store(&pool->epoch, 2 * EPOCH_RING);

	error = backing_open(&pool->backing, config, why);
	if (error)
		goto fail;
	if (!pool->backing.fresh)
		error = pool_super_read(&pool->backing, &blocks, why);
	if (!error && size == RAM_DEFAULT)
		error = bounds_default(&pool->backing,
				       backing_occupied(&pool->backing),
				       config->headroom, &size, why);
	if (!error)
		error = bounds_fit(&pool->backing, size, why);
	warm = config->warm == RAM_DEFAULT ? min_u64(WARM_USUAL, size / 8)
					   : min_u64(config->warm, size);
	pool->warm = warm / BLOCK_SIZE;
	pool->headroom = config->headroom;
	if (!error)
		error = open_sized(pool, config, round_down(size, BLOCK_SIZE),
				   blocks, why);
	if (error)
		goto fail;
	*out = pool;
	return 0;
fail:
	ram_pool_close(pool);
	return error;
}

int ram_pool_descriptor(const struct ram_pool *pool)
{
	int fd = fcntl(pool->backing.fd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int ram_pool_resize(struct ram_pool *pool, uint64_t size)
{
	if (size < RAM_POOL_MIN || size > pool->blocks.total * BLOCK_SIZE)
		return -EINVAL;
	return bounds_set(pool, round_down(size, BLOCK_SIZE));
}

void ram_pool_close(struct ram_pool *pool)
{
	uint64_t i;

	if (!pool)
		return;
	keeper_stop(pool);
	if (pool->keeper_thread)
		ram_pool_leave(pool->keeper_thread);
	if (pool->service)
		ram_pool_leave(pool->service);
	for (i = 0; i < pool->slots.capacity; i++)
		free(pool->slots.disk[i]);
	free(pool->slots.disk);
	blocks_destroy(pool);
	if (pool->zeroes)
		munmap((void *)pool->zeroes, RUN_BLOCKS * BLOCK_SIZE);
	backing_close(&pool->backing);
	pthread_mutex_destroy(&pool->cold_mutex);
	for (i = 0; i < TABLE_LOCKS; i++)
		lock_destroy(&pool->table_locks[i]);
	lock_destroy(&pool->freeze_lock);
	lock_destroy(&pool->fetch_lock);
	lock_destroy(&pool->charge.lock);
	lock_destroy(&pool->slots.lock);
	lock_destroy(&pool->threads_lock);
	lock_destroy(&pool->waiters_lock);
	free(pool);
}

int pool_fill(struct ram_pool *pool, const struct run *run)
{
	const struct backing *b = &pool->backing;
	int error;

	if (backing_grouped(b)) {
		/* Its group may be in use: nothing is undone. */
		error = backing_reserve(b, run->first, run->count);
		if (!error)
			backing_populate(b, run->first, run->count);
		return error;
	}
	pthread_mutex_lock(&pool->cold_mutex);
	error = backing_fill(b, run->first, run->count);
	pthread_mutex_unlock(&pool->cold_mutex);
	if (error)
		backing_punch(b, run->first, run->count);
	return error;
}
