/* SPDX-License-Identifier: BSD-3-Clause */
/* NBD URIs into their parts, as libnbd reads them:
 *
 *	nbd://[HOST[:PORT]]/[EXPORT]		nbds:// the same by TLS
 *	nbd+unix:///[EXPORT]?socket=PATH	nbds+unix:///
 *
 * with %XX for any byte, [...] around IPv6 addresses, USER@ before HOST and
 * tls-certificates=DIR, tls-psk-file=FILE, tls-verify-peer=BOOL and
 * tls-hostname=NAME behind the ? for TLS. Pure. */
#ifndef NBDRAM_ATTACH_URI_H
#define NBDRAM_ATTACH_URI_H

#include <stdbool.h>

#include "why.h"

struct attach_uri {
	bool tls;
	char *host;   /* NULL: a Unix socket */
	char *port;   /* a number, 10809 if the URI has none; NULL likewise */
	char *socket; /* its path; NULL: TCP */
	char *export; /* "": the default one */
	char *user;   /* the rest: NULL if the URI has none */
	char *certificates; /* folder */
	char *psk_file;
	char *hostname; /* that the server's certificate must have */
	bool verify_peer;
};

/* 0: *uri is the caller's to free by attach_uri_free(); -EINVAL, -ENOMEM. */
int attach_uri_read(const char *text, struct attach_uri *uri,
		    struct attach_why *why);
void attach_uri_free(struct attach_uri *uri); /* NULL pointers are fine */

#endif
