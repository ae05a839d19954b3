/* SPDX-License-Identifier: BSD-3-Clause */
/* See files.h. */
#include "files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include "image.h"

static char *image, *save; /* absolute; NULL: not given */

int files_config(const char *key, const char *value)
{
	char **path;

	if (strcmp(key, "image") == 0)
		path = &image;
	else if (strcmp(key, "save") == 0)
		path = &save;
	else
		return 1;
	if (!*value) {
		nbdkit_error("%s=: name a file, or leave it out", key);
		return -1;
	}
	/* nbdkit changes its folder when it goes to the background. */
	free(*path);
	*path = nbdkit_absolute_path(value);
	return *path ? 0 : -1;
}

bool files_load_given(void)
{
	return image || save;
}

bool files_save_given(void)
{
	return save;
}

const char *files_source(void)
{
	struct stat st;

	/* One that cannot be looked at is an error when it is loaded. */
	if (save && (stat(save, &st) == 0 || errno != ENOENT))
		return save;
	return image;
}

static bool tell(void *arg, uint64_t done, uint64_t all)
{
	uint64_t *told = arg;

	/* Not for each piece. */
	if (done - *told >= UINT64_C(256) << 20) {
		*told = done;
		nbdkit_debug("%" PRIu64 " of %" PRIu64 " MiB", done >> 20,
			     all >> 20);
	}
	return false;
}

int files_load(const char *path, struct ram_disk *disk,
	       struct ram_thread *thread, uint64_t size)
{
	uint64_t told = 0, has;
	struct ram_why why;
	int error =
		image_load(path, disk, thread, size, tell, &told, &has, &why);

	if (error) {
		nbdkit_error("%s", why.text);
		return -1;
	}
	nbdkit_debug("loaded from %s, %" PRIu64 " bytes", path, has);
	if (size == 0)
		size = has;
	if (size != ram_disk_size(disk))
		error = ram_disk_resize(disk, size);
	if (error) {
		nbdkit_error("%s: cannot be loaded: %s", path,
			     strerror(-error));
		return -1;
	}
	return 0;
}

void files_save(struct ram_disk *disk, struct ram_thread *thread)
{
	struct image_saved saved;
	uint64_t told = 0;
	struct ram_why why;

	if (!save)
		return;
	if (image_save(disk, thread, save, IMAGE_UNLESS_SAME, tell, &told,
		       &saved, &why))
		nbdkit_error("the disk was not saved: %s", why.text);
	else if (saved.same)
		nbdkit_debug("the disk is as %s has it already", save);
	else
		nbdkit_debug("saved to %s, %" PRIu64 " bytes written", save,
			     saved.bytes);
}

void files_free(void)
{
	free(image);
	free(save);
	image = save = NULL;
}
