/* SPDX-License-Identifier: BSD-3-Clause */
/* What a connection has still to send: bytes of our own, and ranges of its disk.
 *
 * The data of a disk is lent only while a system call copies it: nothing is held
 * while a slow client takes its time. So a reply's data is as it is when it is
 * sent; a block of which a part has gone is copied, for it must not change
 * halfway. */
#ifndef NBDRAM_SERVER_OUTQ_H
#define NBDRAM_SERVER_OUTQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io.h"
#include "store.h"

#define OUT_HEAD 64 /* bytes of ours that an item holds by itself */

struct out {
	struct out *next;
	uint64_t off, len; /* of the disk, not yet sent, behind the head */
	uint8_t *heap;	   /* the head, when it is longer; ours to free */
	uint32_t heap_len; /* bytes of it */
	uint32_t head_len, head_sent;
	uint8_t head[OUT_HEAD];
};

/* Items that are not in use; one for each worker. */
struct out_pool {
	struct out *free;
	unsigned spare;
};

struct outq {
	struct out *first, *last;
	unsigned count;
	uint64_t heap; /* bytes of long heads */
	uint64_t sent; /* bytes, in all */
};

/* Append an item with room for head_len bytes, which the caller fills at once
 * (out_head()), and the range of the disk that follows them. NULL: no
 * memory. */
struct out *outq_push(struct outq *q, struct out_pool *pool, size_t head_len,
		      uint64_t len, uint64_t off);
uint8_t *out_head(struct out *out);

/* Send what the peer takes now, at most about `most` bytes. 0: all is sent, or
 * that much; -EAGAIN: the peer takes no more; -EINPROGRESS: what is next is not loaded
 * yet, and the thread is woken; else the connection is gone. */
int outq_flush(struct outq *q, struct out_pool *pool, struct io *io,
	       struct ram_disk *disk, struct ram_thread *thread, uint64_t most);

void outq_drop(struct outq *q, struct out_pool *pool);
void out_pool_empty(struct out_pool *pool);

#endif
