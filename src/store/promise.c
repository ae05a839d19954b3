/* SPDX-License-Identifier: BSD-3-Clause */
/* Changing what a disk is promised, and how much it may have. See store.h. */
#include <errno.h>

#include "check.h"
#include "disk.h"
#include "keeper.h"
#include "pool.h"
#include "service.h"

struct promise {
	struct ram_disk *disk;
	bool fixed;
	uint64_t quota, guarantee; /* bytes */
};

static int change(struct ram_pool *pool, void *arg)
{
	struct promise *p = arg;
	struct ram_disk *disk = p->disk;
	uint64_t quota = disk->quota, guarantee = disk->guarantee;
	struct layout_slot image;
	int error;

	if (disk->number == SLOT_NONE)
		return -ENOENT;
	image = *slots_image(pool, disk->number);
	image.flags &= ~SLOT_FIXED;
	image.flags |= p->fixed ? SLOT_FIXED : 0;
	image.quota = p->quota;
	image.guarantee = p->guarantee;
	error = charge_set(pool, disk, CHARGE_KEEP,
			   div_up(image.quota, BLOCK_SIZE),
			   disk_guarantee(&image), false);
	if (error)
		return error;
	error = slots_publish(pool, pool->service, disk->number, &image);
	if (error) {
		charge_set(pool, disk, CHARGE_KEEP, quota, guarantee, true);
		return error;
	}
	/* Nobody has counted what relatives that are gone have left to it. */
	disk->recount = true;
	keeper_recount(pool);
	return 0;
}

/* As it is written in the slot. */
static int now(struct ram_pool *pool, void *arg)
{
	struct promise *p = arg;
	const struct layout_slot *image;

	if (p->disk->number == SLOT_NONE)
		return -ENOENT;
	image = slots_image(pool, p->disk->number);
	p->fixed = image->flags & SLOT_FIXED;
	p->quota = image->quota;
	p->guarantee = image->guarantee;
	return 0;
}

int ram_disk_promise(struct ram_disk *disk, bool fixed, uint64_t quota,
		     uint64_t guarantee, ram_progress *progress, void *arg)
{
	struct promise before = {.disk = disk};
	struct promise after = {.disk = disk,
				.fixed = fixed,
				.quota = quota,
				.guarantee = guarantee};
	int error;

	if (disk->readonly)
		return -EROFS;
	error = service(disk->pool, now, &before);
	if (!error)
		error = service(disk->pool, change, &after);
	if (error || disk->guarantee == 0)
		return error;
	/* Memory that is promised is there. */
	error = populate(disk->pool, progress, arg);
	if (error)
		service(disk->pool, change, &before);
	return error;
}
