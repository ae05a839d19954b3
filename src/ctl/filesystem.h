/* SPDX-License-Identifier: BSD-3-Clause */
/* File systems on devices, made and mounted by the programs that all use. What fails
 * has been said in one line on standard error; false then. */
#ifndef NBDRAM_CTL_FILESYSTEM_H
#define NBDRAM_CTL_FILESYSTEM_H

#include <stdbool.h>

/* Is it a word that may stand behind mkfs. ? */
bool filesystem_name_is_sane(const char *type);

/* Make a file system of this type, unless one is there. Nothing else is ever
 * overwritten. */
bool filesystem_make(const char *device, const char *type);

/* Mount what is on it, unless it is there already. */
bool filesystem_mount(const char *device, const char *folder, bool readonly);

#endif
