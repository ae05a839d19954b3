/* SPDX-License-Identifier: BSD-3-Clause */
/* Huge pages: of 2 MiB set aside by the system, in anonymous memory and on a
 * hugetlbfs, and transparent ones. Memory is taken and given back by whole
 * groups; what is refused leaves nothing behind.
 *
 * Needs root, for what is set in /proc/sys and /sys, which is put back. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#undef BLOCK_SIZE /* sys/mount.h has one of its own */
#include "settings.h"
#include "util.h"

#define PAGES "/proc/sys/vm/nr_hugepages"
#define SHMEM "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
#define GROUP (2 * MIB)
#define POOL (32 * GROUP)
#define DISK (40 * GROUP)

static uint8_t buf[GROUP], got[GROUP], model[DISK];
static char pages_before[32], shmem_before[128];

/* ------------------------------------------------------ what the system has */

static bool get(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

static void put_back(void)
{
	char *word = strchr(shmem_before, '[');

	put(PAGES, pages_before);
	if (word) {
		word++;
		word[strcspn(word, "]")] = 0;
		put(SHMEM, word);
	}
}

/* At least so many that are free. False: the system has not got them. */
static bool have_pages(uint64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu",
		 strtoull(pages_before, NULL, 10) +
			 (unsigned long long)(bytes / GROUP));
	return put(PAGES, text) && settings_huge_free() >= bytes;
}

/* -------------------------------------------------------------------- pool */

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

static void begin(struct env *env, const struct ram_pool_config *config)
{
	struct ram_why why;

	if (attempt(env, config, &why))
		FAIL("%s", why.text);
}

static void same(struct env *env, struct ram_disk *disk)
{
	for (uint64_t off = 0; off < DISK; off += sizeof(got)) {
		CHECK_RC(env_read(env, disk, got, sizeof(got), off), 0);
		CHECK(memcmp(got, model + off, sizeof(got)) == 0);
	}
}

static void write_some(struct env *env, struct ram_disk *disk, struct rng *rng)
{
	uint64_t len =
		1 + rng_below(rng, rng_chance(rng, 50) ? 5000 : sizeof(buf));
	uint64_t off = rng_below(rng, DISK - len);
	struct ram_view view;
	int error;

	rng_fill(rng, buf, len);
	if (rng_chance(rng, 70)) {
		error = env_write(env, disk, buf, len, off, &len);
	} else {
		error = env_stage(env, disk, len, off, &view);
		if (!error) {
			view_fill(&view, buf);
			len = view.len;
			error = env_publish(env, &view);
			if (error)
				len = 0;
			ram_view_release(&view, env->thread);
		} else {
			len = 0;
		}
	}
	if (error)
		CHECK_RC(error, -ENOSPC);
	memcpy(model + off, buf, len);
}

static void trim_some(struct env *env, struct ram_disk *disk, struct rng *rng)
{
	uint64_t len = 1 + rng_below(rng, DISK / 2);
	uint64_t off = rng_below(rng, DISK - len);

	/* Cutting into a block needs memory. */
	len &= ~UINT64_C(4095);
	off &= ~UINT64_C(4095);
	CHECK_RC(env_zero(env, disk, len, off, 0), 0);
	memset(model + off, 0, len);
}

/* Anything, and what it takes is always whole groups. */
static void mixed(struct env *env, struct ram_disk *disk)
{
	struct rng rng = rng_make(7);
	uint64_t i, n = test_count(20000, 600);

	for (i = 0; i < n; i++) {
		if (rng_chance(&rng, 95))
			write_some(env, disk, &rng);
		else
			trim_some(env, disk, &rng);
		if (i % 50 == 0)
			ram_pool_tidy(env->pool);
		if (i % 200 == 0)
			same(env, disk);
	}
	same(env, disk);
	env_check(env);
}

static void whole(struct env *env, bool strict)
{
	uint64_t backing = env_usage(env).backing;

	CHECK(backing <= POOL);
	if (strict)
		CHECK_U64(backing % GROUP, 0);
}

static void use(const struct ram_pool_config *config)
{
	bool strict = config->hugepages == RAM_PAGES_2M;
	struct ram_disk *disk, *clone;
	struct env env;
	uint64_t empty;

	memset(model, 0, sizeof(model));
	begin(&env, config);
	whole(&env, strict);
	disk = env_create(&env, "disk", DISK);
	ram_pool_tidy(env.pool);
	empty = env_usage(&env).backing;
	CHECK(empty <= 2 * GROUP + config->warm);
	mixed(&env, disk);
	whole(&env, strict);
	clone = env_clone(disk, "clone", 0);
	same(&env, clone);
	env_delete(clone);
	if (config->path) {
		ram_disk_put(disk);
		env_close(&env);
		begin(&env, config);
		disk = env_disk(&env, "disk");
		same(&env, disk);
		env_check(&env);
		mixed(&env, disk);
	}
	/* All of it comes back, but what lies beside something in use. */
	CHECK_RC(env_zero(&env, disk, DISK, 0, 0), 0);
	ram_pool_tidy(env.pool);
	CHECK(env_usage(&env).backing <= empty + GROUP);
	env_delete(disk);
	/* As many as there are, and not one more. */
	disk = env_create_fixed(&env, "fixed", POOL / 2);
	CHECK(env_usage(&env).backing >= POOL / 2);
	whole(&env, strict);
	env_delete(disk);
	ram_pool_tidy(env.pool);
	CHECK(env_usage(&env).backing <= empty + GROUP);
	env_check(&env);
	env_close(&env);
}

static void refused(const struct ram_pool_config *config, const char *word)
{
	uint64_t before = settings_huge_free();
	struct ram_why why;
	struct env env;

	CHECK(attempt(&env, config, &why) < 0);
	CHECK_WHY(&why, word);
	if (config->path)
		CHECK(access(config->path, F_OK) != 0);
	CHECK_U64(settings_huge_free(), before);
}

/* -------------------------------------------------------------------- parts */

static void huge(void)
{
	struct ram_pool_config config = {
		.size = POOL,
		.hugepages = RAM_PAGES_2M,
	};
	struct env env;

	test_part("huge pages in anonymous memory");
	if (!have_pages(POOL)) {
		test_skip_part("there are no huge pages to be had");
		return;
	}
	use(&config);
	config.warm = 4 * GROUP;
	use(&config);
	CHECK(settings_huge_free() >= POOL);

	test_part("more than there are");
	config.size = settings_huge_free() + GROUP;
	refused(&config, "vm.nr_hugepages");
	config.size = RAM_DEFAULT;
	config.warm = 0;
	begin(&env, &config);
	CHECK(env_usage(&env).size >= POOL);
	env_close(&env);
	put(PAGES, pages_before);
	if (settings_huge_free() == 0)
		refused(&config, "vm.nr_hugepages");
}

/* Others took them after the pool was opened: an error to the writer, and no
 * signal. */
static void taken_away(void)
{
	struct ram_pool_config config = {
		.size = POOL,
		.hugepages = RAM_PAGES_2M,
	};
	struct ram_disk *disk;
	uint64_t off = 0, done;
	struct env env;
	int error;

	test_part("huge pages that are no longer there");
	if (!have_pages(POOL)) {
		test_skip_part("there are no huge pages to be had");
		return;
	}
	begin(&env, &config);
	disk = env_create(&env, "disk", DISK);
	memset(buf, 1, sizeof(buf));
	CHECK_RC(env_write(&env, disk, buf, sizeof(buf), 0, NULL), 0);
	put(PAGES, pages_before);
	do {
		error = env_write(&env, disk, buf, sizeof(buf), off, &done);
		off += done;
	} while (!error);
	CHECK_RC(error, -ENOSPC);
	CHECK(off < POOL);
	CHECK_RC(env_read(&env, disk, got, sizeof(got), 0), 0);
	CHECK(memcmp(buf, got, sizeof(got)) == 0);
	env_check(&env);
	env_delete(disk);
	env_close(&env);
}

/* In a namespace of its own, so that the mount goes with it. */
static void in_folder(void (*run)(const char *folder), const char *type,
		      const char *options)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		char *folder = test_folder();

		if (unshare(CLONE_NEWNS) < 0 ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("none", folder, type, 0, options) < 0) {
			printf("cannot mount a %s: %m\n", type);
			_exit(77);
		}
		run(folder);
		umount(folder);
		fflush(NULL);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		test_skip_part("no mounts here");
	else
		CHECK_U64(WEXITSTATUS(status), 0);
}

static void use_folder(const char *folder, enum ram_pages pages,
		       const char *word)
{
	struct ram_pool_config config = {.size = POOL};
	char path[200];

	snprintf(path, sizeof(path), "%s/pool", folder);
	config.path = path;
	if (word) {
		config.hugepages = pages;
		refused(&config, word);
		return;
	}
	config.hugepages = pages;
	use(&config);
}

static void on_hugetlbfs(const char *folder)
{
	use_folder(folder, RAM_PAGES_SMALL, "hugepages=2M");
	use_folder(folder, RAM_PAGES_THP, "tmpfs");
	use_folder(folder, RAM_PAGES_2M, NULL);
}

static void on_tmpfs(const char *folder)
{
	use_folder(folder, RAM_PAGES_2M, "hugetlbfs");
	use_folder(folder, RAM_PAGES_THP, "huge=advise");
}

static void on_huge_tmpfs(const char *folder)
{
	use_folder(folder, RAM_PAGES_THP, NULL);
}

static void folders(void)
{
	test_part("a folder on a hugetlbfs");
	if (!have_pages(POOL))
		test_skip_part("there are no huge pages to be had");
	else
		in_folder(on_hugetlbfs, "hugetlbfs", "pagesize=2M,mode=0700");
	put(PAGES, pages_before);
	test_part("a folder on a tmpfs without huge pages");
	in_folder(on_tmpfs, "tmpfs", "size=256M,mode=0700");
	test_part("a folder on a tmpfs with huge pages");
	in_folder(on_huge_tmpfs, "tmpfs", "size=256M,mode=0700,huge=advise");
}

static void transparent(void)
{
	struct ram_pool_config config = {
		.size = POOL,
		.hugepages = RAM_PAGES_THP,
	};

	test_part("transparent huge pages");
	if (!*shmem_before || !put(SHMEM, "advise")) {
		test_skip_part("this kernel has none for shared memory");
		return;
	}
	use(&config);
	CHECK(put(SHMEM, "never"));
	refused(&config, "echo advise");
	CHECK(put(SHMEM, "deny"));
	refused(&config, "echo advise");
	/* So that what a tmpfs says counts. */
	CHECK(put(SHMEM, "never"));
}

int main(void)
{
	pid_t child;
	int status;

	test_begin("test-store-hugepages");
	if (geteuid() != 0 || !get(PAGES, pages_before, sizeof(pages_before)) ||
	    !put(PAGES, pages_before)) {
		puts("huge pages cannot be set aside by us");
		return 77;
	}
	/* Others who look at these wait. */
	CHECK(flock(open(PAGES, O_RDONLY | O_CLOEXEC), LOCK_EX) == 0);
	get(PAGES, pages_before, sizeof(pages_before));
	get(SHMEM, shmem_before, sizeof(shmem_before));
	/* Whatever becomes of it, the system is as it was afterwards. */
	fflush(NULL);
	child = fork();
	if (child == 0) {
		transparent();
		huge();
		taken_away();
		folders();
		exit(test_end());
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		status = 1;
	put_back();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
