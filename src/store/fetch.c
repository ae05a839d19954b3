/* SPDX-License-Identifier: BSD-3-Clause */
/* Disks that are served before their data is here: entries say "not yet fetched", and
 * somebody who knows where it is brings block by block. See fetch.h, store.h.
 *
 * Such an entry is exchanged for the block that has come wherever it stands, in a
 * table that is shared too: whoever shares it waits for the same. A write or a trim
 * of the whole block exchanges it as well, and what comes later finds that it is no
 * longer wanted. Only the table must stay where it is meanwhile: who moves or copies
 * one holds its lock (see tree.c), and so does who brings something. */
#include "fetch.h"

#include <errno.h>
#include <string.h>

#include "check.h"
#include "pool.h"
#include "service.h"

/* -------------------------------------------------------------- waiting */

static uint64_t entry_of(const struct tree_span *span)
{
	return span->leaf
		       ? atomic_load_explicit(span->leaf, memory_order_acquire)
		       : span->fill;
}

static bool is_missing(struct ram_disk *disk, uint64_t index)
{
	struct tree_span span;

	tree_span(disk->pool, atomic_load(&disk->root), index, &span);
	return entry_of(&span) == ENTRY_UNFETCHED;
}

/* Under fetch_lock. */
static void want(struct ram_disk *disk, uint64_t index)
{
	unsigned i;

	for (i = 0; i < disk->want_count; i++) {
		if (disk->wants[i] == index)
			return;
	}
	/* It asks again when others have got what they want. */
	if (i < DISK_WANTS)
		disk->wants[disk->want_count++] = index;
}

int fetch_wait(struct ram_disk *disk, struct ram_thread *t, uint64_t index)
{
	struct ram_pool *pool = disk->pool;
	int error = atomic_load(&disk->fetch_error);

	if (error)
		return error;
	lock_take(&pool->fetch_lock);
	if (pool->fetcher) {
		want(disk, index);
		thread_wake(pool->fetcher);
	} else {
		error = -EIO;
	}
	lock_drop(&pool->fetch_lock);
	if (error)
		return error;
	/* In this order: who brings it looks whether anybody waits when it is
	 * there. */
	atomic_store(&pool->fetch_waits, true);
	if (!is_missing(disk, index))
		thread_wake(t);
	return -EINPROGRESS;
}

int fetch_edges(struct ram_disk *disk, struct ram_thread *t, uint64_t len,
		uint64_t off)
{
	uint64_t end = off + len;

	if (!atomic_load_explicit(&disk->lazy, memory_order_relaxed))
		return 0;
	if (off % BLOCK_SIZE != 0 && is_missing(disk, off / BLOCK_SIZE))
		return fetch_wait(disk, t, off / BLOCK_SIZE);
	if (end % BLOCK_SIZE != 0 && is_missing(disk, end / BLOCK_SIZE))
		return fetch_wait(disk, t, end / BLOCK_SIZE);
	return 0;
}

int fetch_before_copy(struct ram_disk *disk, struct ram_thread *t,
		      uint64_t leaf, uint64_t index)
{
	entry_t *entry = table_at(disk->pool, leaf);
	unsigned i;

	if (!atomic_load(&disk->lazy))
		return 0;
	index = round_down(index, TABLE_ENTRIES);
	for (i = 0; i < TABLE_ENTRIES; i++) {
		if (atomic_load_explicit(&entry[i], memory_order_relaxed) !=
		    ENTRY_UNFETCHED)
			continue;
		/* When nothing comes any more, copies are all that there is. */
		return fetch_wait(disk, t, index + i) == -EINPROGRESS
			       ? -EINPROGRESS
			       : 0;
	}
	return 0;
}

/* Calls that waited may try again. */
static void wake_waiting(struct ram_pool *pool)
{
	if (atomic_exchange(&pool->fetch_waits, false))
		wait_wake_all(pool);
}

int ram_disk_ready(struct ram_disk *disk, struct ram_thread *t, uint64_t len,
		   uint64_t off)
{
	uint64_t index = off / BLOCK_SIZE, end, i, n;
	struct tree_span span;
	int error = 0;

	if (!atomic_load(&disk->lazy) || len == 0)
		return 0;
	ram_epoch_enter(t);
	end = disk_holds(disk, len, off) ? div_up(off + len, BLOCK_SIZE) : 0;
	for (; index < end && !error; index += n) {
		tree_span(disk->pool, atomic_load(&disk->root), index, &span);
		n = min_u64(span.count, end - index);
		for (i = 0; span.leaf && i < n; i++) {
			if (atomic_load(&span.leaf[i]) == ENTRY_UNFETCHED)
				break;
		}
		if (span.leaf ? i < n : span.fill == ENTRY_UNFETCHED)
			error = fetch_wait(disk, t,
					   index + (span.leaf ? i : 0));
	}
	ram_epoch_leave(t);
	return error;
}

/* ---------------------------------------------------------- who fetches */

void ram_pool_fetcher(struct ram_pool *pool, struct ram_thread *t)
{
	lock_take(&pool->fetch_lock);
	pool->fetcher = t;
	lock_drop(&pool->fetch_lock);
}

void fetch_news(struct ram_pool *pool)
{
	atomic_fetch_add(&pool->fetch_news, 1);
	lock_take(&pool->fetch_lock);
	if (pool->fetcher)
		thread_wake(pool->fetcher);
	lock_drop(&pool->fetch_lock);
}

uint64_t ram_pool_fetch_news(struct ram_pool *pool)
{
	return atomic_load(&pool->fetch_news);
}

bool ram_disk_lazy(const struct ram_disk *disk)
{
	return atomic_load_explicit(&((struct ram_disk *)disk)->lazy,
				    memory_order_relaxed);
}

int ram_disk_next_lazy(struct ram_pool *pool, uint64_t *cursor,
		       struct ram_disk **disk)
{
	struct slots *s = &pool->slots;
	struct ram_disk *found;
	int error = -ENOENT;

	lock_take(&s->lock);
	while (*cursor < s->capacity && error) {
		found = s->disk[(*cursor)++];
		if (found && found->state != RAM_MAKING &&
		    atomic_load(&found->lazy)) {
			found->handles++;
			*disk = found;
			error = 0;
		}
	}
	lock_drop(&s->lock);
	return error;
}

int ram_disk_wanted(struct ram_disk *disk, uint64_t *off)
{
	struct ram_pool *pool = disk->pool;
	int error = -ENOENT;

	if (atomic_load(&disk->want_count) == 0)
		return error;
	lock_take(&pool->fetch_lock);
	if (disk->want_count > 0) {
		*off = disk->wants[0] * BLOCK_SIZE;
		disk->want_count--;
		memmove(&disk->wants[0], &disk->wants[1],
			disk->want_count * sizeof(disk->wants[0]));
		error = 0;
	}
	lock_drop(&pool->fetch_lock);
	return error;
}

void ram_disk_fetch_error(struct ram_disk *disk, int error)
{
	/* What is said of a deleted disk stays. */
	lock_take(&disk->pool->slots.lock);
	if (disk->number != SLOT_NONE)
		atomic_store(&disk->fetch_error, error);
	lock_drop(&disk->pool->slots.lock);
	wake_waiting(disk->pool);
}

/* ---------------------------------------------- what is not yet fetched */

/* Of at most n entries: how many from the first one on are missing, or are not. */
static uint64_t stretch(const struct tree_span *span, uint64_t n, bool missing)
{
	uint64_t i;

	n = min_u64(n, span->count);
	if (!span->leaf)
		return (span->fill == ENTRY_UNFETCHED) == missing ? n : 0;
	for (i = 0; i < n; i++) {
		if ((atomic_load_explicit(&span->leaf[i],
					  memory_order_acquire) ==
		     ENTRY_UNFETCHED) != missing)
			break;
	}
	return i;
}

int ram_disk_missing(struct ram_disk *disk, struct ram_thread *t, uint64_t *off,
		     uint64_t *len)
{
	uint64_t index = *off / BLOCK_SIZE, end, most = *len / BLOCK_SIZE;
	uint64_t found = 0;
	struct tree_span span;

	end = atomic_load(&disk->deleted)
		      ? 0
		      : disk_blocks(atomic_load(&disk->size));
	most = max_u64(most, 1);
	/* A leaf at a time, so that nothing waits for us. */
	while (index < end && found == 0) {
		ram_epoch_enter(t);
		tree_span(disk->pool, atomic_load(&disk->root), index, &span);
		found = stretch(&span, min_u64(end - index, most), true);
		if (found == 0)
			index += stretch(&span, end - index, false);
		ram_epoch_leave(t);
	}
	if (found == 0)
		return -ENOENT;
	*off = index * BLOCK_SIZE;
	*len = found * BLOCK_SIZE;
	return 0;
}

/* Of one leaf. */
static int mark(struct ram_disk *disk, struct ram_thread *t, uint64_t index,
		uint64_t n)
{
	uint64_t i, expected;
	entry_t *entry;
	int error;

	ram_epoch_enter(t);
	error = tree_leaf_for_write(disk, t, index, &entry);
	for (i = 0; !error && i < n; i++) {
		expected = ENTRY_HOLE;
		publish_exchange(&entry[i], &expected, ENTRY_UNFETCHED);
	}
	return thread_leave(t, error);
}

int ram_disk_unfetched(struct ram_disk *disk, struct ram_thread *t,
		       uint64_t *len, uint64_t *off)
{
	uint64_t index = *off / BLOCK_SIZE, end = *off + *len, n;
	int error = 0;

	if (!atomic_load(&disk->lazy) || !disk_holds(disk, *len, *off))
		return -EINVAL;
	while (*len > 0 && !error) {
		n = min_u64(TABLE_ENTRIES - index % TABLE_ENTRIES,
			    div_up(end, BLOCK_SIZE) - index);
		error = mark(disk, t, index, n);
		if (error)
			break;
		index += n;
		*off = min_u64(index * BLOCK_SIZE, end);
		*len = end - *off;
	}
	return error;
}

/* -------------------------------------------------------------- bringing */

struct bringing {
	struct ram_disk *disk;
	struct ram_thread *thread;
	const uint8_t *data; /* what belongs at block `first` of the disk */
	uint64_t first, len;
};

/* The block's bytes, with zeroes behind the end. How many of them there are. */
static unsigned block_data(const struct bringing *b, uint64_t index,
			   const uint8_t **data)
{
	uint64_t at = (index - b->first) * BLOCK_SIZE;

	*data = b->data + at;
	return min_u64(b->len - at, BLOCK_SIZE);
}

static bool is_hole(const struct bringing *b, uint64_t index)
{
	const uint8_t *data;
	unsigned n = block_data(b, index, &data);

	return *data == 0 && memcmp(data, b->disk->pool->zeroes, n) == 0;
}

/* Thawing wakes every thread; until then others may have memory. */
static bool is_frozen(const struct bringing *b)
{
	if (!atomic_load(&b->disk->frozen))
		return false;
	wait_done(b->thread);
	return true;
}

/* The table that holds the entry now, with its lock held, if that entry is
 * missing. NULL: it is not, or has moved; nothing is held. */
static entry_t *hold_leaf(const struct bringing *b, uint64_t index,
			  struct tree_span *span, struct lock **lock)
{
	struct ram_pool *pool = b->disk->pool;
	uint32_t leaf;

	tree_span(pool, atomic_load(&b->disk->root), index, span);
	if (entry_of(span) != ENTRY_UNFETCHED || !span->leaf)
		return NULL;
	leaf = span->leaf_block;
	*lock = &pool->table_locks[leaf % TABLE_LOCKS];
	lock_take(*lock);
	tree_span_shared(pool, atomic_load(&b->disk->root), index, span);
	if (span->leaf && span->leaf_block == leaf)
		return span->leaf;
	lock_drop(*lock);
	return NULL;
}

/* With the lock. Those of the run's blocks that are still wanted are put in their
 * places; the others stay the thread's. */
static int place(const struct bringing *b, const struct tree_span *span,
		 const struct run *run, bool *placed)
{
	struct ram_pool *pool = b->disk->pool;
	/* What several disks reach is nobody's own. */
	struct ram_disk *who = span->shared ? NULL : b->disk;
	uint64_t expected, used = 0;
	unsigned i;
	int error = pool_charge(pool, who, b->thread, run->count);

	if (error)
		return error;
	for (i = 0; i < run->count; i++) {
		expected = ENTRY_UNFETCHED;
		block_born(pool, run->first + i, 0, 0);
		placed[i] = publish_exchange(&span->leaf[i], &expected,
					     run->first + i);
		used += placed[i];
	}
	block_landed(pool, used);
	charge_settle(pool, who, run->count, run->count - used);
	return 0;
}

static void give_back(struct ram_thread *t, const struct run *run,
		      const bool *placed)
{
	struct run one = {.count = 1};
	unsigned i;

	for (i = 0; i < run->count; i++) {
		one.first = run->first + i;
		if (!placed[i])
			block_untake(t, one);
	}
}

/* Memory comes from outside of the epoch; nothing is known of the tree then. */
static int fill(const struct bringing *b, uint64_t index, struct run *run)
{
	struct ram_pool *pool = b->disk->pool;
	const uint8_t *data;
	unsigned depth, i, n;
	uint8_t *to;
	int error = 0;

	if (run->cold) {
		depth = thread_step_out(b->thread);
		error = pool_fill(pool, run);
		thread_step_in(b->thread, depth);
	}
	if (error)
		return error;
	run->cold = false;
	for (i = 0; i < run->count; i++) {
		to = pool_block(pool, run->first + i);
		n = block_data(b, index + i, &data);
		memcpy(to, data, n);
		memset(to + n, 0, BLOCK_SIZE - n);
	}
	return 0;
}

/* At most n blocks from `index` on, of one leaf, all missing and not zeroes, as it
 * seemed. */
static int bring_data(const struct bringing *b, uint64_t index, uint64_t n,
		      uint64_t *done)
{
	bool placed[RUN_BLOCKS] = {false};
	struct tree_span span;
	struct lock *lock;
	struct run run;
	int error = block_take(b->thread, n, &run);

	if (error)
		return error;
	error = fill(b, index, &run);
	/* It may have been frozen meanwhile: its own is counted anew then. */
	if (!error && is_frozen(b))
		error = -EAGAIN;
	if (!error && hold_leaf(b, index, &span, &lock)) {
		error = place(b, &span, &run, placed);
		lock_drop(lock);
		*done = error ? 0 : run.count;
	}
	if (error && run.cold)
		block_untake(b->thread, run);
	else
		give_back(b->thread, &run, placed);
	return error;
}

static uint64_t bring_hole(const struct bringing *b, uint64_t index)
{
	uint64_t expected = ENTRY_UNFETCHED;
	struct tree_span span;
	struct lock *lock;
	entry_t *entry = hold_leaf(b, index, &span, &lock);

	if (!entry)
		return 0;
	publish_exchange(entry, &expected, ENTRY_HOLE);
	lock_drop(lock);
	return 1;
}

/* Something of what is there from `index` on, which ends before `end`: *done blocks
 * are dealt with; 0: look again. */
static int bring(const struct bringing *b, uint64_t index, uint64_t end,
		 uint64_t *done)
{
	struct tree_span span;
	entry_t *entry;
	uint64_t n, i;

	*done = 0;
	if (is_frozen(b))
		return -EAGAIN;
	tree_span(b->disk->pool, atomic_load(&b->disk->root), index, &span);
	*done = stretch(&span, end - index, false);
	if (*done > 0)
		return 0;
	if (!span.leaf)
		return tree_leaf_for_write(b->disk, b->thread, index, &entry);
	n = stretch(&span, min_u64(end - index, RUN_BLOCKS), true);
	for (i = 0; i < n && !is_hole(b, index + i); i++)
		;
	if (n == 0)
		return 0;
	if (i > 0)
		return bring_data(b, index, i, done);
	*done = bring_hole(b, index);
	return 0;
}

int64_t ram_disk_fetched(struct ram_disk *disk, struct ram_thread *t,
			 const void *buf, uint64_t len, uint64_t off)
{
	struct bringing b = {
		.disk = disk,
		.thread = t,
		.data = buf,
		.first = off / BLOCK_SIZE,
		.len = len,
	};
	uint64_t index = b.first, end = div_up(off + len, BLOCK_SIZE), n;
	int error = 0;

	if (off % BLOCK_SIZE != 0 || !disk_holds(disk, len, off) ||
	    (len % BLOCK_SIZE != 0 && off + len != atomic_load(&disk->size)))
		return -EINVAL;
	while (index < end && !error) {
		ram_epoch_enter(t);
		error = bring(&b, index, end, &n);
		index += n;
		thread_leave(t, error);
	}
	if (index > b.first) {
		wait_done(t);
		wake_waiting(disk->pool);
		return min_u64(index * BLOCK_SIZE - off, len);
	}
	return error;
}

/* ----------------------------------------------------------- begin and end */

struct source {
	struct ram_disk *disk;
	const void *bytes;
	uint32_t len;
	uint64_t generation; /* of the contents that were looked at */
};

static int change_source(struct ram_pool *pool, void *arg)
{
	struct source *s = arg;
	struct ram_disk *disk = s->disk;
	struct layout_slot image;
	int error;

	if (disk->number == SLOT_NONE)
		return -ENOENT;
	image = *slots_image(pool, disk->number);
	if (s->len == 0 && image.generation != s->generation)
		return -EBUSY; /* others have come in their place */
	image.flags = s->len > 0 ? image.flags | SLOT_LAZY
				 : image.flags & ~SLOT_LAZY;
	memset(image.source, 0, sizeof(image.source));
	if (s->len > 0)
		memcpy(image.source, s->bytes, s->len);
	image.source_len = s->len;
	error = slots_publish(pool, pool->service, disk->number, &image);
	if (!error)
		atomic_store(&disk->lazy, s->len > 0);
	return error;
}

int ram_disk_source(struct ram_disk *disk, const void *source, uint32_t len)
{
	struct source s = {.disk = disk, .bytes = source, .len = len};

	if (len < 1 || len > RAM_SOURCE_MAX)
		return -EINVAL;
	return service(disk->pool, change_source, &s);
}

int ram_disk_fetch_end(struct ram_disk *disk, struct ram_thread *t)
{
	struct source s = {.disk = disk};
	uint64_t off = 0, len = BLOCK_SIZE;
	struct ram_disk_info info;

	ram_disk_info(disk, NULL, 0, &info);
	s.generation = info.generation;
	if (info.state == RAM_MAKING ||
	    ram_disk_missing(disk, t, &off, &len) == 0)
		return -EBUSY;
	return service(disk->pool, change_source, &s);
}
