/* SPDX-License-Identifier: BSD-3-Clause */
/* The handshake of a connection: the codec asks, the exports answer. */
#include "handshake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bitmaps.h"
#include "log.h"
#include "making.h"
#include "note.h"
#include "stream.h"
#include "takeover.h"

int handshake_queue(struct conn *c)
{
	size_t len;
	const void *bytes = proto_handshake_output(c->handshake, &len);
	struct out *out = outq_push(&c->out, &c->worker->outs, len, 0, 0);

	if (!out)
		return stream_end(c, "no memory");
	memcpy(out_head(out), bytes, len);
	proto_handshake_sent(c->handshake, len);
	return 0;
}

const char *handshake_name(const struct conn *c)
{
	return c->real_name ? c->real_name
			    : proto_handshake_lookup(c->handshake)->name;
}

static void found(struct conn *c, const struct export *e, bool writes)
{
	struct proto_export facts = {0};
	char text[160];

	export_describe(e, text, sizeof(text));
	facts.name = e->name;
	facts.description = text;
	facts.size = ram_disk_size(e->disk);
	facts.flags = writes ? PROTO_FLAGS_WRITABLE : PROTO_FLAGS_READONLY;
	facts.block_min = 1;
	facts.block_preferred = RAM_BLOCK;
	facts.payload_max = PROTO_PAYLOAD_MAX;
	proto_handshake_found(c->handshake, &facts);
}

/* Tell the client, and the log: `why` in place of the text where the client is
 * not to know. */
static void refuse_because(struct conn *c, uint32_t rep, const char *text,
			   const char *why)
{
	const struct proto_lookup *l = proto_handshake_lookup(c->handshake);
	char clean[120];

	log_escape(l->name, l->name_len, clean, sizeof(clean));
	log_about(LOG_INFO, conn_about(c, why),
		  "%llu %s: %s \"%s\" by %s: refused: %s",
		  (unsigned long long)c->id, c->peer, l->option, clean,
		  c->identity.text, why);
	stats_add(&c->worker->stats, STAT_REFUSED, 1);
	proto_handshake_refuse(c->handshake, rep, text);
}

static void refuse(struct conn *c, uint32_t rep, const char *text)
{
	refuse_because(c, rep, text, text);
}

/* What may not be opened and what is not there look alike. In clear a client is
 * told to come by TLS, for anything. why NULL: it is not there. */
static void refuse_hidden(struct conn *c, const char *why)
{
	bool tls = atomic_load(&c->worker->server->limits.tls) !=
		   CONFIG_TLS_OFF;
	const struct proto_lookup *l = proto_handshake_lookup(c->handshake);
	const char *text = "there is no such export";
	uint32_t rep = NBD_REP_ERR_UNKNOWN;

	if (tls && !l->secured) {
		rep = NBD_REP_ERR_TLS_REQD;
		text = "there is no such export without TLS";
	}
	refuse_because(c, rep, text, why ? why : text);
}

/* e NULL: it is not there. */
static void refuse_unknown(struct conn *c, const struct export *e)
{
	const char *why = e ? "it is not allowed to (allow)" : NULL;

	if (e && e->owner && !e->many_writers)
		why = "it is another client's, or not allowed to (allow)";
	refuse_hidden(c, why);
}

/* How often a disk may be gone again before its client has come in. */
#define REMADE_MOST 3

/* How long a client is made wait for a place in an export that has none: one
 * that has just gone may not have been noticed yet by its own worker. */
#define PLACE_MSEC 500

void handshake_leave_export(struct conn *c)
{
	struct exports *exports = &c->worker->server->exports;

	if (c->entered)
		export_leave(exports, c->export, c->writes);
	else
		export_put(exports, c->export);
	c->export = NULL;
	c->entered = c->wants_place = false;
}

static void make_again(struct conn *c);

static void leave_session(struct conn *c)
{
	if (c->in_session)
		sessions_leave(&c->worker->server->sessions, &c->session);
	c->in_session = false;
}

static void refuse_place(struct conn *c, int error)
{
	char text[120];

	if (error == -EBUSY)
		snprintf(text, sizeof(text),
			 "the export has as many connections as it may have "
			 "(max-connections = %u)",
			 c->export->max_connections);
	else if (error == -ETXTBSY)
		snprintf(text, sizeof(text),
			 "another host has the export open and may write "
			 "(writers = host)");
	else
		snprintf(text, sizeof(text), "no memory");
	handshake_leave_export(c);
	leave_session(c);
	refuse(c, NBD_REP_ERR_POLICY, text);
}

/* ---------------------------------------------------------------- templates */

/* The template's answer to the name, and the size that its disk would have. */
static int find_template(struct conn *c, const char *name,
			 struct template_disk *t, struct ram_why *why)
{
	struct server *s = c->worker->server;
	int error;

	pthread_mutex_lock(&s->config_lock);
	error = template_find(s->config, name, &c->identity, t, why);
	pthread_mutex_unlock(&s->config_lock);
	return error;
}

/* Tell about a disk that is not there, and that nothing is made for. */
static void found_template(struct conn *c, const struct template_disk *t)
{
	bool writes = !t->o.readonly;
	struct proto_export facts = {
		.name = t->o.name,
		.description = "RAM disk, which is made when it is opened",
		.size = t->o.size,
		.block_min = 1,
		.block_preferred = RAM_BLOCK,
		.payload_max = PROTO_PAYLOAD_MAX,
	};
	struct access_list *allow = NULL;
	struct ram_disk *source;
	char wrong[8];

	if (t->o.clone && facts.size == 0 &&
	    ram_disk_open(c->worker->server->pool, t->o.clone, &source) == 0) {
		facts.size = ram_disk_size(source);
		ram_disk_put(source);
	}
	if (t->o.allow &&
	    access_parse(t->o.allow, &allow, wrong, sizeof(wrong)) == 0 &&
	    access_of(allow, &c->identity) == ACCESS_READ)
		writes = false;
	access_free(allow);
	facts.flags = writes ? PROTO_FLAGS_WRITABLE : PROTO_FLAGS_READONLY;
	/* Of contexts it is of no meaning; of an image only reading tells. */
	if (facts.size == 0 &&
	    proto_handshake_lookup(c->handshake)->purpose == PROTO_FOR_INFO)
		refuse(c, NBD_REP_ERR_POLICY,
		       "how large it is going to be is not known");
	else
		proto_handshake_found(c->handshake, &facts);
}

/* Have it made, and wait. Takes *t over. */
static void have_made(struct conn *c, struct template_disk *t)
{
	int error = makers_ask(c->worker->server->makers, c, t);

	if (error) {
		template_disk_free(t);
		refuse(c, NBD_REP_ERR_POLICY,
		       error == -EAGAIN ? "too many disks are being made just "
					  "now; try again"
					: "no memory");
		return;
	}
	c->lookup_waits = true;
	/* It is we who are slow from now on. */
	c->deadline = 0;
}

static void refuse_template(struct conn *c, int error, const char *why)
{
	const char *hidden = "there is no such export";

	if (error == -ENOENT)
		refuse_unknown(c, NULL);
	else if (error == -EACCES)
		refuse_hidden(c, "a template takes the name, and not for this "
				 "client");
	else if (error == -ENOMEM)
		refuse(c, NBD_REP_ERR_POLICY, "no memory");
	else
		refuse_because(c, NBD_REP_ERR_POLICY, why ? why : hidden, why);
}

/* A disk that is new for each session may have become another's since it was made
 * for this one. It stays whose it is as long as somebody has it open. */
static bool is_of_another_session(const struct conn *c, const struct export *e)
{
	char owner[IDENTITY_OWNER_MAX];
	struct note note;

	if (!e->fresh || !e->owner ||
	    !identity_owner(&c->identity, owner, sizeof(owner)) ||
	    strcmp(owner, e->owner) != 0)
		return false;
	note_load(e->disk, &note);
	return note.in_session != c->in_session ||
	       (c->in_session && memcmp(note.session, c->session.uuid,
					sizeof(note.session)) != 0);
}

/* The last step: it is counted as one that has the export open. */
static void take_place(struct conn *c)
{
	const char *name = handshake_name(c);
	bool waited = c->wants_place && now_msec() >= c->wants_place_by;
	struct guest guest = {.who = &c->identity, .in_session = c->in_session};
	struct export *e;
	bool writes = false;
	int error;

	if (c->in_session)
		memcpy(guest.session, c->session.uuid, sizeof(guest.session));
	error = exports_enter(&c->worker->server->exports, name, &guest, &e,
			      &writes);
	if (!c->wants_place)
		c->wants_place_by = now_msec() + PLACE_MSEC;
	handshake_leave_export(c);
	c->lookup_waits = false;
	c->export = e;
	c->entered = !error;
	c->writes = writes;
	if (!error && is_of_another_session(c, e)) {
		handshake_leave_export(c);
		error = -ENOENT;
	}
	if (error == -ENOENT) {
		leave_session(c);
		make_again(c);
	} else if (error && waited) {
		refuse_place(c, error);
	} else if (error) {
		c->wants_place = c->lookup_waits = true;
		worker_need_tick(c->worker);
	} else {
		found(c, c->export, writes);
	}
}

/* A connection of a device. It may have to wait for older ones to end. */
static void enter_session(struct conn *c, const struct proto_session *who)
{
	struct sessions *sessions = &c->worker->server->sessions;
	enum session_answer answer;

	answer = sessions_enter(sessions, who, c->identity.host);
	switch (answer) {
	case SESSION_IN:
	case SESSION_TAKEOVER:
		c->in_session = true;
		c->session = *who;
		if (answer == SESSION_IN)
			take_place(c);
		else if (takeover_begin(c, who) == 0)
			c->lookup_waits = true;
		else {
			sessions_taken_over(sessions, who);
			refuse(c, NBD_REP_ERR_POLICY, "no memory");
		}
		break;
	case SESSION_OLD:
		refuse(c, NBD_REP_ERR_POLICY, PROTO_TEXT_EPOCH);
		break;
	case SESSION_FOREIGN:
		refuse(c, NBD_REP_ERR_POLICY,
		       "the session was opened by somebody else");
		break;
	case SESSION_NO_MEMORY:
		refuse(c, NBD_REP_ERR_POLICY, "no memory for a session");
		break;
	}
}

static int go_on(struct conn *c)
{
	if (c->lookup_waits)
		return 0;
	return c->stash_len > 0 ? stream_use_stash(c) : stream_use(c, NULL, 0);
}

int handshake_session_ready(struct conn *c)
{
	/* A still higher epoch may have come meanwhile. */
	if (sessions_current(&c->worker->server->sessions, &c->session))
		take_place(c);
	else
		refuse(c, NBD_REP_ERR_POLICY, PROTO_TEXT_EPOCH);
	return go_on(c);
}

int handshake_room_again(struct conn *c)
{
	return go_on(c);
}

int handshake_place_again(struct conn *c)
{
	take_place(c);
	return go_on(c);
}

/* The export is there, or was just now. */
static void open_export(struct conn *c)
{
	const struct proto_lookup *l = proto_handshake_lookup(c->handshake);

	/* What it asked for before, and did not get after all. */
	handshake_leave_export(c);
	leave_session(c);
	if (l->has_session)
		enter_session(c, &l->session);
	else
		take_place(c);
}

int handshake_made(struct conn *c, const struct making_answer *answer)
{
	if (answer->error == 0)
		open_export(c);
	else if (answer->rep == NBD_REP_ERR_UNKNOWN)
		refuse_hidden(c, answer->why.text);
	else
		refuse_because(c, answer->rep, answer->text, answer->why.text);
	return go_on(c);
}

/* It was there, and is not any more: its time was over, perhaps. */
static void make_again(struct conn *c)
{
	const struct proto_lookup *l = proto_handshake_lookup(c->handshake);
	struct template_disk t;
	struct ram_why why = {""};
	int error = -ENOENT;

	if (c->remade++ < REMADE_MOST)
		error = find_template(c, l->name, &t, &why);
	if (error)
		refuse_template(c, error, why.text);
	else
		have_made(c, &t);
}

/* The name is not in the list, or a template is to be asked first. *e: it may be
 * there under the name that a template makes of it. */
static void answer_by_template(struct conn *c, struct export **e)
{
	const struct proto_lookup *l = proto_handshake_lookup(c->handshake);
	struct exports *exports = &c->worker->server->exports;
	struct template_disk t;
	struct ram_why why = {""};
	int error = find_template(c, l->name, &t, &why);

	if (!error && strcmp(t.o.name, l->name) != 0) {
		c->real_name = strdup(t.o.name);
		error = c->real_name ? 0 : -ENOMEM;
		if (!error && !*e)
			*e = exports_get(exports, c->real_name);
		if (error)
			template_disk_free(&t);
	}
	if (error)
		refuse_template(c, error, why.text);
	else if (*e && export_access(*e, &c->identity) == ACCESS_NONE)
		refuse_unknown(c, *e);
	else if (l->purpose == PROTO_FOR_ACCESS && (!*e || (*e)->fresh))
		have_made(c, &t);
	else if (l->purpose == PROTO_FOR_ACCESS)
		open_export(c);
	else if (*e)
		found(c, *e, export_access(*e, &c->identity) == ACCESS_WRITE);
	else
		found_template(c, &t);
	if (!error)
		template_disk_free(&t);
}

static void answer_lookup(struct conn *c)
{
	const struct proto_lookup *l = proto_handshake_lookup(c->handshake);
	struct exports *exports = &c->worker->server->exports;
	struct export *e = exports_get(exports, l->name);
	enum access access = e ? export_access(e, &c->identity) : ACCESS_NONE;

	free(c->real_name);
	c->real_name = NULL;
	c->remade = 0;
	if (!e || (e->fresh && access != ACCESS_NONE))
		answer_by_template(c, &e);
	else if (access == ACCESS_NONE)
		refuse_unknown(c, e);
	else if (l->purpose != PROTO_FOR_ACCESS)
		found(c, e, access == ACCESS_WRITE);
	else
		open_export(c);
	export_put(exports, e);
}

/* One after the other, as long as there is room in the queue. What a list needs
 * beyond that is the place in it: it may be long, and clients many. */
static int answer_list(struct conn *c)
{
	struct exports *exports = &c->worker->server->exports;
	char text[160];

	if (!c->listed)
		c->listed = exports_next(exports, NULL, &c->list_at);
	while (c->listed) {
		if (export_access(c->listed, &c->identity) == ACCESS_NONE) {
			c->listed =
				exports_next(exports, c->listed, &c->list_at);
			continue;
		}
		export_describe(c->listed, text, sizeof(text));
		if (proto_handshake_list_item(c->handshake, c->listed->name,
					      text) == 0) {
			c->listed =
				exports_next(exports, c->listed, &c->list_at);
			continue;
		}
		c->wants_room = conn_full(c);
		if (c->wants_room)
			return 0;
		if (handshake_queue(c))
			return -1;
	}
	proto_handshake_list_end(c->handshake);
	return 0;
}

/* Most clients go when they are told so, and some try one option after the other:
 * one line for all of that. */
static bool note_in_clear(struct conn *c)
{
	const char *option = proto_handshake_in_clear(c->handshake);

	if (!option)
		return false;
	log_about(LOG_INFO, conn_about(c, ""),
		  "%llu %s: %s by %s: refused: it speaks in clear, and TLS is "
		  "required (tls = require)",
		  (unsigned long long)c->id, c->peer, option, c->identity.text);
	stats_add(&c->worker->stats, STAT_REFUSED, 1);
	return true;
}

/* What such a client prints seldom says what is amiss. Some go on in clear, so this
 * does not count as an export refused. */
static void note_no_tls(struct conn *c)
{
	if (!proto_handshake_tls_missed(c->handshake))
		return;
	log_about(LOG_INFO, conn_about(c, ""),
		  "%llu %s: STARTTLS by %s: refused: this server has no TLS "
		  "(tls = off)",
		  (unsigned long long)c->id, c->peer, c->identity.text);
}

int handshake_use(struct conn *c, const uint8_t *buf, size_t n, size_t *used)
{
	size_t part;
	const char *why;
	bool told;

	*used = 0;
	c->wants_room = false;
	for (;;) {
		enum proto_event event = proto_handshake_feed(
			c->handshake, buf + *used, n - *used, &part);

		*used += part;
		told = note_in_clear(c);
		note_no_tls(c);
		switch (event) {
		case PROTO_MORE:
			return 0;
		case PROTO_SEND:
			c->wants_room = conn_full(c);
			if (c->wants_room)
				return 0;
			if (handshake_queue(c))
				return -1;
			break;
		case PROTO_LOOKUP:
			if (!c->lookup_waits)
				answer_lookup(c);
			if (c->lookup_waits)
				return 0;
			break;
		case PROTO_LIST:
			if (answer_list(c))
				return -1;
			if (c->wants_room)
				return 0;
			break;
		case PROTO_BITMAPS:
			if (bitmaps_answer(c))
				return -1;
			if (c->wants_room)
				return 0;
			break;
		case PROTO_READY:
			c->terms = *proto_handshake_terms(c->handshake);
			bitmaps_agreed(c);
			conn_handshake_over(c);
			c->state = CONN_REQUEST;
			log_info("%llu %s: opened \"%s\"",
				 (unsigned long long)c->id, c->peer,
				 c->export->name);
			return 0;
		case PROTO_ABORT:
			c->state = CONN_DRAIN;
			return 0;
		case PROTO_STARTTLS:
			/* Somebody in between may have put them there. */
			if (n > *used) {
				log_about(LOG_INFO, conn_about(c, ""),
					  "%llu %s: refused: TLS: there are "
					  "bytes in clear behind STARTTLS",
					  (unsigned long long)c->id, c->peer);
				return stream_end(c, "bytes in clear behind "
						     "STARTTLS");
			}
			c->state = CONN_TLS;
			return 0;
		case PROTO_HANGUP:
			why = proto_handshake_reason(c->handshake);
			if (!told)
				log_about(LOG_INFO, conn_about(c, why),
					  "%llu %s: handshake: %s",
					  (unsigned long long)c->id, c->peer,
					  why);
			c->state = CONN_DRAIN;
			return 0;
		}
	}
}
