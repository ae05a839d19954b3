/* SPDX-License-Identifier: BSD-3-Clause */
/* See addresses.h. */
#include "addresses.h"

#include <stdlib.h>
#include <string.h>

struct address_count {
	struct address_count *next;
	struct address from;
	unsigned count;
};

static const struct address local;

struct address address_identity(const struct address *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	static const struct address loopback = {{[15] = 1}};

	if (memcmp(a, &loopback, sizeof(*a)) == 0 ||
	    (memcmp(a->byte, mapped, sizeof(mapped)) == 0 &&
	     a->byte[12] == 127))
		return local;
	return *a;
}

void addresses_init(struct addresses *a)
{
	memset(a, 0, sizeof(*a));
	pthread_mutex_init(&a->lock, NULL);
}

void addresses_destroy(struct addresses *a)
{
	struct address_count *c;
	unsigned i;

	for (i = 0; i < ADDRESS_BUCKETS; i++) {
		while ((c = a->bucket[i])) {
			a->bucket[i] = c->next;
			free(c);
		}
	}
	pthread_mutex_destroy(&a->lock);
}

/* FNV-1a */
static struct address_count **find(struct addresses *a,
				   const struct address *from)
{
	struct address_count **at;
	uint32_t hash = 2166136261u;
	unsigned i;

	for (i = 0; i < sizeof(from->byte); i++)
		hash = (hash ^ from->byte[i]) * 16777619u;
	at = &a->bucket[hash % ADDRESS_BUCKETS];
	while (*at && memcmp(&(*at)->from, from, sizeof(*from)) != 0)
		at = &(*at)->next;
	return at;
}

bool addresses_enter(struct addresses *a, const struct address *from,
		     unsigned most)
{
	struct address_count **at, *c;
	bool in = false;

	if (memcmp(from, &local, sizeof(local)) == 0)
		return true;
	pthread_mutex_lock(&a->lock);
	at = find(a, from);
	c = *at;
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (c) {
			c->from = *from;
			*at = c;
		}
	}
	/* Also without a limit: there may be one later. */
	if (c && (most == 0 || c->count < most)) {
		c->count++;
		in = true;
	}
	pthread_mutex_unlock(&a->lock);
	return in;
}

void addresses_leave(struct addresses *a, const struct address *from)
{
	struct address_count **at, *c;

	pthread_mutex_lock(&a->lock);
	at = find(a, from);
	c = *at;
	if (c && --c->count == 0) {
		*at = c->next;
		free(c);
	}
	pthread_mutex_unlock(&a->lock);
}
