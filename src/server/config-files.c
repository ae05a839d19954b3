/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a configuration: which there are, and their bytes. See
 * config-load.h. */
#include "config-load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"

/* A pipe or device is not even opened, for that may wait or do something. */
static int open_regular(const char *path, const char **why)
{
	struct stat st;
	int fd;

	*why = NULL;
	if (stat(path, &st) < 0) {
		*why = strerror(errno);
		return -1;
	}
	if (S_ISREG(st.st_mode)) {
		fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0) {
			*why = strerror(errno);
			return -1;
		}
		/* It may have been exchanged meanwhile. */
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
			return fd;
		close(fd);
	}
	*why = S_ISDIR(st.st_mode) ? "a folder; a file is wanted"
				   : "no regular file";
	return -1;
}

/* All bytes, or at least CONFIG_FILE_MAX + 1 of them. To be freed; NULL: errno
 * says why. */
static char *read_all(int fd, size_t *len)
{
	char *buf = NULL, *larger;
	size_t size = 0;
	ssize_t got;

	for (*len = 0; *len <= CONFIG_FILE_MAX; *len += got) {
		if (*len == size) {
			size = size ? 2 * size : 8192;
			larger = realloc(buf, size);
			if (!larger)
				break;
			buf = larger;
		}
		do {
			got = read(fd, buf + *len, size - *len);
		} while (got < 0 && errno == EINTR);
		if (got == 0)
			return buf;
		if (got < 0)
			break;
	}
	if (*len > CONFIG_FILE_MAX)
		return buf;
	free(buf);
	return NULL;
}

char *config_file_read(const char *path, size_t *len,
		       struct config_errors *errors)
{
	CLEANUP_CLOSE int fd = -1;
	char shown[1024], *buf;
	const char *why;

	config_short(path, shown, sizeof(shown));
	fd = open_regular(path, &why);
	if (fd < 0) {
		config_error(errors, "%s: cannot be read: %s", shown, why);
		return NULL;
	}
	buf = read_all(fd, len);
	if (!buf) {
		config_error(errors, "%s: cannot be read: %s", shown,
			     strerror(errno));
	} else if (*len > CONFIG_FILE_MAX) {
		config_error(errors,
			     "%s: larger than 1 MiB; parts of it may stand in "
			     "conf.d/NAME.conf beside it",
			     shown);
		free(buf);
		buf = NULL;
	}
	return buf;
}

/* ---------------------------------------------------------------- conf.d */

static bool is_part(const char *name)
{
	size_t len = strlen(name);

	return *name != '.' && len > 5 && strcmp(name + len - 5, ".conf") == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Add the names of a folder. -ENOMEM, -E2BIG. */
static int add_parts(DIR *folder, const char *path, char ***paths,
		     unsigned *count)
{
	struct dirent *entry;
	char **list;

	while ((entry = readdir(folder))) {
		if (!is_part(entry->d_name))
			continue;
		if (*count == CONFIG_FILES_MAX)
			return -E2BIG;
		list = realloc(*paths, (*count + 1) * sizeof(*list));
		if (!list)
			return -ENOMEM;
		*paths = list;
		if (asprintf(&list[*count], "%s/%s", path, entry->d_name) < 0)
			return -ENOMEM;
		++*count;
	}
	return 0;
}

int config_files_beside(const char *file, char ***paths, unsigned *count,
			struct config_errors *errors)
{
	const char *slash = strrchr(file, '/');
	CLEANUP_FREE char *path = NULL;
	char shown[1024];
	DIR *folder;
	int error;

	*paths = NULL;
	*count = 0;
	if (asprintf(&path, "%.*sconf.d", slash ? (int)(slash + 1 - file) : 0,
		     file) < 0) {
		path = NULL;
		config_error(errors, "no memory to look for conf.d");
		return -ENOMEM;
	}
	folder = opendir(path);
	error = folder ? add_parts(folder, path, paths, count) : -errno;
	if (folder)
		closedir(folder);
	if (error == -ENOENT)
		return 0;
	config_short(path, shown, sizeof(shown));
	if (error == -E2BIG)
		config_error(errors, "%s: more than %u files", shown,
			     CONFIG_FILES_MAX);
	else if (error)
		config_error(errors, "%s: cannot be read: %s", shown,
			     strerror(-error));
	if (*count > 0)
		qsort(*paths, *count, sizeof(**paths), by_name);
	return error;
}

void config_files_free(char **paths, unsigned count)
{
	while (count > 0)
		free(paths[--count]);
	free(paths);
}
