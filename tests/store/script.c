/* SPDX-License-Identifier: BSD-3-Clause */
#include "script.h"

enum {
	A,
	B,
	C,
	D,
	E,
	F,
	G,
	H
};

#define K BLOCK_SIZE

/* Short runs of blocks, so that "at every place" stays feasible; but every way
 * through the store: tables of one level and of six, a first write, an
 * overwrite, a write below a shared table, in whole blocks, in parts of one and
 * across two. */
const struct step script[] = {
	{STEP_CREATE, A, 0, 3 * MIB + 5, 0, RAM_WHOLE},
	{STEP_WRITE, A, 0, 8 * K, 0, 0},
	{STEP_WRITE, A, 0, 6 * K, 2 * MIB - 3 * K, 0}, /* two leaves */
	{STEP_WRITE, A, 0, 100, 5 * K + 17, 0},	       /* part of a block */
	{STEP_WRITE, A, 0, 2 * K, 9 * K - 1000, 0},    /* crossing, in holes */
	{STEP_WRITE, A, 0, 3 * K, 2 * K, 0},	       /* overwrite */
	{STEP_WRITE, A, 0, 5, 3 * MIB, 0},	       /* the last bytes */
	{STEP_STAGE, A, 0, 5 * K + 7, 20 * K + 9, 0},
	{STEP_ZERO, A, 0, 2 * K, 3 * K, 0},
	{STEP_ZERO, A, 0, K + 30, 6 * K - 10, 0},
	{STEP_KEEP, A, 0, 4 * K, 7 * K + 1, 0},
	{STEP_CREATE, H, 0, INT64_MAX, 0, RAM_WHOLE},
	{STEP_WRITE, H, 0, 10, INT64_MAX - 10, 0},
	{STEP_WRITE, H, 0, 2 * K, 512 * GIB - K, 0},
	{STEP_NOTE, A, 0, 100, 0, 0},
	{STEP_CLONE, B, A, 0, 0, 0},
	{STEP_CLONE, C, A, 0, 0, RAM_SNAPSHOT},
	{STEP_WRITE, A, 0, 2 * K, 0, 0}, /* copies the tables */
	{STEP_WRITE, A, 0, 50, 21 * K + 100, 0},
	{STEP_WRITE, B, 0, 3 * K, 1 * K, 0},
	{STEP_ZERO, B, 0, 4 * K, 20 * K, 0},
	{STEP_STAGE, B, 0, 2 * K, 2 * MIB - K, 0},
	{STEP_RESIZE, A, 0, 5 * MIB + 5000, 0, 0},
	{STEP_WRITE, A, 0, K, 5 * MIB - 10, 0},
	{STEP_RESIZE, B, 0, GIB + 3, 0, 0}, /* one more level */
	{STEP_WRITE, B, 0, 2 * K + 3, GIB - 2 * K, 0},
	{STEP_TIDY, 0, 0, 0, 0, 0},
	{STEP_CREATE, D, 0, MIB, 0, RAM_MAKING},
	{STEP_WRITE, D, 0, 5 * K, K / 2, 0},
	{STEP_STATE, D, 0, 0, 0, RAM_WHOLE},
	{STEP_REPLACE, A, C, 0, 0, 0}, /* back to the snapshot */
	{STEP_WRITE, A, 0, K + 1, 4 * K - 1, 0},
	{STEP_REPLACE, D, B, 0, 0, 0},
	{STEP_STATE, D, 0, 0, 0, RAM_TEMPORARY},
	{STEP_DELETE, B, 0, 0, 0, 0},
	{STEP_TIDY, 0, 0, 0, 0, 0},
	{STEP_CREATE_FIXED, E, 0, 64 * K + 3, 0, RAM_WHOLE},
	{STEP_WRITE, E, 0, 3 * K, 60 * K - 7, 0},
	{STEP_ZERO, E, 0, 64 * K + 3, 0, 0},
	{STEP_NOTE, E, 0, RAM_NOTE_MAX, 0, 0},
	{STEP_CLONE, F, C, 0, 0, 0},
	{STEP_WRITE, F, 0, 300, 22 * K, 0},
	{STEP_DELETE, C, 0, 0, 0, 0},
	{STEP_WRITE, F, 0, 2 * K, 20 * K, 0},
	{STEP_ZERO, A, 0, 3 * MIB + 5, 0, 0},
	{STEP_RESIZE, A, 0, 2 * MIB - 7, 0, 0}, /* shrinks */
	{STEP_WRITE, A, 0, 9, 2 * MIB - 16, 0},
	{STEP_DELETE, D, 0, 0, 0, 0},
	{STEP_DELETE, H, 0, 0, 0, 0},
	{STEP_TIDY, 0, 0, 0, 0, 0},
	{STEP_CREATE, B, 0, 4097, 0, RAM_WHOLE}, /* reuses name and blocks */
	{STEP_WRITE, B, 0, 20, 4090 - 13, 0},
	{STEP_CREATE, G, 0, 3 * MIB + 5, 0, RAM_MAKING},
	{STEP_LAZY, G, 0, 6 * K, 0, 0},
	{STEP_LAZY, G, 0, 4 * K, 2 * MIB - 2 * K, 0}, /* two leaves */
	{STEP_LAZY, G, 0, 5, 3 * MIB, 0},
	{STEP_STATE, G, 0, 0, 0, RAM_WHOLE},
	{STEP_FETCH, G, 0, 3 * K, 0, 0},
	{STEP_WRITE, G, 0, 100, K + 17, 0},
	{STEP_WRITE, G, 0, K, 3 * K, 0}, /* before it comes */
	{STEP_CLONE, C, G, 0, 0, 0},
	{STEP_CLONE, D, G, 0, 0, RAM_SNAPSHOT},
	{STEP_FETCH, C, 0, 2 * K, 2 * MIB - 2 * K, 0}, /* for all three */
	{STEP_WRITE, G, 0, K, 4 * K, 0}, /* copies what is not complete */
	{STEP_ZERO, G, 0, 2 * K, 2 * MIB, 0},
	{STEP_DELETE, C, 0, 0, 0, 0},
	{STEP_FETCH, G, 0, 6 * K, 0, 0},
	{STEP_REPLACE, G, D, 0, 0, 0},
	{STEP_FETCH, D, 0, 5, 3 * MIB, 0},
	{STEP_FETCH, D, 0, 6 * K, 0, 0},
	{STEP_FETCH, D, 0, 4 * K, 2 * MIB - 2 * K, 0},
	{STEP_FETCH_END, D, 0, 0, 0, 0},
	{STEP_WRITE, G, 0, 300, 5 * K - 100, 0},
};
const unsigned script_steps = ARRAY_SIZE(script);

static const char *const op_names[] = {
	[STEP_CREATE] = "create", [STEP_CREATE_FIXED] = "create fixed",
	[STEP_WRITE] = "write",	  [STEP_STAGE] = "stage",
	[STEP_ZERO] = "zero",	  [STEP_KEEP] = "zero and keep",
	[STEP_CLONE] = "clone",	  [STEP_DELETE] = "delete",
	[STEP_RESIZE] = "resize", [STEP_REPLACE] = "replace",
	[STEP_NOTE] = "note",	  [STEP_STATE] = "state",
	[STEP_TIDY] = "tidy",	  [STEP_LAZY] = "is to be fetched",
	[STEP_FETCH] = "fetch",	  [STEP_FETCH_END] = "is fetched",
};

const char *world_name(unsigned disk)
{
	static const char *const names[WORLD_DISKS] = {
		"alpha", "bravo",   "charlie", "delta",
		"echo",	 "foxtrot", "golf",    "hotel",
	};

	return names[disk];
}

const char *step_text(unsigned number)
{
	static char text[160];
	const struct step *step = &script[number];

	if (number >= script_steps)
		return "the end";
	snprintf(text, sizeof(text), "step %u: %s %s %s len %llu off %#llx",
		 number, op_names[step->op], world_name(step->disk),
		 step->op == STEP_CLONE || step->op == STEP_REPLACE
			 ? world_name(step->other)
			 : "",
		 (unsigned long long)step->len, (unsigned long long)step->off);
	return text;
}

bool step_is_data(unsigned number)
{
	switch (script[number].op) {
	case STEP_WRITE:
	case STEP_STAGE:
	case STEP_ZERO:
	case STEP_KEEP:
	case STEP_LAZY:
	case STEP_FETCH:
		return true;
	default:
		return false;
	}
}

/* ------------------------------------------------------------------- world */

struct world *world_new(void)
{
	struct world *world = calloc(1, sizeof(*world));

	CHECK(world);
	return world;
}

struct world *world_copy(const struct world *from)
{
	struct world *world = world_new();

	*world = *from;
	for (unsigned i = 0; i < WORLD_DISKS; i++)
		if (from->disk[i].model)
			world->disk[i].model = model_copy(from->disk[i].model);
	return world;
}

static void disk_gone(struct world_disk *disk)
{
	model_free(disk->model);
	memset(disk, 0, sizeof(*disk));
}

void world_free(struct world *world)
{
	if (!world)
		return;
	for (unsigned i = 0; i < WORLD_DISKS; i++)
		disk_gone(&world->disk[i]);
	free(world);
}

void world_restart(struct world *world)
{
	for (unsigned i = 0; i < WORLD_DISKS; i++)
		if (world->disk[i].model && world->disk[i].state != RAM_WHOLE)
			disk_gone(&world->disk[i]);
}

/* All that the script touches, whatever the size is at the time. */
static struct model *new_model(uint64_t size)
{
	struct model *model = model_new(size);

	model_window(model, 0, 32 * K);
	model_window(model, 56 * K, 16 * K);
	model_window(model, 2 * MIB - 16 * K, 32 * K);
	model_window(model, 3 * MIB - 4 * K, 8 * K);
	model_window(model, 5 * MIB - 4 * K, 8 * K);
	model_window(model, GIB - 8 * K, 16 * K);
	model_window(model, 512 * GIB - 8 * K, 16 * K);
	model_window(model, (uint64_t)INT64_MAX + 1 - 8 * K, 8 * K);
	return model;
}

static uint8_t *new_payload(unsigned number)
{
	uint8_t *buf = malloc(script[number].len + 1);

	CHECK(buf);
	fill_pattern(buf, script[number].len, number + 1);
	return buf;
}

/* What the file of all lazy disks has; some blocks are zeroes. */
static uint8_t *new_image(uint64_t len, uint64_t off)
{
	uint8_t *buf = malloc(round_up(len, K) + 1);

	CHECK(buf);
	for (uint64_t at = 0; at < len; at += K) {
		if ((off + at) / K % 3 == 1)
			memset(buf + at, 0, K);
		else
			fill_pattern(buf + at, K, 5000 + (off + at) / K);
	}
	return buf;
}

void world_step(struct world *world, unsigned number)
{
	const struct step *step = &script[number];
	struct world_disk *disk = &world->disk[step->disk];
	struct world_disk *other = &world->disk[step->other];
	uint8_t *buf;

	switch (step->op) {
	case STEP_CREATE:
	case STEP_CREATE_FIXED:
		disk->model = new_model(step->len);
		disk->state = (enum ram_state)step->flags;
		disk->fixed = step->op == STEP_CREATE_FIXED;
		disk->generation = 1;
		break;
	case STEP_WRITE:
	case STEP_STAGE:
		buf = new_payload(number);
		model_write(disk->model, buf, step->len, step->off);
		free(buf);
		break;
	case STEP_ZERO:
	case STEP_KEEP:
		model_zero(disk->model, step->len, step->off);
		break;
	case STEP_CLONE:
		disk->model = model_copy(other->model);
		disk->state = RAM_WHOLE;
		disk->generation = 1;
		disk->readonly = step->flags & RAM_SNAPSHOT;
		break;
	case STEP_DELETE:
		disk_gone(disk);
		break;
	case STEP_RESIZE:
		model_resize(disk->model, step->len);
		break;
	case STEP_REPLACE:
		model_free(disk->model);
		disk->model = model_copy(other->model);
		disk->generation++;
		break;
	case STEP_NOTE:
		fill_pattern(disk->note, step->len, number + 1);
		disk->note_len = (uint32_t)step->len;
		break;
	case STEP_STATE:
		disk->state = (enum ram_state)step->flags;
		break;
	case STEP_LAZY:
		buf = new_image(step->len, step->off);
		model_write(disk->model, buf, step->len, step->off);
		free(buf);
		break;
	case STEP_FETCH:
	case STEP_FETCH_END:
	case STEP_TIDY:
		break;
	}
}

/* ------------------------------------------------------------------- store */

static int write_staged(struct env *env, struct ram_disk *disk,
			const uint8_t *buf, uint64_t len, uint64_t off,
			uint64_t *done)
{
	while (*done < len) {
		struct ram_view view;
		int rc = env_stage(env, disk, len - *done, off + *done, &view);

		if (rc)
			return rc;
		view_fill(&view, buf + *done);
		rc = env_publish(env, &view);
		if (rc == 0)
			*done += view.len;
		ram_view_release(&view, env->thread);
		if (rc)
			return rc;
	}
	return 0;
}

static int create(struct env *env, const struct step *step,
		  struct ram_disk **disk)
{
	struct ram_disk_spec spec = {
		.name = world_name(step->disk),
		.size = step->len,
		.fixed = step->op == STEP_CREATE_FIXED,
		.state = (enum ram_state)step->flags,
	};
	struct ram_disk *made = NULL;
	int rc = ram_disk_create(env->pool, &spec, &made);

	if (rc == 0)
		*disk = made;
	return rc;
}

static int clone(const struct step *step, struct ram_disk *src,
		 struct ram_disk **disk)
{
	struct ram_disk_spec spec = {
		.name = world_name(step->disk),
		.state = RAM_WHOLE,
	};
	struct ram_disk *made = NULL;
	int rc = ram_disk_clone(src, &spec, step->flags, &made);

	if (rc == 0)
		*disk = made;
	return rc;
}

static int lazy(struct env *env, struct ram_disk *disk, uint64_t len,
		uint64_t off, uint64_t *done)
{
	unsigned tries = 0;
	int rc = ram_disk_source(disk, "script", 6);

	/* Whatever is so then. */
	*done = 1;
	while (rc == 0 && len > 0) {
		rc = ram_disk_unfetched(disk, env->thread, &len, &off);
		if (rc == -EAGAIN) {
			env_again(env, &tries);
			rc = 0;
		}
	}
	return rc;
}

static int fetch(struct env *env, struct ram_disk *disk, uint64_t len,
		 uint64_t off)
{
	uint8_t *buf = new_image(len, off);
	uint64_t done = 0;
	unsigned tries = 0;
	int64_t n = 0;

	while (done < len && n >= 0) {
		n = ram_disk_fetched(disk, env->thread, buf + done, len - done,
				     off + done);
		if (n == -EAGAIN) {
			env_again(env, &tries);
			n = 0;
		}
		done += n > 0 ? n : 0;
	}
	free(buf);
	return n < 0 ? (int)n : 0;
}

void handles_complete(struct env *env, struct handles *handles)
{
	for (unsigned i = 0; i < WORLD_DISKS; i++) {
		struct ram_disk *disk = handles->disk[i];
		uint64_t off = 0, len = 16 * K;

		while (disk &&
		       ram_disk_missing(disk, env->thread, &off, &len) == 0) {
			len = min_u64(len, ram_disk_size(disk) - off);
			CHECK_RC(fetch(env, disk, len, off), 0);
			len = 16 * K;
		}
	}
}

int script_step(struct env *env, struct handles *handles, unsigned number,
		uint64_t *done)
{
	const struct step *step = &script[number];
	struct ram_disk **disk = &handles->disk[step->disk];
	uint8_t *buf;
	int rc = 0;

	*done = 0;
	switch (step->op) {
	case STEP_CREATE:
	case STEP_CREATE_FIXED:
		return create(env, step, disk);
	case STEP_WRITE:
		buf = new_payload(number);
		rc = env_write(env, *disk, buf, step->len, step->off, done);
		free(buf);
		return rc;
	case STEP_STAGE:
		buf = new_payload(number);
		rc = write_staged(env, *disk, buf, step->len, step->off, done);
		free(buf);
		return rc;
	case STEP_ZERO:
		return env_zero(env, *disk, step->len, step->off, 0);
	case STEP_KEEP:
		return env_zero(env, *disk, step->len, step->off, RAM_KEEP);
	case STEP_CLONE:
		return clone(step, handles->disk[step->other], disk);
	case STEP_DELETE:
		rc = ram_disk_delete(*disk);
		if (rc == 0) {
			ram_disk_put(*disk);
			*disk = NULL;
		}
		return rc;
	case STEP_RESIZE:
		return ram_disk_resize(*disk, step->len);
	case STEP_REPLACE:
		return ram_disk_replace(*disk, handles->disk[step->other]);
	case STEP_NOTE:
		buf = new_payload(number);
		rc = ram_disk_note(*disk, buf, (uint32_t)step->len);
		free(buf);
		return rc;
	case STEP_STATE:
		return ram_disk_state(*disk, (enum ram_state)step->flags);
	case STEP_LAZY:
		return lazy(env, *disk, step->len, step->off, done);
	case STEP_FETCH:
		return fetch(env, *disk, step->len, step->off);
	case STEP_FETCH_END:
		return ram_disk_fetch_end(*disk, env->thread);
	case STEP_TIDY:
		if (!env->keeper)
			ram_pool_tidy(env->pool);
		return 0;
	}
	return 0;
}

void handles_put(struct handles *handles)
{
	for (unsigned i = 0; i < WORLD_DISKS; i++) {
		ram_disk_put(handles->disk[i]);
		handles->disk[i] = NULL;
	}
}

void handles_open(struct env *env, struct handles *handles,
		  const struct world *world)
{
	for (unsigned i = 0; i < WORLD_DISKS; i++)
		handles->disk[i] = world->disk[i].model &&
						   world->disk[i].state ==
							   RAM_WHOLE
					   ? env_disk(env, world_name(i))
					   : NULL;
	handles_complete(env, handles);
}

static bool same_info(const struct world_disk *disk,
		      const struct ram_disk_info *info)
{
	return info->size == disk->model->size && info->state == disk->state &&
	       info->readonly == disk->readonly && info->fixed == disk->fixed &&
	       info->generation == disk->generation &&
	       /* a clone may or may not have its parent's note */
	       (disk->note_len == 0 ||
		(info->note_len == disk->note_len &&
		 memcmp(info->note, disk->note, disk->note_len) == 0));
}

bool world_same_list(const struct world *world, struct env *env)
{
	unsigned expected = 0, seen = 0;
	uint64_t cursor = 0;
	struct ram_disk *disk;
	int rc;

	for (unsigned i = 0; i < WORLD_DISKS; i++)
		expected += world->disk[i].model &&
			    world->disk[i].state == RAM_WHOLE;
	while ((rc = ram_disk_next(env->pool, &cursor, &disk)) == 0) {
		struct ram_disk_info info;
		bool same = false;

		CHECK_RC(env_info(env, disk, 0, &info), 0);
		for (unsigned i = 0; i < WORLD_DISKS; i++)
			if (world->disk[i].model &&
			    strcmp(info.name, world_name(i)) == 0)
				same = same_info(&world->disk[i], &info);
		ram_disk_put(disk);
		if (!same || ++seen > expected)
			return false;
	}
	CHECK_RC(rc, -ENOENT);
	return seen == expected;
}

void world_verify(const struct world *world, struct env *env,
		  struct handles *handles, const char *what)
{
	char text[256];

	handles_complete(env, handles);
	if (!world_same_list(world, env))
		FAIL("%s: the disks are not as they should be", what);
	for (unsigned i = 0; i < WORLD_DISKS; i++) {
		if (!world->disk[i].model)
			continue;
		snprintf(text, sizeof(text), "%s: disk %s", what,
			 world_name(i));
		model_verify(world->disk[i].model, env, handles->disk[i], text);
	}
}
