/* SPDX-License-Identifier: BSD-3-Clause */
/* nbdramctl tls-init: an authority, certificates and keys. Asks no nbdramd. */
#ifndef NBDRAM_CTL_TLS_INIT_H
#define NBDRAM_CTL_TLS_INIT_H

#include <stdbool.h>

/* The words behind the command; json: print what was made as JSON. Returns the
 * exit status. */
int tls_init(int argc, char **argv, bool json);

#endif
