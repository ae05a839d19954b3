/* SPDX-License-Identifier: BSD-3-Clause */
/* See disks-before.h. */
#include "disks-before.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

struct known {
	uint8_t uuid[16];
	uint64_t size, quota, guarantee;
	bool fixed;
	uint32_t note_len;
	uint8_t *note; /* NULL: as long as nothing */
};

struct disks_before {
	struct known *disks; /* sorted by uuid */
	size_t count, room;
};

static int compare(const void *a, const void *b)
{
	return memcmp(((const struct known *)a)->uuid,
		      ((const struct known *)b)->uuid, 16);
}

static bool add(struct disks_before *before, const struct ram_disk_info *info)
{
	struct known *k;

	if (before->count == before->room) {
		size_t room = before->room ? 2 * before->room : 64;

		k = realloc(before->disks, room * sizeof(*k));
		if (!k)
			return false;
		before->disks = k;
		before->room = room;
	}
	k = &before->disks[before->count];
	memcpy(k->uuid, info->uuid, sizeof(k->uuid));
	k->size = info->size;
	k->quota = info->quota;
	k->fixed = info->fixed;
	/* That of a fixed disk is its size. */
	k->guarantee = info->fixed ? 0 : info->guarantee;
	k->note_len = info->note_len;
	k->note = info->note_len > 0 ? malloc(info->note_len) : NULL;
	if (info->note_len > 0 && !k->note)
		return false;
	if (k->note)
		memcpy(k->note, info->note, info->note_len);
	before->count++;
	return true;
}

struct disks_before *disks_before_look(struct ram_pool *pool)
{
	struct disks_before *before = calloc(1, sizeof(*before));
	struct ram_disk_info info;
	struct ram_disk *disk;
	uint64_t cursor = 0;
	bool added = true;

	while (before && added && ram_disk_next(pool, &cursor, &disk) == 0) {
		ram_disk_info(disk, NULL, 0, &info);
		ram_disk_put(disk);
		added = add(before, &info);
	}
	if (!before || !added) {
		log_warning("upgrade: no memory to note which disks there are; "
			    "should it fail, what the new nbdramd has made "
			    "stays");
		disks_before_free(before);
		return NULL;
	}
	if (before->count > 0)
		qsort(before->disks, before->count, sizeof(*before->disks),
		      compare);
	return before;
}

void disks_before_free(struct disks_before *before)
{
	size_t i;

	if (!before)
		return;
	for (i = 0; i < before->count; i++)
		free(before->disks[i].note);
	free(before->disks);
	free(before);
}

/* ---------------------------------------------------------------- restoring */

static const struct known *find(const struct disks_before *before,
				const struct ram_disk_info *info)
{
	struct known key;

	memcpy(key.uuid, info->uuid, sizeof(key.uuid));
	return before->count == 0 ? NULL
				  : bsearch(&key, before->disks, before->count,
					    sizeof(key), compare);
}

static void tell(const struct ram_disk_info *info, const char *what, int error)
{
	char clean[120];

	log_escape(info->name, strlen(info->name), clean, sizeof(clean));
	if (error)
		log_warning("disk %s: cannot be %s, as it was before the "
			    "upgrade: %s",
			    clean, what, strerror(-error));
	else
		log_info("disk %s: %s, as it was before the upgrade", clean,
			 what);
}

static bool promised(const struct known *k, const struct ram_disk_info *info)
{
	return info->fixed == k->fixed && info->quota == k->quota &&
	       (k->fixed || info->guarantee == k->guarantee);
}

static void make_as_known(const struct known *k, struct ram_disk *disk,
			  const struct ram_disk_info *info)
{
	if (info->size != k->size)
		tell(info, "given its size", ram_disk_resize(disk, k->size));
	if (!promised(k, info))
		tell(info, "promised what it is to have",
		     ram_disk_promise(disk, k->fixed, k->quota, k->guarantee,
				      NULL, NULL));
	if (info->note_len != k->note_len ||
	    (k->note_len > 0 && memcmp(info->note, k->note, k->note_len) != 0))
		tell(info, "noted",
		     ram_disk_note(disk, k->note ? (const void *)k->note : "",
				   k->note_len));
}

/* Those that were not there go first: the others may need their memory. */
static void restore(const struct disks_before *before, struct ram_pool *pool,
		    bool known)
{
	struct ram_disk_info info;
	const struct known *k;
	struct ram_disk *disk;
	uint64_t cursor = 0;

	while (ram_disk_next(pool, &cursor, &disk) == 0) {
		ram_disk_info(disk, NULL, 0, &info);
		k = find(before, &info);
		if (known && k)
			make_as_known(k, disk, &info);
		else if (!known && !k)
			tell(&info, "deleted", ram_disk_delete(disk));
		ram_disk_put(disk);
	}
}

void disks_before_restore(const struct disks_before *before,
			  struct ram_pool *pool)
{
	restore(before, pool, false);
	restore(before, pool, true);
}
