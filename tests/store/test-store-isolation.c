/* SPDX-License-Identifier: BSD-3-Clause */
/* No byte of one disk is ever seen by another: a marker is written, the memory
 * comes back by trim, delete, replace or death, and is used again in all ways
 * that could show what was there before. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util.h"
#include "filewalk.h"

/* So small that every block is soon used again. */
#define POOL_SIZE (4 * MIB)
#define DISK_SIZE (2 * MIB)
#define MARKER 0xc7

static uint8_t marker[MIB];
static uint8_t got[DISK_SIZE + BLOCK_SIZE];

/* How the marker's memory comes back. */
enum end {
	END_TRIM,
	END_DELETE,
	END_REPLACE,
	END_OVERWRITE,
	END_STAGE,
	ENDS
};

static void write_marker(struct env *env, struct ram_disk *disk,
			 struct rng *rng)
{
	uint64_t off = 0;
	int rc = 0;

	/* As much as there is room for. */
	while (off < DISK_SIZE && rc == 0) {
		uint64_t len = min_u64(DISK_SIZE - off,
				       1 + rng_below(rng, 128 * KIB)),
			 done;

		rc = env_write(env, disk, marker, len, off, &done);
		off += done;
	}
	if (rc)
		CHECK_RC(rc, -ENOSPC);
	CHECK(off >= DISK_SIZE / 2);
}

/* Fill a stage with the marker and leave it at that. */
static void stage_marker(struct env *env, struct ram_disk *disk)
{
	struct ram_view view;

	if (env_stage(env, disk, MIB, MIB, &view) != 0)
		return;
	view_fill(&view, marker);
	ram_view_release(&view, env->thread);
}

static void use_and_end(struct env *env, struct rng *rng, enum end end)
{
	struct ram_disk *disk = env_create(env, "secret", DISK_SIZE);
	struct ram_disk *empty;

	write_marker(env, disk, rng);
	switch (end) {
	case END_TRIM:
		CHECK_RC(env_zero(env, disk, DISK_SIZE, 0, 0), 0);
		break;
	case END_REPLACE:
		empty = env_create(env, "empty", DISK_SIZE);
		CHECK_RC(ram_disk_replace(disk, empty), 0);
		env_delete(empty);
		break;
	case END_OVERWRITE:
		memset(got, 0, DISK_SIZE);
		for (uint64_t off = 0; off < DISK_SIZE / 2; off += 64 * KIB)
			CHECK_RC(env_write(env, disk, got, 64 * KIB, off, NULL),
				 0);
		break;
	case END_STAGE:
		CHECK_RC(env_zero(env, disk, DISK_SIZE, 0, 0), 0);
		stage_marker(env, disk);
		break;
	default:
		break;
	}
	env_delete(disk);
	if (rng_chance(rng, 50) && !env->keeper)
		ram_pool_tidy(env->pool);
}

/* The whole of a disk: nothing but zeroes and what was written (ones). */
static void clean(struct env *env, struct ram_disk *disk, uint64_t size,
		  const char *what)
{
	memset(got, MARKER, size);
	CHECK_RC(env_read(env, disk, got, size, 0), 0);
	for (uint64_t i = 0; i < size; i++)
		if (got[i] > 1)
			FAIL("%s: byte %#llx is %02x%s", what,
			     (unsigned long long)i, got[i],
			     got[i] == MARKER ? ", another disk's" : "");
}

static void clean_views(struct env *env, struct ram_disk *disk, uint64_t size)
{
	struct ram_view view;

	for (uint64_t off = 0; off < size; off += view.len) {
		CHECK_RC(env_view(env, disk, size - off, off, &view), 0);
		ram_view_copy(&view, got);
		for (uint64_t i = 0; i < view.len; i++)
			CHECK(got[i] <= 1);
		ram_view_release(&view, env->thread);
	}
}

static void reuse(struct env *env, struct rng *rng)
{
	uint64_t size = DISK_SIZE / 2 + rng_below(rng, DISK_SIZE / 2);
	uint64_t grown = min_u64(round_up(size, BLOCK_SIZE), DISK_SIZE);
	struct ram_disk *disk = env_create(env, "open", size);
	uint8_t ones[300];
	struct ram_view view;

	memset(ones, 1, sizeof(ones));
	clean(env, disk, size, "fresh");
	/* Parts of fresh blocks, over one border now and then. */
	for (uint64_t off = rng_below(rng, BLOCK_SIZE); off < size;
	     off += 1 + rng_below(rng, 3 * BLOCK_SIZE)) {
		uint64_t len = min_u64(size - off, 1 + rng_below(rng, 300));

		if (rng_chance(rng, 50)) {
			CHECK_RC(env_write(env, disk, ones, len, off, NULL), 0);
			continue;
		}
		CHECK_RC(env_stage(env, disk, len, off, &view), 0);
		view_fill(&view, ones);
		CHECK_RC(env_publish(env, &view), 0);
		ram_view_release(&view, env->thread);
	}
	clean(env, disk, size, "written in parts");
	/* Allocated zeroes. */
	if (rng_chance(rng, 30)) {
		CHECK_RC(env_zero(env, disk, size / 2, size / 4, RAM_KEEP), 0);
		clean(env, disk, size, "allocated");
	}
	/* Behind the end. */
	CHECK_RC(env_write(env, disk, ones, 1, size - 1, NULL), 0);
	CHECK_RC(ram_disk_resize(disk, grown), 0);
	clean(env, disk, grown, "grown");
	if (rng_chance(rng, 30))
		clean_views(env, disk, grown);
	env_delete(disk);
	if (rng_chance(rng, 50) && !env->keeper)
		ram_pool_tidy(env->pool);
}

static void rounds(bool keeper, uint64_t count)
{
	struct rng rng = rng_make(keeper ? 11 : 10);
	struct env env;

	test_part("%llu rounds, %s", (unsigned long long)count,
		  keeper ? "housekeeper" : "alone");
	env_open(&env, NULL, POOL_SIZE, MIB);
	if (keeper)
		env_keeper(&env);
	for (uint64_t i = 0; i < count; i++) {
		use_and_end(&env, &rng, (enum end)rng_below(&rng, ENDS));
		reuse(&env, &rng);
	}
	if (!keeper)
		env_check(&env);
	env_close(&env);
}

/* The same over the death of the process that wrote the marker: what it had
 * staged, and what it had trimmed and not yet freed, is dirty memory. */
static void child(const char *folder, bool keeper, struct rng *rng)
{
	struct ram_disk *disk;
	struct ram_view view;
	struct env env;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	env_open(&env, folder, POOL_SIZE, MIB);
	if (keeper)
		env_keeper(&env);
	use_and_end(&env, rng, (enum end)rng_below(rng, ENDS));
	disk = env_create(&env, "secret", DISK_SIZE);
	write_marker(&env, disk, rng);
	if (rng_chance(rng, 50))
		CHECK_RC(env_zero(&env, disk, DISK_SIZE, 0, 0), 0);
	if (rng_chance(rng, 50))
		CHECK_RC(ram_disk_delete(disk), 0);
	if (env_stage(&env, disk, MIB, 0, &view) == 0)
		view_fill(&view, marker);
	kill(getpid(), SIGKILL);
}

static void deaths(uint64_t count)
{
	char *folder = test_folder();
	struct rng rng = rng_make(12);

	test_part("%llu deaths", (unsigned long long)count);
	for (uint64_t i = 0; i < count; i++) {
		struct rng childs = {rng_next(&rng)};
		struct ram_disk *disk = NULL;
		struct filewalk walk;
		struct env env;
		char *file;
		int status;
		pid_t pid;

		fflush(NULL);
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			child(folder, rng_chance(&childs, 50), &childs);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

		/* No bytes behind the end of any disk (a walk looks). */
		file = test_pool_file(folder);
		CHECK(file);
		if (!filewalk_read(file, &walk))
			FAIL("the file is unsound: %s", walk.error);
		filewalk_free(&walk);
		free(file);

		env_open(&env, folder, POOL_SIZE, 0);
		if (ram_disk_open(env.pool, "secret", &disk) == 0)
			env_delete(disk);
		if (rng_chance(&rng, 50))
			ram_pool_tidy(env.pool);
		reuse(&env, &rng);
		env_check(&env);
		env_close(&env);
	}
	test_remove(folder);
	free(folder);
}

int main(void)
{
	test_begin("test-store-isolation");
	memset(marker, MARKER, sizeof(marker));
	rounds(false, test_count(1000, 20));
	rounds(true, test_count(1000, 20));
	deaths(test_count(1000, 20));
	return test_end();
}
