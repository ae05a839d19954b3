/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder that stands for / while host_memory_read_at() is tested. Included by
 * one C file each, hence the static functions. */
#ifndef NBDRAM_TESTS_FAKE_ROOT_H
#define NBDRAM_TESTS_FAKE_ROOT_H

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char fake_root[PATH_MAX];

static int fake_root_make(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(fake_root, sizeof(fake_root), "%s/nbdram-test-XXXXXX",
		 tmp ? tmp : "/tmp");
	return mkdtemp(fake_root) ? 0 : -1;
}

static int fake_root_remove_one(const char *path, const struct stat *st,
				int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static int fake_root_remove(void **state)
{
	(void)state;
	return nftw(fake_root, fake_root_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Write a file below the folder, and the folders on its way. */
static void fake_file(const char *path, const char *text)
{
	char name[2 * PATH_MAX];
	FILE *f;
	int n = snprintf(name, sizeof(name), "%s/%s", fake_root, path);

	assert_true(n > 0 && (size_t)n < sizeof(name));
	for (char *p = name + strlen(fake_root) + 1; (p = strchr(p, '/'));
	     p++) {
		*p = 0;
		mkdir(name, 0700);
		*p = '/';
	}
	f = fopen(name, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

#endif
