/* SPDX-License-Identifier: BSD-3-Clause */
/* What the system tells of NBD devices: sysfs, mounts, and who has one open.
 * Devices are known by their number: 0 is /dev/nbd0. */
#ifndef NBDRAM_ATTACH_DEVICE_H
#define NBDRAM_ATTACH_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "why.h"

/* What stands in front of /sys, /proc and /dev: "" but for tests. */
extern const char *attach_root;

#define ATTACH_IDENTIFIER_MOST 400

/* "nbd3" or "/dev/nbd3". -EINVAL: no such name. */
int attach_device_number(const char *text, int *index);

/* The identifier that it was attached with; "": it has none. -ENOENT: it is not
 * attached, or not by netlink. */
int attach_device_identifier(int index,
			     char identifier[ATTACH_IDENTIFIER_MOST + 1]);

/* 0: it is the one with this identifier; -ENOENT: there is none, or another. Other
 * errors: it cannot be known now. */
int attach_device_check(int index, const char *identifier);

/* The device with this identifier. Errors as above. */
int attach_device_find(const char *identifier, int *index);

/* Its size in bytes; 0: it has none now, or is not there. */
uint64_t attach_device_size(int index);

/* Wait until it is free for the next one. -ETIMEDOUT. */
int attach_device_wait_free(int index, int timeout_ms);
/* Wait until /dev/nbdN is there and has this size. -ETIMEDOUT. */
int attach_device_wait_size(int index, uint64_t size, int timeout_ms);

/* Who has it: "mounted at /mnt", "swap", "part of md0", "open in process 7 (dd)",
 * in a buffer of ATTACH_HOLDER_MOST bytes. This process does not count. False: nobody
 * was found. */
#define ATTACH_HOLDER_MOST 300
bool attach_device_holder(int index, char *text);

/* Open it so that nobody can mount it meanwhile; *fd is the caller's to close.
 * -EBUSY: it is mounted or part of something. */
int attach_device_claim(int index, int *fd);

/* Load the kernel's module; why: modprobe's own words. */
int attach_module_load(struct attach_why *why);

#endif
