/* SPDX-License-Identifier: BSD-3-Clause */
/* Where an export is: a URI that was read, with its addresses looked up and its
 * certificates loaded. After attach_target_open() nothing is resolved, read from
 * a file or executed any more, so that links to it can be opened while the disk
 * that the system itself is on waits for them. */
#ifndef NBDRAM_ATTACH_TARGET_H
#define NBDRAM_ATTACH_TARGET_H

#include <stdbool.h>

#include "why.h"

struct attach_target;

struct attach_options {
	/* What was sent and is acknowledged by nobody for so long makes a link
	 * dead. 0: 10 s. */
	unsigned silence_ms;
	/* TLS in this process, although the kernel could do it. */
	bool relay;
};

/* options: NULL for none. 0: *target is the caller's until attach_target_close();
 * it is used by one thread at a time. -EINVAL (the URI, a file), -ENOENT (no such
 * host, file), -EACCES, -ENOMEM, -EAGAIN (the name server does not answer). May
 * wait for name servers. */
int attach_target_open(const char *uri, const struct attach_options *options,
		       struct attach_target **target, struct attach_why *why);
void attach_target_close(struct attach_target *target); /* NULL is fine */

/* "host:port/export" or "unix:path/export", for messages and identifiers: at most
 * 255 bytes of printable ASCII, no secrets. Lives as long as the target. */
const char *attach_target_name(const struct attach_target *target);

/* The name of the export as the URI has it; "": the default one. */
const char *attach_target_export(const struct attach_target *target);

bool attach_target_is_unix(const struct attach_target *target);
bool attach_target_uses_tls(const struct attach_target *target);

#endif
