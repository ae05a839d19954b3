/* SPDX-License-Identifier: BSD-3-Clause */
/* Death at the n-th store that publishes something, before it and after it, for
 * every n of a scripted scenario: reopened, the pool holds every step that was
 * acknowledged, the one on its way is done or not (block by block), and nothing
 * else is different. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model.h"
#include "script.h"
#include "util.h"
#include "filewalk.h"

#define POOL_SIZE (32 * MIB)

/* Seen by child and parent. */
struct progress {
	_Atomic bool opened;
	_Atomic unsigned acked; /* steps that were answered */
	_Atomic bool finished;
	_Atomic uint64_t seen; /* publishing stores */
};

static struct progress *progress;
static enum ram_fault die_kind;
static uint64_t die_at;

/* The world after so many steps. Made anew each time: a process with little in
 * it forks fast. */
static struct world *world_after(unsigned steps)
{
	struct world *world = world_new();

	for (unsigned i = 0; i < steps && i < script_steps; i++)
		world_step(world, i);
	return world;
}

static bool hook(enum ram_fault kind)
{
	if (kind == die_kind &&
	    atomic_fetch_add(&progress->seen, 1) + 1 == die_at) {
		kill(getpid(), SIGKILL);
		for (;;)
			pause();
	}
	return false;
}

static void child(const char *folder, bool keeper)
{
	struct handles handles = {{NULL}};
	struct env env;
	uint64_t done;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ram_fault_hook = hook;
	env_open(&env, folder, POOL_SIZE, MIB);
	if (keeper)
		env_keeper(&env);
	progress->opened = true;
	for (unsigned number = 0; number < script_steps; number++) {
		CHECK_RC(script_step(&env, &handles, number, &done), 0);
		progress->acked = number + 1;
	}
	handles_put(&handles);
	env_close(&env);
	progress->finished = true;
	_exit(0);
}

static const char *where(void)
{
	static char text[300];

	snprintf(text, sizeof(text), "death %s publishing store %llu, in %s",
		 die_kind == RAM_FAULT_BEFORE_PUBLISH ? "before" : "after",
		 (unsigned long long)die_at,
		 progress->opened ? step_text(progress->acked)
				  : "ram_pool_open");
	return text;
}

/* The file as the dead left it, and as it is after a reopen. */
static uint64_t sound(const char *folder)
{
	char *file = test_pool_file(folder);
	struct filewalk walk;
	uint64_t reached;

	if (!file)
		return 0;
	if (!filewalk_read(file, &walk))
		FAIL("%s: the file is unsound: %s", where(), walk.error);
	reached = walk.reached;
	filewalk_free(&walk);
	free(file);
	return reached;
}

/* Which world is it: before the step on its way, or after it? The contents of
 * a disk may be in between. */
static struct world *settle(struct env *env, struct handles *handles,
			    unsigned acked)
{
	struct world *old = world_after(acked);
	struct world *new = world_after(acked + 1);
	uint64_t place;
	unsigned disk;

	world_restart(old);
	world_restart(new);
	if (acked < script_steps && step_is_data(acked)) {
		disk = script[acked].disk;
		if (!old->disk[disk].model) {
			world_free(new); /* not kept anyway */
			handles_open(env, handles, old);
			return old;
		}
		handles_open(env, handles, old);
		if (!model_either(old->disk[disk].model, new->disk[disk].model,
				  env, handles->disk[disk], &place))
			FAIL("%s: the block at %#llx of %s is neither old nor "
			     "new",
			     where(), (unsigned long long)place,
			     world_name(disk));
		model_adopt(old->disk[disk].model, env, handles->disk[disk]);
		world_free(new);
		return old;
	}
	if (world_same_list(old, env)) {
		world_free(new);
		handles_open(env, handles, old);
		return old;
	}
	if (!world_same_list(new, env))
		FAIL("%s: the disks are neither as before nor as after",
		     where());
	world_free(old);
	handles_open(env, handles, new);
	return new;
}

static void verify(const char *folder)
{
	struct handles handles = {{NULL}};
	struct ram_usage usage;
	struct ram_disk *extra;
	struct world *world;
	struct env env;
	uint8_t buf[16 * BLOCK_SIZE];
	uint64_t reached;

	sound(folder);
	env_open(&env, folder, POOL_SIZE, 0);
	env_check(&env);
	world = settle(&env, &handles, progress->acked);
	world_verify(world, &env, &handles, where());

	/* What the dead had taken and never published is free. */
	fill_pattern(buf, sizeof(buf), 77);
	extra = env_create(&env, "extra", MIB + 1);
	for (uint64_t off = 0; off < MIB; off += sizeof(buf))
		CHECK_RC(env_write(&env, extra, buf, sizeof(buf), off, NULL),
			 0);
	env_delete(extra);
	world_verify(world, &env, &handles, where());
	ram_pool_tidy(env.pool);
	env_check(&env);
	usage = env_usage(&env);
	CHECK_U64(usage.freed, 0);
	handles_put(&handles);
	env_close(&env);

	reached = sound(folder);
	if (usage.held < reached * BLOCK_SIZE ||
	    usage.held > (reached + 2) * BLOCK_SIZE)
		FAIL("%s: held is %llu blocks, a walk finds %llu", where(),
		     (unsigned long long)(usage.held / BLOCK_SIZE),
		     (unsigned long long)reached);
	world_free(world);
}

/* One death. False: the scenario was over before. */
static bool one(bool keeper)
{
	char *folder = test_folder();
	int status;
	pid_t pid;

	memset(progress, 0, sizeof(*progress));
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		FAIL("fork: %m");
	if (pid == 0)
		child(folder, keeper);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) &&
	    !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		FAIL("%s: the child ended with status %#x", where(), status);
	verify(folder);
	test_remove(folder);
	free(folder);
	return !progress->finished;
}

static void all(enum ram_fault kind, bool keeper, const char *name)
{
	uint64_t stride, deaths = 0;
	struct rng rng = rng_make(kind);

	/* With a housekeeper the n-th store is not the same one each time, so
	 * a short run takes some of them; a very short one (valgrind) takes
	 * some of all. */
	stride = test_count(1000, 1) < 20 ? 8 : 1;
	if (keeper && test_count(4, 1) < 4)
		stride *= 4;
	test_part("%s", name);
	die_kind = kind;
	for (die_at = 1 + rng_below(&rng, stride); one(keeper);
	     die_at += stride)
		deaths++;
	printf("%llu deaths\n", (unsigned long long)deaths);
	/* At least one for every step but those that change nothing. */
	CHECK(deaths >= script_steps / stride);
}

int main(void)
{
	test_begin("test-store-crash");
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(progress != MAP_FAILED);

	all(RAM_FAULT_BEFORE_PUBLISH, false, "before, alone");
	all(RAM_FAULT_AFTER_PUBLISH, false, "after, alone");
	all(RAM_FAULT_BEFORE_PUBLISH, true, "before, with housekeeper");
	all(RAM_FAULT_AFTER_PUBLISH, true, "after, with housekeeper");

	munmap(progress, sizeof(*progress));
	return test_end();
}
