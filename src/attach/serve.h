/* SPDX-License-Identifier: BSD-3-Clause */
/* Those who ask the watcher; see ask.h for what they say. */
#ifndef NBDRAM_ATTACH_SERVE_H
#define NBDRAM_ATTACH_SERVE_H

#include <pthread.h>

struct attach_keeper;

struct attach_watch {
	int folder; /* of state files */
	int listener;
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t changed;
	struct attach_keeper *keepers;
	unsigned clients;
};

/* Serve one by a thread of its own, which closes fd. A negative errno: nobody does. */
int attach_serve(struct attach_watch *w, int fd);

/* Forget devices that are gone and that nobody looks at. With the lock. */
void attach_watch_reap(struct attach_watch *w);

#endif
