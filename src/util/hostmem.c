/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the kernel says how much memory there is. Files are read as a whole
 * into a buffer on the stack: meminfo and the limits are made anew by each
 * read(2), and two reads would mix two moments. */
#include "hostmem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cleanup.h"
#include "parse.h"

/* /proc/self/mountinfo is the longest of them, a line for each mount. What does
 * not fit is not looked at; the mounts of the control groups come early. */
#define FILE_MAX 65536

/* Read at most size - 1 bytes of root/path and end them with a 0. 0 or a
 * negative errno. */
static int read_file(const char *root, const char *path, char *buf, size_t size)
{
	char name[PATH_MAX];
	size_t have = 0;
	int n = snprintf(name, sizeof(name), "%s/%s", root, path);

	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	CLEANUP_CLOSE int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (have < size - 1) {
		ssize_t got = read(fd, buf + have, size - 1 - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	buf[have] = 0;
	return 0;
}

/* Cut the next line off *rest; NULL at the end. */
static char *next_line(char **rest)
{
	char *line = strsep(rest, "\n");

	return line && (*line || *rest) ? line : NULL;
}

/* The value of "NAME:   123 kB" in meminfo, in bytes. -EINVAL: no such line, or
 * not of that form. */
static int meminfo_value(const char *text, const char *name, uint64_t *value)
{
	const size_t name_len = strlen(name);
	const char *line = text;

	while (line) {
		if (strncmp(line, name, name_len) == 0 &&
		    line[name_len] == ':') {
			char digits[24];
			size_t n;
			uint64_t kib;

			line += name_len + 1;
			line += strspn(line, " \t");
			n = strspn(line, "0123456789");
			if (n >= sizeof(digits) || strncmp(line + n, " kB", 3))
				return -EINVAL;
			memcpy(digits, line, n);
			digits[n] = 0;
			if (parse_size(digits, &kib) ||
			    mul_overflows(kib, 1024, value))
				return -EINVAL;
			return 0;
		}
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return -EINVAL;
}

/* "max", or a number of bytes at the beginning of the file's text. False: no
 * limit. */
static bool limit_value(char *text, uint64_t *limit)
{
	text[strcspn(text, "\n")] = 0;
	if (parse_size(text, limit))
		return false;
	/* Version 1 says "none" by the largest multiple of a page that fits a
	 * signed number, whatever the page's size is. */
	return *limit < (uint64_t)INT64_MAX - (1 << 20);
}

/* Is `word` one of the words in `list`, which has commas between them? */
static bool list_has(const char *list, const char *word)
{
	const size_t len = strlen(word);

	for (;;) {
		size_t n = strcspn(list, ",");
		if (n == len && strncmp(list, word, len) == 0)
			return true;
		if (!list[n])
			return false;
		list += n + 1;
	}
}

/* The kernel writes blank, tab, newline and backslash in a path as \ooo. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *p = path; *p; p++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' &&
		    p[2] <= '7' && p[3] >= '0' && p[3] <= '7') {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 |
				       (p[3] - '0'));
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = 0;
}

/* Where a hierarchy of control groups is mounted, and which of its groups is
 * what one sees there ("/" but for containers that share a namespace). */
struct hierarchy {
	char mount[PATH_MAX];
	char top[PATH_MAX];
};

/* Find the mount of cgroup2, or of version 1's memory controller. A line of
 * mountinfo is
 *   36 35 98:0 TOP MOUNT OPTIONS TAG... - TYPE SOURCE SUPEROPTIONS */
static bool find_hierarchy(const char *mountinfo, bool v2, struct hierarchy *h)
{
	char *text = strdup(mountinfo);
	char *rest = text;
	char *line;
	bool found = false;

	while (text && !found && (line = next_line(&rest))) {
		char *top = NULL, *mount = NULL, *type, *options = NULL;
		char *after = strstr(line, " - ");

		if (!after)
			continue;
		*after = 0;
		after += 3;
		for (int field = 0; field < 5 && line; field++) {
			char *word = strsep(&line, " ");
			if (field == 3)
				top = word;
			else if (field == 4)
				mount = word;
		}
		type = strsep(&after, " ");
		if (after)
			strsep(&after, " ");
		options = after ? after : "";
		if (!mount || strcmp(type, v2 ? "cgroup2" : "cgroup") != 0 ||
		    (!v2 && !list_has(options, "memory")))
			continue;
		unescape(top);
		unescape(mount);
		if (strlen(top) < PATH_MAX && strlen(mount) < PATH_MAX) {
			strcpy(h->top, top);
			strcpy(h->mount, mount);
			found = true;
		}
	}
	free(text);
	return found;
}

/* Our group in a hierarchy, as /proc/self/cgroup tells it: lines
 *   NUMBER:CONTROLLERS:PATH
 * where version 2 has number 0 and no controllers. */
static bool find_group(const char *groups, bool v2, char *path, size_t size)
{
	char *text = strdup(groups);
	char *rest = text;
	char *line;
	bool found = false;

	while (text && !found && (line = next_line(&rest))) {
		char *number = strsep(&line, ":");
		char *controllers = strsep(&line, ":");

		if (!line || strlen(line) >= size)
			continue;
		if (v2 ? strcmp(number, "0") == 0 && !*controllers
		       : list_has(controllers, "memory")) {
			strcpy(path, line);
			found = true;
		}
	}
	free(text);
	return found;
}

/* The value of "NAME 123" in memory.stat, in bytes; 0: no such line. */
static uint64_t stat_value(const char *text, const char *name)
{
	const size_t name_len = strlen(name);
	const char *line = text;

	while (line) {
		if (strncmp(line, name, name_len) == 0 && line[name_len] == ' ')
			return strtoull(line + name_len + 1, NULL, 10);
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return 0;
}

/* Names of the files of a group in the two versions. */
struct group_files {
	const char *limit, *usage, *inactive;
};

static const struct group_files files_v1 = {"memory.limit_in_bytes",
					    "memory.usage_in_bytes",
					    "total_inactive_file"};
static const struct group_files files_v2 = {"memory.max", "memory.current",
					    "inactive_file"};

/* One group, which has a limit: how much of it is left. */
static void group_left(const char *root, const char *folder,
		       const struct group_files *files, uint64_t limit,
		       struct host_memory *m)
{
	char path[3 * PATH_MAX], text[8192];
	uint64_t used, inactive = 0, left;

	snprintf(path, sizeof(path), "%s/%s", folder, files->usage);
	if (read_file(root, path, text, sizeof(text)) ||
	    !limit_value(text, &used))
		return;
	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	if (read_file(root, path, text, sizeof(text)) == 0)
		inactive = stat_value(text, files->inactive);
	used -= min_u64(used, inactive);
	left = limit - min_u64(limit, used);
	if (left < m->cgroup_left) {
		m->cgroup_left = left;
		m->cgroup_left_of = limit;
	}
}

/* The limits from our group up to the top of what is mounted. */
static void hierarchy_limits(const char *root, const char *mountinfo,
			     const char *groups, bool v2, struct host_memory *m)
{
	const struct group_files *files = v2 ? &files_v2 : &files_v1;
	struct hierarchy h;
	char group[PATH_MAX];
	char *below = group;
	size_t top_len;

	if (!find_hierarchy(mountinfo, v2, &h) ||
	    !find_group(groups, v2, group, sizeof(group)))
		return;
	/* In a container the mount may show a part of the hierarchy, and our
	 * path may begin outside of it ("/../other"): then the top of what is
	 * visible is the best that can be known. */
	top_len = strcmp(h.top, "/") == 0 ? 0 : strlen(h.top);
	if (strncmp(group, h.top, top_len) == 0 &&
	    (group[top_len] == '/' || !group[top_len]))
		below += top_len;
	else
		*below = 0;
	if (strstr(below, "/.."))
		*below = 0;

	for (;;) {
		char folder[2 * PATH_MAX], path[3 * PATH_MAX];
		char text[64];
		uint64_t limit;
		char *slash;

		snprintf(folder, sizeof(folder), "%s%s", h.mount, below);
		snprintf(path, sizeof(path), "%s/%s", folder, files->limit);
		if (read_file(root, path, text, sizeof(text)) == 0 &&
		    limit_value(text, &limit)) {
			m->cgroup_max = min_u64(m->cgroup_max, limit);
			group_left(root, folder, files, limit, m);
		}
		slash = strrchr(below, '/');
		if (!slash)
			break;
		*slash = 0;
	}
}

int host_memory_read_at(const char *root, struct host_memory *memory)
{
	struct host_memory m = {
		.cgroup_max = UINT64_MAX,
		.cgroup_left = UINT64_MAX,
		.cgroup_left_of = UINT64_MAX,
	};
	CLEANUP_FREE char *text = malloc(FILE_MAX);
	char groups[8192];
	int err;

	if (!text)
		return -ENOMEM;
	err = read_file(root, "proc/meminfo", text, FILE_MAX);
	if (err)
		return err;
	if (meminfo_value(text, "MemTotal", &m.total) ||
	    meminfo_value(text, "MemAvailable", &m.available))
		return -EINVAL;

	if (read_file(root, "proc/self/mountinfo", text, FILE_MAX) == 0 &&
	    read_file(root, "proc/self/cgroup", groups, sizeof(groups)) == 0) {
		hierarchy_limits(root, text, groups, true, &m);
		hierarchy_limits(root, text, groups, false, &m);
	}
	*memory = m;
	return 0;
}

int host_memory_read(struct host_memory *memory)
{
	return host_memory_read_at("", memory);
}
