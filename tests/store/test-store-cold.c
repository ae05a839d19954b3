/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that has to have memory from the kernel may be kept waiting there, and
 * nobody waits for it: a clone is made meanwhile and shows nothing of the write, a
 * disk may be cut meanwhile and the write then finds that.
 *
 * The kernel is slow here because the test's fault hook is. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "util.h"

#define SIZE (2 * MIB) /* one leaf */
#define LEN (MIB)
#define OFF (512 * KIB)

enum how {
	WRITE_WHOLE,
	WRITE_CUT, /* neither end is that of a block */
	STAGE,
	ZERO_KEEP,
	HOWS,
};

static const char *const how_text[] = {"a write", "a write of parts of blocks",
				       "a stage", "zeroes that stay allocated"};

static sem_t waits, go;
static pthread_t main_thread;
static _Atomic bool armed;

/* The first call of another thread than main's stays here. */
static bool slow_kernel(enum ram_fault kind)
{
	bool yes = true;

	if (kind != RAM_FAULT_BACKING ||
	    pthread_equal(pthread_self(), main_thread) ||
	    !atomic_compare_exchange_strong(&armed, &yes, false))
		return false;
	sem_post(&waits);
	while (sem_wait(&go) < 0)
		;
	return false;
}

struct job {
	struct env env;
	struct ram_disk *disk;
	enum how how;
	uint64_t off, len;
	uint8_t *data;
	int error;
};

static void *work(void *arg)
{
	struct job *job = arg;
	struct ram_view view;
	uint64_t done = 0;

	CHECK_RC(ram_pool_join(job->env.pool, NULL, NULL, &job->env.thread), 0);
	switch (job->how) {
	case WRITE_WHOLE:
	case WRITE_CUT:
		job->error = env_write(&job->env, job->disk, job->data,
				       job->len, job->off, NULL);
		break;
	case STAGE:
		while (!job->error && done < job->len) {
			job->error = env_stage(&job->env, job->disk,
					       job->len - done, job->off + done,
					       &view);
			if (job->error)
				break;
			view_fill(&view, job->data + done);
			done += view.len;
			job->error = env_publish(&job->env, &view);
			ram_view_release(&view, job->env.thread);
		}
		break;
	case ZERO_KEEP:
		job->error = env_zero(&job->env, job->disk, job->len, job->off,
				      RAM_KEEP);
		break;
	case HOWS:
		break;
	}
	ram_pool_leave(job->env.thread);
	return NULL;
}

/* What the disk should hold is what is in `want`. */
static void compare(struct env *env, struct ram_disk *disk, const uint8_t *want)
{
	uint8_t *got = malloc(SIZE);

	CHECK(got);
	CHECK_RC(env_read(env, disk, got, SIZE, 0), 0);
	CHECK(memcmp(got, want, SIZE) == 0);
	free(got);
}

static void job_begin(struct job *job, struct env *env, enum how how)
{
	memset(job, 0, sizeof(*job));
	job->how = how;
	job->len = how == WRITE_CUT ? LEN - 100 : LEN;
	job->off = how == WRITE_CUT ? OFF + 50 : OFF;
	job->data = calloc(1, LEN);
	CHECK(job->data);
	if (how != ZERO_KEEP)
		fill_pattern(job->data, LEN, 7);
	job->env = *env;
	job->disk = env_create(env, "a", SIZE);
}

/* Runs until it waits for the kernel. */
static pthread_t job_start(struct job *job)
{
	pthread_t thread;

	atomic_store(&armed, true);
	CHECK(pthread_create(&thread, NULL, work, job) == 0);
	while (sem_wait(&waits) < 0)
		;
	return thread;
}

static void job_finish(struct job *job, pthread_t thread)
{
	sem_post(&go);
	CHECK(pthread_join(thread, NULL) == 0);
	free(job->data);
}

/* The tables are there then. Afterwards no free block has memory, so that the job
 * has published nothing yet when it waits. */
static void first_block(struct env *env, struct job *job, uint8_t *model)
{
	memset(model, 3, RAM_BLOCK);
	CHECK_RC(env_write(env, job->disk, model, RAM_BLOCK, 0, NULL), 0);
	ram_pool_tidy(env->pool);
}

static void clone_beside(enum how how)
{
	uint8_t *model = calloc(1, SIZE);
	struct ram_disk *snapshot;
	struct env env;
	struct job job;
	pthread_t thread;

	test_part("a snapshot beside %s", how_text[how]);
	CHECK(model);
	env_open(&env, NULL, 64 * MIB, 0);
	env_keeper(&env);
	job_begin(&job, &env, how);
	first_block(&env, &job, model);
	thread = job_start(&job);
	snapshot = env_clone(job.disk, "b", RAM_SNAPSHOT);
	compare(&env, snapshot, model);
	memcpy(model + job.off, job.data, job.len);
	job_finish(&job, thread);
	CHECK_RC(job.error, 0);
	compare(&env, job.disk, model);
	memset(model + RAM_BLOCK, 0, SIZE - RAM_BLOCK);
	compare(&env, snapshot, model);
	env_check(&env);
	ram_disk_put(snapshot);
	ram_disk_put(job.disk);
	env_close(&env);
	free(model);
}

static void cut_beside(enum how how)
{
	uint8_t *model = calloc(1, SIZE), got[RAM_BLOCK];
	struct ram_usage before, after;
	struct env env;
	struct job job;
	pthread_t thread;

	test_part("a disk is cut beside %s", how_text[how]);
	CHECK(model);
	env_open(&env, NULL, 64 * MIB, 0);
	env_keeper(&env);
	job_begin(&job, &env, how);
	first_block(&env, &job, model);
	before = env_usage(&env);
	thread = job_start(&job);
	CHECK_RC(ram_disk_resize(job.disk, RAM_BLOCK), 0);
	job_finish(&job, thread);
	/* It lies outside now. */
	CHECK_RC(job.error, -EINVAL);
	CHECK_U64(ram_disk_size(job.disk), RAM_BLOCK);
	CHECK_RC(env_read(&env, job.disk, got, RAM_BLOCK, 0), 0);
	CHECK(memcmp(got, model, RAM_BLOCK) == 0);
	env_check(&env);
	after = env_usage(&env);
	CHECK(after.held <= before.held);
	ram_disk_put(job.disk);
	env_close(&env);
	free(model);
}

int main(void)
{
	int how;

	test_begin("test-store-cold");
	main_thread = pthread_self();
	CHECK(sem_init(&waits, 0, 0) == 0 && sem_init(&go, 0, 0) == 0);
	ram_fault_hook = slow_kernel;
	for (how = 0; how < HOWS; how++) {
		clone_beside(how);
		cut_beside(how);
	}
	return test_end();
}
