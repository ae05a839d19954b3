/* SPDX-License-Identifier: BSD-3-Clause */
/* See secure.h. */
#include "secure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "handshake.h"
#include "log.h"
#include "stream.h"

/* How long a client that was refused has to read why. */
#define LINGER_MSEC 1000

#define USUAL_DIR NBDRAM_SYSCONFDIR "/nbdram/tls"

/* ---------------------------------------------------------------- contexts */

static void on_fault(void *arg, bool warning, const char *text)
{
	if (warning)
		log_warning("tls: %s", text);
	else
		config_error(arg, "tls: %s", text);
}

static void warn_name(const struct config_export *e)
{
	struct access_list *list;
	char wrong[200];

	if (!e->allow || access_parse(e->allow, &list, wrong, sizeof(wrong)))
		return;
	if (access_by_name(list))
		log_warning("%s: allow: without TLS nobody has a name: "
			    "cert: and psk: let nobody in while tls = off",
			    e->where);
	access_free(list);
}

/* A rule by name is about nobody then, which is easily overlooked. */
static void warn_names(const struct config *config)
{
	unsigned i;

	for (i = 0; i < config->export_count; i++)
		warn_name(&config->exports[i]);
	for (i = 0; i < config->template_count; i++)
		warn_name(&config->templates[i]);
}

int secure_load(const struct config *config, struct io_tls **tls,
		struct config_errors *errors)
{
	struct io_tls_config wanted = {.dir = config->tls_dir ? config->tls_dir
							      : USUAL_DIR,
				       .ciphers = config->tls_ciphers,
				       .verify = config->tls_verify};
	int error;

	*tls = NULL;
	if (config->tls == CONFIG_TLS_OFF) {
		warn_names(config);
		return 0;
	}
	error = io_tls_load(&wanted, tls, on_fault, errors);
	if (error == -ENOMEM)
		config_error(errors, "tls: no memory");
	return error;
}

void secure_exchange(struct server *server, struct io_tls *tls)
{
	struct io_tls *old;

	pthread_mutex_lock(&server->config_lock);
	old = server->tls;
	server->tls = tls;
	pthread_mutex_unlock(&server->config_lock);
	io_tls_put(old);
}

/* The one that is in force now, counted; NULL: there is none. */
static struct io_tls *present(struct server *server)
{
	struct io_tls *tls;

	pthread_mutex_lock(&server->config_lock);
	tls = server->tls ? io_tls_get(server->tls) : NULL;
	pthread_mutex_unlock(&server->config_lock);
	return tls;
}

/* -------------------------------------------------------------- connections */

/* A certificate may have many names; nobody needs more. */
#define NAMES_MOST 64u

struct names {
	char **list;
	unsigned count;
};

static void names_free(struct names *n)
{
	while (n->count > 0)
		free(n->list[--n->count]);
	free(n->list);
	n->list = NULL;
}

static int add_name(void *arg, enum io_name kind, const char *name)
{
	struct names *n = arg;
	char **list;

	if (n->count == NAMES_MOST)
		return 0;
	list = realloc(n->list, (n->count + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	n->list = list;
	if (asprintf(&list[n->count], "%s:%s",
		     kind == IO_NAME_PSK ? "psk" : "cert", name) < 0)
		return -ENOMEM;
	n->count++;
	return 0;
}

/* Who it is, now that it is secured. -ENOMEM: as before. */
static int take_names(struct identity *who, const struct io *io)
{
	struct names n = {0};

	if (io_tls_names(io, add_name, &n)) {
		names_free(&n);
		return -ENOMEM;
	}
	identity_end(who);
	who->names = n.list;
	who->name_count = n.count;
	if (n.count == 0)
		return 0;
	log_escape(n.list[0], strlen(n.list[0]), who->text, sizeof(who->text));
	who->host = n.list[0];
	return 0;
}

static int begin(struct conn *c)
{
	struct io_tls *tls = present(c->worker->server);
	int error;

	/* A reload may have taken it away since the client was told. */
	if (!tls)
		return stream_end(c, "there is no TLS any more");
	error = io_tls_start(&c->io, tls);
	io_tls_put(tls);
	return error ? stream_end(c, "no memory") : 0;
}

static int secured(struct conn *c)
{
	if (take_names(&c->identity, &c->io))
		return stream_end(c, "no memory");
	log_info("%llu %s: %s, %s%s, %s", (unsigned long long)c->id, c->peer,
		 io_tls_version(&c->io), io_tls_cipher(&c->io),
		 io_tls_kernel(&c->io) ? " (kernel)" : "", c->identity.text);
	proto_handshake_secured(c->handshake);
	c->state = CONN_HANDSHAKE;
	return 0;
}

static void refused(struct conn *c, const char *why)
{
	log_about(LOG_INFO, conn_about(c, why), "%llu %s: refused: TLS: %s",
		  (unsigned long long)c->id, c->peer, why);
	stats_add(&c->worker->stats, STAT_REFUSED, 1);
}

void secure_too_long(struct conn *c)
{
	refused(c, "its handshake took too long (handshake-timeout)");
}

/* It is told why by an alert. Its place among the unfinished it keeps, and gives
 * way like them. */
static int linger(struct conn *c)
{
	if (io_tls_linger(&c->io) == 0)
		return stream_end(c, "its TLS handshake failed");
	return 0;
}

int secure_step(struct conn *c)
{
	int error;

	if (c->state == CONN_REFUSED)
		return linger(c);
	error = c->io.tls ? 0 : begin(c);
	if (error)
		return error;
	error = io_tls_handshake(&c->io);
	if (error == -EAGAIN)
		return 0;
	if (!error)
		return secured(c);
	refused(c, io_reason(&c->io));
	c->state = CONN_REFUSED;
	c->deadline = min_u64(c->deadline, now_msec() + LINGER_MSEC);
	return linger(c);
}
