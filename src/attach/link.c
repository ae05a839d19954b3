/* SPDX-License-Identifier: BSD-3-Clause */
/* See link.h. */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "dial.h"
#include "keys.h"
#include "ktls.h"
#include "log.h"
#include "relay.h"
#include "stream.h"
#include "target-private.h"
#include "terms.h"

/* One link while it is made. */
struct call {
	struct attach_target *target;
	struct attach_stream stream;
	struct proto_client client;
	bool heard; /* it has said something */
	struct attach_why *why;
};

static void hang_up(struct call *c)
{
	attach_secure_free(c->stream.secure, true);
	close(c->stream.fd);
}

/* -------------------------------------------------------------- in words */

static int stream_failed(struct call *c, int error)
{
	const struct attach_secure *secure = c->stream.secure;
	const char *name = c->target->name;

	if (secure && *secure->reason)
		return attach_fail(c->why, error, "%s: TLS: %s", name,
				   secure->reason);
	switch (error) {
	case -ETIMEDOUT:
		return attach_fail(c->why, error,
				   c->heard ? "%s: the server answers no more"
					    : "%s: connected, but nobody says "
					      "anything; is that an NBD "
					      "server?",
				   name);
	case -ECANCELED:
		return attach_fail(c->why, error, "%s: given up", name);
	case -ECONNRESET:
		return attach_fail(
			c->why, error,
			"%s: the server has hung up%s; its log may "
			"say why",
			name,
			secure && !secure->done ? " in the middle of TLS" : "");
	}
	return attach_fail(c->why, error, "%s: the connection is gone: %s",
			   name, strerror(-error));
}

/* What a refusal means to us, and what to do about it. */
static int judge(const struct call *c, const struct proto_client_refusal *r,
		 const char **hint)
{
	*hint = "";
	if (r->option == NBD_OPT_STARTTLS) {
		*hint = "; set up TLS there, or write nbd: in the place of "
			"nbds: where the network is to be trusted";
		return -EACCES;
	}
	switch (r->rep) {
	case NBD_REP_ERR_UNKNOWN:
		*hint = "; is that the export's name?";
		return -ENXIO;
	case NBD_REP_ERR_POLICY:
		return strcmp(r->text, PROTO_TEXT_EPOCH) == 0 ? -ESTALE
							      : -EACCES;
	case NBD_REP_ERR_TLS_REQD:
		*hint = c->target->uri.socket
				? "; write nbds+unix: in the place of nbd+unix:"
				: "; write nbds: in the place of nbd:";
		return -EACCES;
	case NBD_REP_ERR_SHUTDOWN:
		return -ESHUTDOWN;
	case NBD_REP_ERR_INVALID:
	case NBD_REP_ERR_TOO_BIG:
		return -EINVAL;
	}
	return -EPROTO;
}

static int refused(struct call *c)
{
	const struct proto_client_refusal *r = proto_client_refusal(&c->client);
	char text[PROTO_TEXT_MAX + 1];
	const char *hint;
	int error = judge(c, r, &hint);

	log_escape(r->text, strlen(r->text), text, sizeof(text));
	if (!*text)
		log_escape(proto_rep_name(r->rep),
			   strlen(proto_rep_name(r->rep)), text, sizeof(text));
	return attach_fail(c->why, error, "%s: the server refuses: %s%s",
			   c->target->name, text, hint);
}

/* --------------------------------------------------------------- handshake */

static int send_output(struct call *c)
{
	size_t len;
	const void *out = proto_client_output(&c->client, &len);
	int error = attach_stream_write(&c->stream, out, len);

	proto_client_sent(&c->client);
	return error;
}

static int secure(struct call *c)
{
	int error = -ENOMEM;

	c->stream.secure = attach_secure_new(c->stream.fd, &c->target->peer);
	if (c->stream.secure)
		error = attach_secure_handshake(c->stream.secure,
						&c->stream.wait);
	if (error)
		return stream_failed(c, error);
	proto_client_secured(&c->client);
	return 0;
}

/* Output, then what is to come next; both may be nothing. */
static int exchange(struct call *c, enum proto_client_event *event)
{
	uint8_t in[PROTO_CLIENT_DATA_MAX];
	size_t wants;
	int error = send_output(c);

	wants = proto_client_wants(&c->client);
	if (!error)
		error = attach_stream_read(&c->stream, in, wants);
	if (error)
		return stream_failed(c, error);
	c->heard = true;
	*event = proto_client_feed(&c->client, in, wants);
	return 0;
}

/* Until the codec has come to an end: 0, or told. Who always has something to say is
 * never waited for, so the time is looked at in each turn too. */
static int converse(struct call *c)
{
	enum proto_client_event event = PROTO_CLIENT_MORE;
	int error = 0;

	while (!error &&
	       (event == PROTO_CLIENT_MORE || event == PROTO_CLIENT_STARTTLS)) {
		error = attach_wait_check(&c->stream.wait);
		if (error)
			return stream_failed(c, error);
		if (event == PROTO_CLIENT_STARTTLS)
			error = secure(c);
		if (!error)
			error = exchange(c, &event);
	}
	if (error)
		return error;
	if (event == PROTO_CLIENT_BROKEN)
		return attach_fail(c->why, -EPROTO, "%s: %s", c->target->name,
				   proto_client_reason(&c->client));
	send_output(c); /* a farewell, if anything */
	return event == PROTO_CLIENT_READY ? 0 : refused(c);
}

/* Connect and negotiate. 0: the stream is open and ready. */
static int call(struct call *c, const struct proto_client_wish *wish,
		int timeout_ms, int cancel_fd)
{
	const struct attach_target *t = c->target;
	int error;

	c->stream.wait.until = attach_now() + timeout_ms;
	c->stream.wait.cancel_fd = cancel_fd;
	if (!proto_client_init(&c->client, wish))
		return attach_fail(c->why, -EINVAL,
				   "%s: the export's name is too long, or has "
				   "a ; in it",
				   t->name);
	error = attach_dial(t->addresses, t->count, t->options.silence_ms,
			    &c->stream.wait, t->name, &c->stream.fd, c->why);
	if (error)
		return error;
	error = converse(c);
	if (error)
		hang_up(c);
	return error;
}

/* ----------------------------------------------------------- handing over */

/* The kernel waits itself. */
static int make_blocking(struct call *c)
{
	if (fcntl(c->stream.fd, F_SETFL, 0) == 0)
		return 0;
	return attach_fail(c->why, -errno, "%s: %s", c->target->name,
			   strerror(errno));
}

/* The stream into the kernel. -EOPNOTSUPP: not by this one. */
static int use_kernel(struct call *c, struct attach_terms *terms)
{
	struct attach_keys keys;
	int error;

	if (c->target->relay)
		return -EOPNOTSUPP;
	error = attach_keys_take(c->stream.secure, &keys);
	if (!error)
		error = attach_ktls_start(c->stream.fd, &keys);
	explicit_bzero(&keys, sizeof(keys));
	if (error == -EOPNOTSUPP)
		return error;
	if (error) {
		/* Not a second time. */
		c->target->relay = true;
		return attach_fail(c->why, error,
				   "%s: the kernel's TLS fails: %s; the next "
				   "try is without it",
				   c->target->name, strerror(-error));
	}
	attach_secure_text(c->stream.secure, "kernel", terms->tls_text,
			   sizeof(terms->tls_text));
	attach_secure_free(c->stream.secure, false);
	c->stream.secure = NULL;
	return 0;
}

static int use_relay(struct call *c, struct attach_link *link)
{
	int error;

	attach_secure_text(c->stream.secure, "relay", link->terms.tls_text,
			   sizeof(link->terms.tls_text));
	error = attach_relay_start(c->stream.secure, &link->relay, &link->fd);
	return error ? attach_fail(c->why, error,
				   "%s: no relay for TLS can be had: %s",
				   c->target->name, strerror(-error))
		     : 0;
}

/* The stream becomes the link's. */
static int hand_over(struct call *c, struct attach_link *link)
{
	int error = 0;

	attach_terms_take(&link->terms, proto_client_terms(&c->client));
	if (c->stream.secure) {
		link->terms.tls = true;
		if (!attach_secure_empty(c->stream.secure))
			return attach_fail(c->why, -EPROTO,
					   "%s: the server sends what nobody "
					   "has asked for",
					   c->target->name);
		error = use_kernel(c, &link->terms);
		if (error == -EOPNOTSUPP)
			return use_relay(c, link);
	}
	if (!error)
		error = make_blocking(c);
	if (!error)
		link->fd = c->stream.fd;
	return error;
}

/* ------------------------------------------------------------------ public */

int attach_link_ask(struct attach_target *target, int timeout_ms, int cancel_fd,
		    struct attach_terms *terms, struct attach_why *why)
{
	const struct proto_client_wish wish = {
		.name = target->uri.export,
		.tls = target->uri.tls,
	};
	uint8_t disc[PROTO_DISC_SIZE];
	struct call c = {.target = target, .why = why};
	int error = call(&c, &wish, timeout_ms, cancel_fd);

	if (error)
		return error;
	if (proto_client_terms(&c.client)->opened) {
		proto_put_disc(disc);
		attach_stream_write(&c.stream, disc, sizeof(disc));
	}
	attach_terms_take(terms, proto_client_terms(&c.client));
	if (c.stream.secure) {
		terms->tls = true;
		attach_secure_text(c.stream.secure, "asked", terms->tls_text,
				   sizeof(terms->tls_text));
	}
	hang_up(&c);
	return 0;
}

int attach_link_open(struct attach_target *target,
		     const struct proto_session *session, int timeout_ms,
		     int cancel_fd, struct attach_link *link,
		     struct attach_why *why)
{
	const struct proto_client_wish wish = {
		.name = target->uri.export,
		.open = true,
		.tls = target->uri.tls,
		.session = session,
	};
	struct call c = {.target = target, .why = why};
	int error;

	memset(link, 0, sizeof(*link));
	link->fd = -1;
	error = call(&c, &wish, timeout_ms, cancel_fd);
	if (error)
		return error;
	error = hand_over(&c, link);
	if (error)
		hang_up(&c);
	return error;
}

void attach_link_close(struct attach_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	attach_relay_stop(link->relay);
	link->relay = NULL;
	link->fd = -1;
}
