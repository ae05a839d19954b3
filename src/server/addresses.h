/* SPDX-License-Identifier: BSD-3-Clause */
/* How many connections there are from each address. Any thread. */
#ifndef NBDRAM_SERVER_ADDRESSES_H
#define NBDRAM_SERVER_ADDRESSES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define ADDRESS_BUCKETS 1024

struct address_count;

/* An IPv6 address, or an IPv4 address mapped into one; all zero: a Unix
 * socket, of which there is no count. */
struct address {
	uint8_t byte[16];
};

struct addresses {
	pthread_mutex_t lock;
	struct address_count *bucket[ADDRESS_BUCKETS];
};

/* Who that is, as far as an address can tell: all that are only found inside of
 * this host (127.0.0.0/8, ::1, Unix sockets) are one. Pure. */
struct address address_identity(const struct address *a);

void addresses_init(struct addresses *a);
void addresses_destroy(struct addresses *a);

/* One more from there; false: there are `most` already (0: no limit), or no
 * memory. */
bool addresses_enter(struct addresses *a, const struct address *from,
		     unsigned most);

/* One that was let in has gone. */
void addresses_leave(struct addresses *a, const struct address *from);

#endif
