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
#include "log.h"
#include "stream.h"
#include "target-private.h"
#include "terms.h"

/* One link while it is made. */
struct call {
	struct attach_target *target;
	struct attach_stream stream;
	struct proto_client client;
	struct attach_why *why;
};

/* -------------------------------------------------------------- in words */

static int stream_failed(struct call *c, int error)
{
	const char *name = c->target->name;

	switch (error) {
	case -ETIMEDOUT:
		return attach_fail(c->why, error,
				   "%s: the server is connected and says "
				   "nothing; is that an NBD server?",
				   name);
	case -ECANCELED:
		return attach_fail(c->why, error, "%s: given up", name);
	case -ECONNRESET:
		return attach_fail(c->why, error,
				   "%s: the server has hung up; its log says "
				   "why",
				   name);
	}
	return attach_fail(c->why, error, "%s: the connection is gone: %s",
			   name, strerror(-error));
}

/* What a refusal means to us, and what to do. */
static int judge(const struct call *c, const struct proto_client_refusal *r,
		 const char **hint)
{
	*hint = "";
	switch (r->rep) {
	case NBD_REP_ERR_UNKNOWN:
		*hint = ": there is no such export";
		return -ENXIO;
	case NBD_REP_ERR_POLICY:
		if (strcmp(r->text, PROTO_TEXT_EPOCH) == 0)
			return -ESTALE;
		*hint = ": it is not for us";
		return -EACCES;
	case NBD_REP_ERR_TLS_REQD:
		*hint = c->target->uri.socket
				? ": it is for TLS only; write nbds+unix:"
				: ": it is for TLS only; write nbds:";
		return -EACCES;
	case NBD_REP_ERR_SHUTDOWN:
		*hint = ": it is stopping";
		return -ESHUTDOWN;
	case NBD_REP_ERR_INVALID:
	case NBD_REP_ERR_TOO_BIG:
		return -EINVAL;
	}
	if (r->option == NBD_OPT_STARTTLS) {
		*hint = ": it has no TLS; set that up there, or write nbd: in "
			"the place of nbds: on a network that is to be trusted";
		return -EACCES;
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
	return attach_fail(c->why, error, "%s: the server refuses%s%s%s%s%s",
			   c->target->name, hint, *text ? " (it says: " : "",
			   text, *text ? ")" : "", "");
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

/* Until the codec has come to an end: 0, or told. */
static int converse(struct call *c)
{
	enum proto_client_event event = PROTO_CLIENT_MORE;
	uint8_t in[PROTO_CLIENT_DATA_MAX];
	size_t wants;
	int error;

	while (event == PROTO_CLIENT_MORE) {
		error = send_output(c);
		wants = proto_client_wants(&c->client);
		if (!error)
			error = attach_stream_read(&c->stream, in, wants);
		if (error)
			return stream_failed(c, error);
		event = proto_client_feed(&c->client, in, wants);
	}
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
	if (proto_client_init(&c->client, wish))
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
		close(c->stream.fd);
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
	close(c.stream.fd);
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
	attach_terms_take(&link->terms, proto_client_terms(&c.client));
	/* The kernel waits itself. */
	if (fcntl(c.stream.fd, F_SETFL, 0) < 0) {
		error = attach_fail(why, -errno, "%s: %s", target->name,
				    strerror(errno));
		close(c.stream.fd);
		return error;
	}
	link->fd = c.stream.fd;
	return 0;
}

void attach_link_close(struct attach_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
}
