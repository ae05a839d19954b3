/* SPDX-License-Identifier: BSD-3-Clause */
/* Disks that are saved to files of theirs (save = FILE): every so often (save-every),
 * by a thread of its own, one at a time; when asked; and at the end if the pool ends
 * with us. */
#ifndef NBDRAM_SERVER_SAVER_H
#define NBDRAM_SERVER_SAVER_H

#include "disk-save.h"
#include "server.h"

struct saver;

/* How it stands with the file of one disk. */
struct saver_state {
	char *name, *file; /* to be freed */
	bool running;
	uint64_t done, all; /* ... bytes of data; 0: not known yet */
	uint64_t
		saved; /* when it was as the file has it, of time(2); 0: never */
	char error[300]; /* why not, if it failed last; else empty */
};

/* Start the thread, once there is a pool. NULL: it cannot be had. */
struct saver *saver_start(struct server *server);

/* Give up what is under way; before the pool is closed. What is known of the files
 * stays until it is freed. NULL is fine. */
void saver_stop(struct saver *saver);
void saver_free(struct saver *saver);

/* Whether a save that nobody has asked for may replace the file. 0; -EEXIST: it has
 * come from elsewhere since we began, and why says so. Any thread. */
int saver_may_replace(struct server *server, const char *name, const char *file,
		      struct ram_why *why);

/* The file that the configuration has for a disk, to be freed; NULL: none, or no
 * memory. */
char *saver_file(struct server *server, const char *name);

/* As disk_save(), and noted, if it is the disk's own file. Any thread. */
int saver_save(struct server *server, struct ram_disk *disk, const char *name,
	       struct ram_thread *thread, const char *file, unsigned flags,
	       ram_progress *progress, void *arg, struct image_saved *saved,
	       struct ram_why *why);

/* Those of all disks that have a file in the configuration, or of one (name not NULL);
 * how many, in *states, which saver_states_free() frees. -ENOMEM. */
int saver_states(struct server *server, const char *name,
		 struct saver_state **states);
void saver_states_free(struct saver_state *states, int count);

/* "saving", "failed", "saved" or "never". */
const char *saver_word(const struct saver_state *state);

/* At the end, when nobody writes any more: all disks that have a file, unless it holds
 * the same already. The main thread's, with SIGTERM and SIGINT blocked: one that
 * comes ends it. systemd is told how far it is. Negative: not all are saved, as the log
 * says. */
int saver_save_all(struct server *server);

#endif
