/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranked locks: the order is checked in debug builds, per thread. */
#include "unit/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock.h"

static struct lock low;
static struct lock high;

static int setup(void **state)
{
	(void)state;
	lock_init(&low, RANK_DISKS);
	lock_init(&high, RANK_BLOCKS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	lock_destroy(&low);
	lock_destroy(&high);
	return 0;
}

static void upwards(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		lock_take(&low);
		lock_take(&high);
		assert_int_equal(lock_held,
				 1u << RANK_DISKS | 1u << RANK_BLOCKS);
		/* They may be given back in any order. */
		lock_drop(i % 2 ? &low : &high);
		lock_drop(i % 2 ? &high : &low);
		assert_int_equal(lock_held, 0);
	}
}

static void *other_thread(void *arg)
{
	bool *right = arg;

	/* What another thread holds is not ours. */
	*right = lock_held == 0 && !lock_try(&high) && lock_held == 0;
	lock_take(&low);
	*right = *right && lock_held == 1u << RANK_DISKS;
	lock_drop(&low);
	return NULL;
}

static void each_thread_its_own(void **state)
{
	pthread_t thread;
	bool right = false;

	(void)state;
	lock_take(&high);
	assert_int_equal(pthread_create(&thread, NULL, other_thread, &right),
			 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	lock_drop(&high);
	assert_true(right);
	assert_true(lock_try(&high));
	lock_drop(&high);
	assert_int_equal(lock_held, 0);
}

/* What must end the program does so, in a child. */
static void expect_abort(void (*wrong)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		/* The assertion's text would look like a failure. */
		signal(SIGABRT, SIG_DFL);
		close(STDERR_FILENO);
		wrong();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void take_downwards(void)
{
	lock_take(&high);
	lock_take(&low);
}

static void try_downwards(void)
{
	lock_take(&high);
	if (lock_try(&low))
		lock_drop(&low);
}

static void take_equal(void)
{
	struct lock second;

	lock_init(&second, RANK_DISKS);
	lock_take(&low);
	lock_take(&second);
}

static void drop_untaken(void)
{
	lock_drop(&low);
}

static void wrong_order(void **state)
{
	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* the sanitizer ends the child first, for the same reason */
#endif
	expect_abort(take_downwards);
	expect_abort(try_downwards);
	expect_abort(take_equal);
	expect_abort(drop_untaken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(upwards),
		cmocka_unit_test(each_thread_its_own),
		cmocka_unit_test(wrong_order),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
