/* SPDX-License-Identifier: BSD-3-Clause */
/* nbdramctl bench: how fast a disk of any NBD server is, as a client sees it. Asks no
 * nbdramd. */
#ifndef NBDRAM_CTL_BENCH_COMMAND_H
#define NBDRAM_CTL_BENCH_COMMAND_H

#include <stdbool.h>

/* The words behind the command; json: print the table as JSON. Returns the exit
 * status. */
int bench_command(int argc, char **argv, bool json);

#endif
