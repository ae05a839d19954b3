/* SPDX-License-Identifier: BSD-3-Clause */
/* Links: connections to an export, negotiated up to the first request and fit to
 * be handed to the kernel.
 *
 * Errors of all functions here, each with its line in *why:
 *	-ECONNREFUSED, -EHOSTUNREACH, ... as connecting has failed; -ECONNRESET
 *		(the server hung up), -ESHUTDOWN (it is stopping), -ETIMEDOUT:
 *		worth another try, -ENOENT for a Unix socket that is not there too
 *	-ENXIO: there is no such export
 *	-EACCES: the server does not let us in, or wants TLS, or has none; a
 *		certificate or key is refused, by either side
 *	-EPROTO: what answers there is no NBD server
 *	-ESTALE: the session has a higher epoch: somebody else goes on with it
 *	-EINVAL: the server can do nothing with the name
 *	-EBUSY: the server has no room for us now, or another host has the disk
 *	-ECANCELED, -ENOMEM, -EMFILE, ... of this host */
#ifndef NBDRAM_ATTACH_LINK_H
#define NBDRAM_ATTACH_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "proto.h"
#include "target.h"
#include "why.h"

/* What the server has told of the export. */
struct attach_terms {
	uint64_t size;
	uint16_t flags; /* NBD_FLAG_... of transmission */
	/* The protocol's defaults (512, 4096, 32 MiB) unless the server told. */
	bool block_size_told;
	uint32_t block_min, block_preferred, payload_max;
	/* The export's own name; "": the server has told none, or a longer one. */
	char name[PROTO_NAME_MAX + 1];
	char description[PROTO_DESCRIPTION_MAX + 1]; /* without the identity */
	bool has_identity; /* " [uuid=... gen=...]" ends the description */
	char uuid[37];	   /* lower case */
	uint64_t gen;
	bool tls;
	/* "TLSv1.3 TLS_AES_128_GCM_SHA256 (kernel)"; relay, or asked, where that
	 * stands. */
	char tls_text[96];
};

struct attach_relay;

struct attach_link {
	int fd;			    /* for the kernel; negative: none */
	struct attach_relay *relay; /* NULL: fd is the connection itself */
	struct attach_terms terms;
};

/* Ask about the export without opening it. May be slower than timeout_ms by the
 * scheduler's delay only. */
int attach_link_ask(struct attach_target *target, int timeout_ms, int cancel_fd,
		    struct attach_terms *terms, struct attach_why *why);

/* Open it, by the name NAME;s=UUID.EPOCH if session is not NULL. 0: link->fd is a
 * blocking stream socket without time limits, of which nothing was read beyond
 * the server's last answer; attach_link_close() closes it. Ends early with
 * -ECANCELED when cancel_fd (-1: none) becomes readable. On failure the link is
 * closed. */
int attach_link_open(struct attach_target *target,
		     const struct proto_session *session, int timeout_ms,
		     int cancel_fd, struct attach_link *link,
		     struct attach_why *why);

/* Close our end; a kernel that was given fd keeps its own. A relay is ended, and
 * with it the link; so close it before its target. Closing twice is fine. */
void attach_link_close(struct attach_link *link);

#endif
