/* SPDX-License-Identifier: BSD-3-Clause */
/* See uri.h. The text is divided at its delimiters first, and what is between
 * them unescaped then, so that an escaped delimiter is none. */
#include "uri.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "log.h"
#include "parse.h"

#define DEFAULT_PORT "10809"
#define DEFAULT_HOST "localhost"
#define NAME_MAX_BYTES 4096u /* of an export's name: what the protocol allows */

static int no_memory(struct attach_why *why)
{
	return attach_fail(why, -ENOMEM, "no memory to read the URI");
}

/* [from, end) with %XX as bytes, in memory of its own. What it is stands in
 * messages. */
static int unescape(const char *from, const char *end, const char *what,
		    char **result, struct attach_why *why)
{
	char *text = malloc(end - from + 1), *to = text;
	int high, low;

	if (!text)
		return no_memory(why);
	while (from < end) {
		if (*from != '%') {
			*to++ = *from++;
			continue;
		}
		high = end - from >= 3 ? parse_hex_digit(from[1]) : -1;
		low = high >= 0 ? parse_hex_digit(from[2]) : -1;
		if (low < 0 || (high == 0 && low == 0)) {
			free(text);
			return attach_fail(why, -EINVAL,
					   "the URI's %s has a %% that is not "
					   "followed by two hexadecimal digits "
					   "other than 00; write %% as %%25",
					   what);
		}
		*to++ = (char)(high << 4 | low);
		from += 3;
	}
	*to = 0;
	free(*result);
	*result = text;
	return 0;
}

/* ------------------------------------------------------------------ scheme */

static int read_scheme(const char **text, struct attach_uri *uri, bool *local,
		       struct attach_why *why)
{
	static const struct {
		const char *text;
		bool tls, local;
	} schemes[] = {
		{"nbd://", false, false},
		{"nbds://", true, false},
		{"nbd+unix://", false, true},
		{"nbds+unix://", true, true},
	};
	char shown[100];

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t len = strlen(schemes[i].text);

		if (strncmp(*text, schemes[i].text, len) != 0)
			continue;
		uri->tls = schemes[i].tls;
		*local = schemes[i].local;
		*text += len;
		return 0;
	}
	log_escape(*text, strlen(*text), shown, sizeof(shown));
	return attach_fail(why, -EINVAL,
			   "\"%s\" is no NBD URI; write nbd://HOST/EXPORT, "
			   "nbds:// for TLS, or nbd+unix:///EXPORT?socket=PATH",
			   shown);
}

/* --------------------------------------------------------------- authority */

/* [from, end) is a number from 1 to 65535, or nothing. */
static int read_port(const char *from, const char *end, struct attach_uri *uri,
		     struct attach_why *why)
{
	unsigned value = 0;

	if (from == end)
		return 0;
	for (const char *at = from; at < end; at++) {
		if (*at < '0' || *at > '9' || value > 65535)
			value = 65536;
		else
			value = 10 * value + (unsigned)(*at - '0');
	}
	if (value == 0 || value > 65535)
		return attach_fail(why, -EINVAL,
				   "the URI's port is no number from 1 to "
				   "65535; an IPv6 address stands in brackets: "
				   "nbd://[::1]:10809/");
	free(uri->port);
	uri->port = strndup(from, end - from);
	return uri->port ? 0 : no_memory(why);
}

/* HOST, HOST:PORT, [V6] or [V6]:PORT; HOST may be missing. */
static int read_host(const char *from, const char *end, struct attach_uri *uri,
		     struct attach_why *why)
{
	const char *colon = memchr(from, ':', end - from), *host_end;
	int error;

	if (from < end && *from == '[') {
		host_end = memchr(from, ']', end - from);
		if (!host_end || (host_end + 1 < end && host_end[1] != ':'))
			return attach_fail(why, -EINVAL,
					   "the URI's IPv6 address does not "
					   "end in a ]");
		colon = host_end + 1 < end ? host_end + 1 : NULL;
		from++;
	} else {
		host_end = colon ? colon : end;
	}
	uri->port = strdup(DEFAULT_PORT);
	if (!uri->port)
		return no_memory(why);
	if (from == host_end) {
		uri->host = strdup(DEFAULT_HOST);
		error = uri->host ? 0 : no_memory(why);
	} else {
		error = unescape(from, host_end, "host", &uri->host, why);
	}
	if (!error && colon)
		error = read_port(colon + 1, end, uri, why);
	return error;
}

static int read_authority(const char *from, const char *end, bool local,
			  struct attach_uri *uri, struct attach_why *why)
{
	const char *at = memchr(from, '@', end - from);
	int error;

	if (at) {
		error = unescape(from, at, "user", &uri->user, why);
		if (error)
			return error;
		from = at + 1;
	}
	if (!local)
		return read_host(from, end, uri, why);
	if (from < end)
		return attach_fail(why, -EINVAL,
				   "the URI names a host and a Unix socket; "
				   "write nbd+unix:///EXPORT?socket=PATH");
	return 0;
}

/* -------------------------------------------------------------- parameters */

static int read_bool(const char *from, const char *end, bool *value,
		     struct attach_why *why)
{
	char *text = NULL;
	int error = unescape(from, end, "tls-verify-peer", &text, why);

	if (!error && parse_bool(text, value))
		error = attach_fail(why, -EINVAL,
				    "the URI's tls-verify-peer is neither true "
				    "nor false");
	free(text);
	return error;
}

/* NAME=VALUE in [from, end), equal being where the = is, or end. */
static int read_parameter(const char *from, const char *equal, const char *end,
			  struct attach_uri *uri, struct attach_why *why)
{
	const struct {
		const char *name;
		char **value;
		bool tls;
	} known[] = {
		{"socket", &uri->socket, false},
		{"tls-certificates", &uri->certificates, true},
		{"tls-psk-file", &uri->psk_file, true},
		{"tls-hostname", &uri->hostname, true},
		{"tls-verify-peer", NULL, true},
	};
	const char *value = equal < end ? equal + 1 : end;
	char shown[60];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strlen(known[i].name) != (size_t)(equal - from) ||
		    memcmp(known[i].name, from, equal - from) != 0)
			continue;
		if (known[i].tls && !uri->tls)
			return attach_fail(why, -EINVAL,
					   "the URI has %s and no TLS; write "
					   "nbds: in the place of nbd:",
					   known[i].name);
		if (!known[i].value)
			return read_bool(value, end, &uri->verify_peer, why);
		if (value == end)
			return attach_fail(why, -EINVAL,
					   "the URI's %s is empty",
					   known[i].name);
		return unescape(value, end, known[i].name, known[i].value, why);
	}
	log_escape(from, equal - from, shown, sizeof(shown));
	return attach_fail(why, -EINVAL,
			   "the URI has a parameter \"%s\", which is none; "
			   "socket, tls-certificates, tls-psk-file, "
			   "tls-hostname and tls-verify-peer are",
			   shown);
}

static int read_parameters(const char *at, struct attach_uri *uri,
			   struct attach_why *why)
{
	while (*at) {
		const char *end = at + strcspn(at, "&;");
		const char *equal = memchr(at, '=', end - at);
		int error = 0;

		if (end > at)
			error = read_parameter(at, equal ? equal : end, end,
					       uri, why);
		if (error)
			return error;
		at = *end ? end + 1 : end;
	}
	return 0;
}

/* --------------------------------------------------------------------- all */

/* Do the parts go together? */
static int judge(const struct attach_uri *uri, bool local,
		 struct attach_why *why)
{
	if (local && !uri->socket)
		return attach_fail(why, -EINVAL,
				   "the URI names no socket; write "
				   "nbd+unix:///EXPORT?socket=PATH");
	if (!local && uri->socket)
		return attach_fail(why, -EINVAL,
				   "the URI names a host and a Unix socket; "
				   "write nbd+unix:///EXPORT?socket=PATH");
	if (uri->certificates && uri->psk_file)
		return attach_fail(why, -EINVAL,
				   "the URI has both tls-certificates and "
				   "tls-psk-file; take one of them");
	if (strlen(uri->export) > NAME_MAX_BYTES)
		return attach_fail(why, -EINVAL,
				   "the URI's export name is longer than %u "
				   "bytes",
				   NAME_MAX_BYTES);
	return 0;
}

static int read_all(const char *text, struct attach_uri *uri,
		    struct attach_why *why)
{
	const char *end, *query;
	bool local = false;
	int error;

	if (strchr(text, '#'))
		return attach_fail(why, -EINVAL,
				   "the URI has a # in it; write it as %%23");
	error = read_scheme(&text, uri, &local, why);
	if (error)
		return error;
	end = text + strcspn(text, "/?");
	error = read_authority(text, end, local, uri, why);
	if (error)
		return error;
	text = *end == '/' ? end + 1 : end;
	query = text + strcspn(text, "?");
	error = unescape(text, query, "export name", &uri->export, why);
	if (!error && *query)
		error = read_parameters(query + 1, uri, why);
	return error ? error : judge(uri, local, why);
}

int attach_uri_read(const char *text, struct attach_uri *uri,
		    struct attach_why *why)
{
	int error;

	*uri = (struct attach_uri){.verify_peer = true};
	error = read_all(text, uri, why);
	if (error)
		attach_uri_free(uri);
	return error;
}

void attach_uri_free(struct attach_uri *uri)
{
	free(uri->host);
	free(uri->port);
	free(uri->socket);
	free(uri->export);
	free(uri->user);
	free(uri->certificates);
	free(uri->psk_file);
	free(uri->hostname);
	*uri = (struct attach_uri){0};
}
