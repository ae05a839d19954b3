/* SPDX-License-Identifier: BSD-3-Clause */
/* What the store's tests share: checks that end the test, scale and seed,
 * random numbers, a folder that is gone afterwards, and store calls repeated
 * for as long as they answer -EAGAIN.
 *
 * No cmocka here: most of these tests fork, kill and run threads, where its
 * jumping out of a failed check does not work. The first failed check prints
 * where, what and the seed, and ends the process. */
#ifndef NBDRAM_TESTS_STORE_UTIL_H
#define NBDRAM_TESTS_STORE_UTIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fault.h"
#include "layout.h"
#include "store.h"

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

/* ---------------------------------------------------------------- checks */

void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4), noreturn));

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)

#define CHECK(condition)                                \
	do {                                            \
		if (!(condition))                       \
			FAIL("not so: %s", #condition); \
	} while (0)

/* A call that gives 0 or a negative errno. */
#define CHECK_RC(call, want) \
	test_check_rc(__FILE__, __LINE__, #call, (int64_t)(call), want)

#define CHECK_U64(value, want) \
	test_check_u64(__FILE__, __LINE__, #value, value, want)

void test_check_rc(const char *file, int line, const char *call, int64_t got,
		   int64_t want);
void test_check_u64(const char *file, int line, const char *what, uint64_t got,
		    uint64_t want);

/* The texts of refusals are for people: one line, not empty, and telling. */
#define CHECK_WHY(why, word) test_check_why(__FILE__, __LINE__, why, word)
void test_check_why(const char *file, int line, const struct ram_why *why,
		    const char *word);

/* Once, first thing in main(): reads NBDRAM_TEST_SEED and NBDRAM_TEST_SCALE and
 * prints them. */
void test_begin(const char *name);

/* One line of progress about the part that now begins; repeated on failure. */
void test_part(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* End of a part that cannot be tested here. */
void test_skip_part(const char *why);

/* Last thing in main(): its result. */
int test_end(void);

/* How often to do what a full run does `full` times: NBDRAM_TEST_SCALE (default
 * 0.05) of it, but at least `least`. */
uint64_t test_count(uint64_t full, uint64_t least);

uint64_t test_seed(void);

/* A monotonic clock in nanoseconds. */
uint64_t test_now(void);

/* Whether this program runs under a sanitizer or valgrind, where bounds on time
 * and on memory of the process mean nothing. */
bool test_slowed(void);

/* ---------------------------------------------------------------- random */

struct rng {
	uint64_t state;
};

/* Independent streams of the test's seed. */
struct rng rng_make(uint64_t stream);
uint64_t rng_next(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t bound); /* bound not 0 */
bool rng_chance(struct rng *rng, unsigned percent);
void rng_fill(struct rng *rng, void *buf, size_t len);

/* The same bytes for the same key, whatever the seed. */
void fill_pattern(void *buf, size_t len, uint64_t key);

/* --------------------------------------------------------------- folders */

/* A fresh folder on a tmpfs, removed with all that is in it when this process
 * ends in whatever way. Absolute; the caller frees it. */
char *test_folder(void);

/* The pool's file in its folder, found by its first bytes; NULL: there is none,
 * more than one fails the test. The caller frees it. */
char *test_pool_file(const char *folder);

/* Remove a folder and its files. */
void test_remove(const char *folder);

/* ------------------------------------------------------------------ pool */

/* A pool with one registration, as most tests have it. */
struct env {
	struct ram_pool *pool;
	struct ram_thread *thread;
	bool keeper; /* the housekeeper runs: never tidy by ourselves */
	/* Called (may be NULL) before waiting for memory, to give up what the
	 * test itself holds. */
	void (*starved)(void *arg);
	void *arg;
};

/* path NULL: anonymous. Fails the test when it cannot be opened. */
void env_open(struct env *env, const char *path, uint64_t size, uint64_t warm);
void env_keeper(struct env *env);
void env_close(struct env *env);
void env_check(struct env *env); /* ram_pool_check() must pass */
struct ram_usage env_usage(struct env *env);

/* After -EAGAIN: housekeeping if nobody else does it, then wait for the
 * wake-up, which must come. *tries bounds the repetitions of one call. */
void env_again(struct env *env, unsigned *tries);

/* Whole transfers: repeated after short counts and -EAGAIN. 0 or an errno;
 * *done (may be NULL) is how many bytes were transferred before it. */
int env_read(struct env *env, struct ram_disk *disk, void *buf, uint64_t len,
	     uint64_t off);
int env_write(struct env *env, struct ram_disk *disk, const void *buf,
	      uint64_t len, uint64_t off, uint64_t *done);
int env_zero(struct env *env, struct ram_disk *disk, uint64_t len, uint64_t off,
	     unsigned flags);
int env_view(struct env *env, struct ram_disk *disk, uint64_t len, uint64_t off,
	     struct ram_view *view);
int env_stage(struct env *env, struct ram_disk *disk, uint64_t len,
	      uint64_t off, struct ram_view *view);
int env_publish(struct env *env, struct ram_view *view);
int env_extent(struct env *env, struct ram_disk *disk, struct ram_disk *base,
	       uint64_t len, uint64_t off, unsigned flags,
	       struct ram_extent *extent);
int env_info(struct env *env, struct ram_disk *disk, unsigned flags,
	     struct ram_disk_info *info);

/* Fill what a stage lent from buf (view->len bytes of it). */
void view_fill(const struct ram_view *view, const void *buf);

/* Create a whole disk; fails the test when it cannot. */
struct ram_disk *env_create(struct env *env, const char *name, uint64_t size);
struct ram_disk *env_create_fixed(struct env *env, const char *name,
				  uint64_t size);
struct ram_disk *env_clone(struct ram_disk *src, const char *name,
			   unsigned flags);
struct ram_disk *env_disk(struct env *env, const char *name);
void env_delete(struct ram_disk *disk); /* and put */

#endif
