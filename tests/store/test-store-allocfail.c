/* SPDX-License-Identifier: BSD-3-Clause */
/* The scripted scenario again and again, with the n-th allocation (or taking of
 * backing memory) failing, for every n: a call that fails leaves everything as
 * it was, and works when it is repeated. Built with AddressSanitizer this also
 * finds what a failing path forgets to free. */
#include "model.h"
#include "script.h"
#include "util.h"

#define POOL_SIZE (32 * MIB)

/* Events of `kind` number `first` to `first + many - 1` fail. */
static struct {
	bool armed;
	enum ram_fault kind;
	uint64_t first, many;
	uint64_t seen, failed;
} faults;

static bool hook(enum ram_fault kind)
{
	if (!faults.armed || kind != faults.kind)
		return false;
	faults.seen++;
	if (faults.seen < faults.first ||
	    faults.seen - faults.first >= faults.many)
		return false;
	faults.failed++;
	return true;
}

static const char *fault_text(void)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s fault %llu, %llu times",
		 faults.kind == RAM_FAULT_ALLOC ? "memory" : "backing",
		 (unsigned long long)faults.first,
		 (unsigned long long)faults.many);
	return text;
}

static void plausible(int rc, const char *what)
{
	if (rc != -ENOMEM && rc != -ENOSPC)
		FAIL("%s: %s gave %d (%s)", fault_text(), what, rc,
		     strerror(-rc));
	if (faults.failed == 0)
		FAIL("%s: %s failed without a fault", fault_text(), what);
}

static void open_pool(struct env *env, const char *folder)
{
	struct ram_pool_config config = {
		.size = POOL_SIZE,
		.warm = MIB,
		.path = folder,
	};
	struct ram_why why = {""};
	int rc;

	memset(env, 0, sizeof(*env));
	faults.armed = true;
	rc = ram_pool_open(&config, &env->pool, &why);
	faults.armed = false;
	if (rc) {
		plausible(rc, "ram_pool_open");
		CHECK_WHY(&why, NULL);
		rc = ram_pool_open(&config, &env->pool, &why);
		if (rc)
			FAIL("%s: opening the pool once more gave %d: %s",
			     fault_text(), rc, why.text);
	}
	faults.armed = true;
	rc = ram_pool_join(env->pool, NULL, NULL, &env->thread);
	faults.armed = false;
	if (rc) {
		CHECK_RC(rc, -ENOMEM);
		CHECK_RC(ram_pool_join(env->pool, NULL, NULL, &env->thread), 0);
	}
}

/* After a data step that failed the blocks are old or new, the others old. */
static void verify_failed(struct world *world, struct env *env,
			  struct handles *handles, unsigned number,
			  uint64_t done)
{
	const struct step *step = &script[number];
	struct world *next;
	uint64_t where;
	char text[300];

	if (step_is_data(number)) {
		handles_complete(env, handles);
		next = world_copy(world);
		world_step(next, number);
		if (!model_either(world->disk[step->disk].model,
				  next->disk[step->disk].model, env,
				  handles->disk[step->disk], &where))
			FAIL("%s: %s failed and left the block at %#llx "
			     "neither old nor new",
			     fault_text(), step_text(number),
			     (unsigned long long)where);
		world_free(next);
		/* A write that says that nothing was written means it. */
		if (done || step->op == STEP_ZERO || step->op == STEP_KEEP ||
		    step->op == STEP_STAGE)
			model_adopt(world->disk[step->disk].model, env,
				    handles->disk[step->disk]);
	}
	snprintf(text, sizeof(text), "%s: after failed %s", fault_text(),
		 step_text(number));
	world_verify(world, env, handles, text);
	env_check(env);
}

static void reopen(struct env *env, struct handles *handles,
		   struct world *world, const char *folder)
{
	handles_put(handles);
	env_close(env);
	world_restart(world);
	open_pool(env, folder);
	handles_open(env, handles, world);
}

static void run(const char *folder)
{
	struct handles handles = {{NULL}};
	struct world *world = world_new();
	struct env env;
	uint64_t done;

	faults.seen = faults.failed = 0;
	open_pool(&env, folder);
	for (unsigned number = 0; number < script_steps; number++) {
		int rc;

		faults.armed = true;
		rc = script_step(&env, &handles, number, &done);
		faults.armed = false;
		if (rc) {
			plausible(rc, step_text(number));
			verify_failed(world, &env, &handles, number, done);
			rc = script_step(&env, &handles, number, &done);
			if (rc)
				FAIL("%s: %s once more gave %d (%s)",
				     fault_text(), step_text(number), rc,
				     strerror(-rc));
		}
		world_step(world, number);
		/* On the way, where all disks are whole, and at the end. */
		if (number == script_steps / 3)
			reopen(&env, &handles, world, folder);
	}
	world_verify(world, &env, &handles, fault_text());
	env_check(&env);
	reopen(&env, &handles, world, folder);
	world_verify(world, &env, &handles, fault_text());
	env_check(&env);

	/* Nothing was lost to a failing path. */
	for (unsigned i = 0; i < WORLD_DISKS; i++)
		if (handles.disk[i])
			CHECK_RC(ram_disk_delete(handles.disk[i]), 0);
	handles_put(&handles);
	ram_pool_tidy(env.pool);
	env_check(&env);
	if (env_usage(&env).held > 8 * BLOCK_SIZE || env_usage(&env).freed ||
	    env_usage(&env).guaranteed)
		FAIL("%s: an empty pool holds %llu bytes, freed %llu, "
		     "guaranteed %llu",
		     fault_text(), (unsigned long long)env_usage(&env).held,
		     (unsigned long long)env_usage(&env).freed,
		     (unsigned long long)env_usage(&env).guaranteed);
	env_close(&env);
	world_free(world);
}

static void all(enum ram_fault kind, uint64_t many, const char *name)
{
	uint64_t n = 1, runs = 0;
	/* Every place of the scenario in a long run; a random part, but never
	 * less than the first ones, in a short one. */
	uint64_t most = test_count(4000, 200);
	struct rng rng = rng_make(many);

	test_part("%s", name);
	do {
		char *folder = test_folder();

		faults.kind = kind;
		faults.first = n;
		faults.many = many;
		run(folder);
		test_remove(folder);
		free(folder);
		runs++;
		n += runs < most ? 1 : 1 + rng_below(&rng, 50);
	} while (faults.failed);
	CHECK(runs > 10);
	printf("%llu runs, %llu places\n", (unsigned long long)runs,
	       (unsigned long long)faults.seen);
}

int main(void)
{
	test_begin("test-store-allocfail");
	ram_fault_hook = hook;
	all(RAM_FAULT_ALLOC, 1, "one allocation fails");
	all(RAM_FAULT_ALLOC, 3, "three in a row");
	all(RAM_FAULT_ALLOC, UINT64_MAX, "all from one on");
	all(RAM_FAULT_BACKING, 1, "one block of backing memory fails");
	all(RAM_FAULT_BACKING, 3, "three in a row");
	all(RAM_FAULT_BACKING, UINT64_MAX, "all from one on");
	return test_end();
}
