/* SPDX-License-Identifier: BSD-3-Clause */
/* See sessions.h. */
#include "sessions.h"

#include <stdlib.h>
#include <string.h>

struct session {
	struct session *next;
	uint8_t uuid[16];
	uint64_t epoch;	      /* the highest one heard */
	uint64_t used;	      /* sessions.clock when it was entered last */
	unsigned connections; /* of all epochs */
	unsigned takeovers;   /* older connections are being closed */
	char *from;	      /* the identity that opened it */
};

void sessions_init(struct sessions *s)
{
	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->lock, NULL);
}

void sessions_destroy(struct sessions *s)
{
	struct session *e;
	unsigned i;

	for (i = 0; i < SESSIONS_BUCKETS; i++) {
		while ((e = s->bucket[i])) {
			s->bucket[i] = e->next;
			free(e->from);
			free(e);
		}
	}
	pthread_mutex_destroy(&s->lock);
}

static struct session **find(struct sessions *s, const uint8_t uuid[16])
{
	struct session **at;
	uint16_t hash;

	/* A UUID is random enough by itself. */
	memcpy(&hash, uuid, sizeof(hash));
	at = &s->bucket[hash % SESSIONS_BUCKETS];
	while (*at && memcmp((*at)->uuid, uuid, sizeof((*at)->uuid)) != 0)
		at = &(*at)->next;
	return at;
}

/* The idle one that was not used for longest. */
static void forget_one(struct sessions *s)
{
	struct session **at, **oldest = NULL, *e;
	unsigned i;

	for (i = 0; i < SESSIONS_BUCKETS; i++) {
		for (at = &s->bucket[i]; *at; at = &(*at)->next) {
			if ((*at)->connections == 0 && (*at)->takeovers == 0 &&
			    (!oldest || (*at)->used < (*oldest)->used))
				oldest = at;
		}
	}
	if (!oldest)
		return;
	e = *oldest;
	*oldest = e->next;
	free(e->from);
	free(e);
	s->idle--;
}

static struct session *begin(struct sessions *s, struct session **at,
			     const struct proto_session *who, const char *from)
{
	struct session *e = calloc(1, sizeof(*e));

	if (e)
		e->from = strdup(from);
	if (!e || !e->from) {
		free(e);
		return NULL;
	}
	memcpy(e->uuid, who->uuid, sizeof(e->uuid));
	e->epoch = who->epoch;
	e->next = *at;
	*at = e;
	s->idle++;
	return e;
}

enum session_answer sessions_enter(struct sessions *s,
				   const struct proto_session *who,
				   const char *from)
{
	enum session_answer answer = SESSION_IN;
	struct session **at, *e;

	pthread_mutex_lock(&s->lock);
	at = find(s, who->uuid);
	e = *at ? *at : begin(s, at, who, from);
	if (!e)
		answer = SESSION_NO_MEMORY;
	else if (strcmp(e->from, from) != 0)
		answer = SESSION_FOREIGN;
	else if (who->epoch < e->epoch)
		answer = SESSION_OLD;
	else if (who->epoch > e->epoch || e->takeovers > 0)
		answer = SESSION_TAKEOVER;
	if (answer == SESSION_IN || answer == SESSION_TAKEOVER) {
		e->epoch = who->epoch;
		e->used = ++s->clock;
		e->takeovers += answer == SESSION_TAKEOVER;
		s->idle -= e->connections++ == 0;
	}
	if (s->idle > SESSIONS_IDLE_MOST)
		forget_one(s);
	pthread_mutex_unlock(&s->lock);
	return answer;
}

void sessions_taken_over(struct sessions *s, const struct proto_session *who)
{
	struct session *e;

	pthread_mutex_lock(&s->lock);
	e = *find(s, who->uuid);
	if (e && e->takeovers > 0)
		e->takeovers--;
	pthread_mutex_unlock(&s->lock);
}

bool sessions_current(struct sessions *s, const struct proto_session *who)
{
	struct session *e;
	bool current;

	pthread_mutex_lock(&s->lock);
	e = *find(s, who->uuid);
	current = e && e->epoch == who->epoch;
	pthread_mutex_unlock(&s->lock);
	return current;
}

void sessions_leave(struct sessions *s, const struct proto_session *who)
{
	struct session *e;

	pthread_mutex_lock(&s->lock);
	e = *find(s, who->uuid);
	if (e)
		s->idle += --e->connections == 0;
	pthread_mutex_unlock(&s->lock);
}
