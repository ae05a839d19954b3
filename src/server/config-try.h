/* SPDX-License-Identifier: BSD-3-Clause */
/* nbdramd -t: what a start would refuse, as far as it can be seen without a pool. */
#ifndef NBDRAM_SERVER_CONFIG_TRY_H
#define NBDRAM_SERVER_CONFIG_TRY_H

#include "config.h"

/* Read the files of TLS, look at the addresses, and whether there can be disks as
 * they are asked for; nothing is listened to or made. Warnings go to the log;
 * mistakes are lines in *errors, and then the result is negative. */
int config_try(const struct config *config, struct config_errors *errors);

#endif
