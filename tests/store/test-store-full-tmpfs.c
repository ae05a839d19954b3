/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool whose tables have lost their memory, in a file system that is full: what
 * is read there has no page behind it and none can be had. It is refused like any
 * other damage, and not by a SIGBUS. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* linux/fs.h, which some sys/mount.h include, has another one. */
#undef BLOCK_SIZE
#include "util.h"

#define SIZE (8 * MIB)
#define DATA (2 * MIB)
#define PAGES 640 /* all that it has */

/* A tmpfs of our own, which goes away with the process. */
static bool mount_small(const char *folder)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", folder, "tmpfs", 0, "size=16m,mode=0700") == 0;
}

static void fill_up(const char *name)
{
	static const char zeroes[MIB];
	size_t len = sizeof(zeroes);
	int fd = open(name, O_CREAT | O_WRONLY, 0600);

	CHECK(fd >= 0);
	while (len >= RAM_BLOCK) {
		if (write(fd, zeroes, len) < (ssize_t)len)
			len /= 2;
	}
	close(fd);
}

/* A pool with some data, closed. The disk ends in the middle of a block, whose
 * other half is looked at. */
static char *make_pool(const char *folder)
{
	static uint8_t buf[DATA + 100];
	struct ram_disk *disk;
	struct env env;
	char *file;

	env_open(&env, folder, SIZE, 0);
	disk = env_create(&env, "disk", sizeof(buf));
	fill_pattern(buf, sizeof(buf), 1);
	CHECK_RC(env_write(&env, disk, buf, sizeof(buf), 0, NULL), 0);
	file = test_pool_file(folder);
	CHECK(file);
	ram_disk_put(disk);
	env_close(&env);
	return file;
}

/* True: refused, and nothing was changed. */
static bool refused(const char *folder, int fd)
{
	struct ram_pool_config config = {.size = RAM_DEFAULT, .path = folder};
	struct ram_pool *pool;
	struct ram_why why = {""};
	struct stat before, after;
	int rc;

	CHECK(fstat(fd, &before) == 0);
	rc = ram_pool_open(&config, &pool, &why);
	if (rc == 0) {
		ram_pool_close(pool);
		return false;
	}
	if (rc != -EINVAL)
		FAIL("%d, not -EINVAL: %s", rc, why.text);
	CHECK_WHY(&why, "memory");
	CHECK(fstat(fd, &after) == 0);
	CHECK_U64(after.st_blocks, before.st_blocks);
	CHECK_U64(after.st_size, before.st_size);
	return true;
}

/* Each page loses its memory in turn, and somebody else takes it. */
static void each_page(const char *folder)
{
	char *file = make_pool(folder), *others;
	uint8_t page[BLOCK_SIZE];
	unsigned i, count = 0;
	off_t at;
	int fd;

	CHECK(asprintf(&others, "%s/others", folder) > 0);
	fd = open(file, O_RDWR);
	CHECK(fd >= 0);
	for (i = BLOCK_FIRST; i < BLOCK_FIRST + PAGES; i++) {
		at = (off_t)i * BLOCK_SIZE;
		if (lseek(fd, at, SEEK_DATA) != at)
			continue;
		CHECK(pread(fd, page, sizeof(page), at) == sizeof(page));
		CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				at, sizeof(page)) == 0);
		fill_up(others);
		count += refused(folder, fd);
		CHECK(unlink(others) == 0);
		CHECK(pwrite(fd, page, sizeof(page), at) == sizeof(page));
	}
	/* The root and leaf of the list, a slot, the disk's two leaves, its
	 * root, and the block at its end if it is among those. */
	printf("%u pages were missed\n", count);
	CHECK(count >= 5);
	close(fd);
	free(others);
	free(file);
}

int main(void)
{
	char *top;

	test_begin("test-store-full-tmpfs");
	top = test_folder();
	test_part("pages of a pool without memory in a full tmpfs");
	if (mount_small(top))
		each_page(top);
	else
		test_skip_part("no mount namespace of our own");
	free(top);
	return test_end();
}
