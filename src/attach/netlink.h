/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked of the kernel's NBD client, by generic netlink. Needs
 * CAP_SYS_ADMIN.
 *
 * Functions that ask return 0 or the kernel's negative errno. An attach_kernel is
 * for one thread at a time. */
#ifndef NBDRAM_ATTACH_NETLINK_H
#define NBDRAM_ATTACH_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "why.h"

struct attach_kernel;

/* -ENODEV: the kernel has no NBD client, or its module is not loaded. */
int attach_kernel_open(struct attach_kernel **kernel, struct attach_why *why);
void attach_kernel_close(struct attach_kernel *kernel); /* NULL is fine */

struct attach_setup {
	int index; /* negative: one that is free */
	uint64_t size;
	uint32_t block; /* 512 ... a page, a power of two */
	uint16_t flags; /* NBD_FLAG_... of transmission */
	/* Seconds after which a request that is not answered is sent again and
	 * its link given up; 0: never. */
	unsigned timeout;
	unsigned give_up; /* seconds that requests wait for a link */
	const char *identifier;
	const int
		*fds; /* stream sockets; the kernel has its own of them then */
	unsigned count;
};

/* Make a device; its number is *index. -EBUSY: somebody has it open, or it is
 * attached; -EINVAL, -EPERM, -ENOMEM. */
int attach_kernel_connect(struct attach_kernel *kernel,
			  const struct attach_setup *setup, int *index);

/* Changes of a device whose identifier is this. -EINVAL: it has another, or none,
 * or is not attached. */

/* Offer a socket in place of a dead one. *taken: the kernel has it, and not only
 * thanked for it. timeout is that of the device. */
int attach_kernel_replace(struct attach_kernel *kernel, int index,
			  const char *identifier, unsigned timeout, int fd,
			  bool *taken);
int attach_kernel_resize(struct attach_kernel *kernel, int index,
			 const char *identifier, uint64_t size);

/* Give a device up, whoever uses it: requests that wait fail. May take seconds when
 * the server's host is silent. */
int attach_kernel_disconnect(struct attach_kernel *kernel, int index);

#endif
