/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a pool in a folder: what is refused, and what a reopen keeps. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* linux/fs.h, which some sys/mount.h include, has another one. */
#undef BLOCK_SIZE
#include "util.h"

#define POOL_SIZE (8 * MIB)

static char *join(const char *folder, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		FAIL("no memory");
	return path;
}

static int try_open(const char *folder, uint64_t size, struct ram_why *why)
{
	struct ram_pool_config config = {
		.size = size,
		.path = folder,
	};
	struct ram_pool *pool = NULL;
	int rc;

	memset(why, 0, sizeof(*why));
	rc = ram_pool_open(&config, &pool, why);
	if (rc == 0)
		ram_pool_close(pool);
	return rc;
}

static void refused(const char *folder, uint64_t size, int want,
		    const char *word)
{
	struct ram_why why;
	int rc = try_open(folder, size, &why);

	if (rc != want)
		FAIL("ram_pool_open(%s) gave %d, not %d: %s", folder, rc, want,
		     why.text);
	CHECK_WHY(&why, word);
}

static void accepted(const char *folder, uint64_t size)
{
	struct ram_why why;
	int rc = try_open(folder, size, &why);

	if (rc)
		FAIL("ram_pool_open(%s) gave %d: %s", folder, rc, why.text);
}

/* In a process of its own, since locks belong to processes or to descriptors. */
static void refused_elsewhere(const char *folder, int want)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		refused(folder, POOL_SIZE, want, folder);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		FAIL("another process could open it, or fell over it");
}

static void folder_is_made(void)
{
	char *root = test_folder(), *folder = join(root, "pool");
	struct stat st;
	mode_t mask = umask(0);

	test_part("the folder is made, with mode 0700");
	accepted(folder, POOL_SIZE);
	CHECK(stat(folder, &st) == 0);
	CHECK(S_ISDIR(st.st_mode));
	CHECK_U64(st.st_mode & 07777, 0700);
	/* and with a umask that takes too much nothing is left half made */
	umask(mask);
	accepted(folder, POOL_SIZE);
	free(folder);

	folder = join(root, "none/pool");
	test_part("its parent is missing");
	refused(folder, POOL_SIZE, -ENOENT, folder);
	CHECK(stat(folder, &st) != 0);
	free(folder);
	free(root);
}

static void file_is_private(void)
{
	char *root = test_folder(), *folder = join(root, "pool"), *file;
	struct stat st;
	mode_t mask = umask(0);

	test_part("the file is for us alone");
	accepted(folder, POOL_SIZE);
	umask(mask);
	file = test_pool_file(folder);
	CHECK(file && stat(file, &st) == 0);
	CHECK_U64(st.st_mode & 07777, 0600);
	free(file);
	free(folder);
	free(root);
}

static void wrong_modes(void)
{
	static const mode_t modes[] = {0755, 0750, 0701, 0777, 0770, 0702};
	char *folder = test_folder();
	struct stat st;

	for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
		test_part("mode %04o", modes[i]);
		CHECK(chmod(folder, modes[i]) == 0);
		refused(folder, POOL_SIZE, -EACCES, folder);
		CHECK(stat(folder, &st) == 0);
		CHECK_U64(st.st_mode & 07777, modes[i]);
		CHECK(rmdir(folder) == 0 && mkdir(folder, 0700) == 0);
	}
	accepted(folder, POOL_SIZE);
	/* An existing pool is no better. */
	CHECK(chmod(folder, 0755) == 0);
	refused(folder, POOL_SIZE, -EACCES, folder);
	CHECK(chmod(folder, 0700) == 0);
	accepted(folder, POOL_SIZE);
	free(folder);
}

static void not_ours(void)
{
	char *folder = test_folder(), *file;

	test_part("somebody else's");
	if (geteuid() != 0) {
		test_skip_part("needs root");
		free(folder);
		return;
	}
	CHECK(chown(folder, 12345, 0) == 0);
	refused(folder, POOL_SIZE, -EACCES, folder);
	CHECK(chown(folder, 0, 0) == 0);
	accepted(folder, POOL_SIZE);
	file = test_pool_file(folder);
	CHECK(file && chown(file, 12345, 0) == 0);
	refused(folder, POOL_SIZE, -EACCES, folder);
	CHECK(chown(file, 0, 0) == 0);
	accepted(folder, POOL_SIZE);
	free(file);
	free(folder);
}

static void links(void)
{
	char *root = test_folder(), *folder = join(root, "pool");
	char *link = join(root, "link"), *away = join(root, "away");
	char *file;

	test_part("a link to the folder");
	accepted(folder, POOL_SIZE);
	CHECK(symlink(folder, link) == 0);
	refused(link, POOL_SIZE, -EACCES, link);
	accepted(folder, POOL_SIZE);

	test_part("a link in place of the file");
	file = test_pool_file(folder);
	CHECK(file && rename(file, away) == 0);
	CHECK(symlink(away, file) == 0);
	refused(folder, POOL_SIZE, -EACCES, folder);
	test_part("a link to nowhere in place of the file");
	CHECK(unlink(file) == 0 && symlink("/nowhere/at/all", file) == 0);
	refused(folder, POOL_SIZE, -EACCES, folder);
	test_part("a second name for the file");
	CHECK(unlink(file) == 0 && rename(away, file) == 0);
	CHECK(link != NULL && linkat(AT_FDCWD, file, AT_FDCWD, away, 0) == 0);
	refused(folder, POOL_SIZE, -EACCES, folder);
	CHECK(unlink(away) == 0);
	accepted(folder, POOL_SIZE);
	free(file);
	free(folder);
	free(link);
	free(away);
	free(root);
}

static void odd_things(void)
{
	char *root = test_folder(), *folder = join(root, "pool");
	char *plain = join(root, "plain"), *file;
	int fd = open(plain, O_CREAT | O_WRONLY, 0600);
	struct ram_why why;

	test_part("a plain file instead of a folder");
	CHECK(fd >= 0);
	close(fd);
	CHECK(try_open(plain, POOL_SIZE, &why) < 0);
	CHECK_WHY(&why, plain);

	accepted(folder, POOL_SIZE);
	file = test_pool_file(folder);
	CHECK(file && unlink(file) == 0);
	test_part("a folder instead of the file");
	CHECK(mkdir(file, 0700) == 0);
	CHECK(try_open(folder, POOL_SIZE, &why) < 0);
	CHECK_WHY(&why, folder);
	test_part("a named pipe instead of the file");
	CHECK(rmdir(file) == 0 && mkfifo(file, 0600) == 0);
	CHECK(try_open(folder, POOL_SIZE, &why) < 0);
	CHECK_WHY(&why, folder);
	CHECK(unlink(file) == 0);
	test_part("a file that may not be read or written");
	fd = open(file, O_CREAT | O_WRONLY, 0);
	CHECK(fd >= 0);
	close(fd);
	CHECK(try_open(folder, POOL_SIZE, &why) < 0); /* empty at any rate */
	CHECK_WHY(&why, folder);
	free(file);
	free(plain);
	free(folder);
	free(root);
}

static void owned_by_one(void)
{
	char *folder = test_folder();
	struct ram_disk *disk;
	struct env env;
	int ends[2];
	char byte;
	pid_t pid;

	test_part("opened twice");
	env_open(&env, folder, POOL_SIZE, 0);
	disk = env_create(&env, "disk", MIB);
	refused(folder, POOL_SIZE, -EBUSY, folder);
	refused_elsewhere(folder, -EBUSY);
	/* It has done no harm. */
	CHECK_RC(env_write(&env, disk, "abc", 3, 0, NULL), 0);
	env_check(&env);
	ram_disk_put(disk);
	env_close(&env);
	accepted(folder, POOL_SIZE);

	test_part("opened by a process that then ends");
	CHECK(pipe(ends) == 0);
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		close(ends[0]);
		env_open(&env, folder, POOL_SIZE, 0);
		CHECK(write(ends[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	close(ends[1]);
	CHECK(read(ends[0], &byte, 1) == 1);
	refused(folder, POOL_SIZE, -EBUSY, folder);
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
	close(ends[0]);
	accepted(folder, POOL_SIZE);
	free(folder);
}

static struct ram_disk *make(struct env *env, const char *name,
			     enum ram_state state)
{
	struct ram_disk_spec spec = {
		.name = name,
		.size = 64 * KIB + 1,
		.state = state,
	};
	struct ram_disk *disk;
	uint8_t buf[8 * BLOCK_SIZE];

	CHECK_RC(ram_disk_create(env->pool, &spec, &disk), 0);
	fill_pattern(buf, sizeof(buf), (uint8_t)name[0]);
	CHECK_RC(env_write(env, disk, buf, sizeof(buf), 10, NULL), 0);
	return disk;
}

static void states(bool killed)
{
	char *folder = test_folder();
	struct ram_disk_info info[2];
	struct ram_disk *disk[5];
	uint8_t got[8 * BLOCK_SIZE], want[8 * BLOCK_SIZE];
	uint64_t cursor = 0, held;
	struct env env;

	test_part("which disks are kept, after %s",
		  killed ? "a kill" : "a close");
	env_open(&env, folder, POOL_SIZE, 0);
	disk[0] = make(&env, "whole", RAM_WHOLE);
	CHECK_RC(ram_disk_note(disk[0], "note", 4), 0);
	CHECK_RC(env_info(&env, disk[0], RAM_INFO_USAGE, &info[0]), 0);
	held = env_usage(&env).held;
	disk[1] = make(&env, "making", RAM_MAKING);
	disk[2] = make(&env, "temporary", RAM_TEMPORARY);
	disk[3] = make(&env, "deleted", RAM_WHOLE);
	disk[4] = make(&env, "lowered", RAM_WHOLE);
	CHECK_RC(ram_disk_delete(disk[3]), 0);
	CHECK_RC(ram_disk_state(disk[4], RAM_TEMPORARY), 0);

	if (killed) {
		/* A copy of the file as it is now: that is what a kill
		 * leaves. */
		char *file = test_pool_file(folder), *copy = test_folder();
		char *command, *name = strrchr(file, '/');

		if (asprintf(&command, "cp --sparse=always '%s' '%s/%s'", file,
			     copy, name + 1) < 0)
			FAIL("no memory");
		CHECK(system(command) == 0);
		free(command);
		for (unsigned i = 0; i < 5; i++)
			ram_disk_put(disk[i]);
		env_close(&env);
		free(file);
		free(folder);
		folder = copy;
	} else {
		for (unsigned i = 0; i < 5; i++)
			ram_disk_put(disk[i]);
		env_close(&env);
	}
	env_open(&env, folder, POOL_SIZE, 0);
	CHECK_RC(ram_disk_open(env.pool, "making", &disk[1]), -ENOENT);
	CHECK_RC(ram_disk_open(env.pool, "temporary", &disk[1]), -ENOENT);
	CHECK_RC(ram_disk_open(env.pool, "deleted", &disk[1]), -ENOENT);
	CHECK_RC(ram_disk_open(env.pool, "lowered", &disk[1]), -ENOENT);
	CHECK_RC(ram_disk_next(env.pool, &cursor, &disk[0]), 0);
	CHECK_RC(ram_disk_next(env.pool, &cursor, &disk[1]), -ENOENT);
	CHECK_RC(env_info(&env, disk[0], RAM_INFO_USAGE, &info[1]), 0);
	CHECK(strcmp(info[1].name, "whole") == 0);
	CHECK(memcmp(info[0].uuid, info[1].uuid, 16) == 0);
	CHECK_U64(info[1].size, info[0].size);
	CHECK_U64(info[1].generation, info[0].generation);
	CHECK_U64(info[1].held, info[0].held);
	CHECK_U64(info[1].own, info[0].own);
	CHECK_U64(info[1].note_len, 4);
	CHECK(memcmp(info[1].note, "note", 4) == 0);
	CHECK_RC(env_read(&env, disk[0], got, sizeof(got), 10), 0);
	fill_pattern(want, sizeof(want), 'w');
	CHECK(memcmp(got, want, sizeof(got)) == 0);
	ram_pool_tidy(env.pool);
	CHECK_U64(env_usage(&env).held, held);
	/* The dropped ones' names can be used again. */
	env_delete(env_create(&env, "making", 1));
	env_delete(env_create(&env, "deleted", 1));
	ram_disk_put(disk[0]);
	env_check(&env);
	env_close(&env);
	free(folder);
}

/* A pool that is kept may be given another size when it is opened again. */
static void another_size(void)
{
	char *folder = test_folder();
	struct ram_disk *disk;
	struct ram_why why;
	struct env env;
	uint8_t buf[64 * KIB], got[64 * KIB];
	int rc;

	test_part("opened with another size");
	env_open(&env, folder, POOL_SIZE, 0);
	disk = env_create(&env, "disk", 64 * MIB);
	for (unsigned i = 0; i < 64; i++) {
		fill_pattern(buf, sizeof(buf), i);
		CHECK_RC(env_write(&env, disk, buf, sizeof(buf),
				   i * sizeof(buf), NULL),
			 0);
	}
	ram_disk_put(disk);
	env_close(&env);

	env_open(&env, folder, 4 * POOL_SIZE, 0);
	CHECK_U64(env_usage(&env).size, 4 * POOL_SIZE);
	disk = env_disk(&env, "disk");
	for (unsigned i = 64; i < 320; i++) {
		fill_pattern(buf, sizeof(buf), i);
		CHECK_RC(env_write(&env, disk, buf, sizeof(buf),
				   i * sizeof(buf), NULL),
			 0);
	}
	ram_disk_put(disk);
	env_close(&env);

	/* Smaller than what it holds: refused, with everything left there; or
	 * not, but then everything is there as well. */
	rc = try_open(folder, POOL_SIZE, &why);
	if (rc)
		CHECK_WHY(&why, NULL);
	env_open(&env, folder, 4 * POOL_SIZE, 0);
	disk = env_disk(&env, "disk");
	for (unsigned i = 0; i < 320; i++) {
		fill_pattern(buf, sizeof(buf), i);
		CHECK_RC(
			env_read(&env, disk, got, sizeof(got), i * sizeof(got)),
			0);
		CHECK(memcmp(got, buf, sizeof(buf)) == 0);
	}
	env_delete(disk);
	ram_pool_tidy(env.pool);
	env_check(&env);
	env_close(&env);
	accepted(folder, POOL_SIZE);
	free(folder);
}

static void wrong_sizes(void)
{
	char *root = test_folder(), *folder = join(root, "pool");
	struct stat st;

	test_part("sizes that no pool has");
	refused(folder, 0, -EINVAL, NULL);
	refused(folder, RAM_POOL_MIN - 1, -EINVAL, NULL);
	refused(folder, RAM_POOL_MAX + 1, -EINVAL, NULL);
	refused(NULL, 0, -EINVAL, NULL);
	refused(NULL, RAM_POOL_MAX + 4096, -EINVAL, NULL);
	CHECK(stat(folder, &st) != 0);
	accepted(NULL, RAM_POOL_MIN);
	accepted(folder, RAM_POOL_MIN);
	free(folder);
	free(root);
}

static void default_size(void)
{
	struct env env;

	test_part("the default size");
	env_open(&env, NULL, RAM_DEFAULT, 0);
	CHECK(env_usage(&env).size >= RAM_POOL_MIN);
	CHECK(env_usage(&env).size <= RAM_POOL_MAX);
	env_delete(env_create(&env, "disk", MIB));
	env_close(&env);
}

/* A file system that holds less than was asked for, or is filled by somebody
 * else later: an error, never SIGBUS. */
static void small_tmpfs_child(const char *folder)
{
	uint8_t buf[16 * BLOCK_SIZE];
	struct ram_disk *disk;
	struct env env;
	char *pool = join(folder, "pool"), *other = join(folder, "other");
	uint64_t off = 0;
	int fd, rc;

	if (mount("tmpfs", folder, "tmpfs", 0, "size=8m,mode=0700") != 0)
		_exit(77);
	refused(pool, 64 * MIB, -ENOSPC, NULL);
	accepted(pool, RAM_DEFAULT);
	env_open(&env, pool, RAM_DEFAULT, 0);
	CHECK(env_usage(&env).size <= 8 * MIB);
	disk = env_create(&env, "disk", 64 * MIB);
	memset(buf, 3, sizeof(buf));
	for (off = 0; off < MIB; off += sizeof(buf))
		CHECK_RC(env_write(&env, disk, buf, sizeof(buf), off, NULL), 0);

	/* Somebody else takes the rest. */
	fd = open(other, O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0);
	while (write(fd, buf, sizeof(buf)) > 0 || write(fd, buf, 1) > 0)
		;
	for (rc = 0; rc == 0 && off < 16 * MIB; off += sizeof(buf))
		rc = env_write(&env, disk, buf, sizeof(buf), off, NULL);
	CHECK_RC(rc, -ENOSPC);
	for (unsigned i = 0; i < 50; i++) {
		/* in small pieces and in parts too */
		rc = env_write(&env, disk, buf, 10, 32 * MIB + i * 4096, NULL);
		CHECK(rc == 0 || rc == -ENOSPC);
		rc = env_zero(&env, disk, MIB, 40 * MIB, RAM_KEEP);
		CHECK(rc == 0 || rc == -ENOSPC);
	}
	rc = ram_disk_note(disk, buf, 100);
	CHECK(rc == 0 || rc == -ENOSPC);
	env_check(&env);
	/* What was written is there. */
	for (off = 0; off < MIB; off += sizeof(buf)) {
		memset(buf, 0, sizeof(buf));
		CHECK_RC(env_read(&env, disk, buf, sizeof(buf), off), 0);
		for (unsigned i = 0; i < sizeof(buf); i++)
			CHECK_U64(buf[i], 3);
	}
	/* And when there is room again, it works again. */
	CHECK(ftruncate(fd, 0) == 0);
	close(fd);
	CHECK_RC(env_write(&env, disk, buf, sizeof(buf), 20 * MIB, NULL), 0);
	ram_disk_put(disk);
	env_close(&env);

	/* Reopened while it is full: works too, or says why not. */
	fd = open(other, O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0);
	while (write(fd, buf, sizeof(buf)) > 0 || write(fd, buf, 1) > 0)
		;
	close(fd);
	accepted(pool, RAM_DEFAULT);
	_exit(0);
}

static void small_tmpfs(void)
{
	char *folder = test_folder();
	int status;
	pid_t pid;

	test_part("a file system that is too small");
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		/* Mounts of our own, gone with this process. */
		if (unshare(CLONE_NEWNS) != 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
			_exit(77);
		small_tmpfs_child(folder);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		test_skip_part("needs root, to mount");
	else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		FAIL("the child ended with status %#x", status);
	free(folder);
}

int main(void)
{
	test_begin("test-store-open");
	folder_is_made();
	file_is_private();
	wrong_modes();
	not_ours();
	links();
	odd_things();
	owned_by_one();
	states(false);
	states(true);
	another_size();
	wrong_sizes();
	default_size();
	small_tmpfs();
	return test_end();
}
