/* SPDX-License-Identifier: BSD-3-Clause */
/* What a server told of its export, as the rest of the room wants it. */
#ifndef NBDRAM_ATTACH_TERMS_H
#define NBDRAM_ATTACH_TERMS_H

#include "client.h"
#include "link.h"

/* Fill in all but what concerns TLS. Pure. */
void attach_terms_take(struct attach_terms *terms,
		       const struct proto_client_terms *told);

#endif
