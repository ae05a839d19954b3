/* SPDX-License-Identifier: BSD-3-Clause */
/* See owner.h. The kernel's list of locks has the process that took one, which may
 * have handed it on; so it is the descriptors that are looked at. */
#include "owner.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_open(const char *process, const struct stat *wanted)
{
	struct dirent *entry;
	char path[64];
	bool found = false;
	struct stat st;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", process);
	fds = opendir(path);
	while (fds && !found && (entry = readdir(fds)))
		found = fstatat(dirfd(fds), entry->d_name, &st, 0) == 0 &&
			st.st_dev == wanted->st_dev &&
			st.st_ino == wanted->st_ino;
	if (fds)
		closedir(fds);
	return found;
}

pid_t owner_of(int fd)
{
	struct dirent *entry;
	pid_t pid, found = 0;
	struct stat wanted;
	DIR *processes;

	if (fstat(fd, &wanted) < 0)
		return 0;
	processes = opendir("/proc");
	while (processes && !found && (entry = readdir(processes))) {
		pid = atoi(entry->d_name);
		if (pid > 0 && pid != getpid() &&
		    has_open(entry->d_name, &wanted))
			found = pid;
	}
	if (processes)
		closedir(processes);
	return found;
}
