/* SPDX-License-Identifier: BSD-3-Clause */
/* A registration: what one thread needs to use the pool without asking others.
 *
 * `inside` is 0 outside every call, else the epoch at which the call began;
 * THREAD_HELD while another thread borrows what lies behind it (stock, limbo):
 * only possible while this one is outside, and so needs no lock of its own. */
#ifndef NBDRAM_STORE_THREAD_H
#define NBDRAM_STORE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "lock.h"
#include "store.h"

#define THREAD_HELD UINT64_MAX

/* Views are counted by the epoch in which they were lent. The epoch moves on
 * only while the slot it moves into is empty, so 64 are told apart. */
#define EPOCH_RING 64

struct ram_thread {
	/* Read by others, written by this thread (and by a borrower). */
	_Alignas(64) _Atomic uint64_t inside;
	_Atomic uint64_t lent_all; /* views, of all epochs together */
	_Atomic uint64_t lent[EPOCH_RING];

	/* Written by others: views of ours that they released. */
	_Alignas(64) _Atomic uint64_t returned_all;
	_Atomic uint64_t returned[EPOCH_RING];

	/* This thread only, or who holds it by THREAD_HELD. */
	_Alignas(64) unsigned depth; /* of ram_epoch_enter() */
	uint64_t epoch;		     /* at which we are inside */
	struct stock stock;
	struct limbo limbo;
	uint8_t *bounce;   /* see bounce.h; NULL: none was needed yet */
	bool bounce_taken; /* by a view */

	/* Fixed. */
	struct ram_pool *pool;
	void (*wake)(void *arg);
	void *arg;

	/* Guarded by the pool's threads lock. */
	struct ram_thread *next;

	/* Guarded by the pool's waiters lock. */
	struct ram_thread *wait_next;
	bool waiting; /* on the list */

	/* The wake-up that ram_wait() looks at; guarded by wake_lock. */
	struct lock wake_lock;
	pthread_cond_t wake_cond;
	bool woken;
};

/* Wait until no call that began before this one is under way. The caller is
 * outside every epoch and holds no lock that a call might want. */
void thread_quiesce(struct ram_pool *pool);

/* The end of a call: leave the epoch, and the line too unless the call is to be
 * repeated. Returns the result. */
int64_t thread_leave(struct ram_thread *t, int64_t result);

/* Step out of the epoch in the middle of a call, however deep, for what may take
 * long (memory from the kernel, a mutex), and into a new one afterwards. What was
 * found in the tree before must be looked up again, and whether the disk may be
 * written to; blocks that were taken stay the call's. */
unsigned thread_step_out(struct ram_thread *t);
void thread_step_in(struct ram_thread *t, unsigned depth);

/* Borrow another thread's stock and limbo. False: it is inside a call. */
bool thread_hold(struct ram_thread *t);
void thread_unhold(struct ram_thread *t);

/* The oldest epoch that any thread may still look into; what was put away in an
 * earlier one is nobody's. Takes the threads lock. */
uint64_t epoch_oldest(struct ram_pool *pool);

/* Begin a new epoch. False: somebody still looks into one too long ago. */
bool epoch_advance(struct ram_pool *pool);

/* A call will be worth repeating: tell its thread once. */
void thread_wake(struct ram_thread *t);

/* Waiting for memory is in order of arrival. wait_join() puts the thread at the
 * end of the line (if it is not in it) and says whether it is first;
 * wait_done() takes it out and gives the turn to the next. */
bool wait_join(struct ram_thread *t);
void wait_done(struct ram_thread *t);

/* True if somebody else is first in line. */
bool wait_others(struct ram_thread *t);

/* Between these two, what t itself frees does not wake it. */
void wait_look(struct ram_thread *t, bool begin);

/* Memory came back: the first in line may try. All: whoever waits. */
void wait_wake_first(struct ram_pool *pool);
void wait_wake_all(struct ram_pool *pool);

#endif
