/* SPDX-License-Identifier: BSD-3-Clause */
/* What a start finds in a pool that has survived. See disks.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disks.h"
#include "log.h"
#include "note.h"

/* Takes the handle over. */
static void restore(struct exports *exports, struct ram_disk *disk,
		    const char *name, const struct note *note)
{
	struct config_export settings;
	struct export *e;
	int error;

	note_settings(note, &settings);
	e = export_new(exports, disk, &settings, true);
	if (!e) {
		log_error("disk %s: no memory to export it", name);
		ram_disk_put(disk);
		return;
	}
	error = exports_restore(exports, e);
	if (error == -EEXIST && e->is_default) {
		log_warning("disk %s: another is the default, so it answers to "
			    "its name only",
			    name);
		e->is_default = false;
		error = exports_restore(exports, e);
	}
	if (error) {
		log_error("disk %s: cannot be exported: %s", name,
			  strerror(-error));
		export_put(exports, e);
	}
}

void disks_restore(struct exports *exports, struct ram_pool *pool)
{
	struct ram_disk_info info;
	struct ram_disk *disk;
	struct export *e;
	uint64_t cursor = 0;
	struct note note;
	char clean[120];

	while (ram_disk_next(pool, &cursor, &disk) == 0) {
		ram_disk_info(disk, NULL, 0, &info);
		log_escape(info.name, strlen(info.name), clean, sizeof(clean));
		note_read(info.note, info.note_len, &note);
		e = exports_get(exports, info.name);
		if (!e && note.by_command) {
			restore(exports, disk, clean, &note);
			continue;
		}
		/* Of those of templates others know more. */
		if (!e && !*note.template)
			log_info("disk %s: kept, and not exported: the "
				 "configuration does not name it",
				 clean);
		export_put(exports, e);
		ram_disk_put(disk);
	}
}

int disks_again(struct exports *exports, struct ram_pool *pool,
		const struct config *config, struct disks_plan *plan)
{
	struct ram_disk *disk;
	struct export *e;
	unsigned i;

	memset(plan, 0, sizeof(*plan));
	plan->fresh = calloc(config->export_count + 1, sizeof(*plan->fresh));
	if (!plan->fresh)
		return -ENOMEM;
	for (i = 0; i < config->export_count; i++) {
		if (ram_disk_open(pool, config->exports[i].name, &disk))
			continue;
		e = export_new(exports, disk, &config->exports[i], false);
		if (!e) {
			ram_disk_put(disk);
			return -ENOMEM;
		}
		plan->fresh[plan->count++] = e;
	}
	return 0;
}
