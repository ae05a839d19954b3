/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading into the caller's buffer. See store.h. */
#include <errno.h>
#include <string.h>

#include "check.h"
#include "disk.h"
#include "fetch.h"
#include "tree.h"

/* Most that is copied within one epoch: well under a millisecond. */
#define READ_MOST (UINT64_C(2) << 20)

/* How many of the entries at `leaf` refer to neighbouring blocks. */
static uint64_t run_length(entry_t *leaf, uint64_t entry, uint64_t most)
{
	uint64_t n = 1;

	while (n < most && atomic_load_explicit(
				   &leaf[n], memory_order_acquire) == entry + n)
		n++;
	return n;
}

int64_t ram_disk_read(struct ram_disk *disk, struct ram_thread *t, void *buf,
		      uint64_t len, uint64_t off)
{
	struct ram_pool *pool = disk->pool;
	uint64_t at = off, end, index, within, entry, here, n;
	struct tree_span span;
	uint8_t *to = buf;
	int64_t result;

	ram_epoch_enter(t);
	result = disk_holds(disk, len, off) ? 0 : -EINVAL;
	if (result)
		goto out;
	end = off + min_u64(len, READ_MOST);
	while (at < end) {
		index = at / BLOCK_SIZE;
		within = at % BLOCK_SIZE;
		tree_span(pool, atomic_load(&disk->root), index, &span);
		n = min_u64(span.count, div_up(end, BLOCK_SIZE) - index);
		entry = span.fill;
		if (span.leaf) {
			entry = atomic_load_explicit(span.leaf,
						     memory_order_acquire);
			n = entry > ENTRY_UNFETCHED
				    ? run_length(span.leaf, entry, n)
				    : 1;
		}
		if (entry == ENTRY_UNFETCHED) {
			/* What came before it is enough for once. */
			result = at > off ? 0 : fetch_wait(disk, t, index);
			break;
		}
		here = min_u64(n * BLOCK_SIZE - within, end - at);
		if (entry == ENTRY_HOLE)
			memset(to, 0, here);
		else
			memcpy(to, (uint8_t *)pool_block(pool, entry) + within,
			       here);
		to += here;
		at += here;
	}
	if (at > off)
		result = at - off;
out:
	ram_epoch_leave(t);
	return result;
}
