/* SPDX-License-Identifier: BSD-3-Clause */
/* attach_device_holder(): who has a device. For people: what counts is whether the
 * kernel lets it be opened for oneself alone, see attach_device_claim(). */
#include "device.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

/* Is this the path of the device, or of a partition of it? */
static bool names_it(const char *path, int index)
{
	char name[32];
	int len;

	len = snprintf(name, sizeof(name), "/dev/nbd%d", index);
	if (strncmp(path, name, len) != 0)
		return false;
	return path[len] == 0 || path[len] == ' ' || path[len] == '\t' ||
	       (path[len] == 'p' && path[len + 1] >= '1' &&
		path[len + 1] <= '9');
}

/* mountinfo(5): "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS ... - TYPE SOURCE ..." */
static bool find_mount(const char *process, int index, char *point)
{
	CLEANUP_FREE char *line = NULL;
	char path[PATH_MAX], *source;
	bool found = false;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/%s/mountinfo", attach_root,
		 process);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && getline(&line, &room, file) > 0) {
		source = strstr(line, " - ");
		source = source ? strchr(source + 3, ' ') : NULL;
		found = source && names_it(source + 1, index) &&
			sscanf(line, "%*s %*s %*s %*s %200s", point) == 1;
	}
	fclose(file);
	return found;
}

static bool find_swap(int index)
{
	CLEANUP_FREE char *line = NULL;
	char path[PATH_MAX];
	bool found = false;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/swaps", attach_root);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && getline(&line, &room, file) > 0)
		found = names_it(line, index);
	fclose(file);
	return found;
}

/* md, dm: what stands on it. */
static bool find_upper(int index, char *name)
{
	struct dirent *entry = NULL;
	char path[PATH_MAX];
	DIR *folder;

	snprintf(path, sizeof(path), "%s/sys/block/nbd%d/holders", attach_root,
		 index);
	folder = opendir(path);
	if (!folder)
		return false;
	while ((entry = readdir(folder)) && entry->d_name[0] == '.')
		;
	if (entry)
		snprintf(name, 64, "%.63s", entry->d_name);
	closedir(folder);
	return entry;
}

static bool has_open(const char *process, int index)
{
	char path[PATH_MAX], target[64];
	struct dirent *entry;
	bool found = false;
	ssize_t len;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/proc/%s/fd", attach_root, process);
	folder = opendir(path);
	if (!folder)
		return false;
	while (!found && (entry = readdir(folder))) {
		len = readlinkat(dirfd(folder), entry->d_name, target,
				 sizeof(target) - 1);
		if (len <= 0)
			continue;
		target[len] = 0;
		found = names_it(target, index);
	}
	closedir(folder);
	return found;
}

static void name_of(const char *process, char name[32])
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(name, 32, "?");
	snprintf(path, sizeof(path), "%s/proc/%s/comm", attach_root, process);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fscanf(file, "%31[^\n]", name) != 1)
		snprintf(name, 32, "?");
	fclose(file);
}

/* A process that has it open, or one in another mount namespace that sees it
 * mounted. */
static bool find_process(int index, char *text)
{
	char path[PATH_MAX], point[201], name[32];
	struct dirent *entry;
	bool found = false;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/proc", attach_root);
	folder = opendir(path);
	if (!folder)
		return false;
	while (!found && (entry = readdir(folder))) {
		/* Whoever asks has it open himself. */
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    strlen(entry->d_name) > 20 ||
		    atol(entry->d_name) == getpid())
			continue;
		name_of(entry->d_name, name);
		if (has_open(entry->d_name, index)) {
			snprintf(text, ATTACH_HOLDER_MOST,
				 "open in process %.20s (%s)", entry->d_name,
				 name);
			found = true;
		} else if (find_mount(entry->d_name, index, point)) {
			snprintf(text, ATTACH_HOLDER_MOST,
				 "mounted at %s for process %.20s (%s)", point,
				 entry->d_name, name);
			found = true;
		}
	}
	closedir(folder);
	return found;
}

bool attach_device_holder(int index, char *text)
{
	char what[201];

	if (find_mount("self", index, what)) {
		snprintf(text, ATTACH_HOLDER_MOST, "mounted at %s", what);
		return true;
	}
	if (find_swap(index)) {
		snprintf(text, ATTACH_HOLDER_MOST, "swap");
		return true;
	}
	if (find_upper(index, what)) {
		snprintf(text, ATTACH_HOLDER_MOST, "part of %s", what);
		return true;
	}
	return find_process(index, text);
}
