/* SPDX-License-Identifier: BSD-3-Clause */
/* nbdramctl attach, detach, attached and attach-watch: disks of any NBD server as
 * block devices of this host. */
#ifndef NBDRAM_CTL_ATTACH_COMMAND_H
#define NBDRAM_CTL_ATTACH_COMMAND_H

#include <stdbool.h>

/* The words behind the command; json: print what there is as JSON. Each returns the
 * exit status. */
int attach_command(int argc, char **argv, bool json);
int detach_command(int argc, char **argv, bool json);
int attached_command(int argc, char **argv, bool json);
int attach_watch_command(int argc, char **argv, bool json);

#endif
