/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of a target, for link.c. */
#ifndef NBDRAM_ATTACH_TARGET_PRIVATE_H
#define NBDRAM_ATTACH_TARGET_PRIVATE_H

#include "dial.h"
#include "secure.h"
#include "target.h"
#include "uri.h"

#define TARGET_NAME_MAX 255u

/* One thread at a time. */
struct attach_target {
	struct attach_uri uri;
	struct attach_options options;
	struct attach_address *addresses;
	unsigned count;
	struct attach_peer peer; /* with TLS */
	bool relay;		 /* TLS is not for the kernel */
	char name[TARGET_NAME_MAX + 1];
};

#endif
