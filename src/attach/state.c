/* SPDX-License-Identifier: BSD-3-Clause */
/* See state.h. */
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "cleanup.h"

/* Not in /run/nbdram, which is nbdramd's: systemd gives all of it to its user. */
const char *attach_state_folder = NBDRAM_RUNDIR "/nbdram-attach";

/* Both names of a record's file end so; what is being written ends otherwise. */
#define NAME_MOST 64
#define MAKING "making-"

static int make_folder(void)
{
	if (mkdir(attach_state_folder, 0700) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

int attach_state_open(int *fd, struct attach_why *why)
{
	int error = make_folder();
	struct stat st;

	*fd = error ? -1
		    : open(attach_state_folder,
			   O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (*fd < 0)
		error = error ? error : -errno;
	else if (fstat(*fd, &st) < 0)
		error = -errno;
	if (error == 0 && st.st_uid == geteuid() && !(st.st_mode & 077))
		return 0;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	if (error == 0)
		return attach_fail(why, -EACCES,
				   "%s: others may write there; it must be "
				   "root's alone, mode 0700",
				   attach_state_folder);
	return attach_fail(why, error, "%s: cannot be opened: %s",
			   attach_state_folder, strerror(-error));
}

int attach_state_lock(int folder, bool wait, int *lock, struct attach_why *why)
{
	*lock = openat(folder, "lock",
		       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*lock < 0)
		return attach_fail(why, -errno, "%s/lock: %s",
				   attach_state_folder, strerror(errno));
	if (flock(*lock, wait ? LOCK_EX : LOCK_EX | LOCK_NB) == 0)
		return 0;
	close(*lock);
	*lock = -1;
	return attach_fail(why, -EBUSY,
			   "another nbdramctl attach-watch is running");
}

static void name_making(const struct attach_record *r, char name[NAME_MOST])
{
	int at = snprintf(name, NAME_MOST, MAKING);
	size_t i;

	for (i = 0; i < sizeof(r->session.uuid); i++)
		at += snprintf(name + at, NAME_MOST - at, "%02x",
			       r->session.uuid[i]);
}

static void name_file(const struct attach_record *r, char name[NAME_MOST])
{
	if (r->index >= 0)
		snprintf(name, NAME_MOST, "nbd%d", r->index);
	else
		name_making(r, name);
}

static int write_whole(int fd, const char *text, size_t len)
{
	ssize_t put;

	for (; len > 0; text += put, len -= put) {
		put = write(fd, text, len);
		if (put < 0 && errno != EINTR)
			return -errno;
		if (put < 0)
			put = 0;
	}
	return 0;
}

int attach_state_write(int folder, const struct attach_record *r,
		       struct attach_why *why)
{
	char text[ATTACH_RECORD_TEXT_MOST], name[NAME_MOST], making[NAME_MOST];
	char fresh[NAME_MOST + 8];
	size_t len = attach_record_write(r, false, text);
	int fd, error;

	name_file(r, name);
	snprintf(fresh, sizeof(fresh), ".%s", name);
	fd = openat(folder, fresh,
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	error = fd < 0 ? -errno : write_whole(fd, text, len);
	if (fd >= 0)
		close(fd);
	if (!error && renameat(folder, fresh, folder, name) < 0)
		error = -errno;
	if (error) {
		unlinkat(folder, fresh, 0);
		return attach_fail(why, error, "%s/%s: cannot be written: %s",
				   attach_state_folder, name, strerror(-error));
	}
	name_making(r, making);
	if (r->index >= 0)
		unlinkat(folder, making, 0);
	return 0;
}

static int read_file(int folder, const char *name, struct attach_record *r)
{
	CLEANUP_CLOSE int fd = openat(
		folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[ATTACH_RECORD_TEXT_MOST];
	size_t len = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	while ((got = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += got;
	if (got < 0)
		return -errno;
	text[len] = 0;
	if (strlen(text) != len || attach_record_read(text, r))
		return -EINVAL;
	return *r->wish.uri && *r->identifier ? 0 : -EINVAL;
}

void attach_state_remove(int folder, const struct attach_record *r)
{
	struct attach_record *now = malloc(sizeof(*now));
	char name[NAME_MOST];

	name_making(r, name);
	unlinkat(folder, name, 0);
	name_file(r, name);
	/* The kernel may have given the number to another device. */
	if (now && read_file(folder, name, now) == 0 &&
	    strcmp(now->identifier, r->identifier) == 0)
		unlinkat(folder, name, 0);
	free(now);
}

int attach_state_each(int folder,
		      int (*each)(const struct attach_record *, void *),
		      void (*bad)(const char *, void *), void *arg)
{
	struct attach_record record;
	struct dirent *entry;
	int error = 0, number, fd;
	DIR *list;

	fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		error = -errno;
		if (fd >= 0)
			close(fd);
		return error;
	}
	while (!error && (entry = readdir(list))) {
		if (attach_device_number(entry->d_name, &number) != 0) {
			if (strncmp(entry->d_name, MAKING, strlen(MAKING)) != 0)
				continue;
			number = -1;
		}
		if (read_file(folder, entry->d_name, &record) == 0 &&
		    record.index == number)
			error = each(&record, arg);
		else
			bad(entry->d_name, arg);
	}
	closedir(list);
	return error;
}
