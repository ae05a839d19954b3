/* SPDX-License-Identifier: BSD-3-Clause */
/* nbdramctl tls-init: an authority, certificates and keys. Asks no nbdramd. */
#ifndef NBDRAM_CTL_TLS_INIT_H
#define NBDRAM_CTL_TLS_INIT_H

/* The words behind the command; the exit status. */
int tls_init(int argc, char **argv);

#endif
