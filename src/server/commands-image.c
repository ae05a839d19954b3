/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands for disks as files: save, load. The long part of each holds nobody up: it
 * is done with a disk that nobody else sees. See commands.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cleanup.h"
#include "commands.h"
#include "disk-fill.h"
#include "disk-save.h"
#include "saver.h"

/* The daemon's folder is not the caller's. */
static char *file_name(struct call *call)
{
	char *file = call_name(call, "file");

	if (!file || *file == '/')
		return file;
	call_fail(call, "usage",
		  "%s: the whole path is wanted, with a / at its beginning",
		  shown(file));
	free(file);
	return NULL;
}

/* The disk and the file that the call names. */
static int with_disk(struct call *call,
		     int (*act)(struct call *call, struct ram_disk *disk,
				const char *name, const char *file))
{
	CLEANUP_FREE char *name = call_name(call, "name");
	CLEANUP_FREE char *file = name ? file_name(call) : NULL;
	struct ram_disk *disk;
	int error;

	if (!file || call_open_disk(call, name, &disk))
		return -1;
	error = act(call, disk, name, file);
	ram_disk_put(disk);
	return error;
}

static int fail(struct call *call, int error, const struct ram_why *why)
{
	const char *code = "failed";

	switch (error) {
	case -ENOSPC:
	case -EAGAIN:
		code = "no-space";
		break;
	case -EBUSY:
		code = "in-use";
		break;
	case -ENOENT:
		code = "not-found";
		break;
	case -ECANCELED:
		code = "cancelled";
		break;
	}
	return call_fail(call, code, "%s", why->text);
}

/* -------------------------------------------------------------------- save */

static bool saving(void *arg, uint64_t done, uint64_t all)
{
	call_progress(arg, "MiB of data", done >> 20, all >> 20);
	return call_cancelled(arg);
}

static int save(struct call *call, struct ram_disk *disk, const char *name,
		const char *file)
{
	struct image_saved saved;
	struct ram_why why;
	int error = saver_save(call->server, disk, name, call->ram, file, 0,
			       saving, call, &saved, &why);

	return error ? fail(call, error, &why) : 0;
}

/* To the file that the configuration has for it. */
static int save_own(struct call *call)
{
	CLEANUP_FREE char *name = call_name(call, "name");
	CLEANUP_FREE char *file = NULL;
	struct ram_disk *disk;
	int error;

	if (!name || call_open_disk(call, name, &disk))
		return -1;
	file = saver_file(call->server, name);
	error = file ? save(call, disk, name, file)
		     : call_fail(call, "usage",
				 "%s: to which file? The configuration has no "
				 "save for it",
				 shown(name));
	ram_disk_put(disk);
	return error;
}

int command_save(struct call *call)
{
	return call_has(call, "file") ? with_disk(call, save) : save_own(call);
}

/* -------------------------------------------------------------------- load */

static bool loading(void *arg, uint64_t done, uint64_t all)
{
	call_progress(arg, "MiB of the file", done >> 20, all >> 20);
	return call_cancelled(arg);
}

/* What the disk becomes, beside it. *o: what it is promised. */
static int make_model(struct call *call, const struct ram_disk_info *info,
		      const char *file, struct ram_disk **model)
{
	char hidden[DISK_HIDDEN_NAME], where[300];
	uint64_t said =
		call_configured(call->server, info->name, where, sizeof(where));
	struct ram_disk_spec spec = {
		.name = hidden,
		.size = info->size,
		.quota = info->quota,
		.state = RAM_TEMPORARY,
	};
	/* A size that the configuration says would be wrong else. */
	const struct disk_contents contents = {.file = file};
	struct config_export o = {
		.size = said > 0 ? max_u64(said, info->size) : 0,
	};
	struct ram_why why;
	int error;

	disk_hidden_name(hidden);
	error = ram_disk_create(call->server->pool, &spec, model);
	if (error) {
		snprintf(why.text, sizeof(why.text), "%s: cannot be loaded: %s",
			 shown(info->name),
			 error == -ENOSPC ? "the pool is full; delete or trim "
					    "something"
					  : strerror(-error));
		return fail(call, error, &why);
	}
	error = disk_fill(call->server->pool, *model, &o, &contents, loading,
			  call, &why);
	/* Who is there was told a size: it does not get smaller. */
	if (!error && ram_disk_size(*model) < info->size)
		ram_disk_resize(*model, info->size);
	if (!error)
		return 0;
	ram_disk_delete(*model);
	ram_disk_put(*model);
	return fail(call, error, &why);
}

/* Before something long is done for nothing. */
static int look_for_writers(struct call *call, const struct ram_disk *disk,
			    const char *name)
{
	unsigned n = exports_clients(&call->server->exports, disk, true);

	if (n == 0 || control_truth(call->request.args, "force"))
		return 0;
	return call_fail(call, "in-use",
			 "%s: %u client%s it open for writing; --force "
			 "disconnects first",
			 shown(name), n, n == 1 ? " has" : "s have");
}

static int exchange(struct call *call, struct ram_disk *disk, const char *name,
		    struct ram_disk *model)
{
	struct export *e;
	int error;

	if (call_seclude(call, disk, name, true, &e))
		return -1;
	error = ram_disk_replace(disk, model);
	call_let_in(call, name, e);
	if (!error)
		return 0;
	if (error == -ENOENT)
		return call_fail(call, "not-found",
				 "%s: has been deleted meanwhile", shown(name));
	return call_fail(call, error == -ENOSPC ? "no-space" : "failed",
			 "%s: cannot be loaded: %s", shown(name),
			 error == -ENOSPC ? "the pool has not got the memory "
					    "that it is to be guaranteed"
					  : strerror(-error));
}

static int load(struct call *call, struct ram_disk *disk, const char *name,
		const char *file)
{
	struct ram_disk_info info;
	struct ram_disk *model;
	int error;

	ram_disk_info(disk, NULL, 0, &info);
	if (info.readonly)
		return call_fail(call, "read-only",
				 "%s: is a snapshot, which never changes",
				 shown(name));
	if (look_for_writers(call, disk, name) ||
	    make_model(call, &info, file, &model))
		return -1;
	error = call_lock(call);
	if (!error) {
		error = exchange(call, disk, name, model);
		call_unlock(call);
	}
	ram_disk_delete(model);
	ram_disk_put(model);
	return error;
}

int command_load(struct call *call)
{
	return with_disk(call, load);
}
