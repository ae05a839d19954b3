/* SPDX-License-Identifier: BSD-3-Clause */
/* See device.h. */
#include "device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "run.h"
#include "wait.h"

const char *attach_root = "";

/* The kernel's own limit of minor numbers. */
#define DEVICES_MOST (1 << 20)
/* Nothing tells of it but looking again. */
#define LOOK_AGAIN_MS 10

int attach_device_number(const char *text, int *index)
{
	unsigned long number;
	char *end;

	if (strncmp(text, "/dev/", 5) == 0)
		text += 5;
	if (strncmp(text, "nbd", 3) != 0 || text[3] < '0' || text[3] > '9' ||
	    (text[3] == '0' && text[4]))
		return -EINVAL;
	errno = 0;
	number = strtoul(text + 3, &end, 10);
	if (errno || *end || number >= DEVICES_MOST)
		return -EINVAL;
	*index = number;
	return 0;
}

/* A file of sysfs, without the newline at its end. */
static int read_attribute(int index, const char *name, char *text, size_t size)
{
	CLEANUP_CLOSE int fd = -1;
	char path[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/sys/block/nbd%d/%s", attach_root,
		 index, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, text, size - 1);
	if (len < 0)
		return -errno;
	while (len > 0 && text[len - 1] == '\n')
		len--;
	text[len] = 0;
	return 0;
}

int attach_device_identifier(int index,
			     char identifier[ATTACH_IDENTIFIER_MOST + 1])
{
	int error = read_attribute(index, "backend", identifier,
				   ATTACH_IDENTIFIER_MOST + 1);

	/* It goes away while it is read. */
	return error == -ENODEV ? -ENOENT : error;
}

int attach_device_check(int index, const char *identifier)
{
	char text[ATTACH_IDENTIFIER_MOST + 1];
	int error = attach_device_identifier(index, text);

	if (!error && strcmp(text, identifier) != 0)
		error = -ENOENT;
	return error;
}

int attach_device_find(const char *identifier, int *index)
{
	int number, one, error = -ENOENT;
	struct dirent *entry;
	char path[PATH_MAX];
	DIR *folder;

	snprintf(path, sizeof(path), "%s/sys/block", attach_root);
	folder = opendir(path);
	if (!folder)
		return -errno;
	while (error && (entry = readdir(folder))) {
		if (attach_device_number(entry->d_name, &number) != 0)
			continue;
		one = attach_device_check(number, identifier);
		if (!one)
			*index = number;
		if (one != -ENOENT)
			error = one;
	}
	closedir(folder);
	return error;
}

uint64_t attach_device_size(int index)
{
	char text[32];

	if (read_attribute(index, "size", text, sizeof(text)))
		return 0;
	return strtoull(text, NULL, 10) * 512;
}

int attach_device_wait_free(int index, int timeout_ms)
{
	const int64_t until = attach_now() + timeout_ms;
	char text[ATTACH_IDENTIFIER_MOST + 1];

	while (attach_device_size(index) != 0 ||
	       attach_device_identifier(index, text) != -ENOENT) {
		if (attach_now() >= until)
			return -ETIMEDOUT;
		poll(NULL, 0, LOOK_AGAIN_MS);
	}
	return 0;
}

int attach_device_wait_size(int index, uint64_t size, int timeout_ms)
{
	const int64_t until = attach_now() + timeout_ms;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/dev/nbd%d", attach_root, index);
	while (attach_device_size(index) != size || access(path, F_OK) < 0) {
		if (attach_now() >= until)
			return -ETIMEDOUT;
		poll(NULL, 0, LOOK_AGAIN_MS);
	}
	return 0;
}

int attach_device_claim(int index, int *fd)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/dev/nbd%d", attach_root, index);
	*fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK);
	return *fd < 0 ? -errno : 0;
}

int attach_module_load(struct attach_why *why)
{
	static const char *const words[] = {"modprobe", "nbd", NULL};
	char text[200];
	int status = attach_run(words, text, sizeof(text));

	if (status == 0)
		return 0;
	if (status == -ENOENT)
		return attach_fail(why, -ENODEV,
				   "the kernel's module nbd is not loaded, and "
				   "there is no modprobe to do it");
	return attach_fail(why, -ENODEV,
			   "the kernel's module nbd is not loaded, and "
			   "modprobe nbd fails: %s",
			   *text ? text : "without a word");
}
