/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is locked, and from which node it comes. What cannot be had is
 * said in one line, and nothing is left behind. */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/mempolicy.h>

#include "util.h"

#define POOL (32 * MIB)

static uint8_t buf[MIB];

static int attempt(struct env *env, const struct ram_pool_config *config,
		   struct ram_why *why)
{
	int error;

	memset(env, 0, sizeof(*env));
	why->text[0] = 0;
	error = ram_pool_open(config, &env->pool, why);
	if (!error)
		CHECK_RC(ram_pool_join(env->pool, NULL, NULL, &env->thread), 0);
	return error;
}

/* A field of /proc/self/status in KiB. */
static uint64_t status(const char *field)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long value = 0;
	char line[200];

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, field, strlen(field)) == 0)
			sscanf(line + strlen(field), ": %llu", &value);
	}
	fclose(file);
	return value;
}

/* No right to lock more than the limit. */
static void drop_rights(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	CHECK(syscall(SYS_capget, &head, data) == 0);
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	CHECK(syscall(SYS_capset, &head, data) == 0);
}

static void set_limit(uint64_t bytes)
{
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
}

static void use(const struct ram_pool_config *config)
{
	struct ram_disk *disk;
	struct ram_why why;
	struct env env;
	unsigned i;

	if (attempt(&env, config, &why))
		FAIL("%s", why.text);
	disk = env_create(&env, "disk", GIB);
	fill_pattern(buf, sizeof(buf), 1);
	for (i = 0; i < 8; i++)
		CHECK_RC(env_write(&env, disk, buf, MIB, i * MIB, NULL), 0);
	CHECK_RC(env_zero(&env, disk, 4 * MIB, 0, 0), 0);
	ram_pool_tidy(env.pool);
	CHECK(env_usage(&env).backing <= 5 * MIB);
	env_check(&env);
	env_delete(disk);
	env_close(&env);
}

static void lock_allowed(void)
{
	struct ram_pool_config config = {.size = POOL, .lock = true};
	struct ram_why why;
	struct env env;

	if (attempt(&env, &config, &why)) {
		test_skip_part(why.text);
		return;
	}
	/* All of it, though nothing is there yet. */
	CHECK(status("VmLck") >= POOL / KIB);
	CHECK(status("VmRSS") < POOL / KIB || test_slowed());
	env_close(&env);
	CHECK_U64(status("VmLck"), 0);
	use(&config);
}

/* In another process: what was locked before the fork is locked again. */
static void after_fork(void)
{
	struct ram_pool_config config = {.size = POOL, .lock = true};
	struct ram_why why;
	struct env env;
	int result;
	pid_t pid;

	if (attempt(&env, &config, &why)) {
		test_skip_part(why.text);
		return;
	}
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK_U64(status("VmLck"), 0);
		CHECK_RC(ram_pool_start(env.pool), 0);
		CHECK(status("VmLck") >= POOL / KIB);
		fflush(NULL);
		_exit(0);
	}
	CHECK(waitpid(pid, &result, 0) == pid);
	CHECK_U64(result, 0);
	env_close(&env);
}

static void lock_refused(const char *parent)
{
	struct ram_pool_config config = {.size = POOL, .lock = true};
	struct ram_why why;
	struct env env;
	char path[200];

	drop_rights();
	set_limit(POOL / 2);
	CHECK(attempt(&env, &config, &why) < 0);
	CHECK_WHY(&why, "ulimit -l");
	snprintf(path, sizeof(path), "%s/locked", parent);
	config.path = path;
	CHECK(attempt(&env, &config, &why) < 0);
	CHECK_WHY(&why, "ulimit -l");
	CHECK(access(path, F_OK) != 0);
	/* The pool and its counts, and not a page more. */
	set_limit(POOL + POOL / 256);
	config.path = NULL;
	if (attempt(&env, &config, &why) == 0)
		env_close(&env);
	else
		printf("limits cannot be raised again: %s\n", why.text);
	set_limit(0);
	CHECK(attempt(&env, &config, &why) < 0);
	CHECK_WHY(&why, "ulimit -l");
	config.lock = false;
	use(&config);
}

static void numa(const char *parent)
{
	struct ram_pool_config config = {
		.size = POOL,
		.numa = RAM_NUMA_INTERLEAVE,
	};
	struct ram_why why;
	struct env env;
	char path[200];

	snprintf(path, sizeof(path), "%s/pool", parent);
	if (attempt(&env, &config, &why)) {
		test_skip_part(why.text);
		return;
	}
	env_close(&env);
	use(&config);
	config.numa = RAM_NUMA_NODE(0);
	use(&config);
	config.path = path;
	use(&config);
	config.path = "/nowhere/at/all";
	/* Looked at before the folder is. */
	config.numa = RAM_NUMA_NODE(900);
	CHECK_RC(attempt(&env, &config, &why), -EINVAL);
	CHECK_WHY(&why, "900");
	CHECK_WHY(&why, "there are: 0");
	config.numa = RAM_NUMA_NODE(1 << 30);
	CHECK_RC(attempt(&env, &config, &why), -EINVAL);
}

int main(void)
{
	char *folder;

	test_begin("test-store-settings");
	folder = test_folder();
	test_part("from nodes");
	numa(folder);
	test_part("locked");
	lock_allowed();
	test_part("locked, after a fork");
	after_fork();
	test_part("locked, without the right to");
	lock_refused(folder);
	free(folder);
	return test_end();
}
