/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread for each attached device: makes it, and brings it back whenever its
 * server was away. */
#ifndef NBDRAM_ATTACH_KEEP_H
#define NBDRAM_ATTACH_KEEP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach.h"

enum attach_keeper_state {
	KEEPER_MAKING,
	KEEPER_GOING,
	KEEPER_GIVEN_UP, /* its thread has ended; the device is in nobody's way */
	KEEPER_GONE,	 /* likewise, and nothing is left to be told */
};

struct attach_keeper {
	struct attach_disk disk; /* its thread's, until that was joined */
	int stop;		 /* event: end, and leave the device as it is */
	int look;		 /* event: ask whether it has grown */
	bool adopted;
	pthread_t thread;
	pthread_mutex_t *lock; /* the watch's, for what follows */
	pthread_cond_t *changed;
	struct attach_keeper *next;
	enum attach_keeper_state state;
	struct attach_record shown; /* of disk */
	int64_t away_since;	    /* attach_now(); 0: it is connected */
	int error;		    /* why making it has failed: KEEPER_GONE */
	char text[400];		    /* ... and what else there is to be told */
	unsigned users;		    /* who looks at it still */
	bool leaving;		    /* it is being detached */
	bool joined;
};

/* For a new device. NULL: no memory, or no descriptors. */
struct attach_keeper *attach_keeper_new(const struct attach_wish *wish,
					int folder, pthread_mutex_t *lock,
					pthread_cond_t *changed);
/* For one from a state file. *error as of attach_disk_adopt(). */
struct attach_keeper *attach_keeper_adopt(const struct attach_record *record,
					  int folder, pthread_mutex_t *lock,
					  pthread_cond_t *changed, int *error,
					  struct attach_why *why);

/* A negative errno. */
int attach_keeper_start(struct attach_keeper *keeper);

/* Have its thread end, and wait for that. The device stays. Not with the lock. */
void attach_keeper_stop(struct attach_keeper *keeper);

/* What is to be told of it now. With the lock. */
void attach_keeper_show(const struct attach_keeper *keeper,
			struct attach_record *record);

/* attach_keeper_stop() was called, or its thread never ran. */
void attach_keeper_free(struct attach_keeper *keeper);

#endif
