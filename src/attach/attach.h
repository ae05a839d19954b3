/* SPDX-License-Identifier: BSD-3-Clause */
/* One attached device: made, brought back when its server was away, given up. Each
 * function does its work from beginning to end, and waits for the network and the
 * kernel; for one thread at a time. */
#ifndef NBDRAM_ATTACH_ATTACH_H
#define NBDRAM_ATTACH_ATTACH_H

#include <stdbool.h>

#include "link.h"
#include "netlink.h"
#include "record.h"
#include "target.h"
#include "why.h"

struct attach_disk {
	struct attach_record record;
	struct attach_target *target;
	struct attach_kernel *kernel;
	/* record.connections of them; fd negative: dead, or the kernel alone knows
	 * it, for whoever had it open before us is gone. */
	struct attach_link *links;
	bool links_unknown; /* ... the latter */
	int folder;	    /* of state files; lent */
	int cancel_fd;	    /* readable: end early, with -ECANCELED; lent */
	bool unsaved;	 /* the last try to write the state file has failed */
	uint64_t epochs; /* the first one that the state file does not cover */
	char warning[400]; /* of what was done and yet is not as one may wish */
};

/* Fill in disk, with what is wished for. Nothing is done yet. */
void attach_disk_begin(struct attach_disk *disk, const struct attach_wish *wish,
		       int folder, int cancel_fd);

/* Make the device: on success it is there, with its state file, and record says
 * what it is. On failure all is as it was. Errors as in link.h and netlink.h;
 * -EBUSY: the wished device has somebody. */
int attach_disk_make(struct attach_disk *disk, struct attach_why *why);

/* For a record from a state file: look for the device. 0: it is attached, its links
 * unknown, so that it is to be renewed; -ENOENT: the kernel has no such device any
 * more; -ENOMEM, or as looking has failed where the record tells no number.
 * attach_disk_end() in any case. */
int attach_disk_adopt(struct attach_disk *disk,
		      const struct attach_record *record, int folder,
		      int cancel_fd, struct attach_why *why);

/* Is the device still the one that it was? -ENOENT: somebody has detached it; other
 * errors: it cannot be known now. */
int attach_disk_check(const struct attach_disk *disk);

/* How many links are up, as far as is known; a dead one is closed. */
unsigned attach_disk_live(struct attach_disk *disk);

/* Connect again, and give the kernel the new links. -EKEYREJECTED: there is another
 * disk by that name now, or it is not what it was; -ENODEV: the device is gone; else
 * as attach_link_open(): worth another try. */
int attach_disk_renew(struct attach_disk *disk, struct attach_why *why);

/* Ask how large it is, and tell the kernel if that is more. */
int attach_disk_grow(struct attach_disk *disk, struct attach_why *why);

/* Write what the kernel still has of a device to the server, if that answers; claim:
 * of attach_device_claim(). Any thread, while the device is kept: for if its server
 * goes away now, this waits until it is back, or the device given up. */
void attach_disk_flush(const char *uri, int claim);

/* Give the device up: what was not flushed is lost. claim:
 * of attach_device_claim(), closed in any case; or -1. keep: the state file stays,
 * as ATTACH_FAILED. */
int attach_disk_detach(struct attach_disk *disk, int claim, bool keep,
		       struct attach_why *why);

/* Have the kernel give a device up that another thread has a disk of, if it is still
 * this one: whatever waits for it fails. */
int attach_disk_take_away(int index, const char *identifier,
			  struct attach_why *why);

/* Give back what the disk has here; the kernel's device stays as it is. */
void attach_disk_end(struct attach_disk *disk);

#endif
