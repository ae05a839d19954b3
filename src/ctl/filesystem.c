/* SPDX-License-Identifier: BSD-3-Clause */
/* See filesystem.h. */
#include "filesystem.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "cleanup.h"
#include "print.h"
#include "run.h"

/* What is known by no name is looked for where file systems and partition tables
 * begin. */
#define LOOKED_AT (1u << 20)

bool filesystem_name_is_sane(const char *type)
{
	const char *c;

	for (c = type; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			break;
	if (c != type && !*c && strlen(type) < 32)
		return true;
	complain("--format %s: is no type of file system; ext4, xfs, ...",
		 type);
	return false;
}

/* 1: nothing but zeroes; 0: there is something; else told. */
static int is_empty(const char *device)
{
	CLEANUP_CLOSE int fd = open(device, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE char *bytes = malloc(LOOKED_AT);
	ssize_t got = -1, i;

	if (fd >= 0 && bytes)
		got = pread(fd, bytes, LOOKED_AT, 0);
	if (got <= 0) {
		complain("%s: cannot be read: %s", device, strerror(errno));
		return -1;
	}
	for (i = 0; i < got; i++)
		if (bytes[i])
			return 0;
	return 1;
}

/* What blkid(8) says is on it; "": nothing that it knows. */
static bool find_type(const char *device, char type[64])
{
	const char *const words[] = {"blkid", "-p",   "-o",   "value",
				     "-s",    "TYPE", device, NULL};
	const char *const tables[] = {"blkid", "-p",	 "-o",	 "value",
				      "-s",    "PTTYPE", device, NULL};
	int status = attach_run(words, type, 64);

	if (status == 0 && !*type) {
		status = attach_run(tables, type, 64);
		if (status == 0 && *type)
			snprintf(type, 64, "a partition table");
	}
	if (status == 0)
		return true;
	if (status == 2) {
		*type = 0;
		return true;
	}
	if (status == -ENOENT)
		complain("whether there is a file system on %s cannot be told: "
			 "blkid is missing (Debian: util-linux)",
			 device);
	else
		complain("%s: blkid fails: %s", device,
			 *type ? type : "without a word");
	return false;
}

static bool run_mkfs(const char *device, const char *type)
{
	char program[64], text[300];
	const char *const words[] = {program, device, NULL};
	int status;

	snprintf(program, sizeof(program), "mkfs.%s", type);
	status = attach_run(words, text, sizeof(text));
	if (status == 0)
		return true;
	if (status == -ENOENT)
		complain("there is no %s here", program);
	else
		complain("%s %s fails: %s", program, device,
			 *text ? text : "without a word");
	return false;
}

bool filesystem_make(const char *device, const char *type)
{
	char found[64];
	int empty;

	if (!find_type(device, found))
		return false;
	if (strcmp(found, type) == 0)
		return true;
	empty = *found ? 0 : is_empty(device);
	if (empty < 0)
		return false;
	if (!empty) {
		complain("%s has %s on it, and not %s; nothing was changed. To "
			 "lose it: wipefs -a and blkdiscard",
			 device, *found ? found : "something unknown", type);
		return false;
	}
	return run_mkfs(device, type);
}

/* Is the device mounted there? -1: something else is. */
static int is_mounted(const char *device, const char *folder)
{
	struct stat there, above, node;
	CLEANUP_FREE char *parent = NULL;

	if (asprintf(&parent, "%s/..", folder) < 0)
		parent = NULL;
	if (!parent || stat(device, &node) < 0 || stat(folder, &there) < 0 ||
	    stat(parent, &above) < 0)
		return 0;
	if (there.st_dev == node.st_rdev)
		return 1;
	return there.st_dev != above.st_dev ? -1 : 0;
}

bool filesystem_mount(const char *device, const char *folder, bool readonly)
{
	const char *const words[] = {
		"mount", "-o",	 readonly ? "ro,noatime" : "rw,noatime,discard",
		device,	 folder, NULL};
	char text[300];
	int status = is_mounted(device, folder);

	if (status > 0)
		return true;
	if (status < 0) {
		complain("%s: something else is mounted there", folder);
		return false;
	}
	status = attach_run(words, text, sizeof(text));
	if (status == 0)
		return true;
	if (status == -ENOENT)
		complain("mount is missing (Debian: mount)");
	else
		complain("%s cannot be mounted at %s: %s", device, folder,
			 *text ? text : "mount fails without a word");
	return false;
}
