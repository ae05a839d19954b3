/* SPDX-License-Identifier: BSD-3-Clause */
/* Random operations by one thread against flat arrays: whatever the order of
 * reads, writes, zeroing, views, clones, resizes, deletes and reopens, a disk
 * holds what was written to it and nothing else. */
#include "model.h"
#include "util.h"
#include "filewalk.h"

#define DISKS_MAX 10
#define VIEWS_MAX 6
#define VIEW_STEPS 12 /* what is lent is lent for a short time */
#define IO_MAX (300 * KIB)

struct entry {
	struct ram_disk *disk;
	struct model *model;
	char name[RAM_NAME_MAX + 1];
	bool readonly;
	bool hidden;  /* making or temporary: gone after a reopen */
	bool deleted; /* only our handle is left */
	uint64_t generation;
	uint8_t uuid[16];
	uint8_t note[RAM_NOTE_MAX];
	uint32_t note_len;
};

struct held_view {
	struct ram_view view;
	uint8_t *bytes; /* as they were when it was lent; NULL: free */
	bool busy;	/* being published */
	bool stage;	/* not published yet, bytes is the payload */
	unsigned entry; /* whose it is */
	uint64_t since; /* step in which it was lent */
};

struct run {
	struct env env;
	struct rng rng;
	char *folder; /* NULL: anonymous memory */
	uint64_t pool_size;
	bool tight; /* the pool may be full at any time */
	unsigned entries;
	struct entry entry[DISKS_MAX];
	struct held_view view[VIEWS_MAX];
	uint64_t serial;
	uint64_t steps;
	uint64_t releases;
	uint64_t refused; /* how many times there was no space */
	uint8_t buf[IO_MAX];
};

static const uint64_t sizes[] = {
	1,
	511,
	4096,
	4097,
	1000003,
	2 * MIB - 1,
	2 * MIB + 1,
	3 * MIB + 5,
	GIB + 5 * 4096,
	512 * GIB + 2 * MIB + 17,
	INT64_MAX,
};

static const char *entry_text(const struct run *run, unsigned i)
{
	static char text[RAM_NAME_MAX + 64];

	snprintf(text, sizeof(text), "disk %s", run->entry[i].name);
	return text;
}

static bool no_space(struct run *run, int rc)
{
	if (rc != -ENOSPC)
		return false;
	if (!run->tight)
		FAIL("-ENOSPC in a pool with much room");
	run->refused++;
	return true;
}

/* -------------------------------------------------------- views and stages */

static void view_drop(struct run *run, struct held_view *held)
{
	uint8_t *got;

	if (!held->bytes)
		return;
	if (!held->stage) {
		got = malloc(held->view.len);
		CHECK(got);
		ram_view_copy(&held->view, got);
		if (memcmp(got, held->bytes, held->view.len) != 0)
			FAIL("a lent view of %llu bytes changed",
			     (unsigned long long)held->view.len);
		free(got);
	}
	/* A registration may be given or not. */
	ram_view_release(&held->view,
			 run->releases++ & 1 ? run->env.thread : NULL);
	free(held->bytes);
	held->bytes = NULL;
}

static void views_drop(void *arg)
{
	struct run *run = arg;

	for (unsigned i = 0; i < VIEWS_MAX; i++)
		if (!run->view[i].busy)
			view_drop(run, &run->view[i]);
}

/* Nobody waits with views in hand: it may be those that it waits for. */
static void open_pool(struct run *run)
{
	env_open(&run->env, run->folder, run->pool_size, 0);
	run->env.starved = views_drop;
	run->env.arg = run;
}

/* ------------------------------------------------------------------ entries */

static unsigned pick(struct run *run)
{
	return (unsigned)rng_below(&run->rng, run->entries);
}

static void entry_learn(struct run *run, struct entry *entry)
{
	struct ram_disk_info info;

	CHECK_RC(env_info(&run->env, entry->disk, 0, &info), 0);
	entry->generation = info.generation;
	memcpy(entry->uuid, info.uuid, 16);
}

static void entry_info(struct run *run, struct entry *entry)
{
	struct ram_disk_info info;
	unsigned flags = rng_chance(&run->rng, 50) ? RAM_INFO_USAGE : 0;

	CHECK_RC(env_info(&run->env, entry->disk, flags, &info), 0);
	if (strcmp(info.name, entry->name) != 0)
		FAIL("name is %s, not %s", info.name, entry->name);
	CHECK_U64(info.size, entry->model->size);
	if (flags) {
		CHECK_U64(info.own + info.shared, info.held);
		CHECK_U64(info.held % BLOCK_SIZE, 0);
	}
	/* Of a deleted one no more is known. */
	CHECK((info.state == RAM_DELETING) == entry->deleted);
	if (entry->deleted)
		return;
	CHECK_U64(info.generation, entry->generation);
	CHECK(memcmp(info.uuid, entry->uuid, 16) == 0);
	CHECK(info.readonly == entry->readonly);
	CHECK(ram_disk_readonly(entry->disk) == entry->readonly);
	CHECK_U64(info.note_len, entry->note_len);
	CHECK(memcmp(info.note, entry->note, entry->note_len) == 0);
}

static struct entry *entry_new(struct run *run)
{
	struct entry *entry = &run->entry[run->entries];

	memset(entry, 0, sizeof(*entry));
	/* Names of every length, all bytes but 0. */
	snprintf(entry->name, sizeof(entry->name), "d%llu",
		 (unsigned long long)run->serial++);
	if (rng_chance(&run->rng, 20)) {
		size_t have = strlen(entry->name);
		size_t len = have + rng_below(&run->rng, 256 - have);

		for (; have < len; have++)
			entry->name[have] =
				(char)(1 + rng_below(&run->rng, 255));
	}
	return entry;
}

static void entry_forget(struct run *run, unsigned i)
{
	/* What a disk lent is given back before its handle. */
	for (unsigned v = 0; v < VIEWS_MAX; v++) {
		struct held_view *held = &run->view[v];

		if (held->bytes && held->entry == i)
			view_drop(run, held);
		else if (held->bytes && held->entry == run->entries - 1)
			held->entry = i;
	}
	ram_disk_put(run->entry[i].disk);
	model_free(run->entry[i].model);
	run->entry[i] = run->entry[--run->entries];
}

static void op_create(struct run *run)
{
	struct ram_disk_spec spec = {.state = RAM_WHOLE};
	struct entry *entry;
	int rc;

	if (run->entries == DISKS_MAX)
		return;
	entry = entry_new(run);
	spec.name = entry->name;
	spec.size = sizes[rng_below(&run->rng, ARRAY_SIZE(sizes))];
	if (rng_chance(&run->rng, 15))
		spec.state = rng_chance(&run->rng, 50) ? RAM_MAKING
						       : RAM_TEMPORARY;
	entry->hidden = spec.state != RAM_WHOLE;
	rc = ram_disk_create(run->env.pool, &spec, &entry->disk);
	if (no_space(run, rc))
		return;
	CHECK_RC(rc, 0);
	entry->model = model_for_size(spec.size);
	entry_learn(run, entry);
	CHECK_U64(entry->generation, 1);
	run->entries++;
	spec.size = 5;
	if (rng_chance(&run->rng, 20)) {
		struct ram_disk *other = NULL;

		CHECK_RC(ram_disk_create(run->env.pool, &spec, &other),
			 -EEXIST);
	}
}

static void op_clone(struct run *run)
{
	struct ram_disk_spec spec = {.state = RAM_WHOLE};
	unsigned flags = rng_chance(&run->rng, 50) ? RAM_SNAPSHOT : 0;
	struct ram_disk_info ours, theirs;
	struct entry *entry, *src;
	int rc;

	if (run->entries == DISKS_MAX)
		return;
	src = &run->entry[pick(run)];
	if (src->deleted)
		return;
	entry = entry_new(run);
	spec.name = entry->name;
	if (rng_chance(&run->rng, 10))
		spec.state = RAM_TEMPORARY;
	entry->hidden = spec.state != RAM_WHOLE;
	entry->readonly = flags & RAM_SNAPSHOT;
	rc = ram_disk_clone(src->disk, &spec, flags, &entry->disk);
	if (no_space(run, rc))
		return;
	CHECK_RC(rc, 0);
	entry->model = model_copy(src->model);
	entry_learn(run, entry);
	run->entries++;

	CHECK_RC(env_info(&run->env, src->disk, 0, &theirs), 0);
	CHECK_RC(env_info(&run->env, entry->disk, 0, &ours), 0);
	CHECK(memcmp(ours.parent, theirs.uuid, 16) == 0);
	CHECK(memcmp(ours.origin, theirs.origin, 16) == 0);
	CHECK(memcmp(ours.uuid, theirs.uuid, 16) != 0);
	/* A note is the disk's own or its parent's? Whatever it is, learn it;
	 * from then on it must stay. */
	entry->note_len = ours.note_len;
	memcpy(entry->note, ours.note, ours.note_len);
	if (rng_chance(&run->rng, 25))
		model_extents(entry->model, &run->env, entry->disk, src->model,
			      src->disk, 0, "a fresh clone");
}

static void op_delete(struct run *run)
{
	unsigned i = pick(run);
	struct entry *entry = &run->entry[i];
	struct ram_disk *other = NULL;

	if (entry->deleted) {
		entry_forget(run, i);
		return;
	}
	CHECK_RC(ram_disk_delete(entry->disk), 0);
	CHECK_RC(ram_disk_delete(entry->disk), -ENOENT);
	CHECK_RC(ram_disk_open(run->env.pool, entry->name, &other), -ENOENT);
	entry->deleted = true;
	/* Half of them live on for a while by our handle. */
	if (rng_chance(&run->rng, 50))
		entry_forget(run, i);
}

static void op_replace(struct run *run)
{
	struct entry *disk = &run->entry[pick(run)];
	struct entry *from = &run->entry[pick(run)];
	int rc;

	if (disk == from || disk->deleted || from->deleted)
		return;
	rc = ram_disk_replace(disk->disk, from->disk);
	if (disk->readonly) {
		CHECK_RC(rc, -EROFS);
		return;
	}
	if (no_space(run, rc))
		return;
	CHECK_RC(rc, 0);
	model_free(disk->model);
	disk->model = model_copy(from->model);
	disk->generation++;
}

static void op_note(struct run *run)
{
	struct entry *entry = &run->entry[pick(run)];
	uint8_t note[RAM_NOTE_MAX + 1];
	uint32_t len = (uint32_t)rng_below(&run->rng, RAM_NOTE_MAX + 2);
	int rc;

	if (entry->deleted)
		return;
	rng_fill(&run->rng, note, sizeof(note));
	rc = ram_disk_note(entry->disk, note, len);
	if (len > RAM_NOTE_MAX) {
		CHECK_RC(rc, -EINVAL);
		return;
	}
	if (no_space(run, rc))
		return;
	CHECK_RC(rc, 0);
	entry->note_len = len;
	memcpy(entry->note, note, len);
}

static void op_state(struct run *run)
{
	struct entry *entry = &run->entry[pick(run)];
	int rc;

	if (entry->deleted)
		return;
	rc = ram_disk_state(entry->disk,
			    entry->hidden ? RAM_WHOLE : RAM_TEMPORARY);
	if (no_space(run, rc))
		return;
	CHECK_RC(rc, 0);
	entry->hidden = !entry->hidden;
}

/* ------------------------------------------------------------- the contents */

/* A range within one window of the disk, with a liking for the edges of blocks
 * and tables. False: the disk has no byte in the window chosen. */
static bool choose(struct run *run, struct model *model, uint64_t *len,
		   uint64_t *off)
{
	struct model_window *window =
		&model->window[rng_below(&run->rng, model->windows)];
	uint64_t from, room, at;

	if (window->off >= model->size)
		return false;
	from = window->off;
	room = min_u64(model->size - from, window->len);
	at = rng_below(&run->rng, room);
	switch (rng_below(&run->rng, 5)) {
	case 0:
		at = round_down(at, BLOCK_SIZE);
		break;
	case 1: /* just before the border between blocks */
		at = round_down(at, BLOCK_SIZE);
		at -= min_u64(at, rng_below(&run->rng, 20));
		break;
	case 2: /* around the middle: where tables meet in big disks */
		at = min_u64(room - 1, room / 2 + rng_below(&run->rng, 9000) -
					       min_u64(room / 2, 4500));
		break;
	default:
		break;
	}
	room -= at;
	switch (rng_below(&run->rng, 6)) {
	case 0:
		*len = 1 + rng_below(&run->rng, 16);
		break;
	case 1:
		*len = BLOCK_SIZE;
		break;
	case 2:
		*len = 1 + rng_below(&run->rng, 3 * BLOCK_SIZE);
		break;
	case 3:
		*len = BLOCK_SIZE * (1 + rng_below(&run->rng, 20));
		break;
	case 4:
		*len = 1 + rng_below(&run->rng, 64 * KIB);
		break;
	default:
		*len = rng_chance(&run->rng, 20)
			       ? IO_MAX
			       : 1 + rng_below(&run->rng, 2 * BLOCK_SIZE);
		break;
	}
	*len = min_u64(*len, min_u64(room, IO_MAX));
	*off = from + at;
	return true;
}

static void op_read(struct run *run)
{
	unsigned i = pick(run);
	struct entry *entry = &run->entry[i];
	uint64_t len, off;
	uint8_t *want;

	if (!choose(run, entry->model, &len, &off))
		return;
	memset(run->buf, 0xee, len);
	CHECK_RC(env_read(&run->env, entry->disk, run->buf, len, off), 0);
	want = malloc(len);
	CHECK(want);
	model_read(entry->model, want, len, off);
	if (memcmp(run->buf, want, len) != 0)
		FAIL("%s: read of %llu at %#llx differs", entry_text(run, i),
		     (unsigned long long)len, (unsigned long long)off);
	free(want);
}

/* Bytes that tell who wrote them: random, sometimes zeroes. */
static void payload(struct run *run, uint64_t len)
{
	if (rng_chance(&run->rng, 5))
		memset(run->buf, 0, len);
	else
		rng_fill(&run->rng, run->buf, len);
}

static void op_write(struct run *run)
{
	struct entry *entry = &run->entry[pick(run)];
	uint64_t len, off, done;
	int rc;

	if (!choose(run, entry->model, &len, &off))
		return;
	payload(run, len);
	rc = env_write(&run->env, entry->disk, run->buf, len, off, &done);
	if (entry->readonly) {
		CHECK_RC(rc, -EROFS);
		return;
	}
	if (!no_space(run, rc))
		CHECK_RC(rc, 0);
	model_write(entry->model, run->buf, done, off);
}

static void op_zero(struct run *run)
{
	unsigned i = pick(run);
	struct entry *entry = &run->entry[i];
	unsigned flags = rng_chance(&run->rng, 20) ? RAM_KEEP : 0;
	uint64_t len, off, where;
	struct model *old;
	int rc;

	if (!choose(run, entry->model, &len, &off))
		return;
	/* Over the windows and what lies between, sometimes all of it. */
	if (!flags && rng_chance(&run->rng, 15)) {
		if (rng_chance(&run->rng, 20))
			off = 0;
		len = rng_chance(&run->rng, 50)
			      ? entry->model->size - off
			      : 1 + rng_below(&run->rng,
					      entry->model->size - off);
	}
	rc = env_zero(&run->env, entry->disk, len, off, flags);
	if (entry->readonly) {
		CHECK_RC(rc, -EROFS);
		return;
	}
	if (no_space(run, rc)) {
		/* Finished parts have taken effect. */
		old = model_copy(entry->model);
		model_zero(entry->model, len, off);
		if (!model_either(old, entry->model, &run->env, entry->disk,
				  &where))
			FAIL("%s: after a failed zeroing the block at %#llx is "
			     "neither old nor new",
			     entry_text(run, i), (unsigned long long)where);
		/* What is not known to be touched may be. */
		model_free(old);
		model_adopt(entry->model, &run->env, entry->disk);
		return;
	}
	CHECK_RC(rc, 0);
	model_zero(entry->model, len, off);
}

static void op_resize(struct run *run)
{
	struct entry *entry = &run->entry[pick(run)];
	uint64_t size = entry->model->size, want;
	bool beyond, trimmed = false;
	int rc;

	switch (rng_below(&run->rng, 5)) {
	case 0: /* a bit */
		want = size + 1 + rng_below(&run->rng, 100 * KIB);
		break;
	case 1: /* to another level of tables */
		want = sizes[rng_below(&run->rng, ARRAY_SIZE(sizes))];
		break;
	default:
		want = size -
		       min_u64(size - 1, 1 + rng_below(&run->rng, 100 * KIB));
		break;
	}
	if (want > (uint64_t)INT64_MAX)
		return;
	if (want < size && !entry->readonly && rng_chance(&run->rng, 70)) {
		rc = env_zero(&run->env, entry->disk, size - want, want, 0);
		if (no_space(run, rc)) {
			model_adopt(entry->model, &run->env, entry->disk);
			return;
		}
		CHECK_RC(rc, 0);
		model_zero(entry->model, size - want, want);
		trimmed = true;
	}
	beyond = want < size && model_data_beyond(entry->model, want);
	rc = ram_disk_resize(entry->disk, want);
	if (entry->readonly) {
		CHECK_RC(rc, -EROFS);
		return;
	}
	if (entry->deleted && rc == -ENOENT)
		return;
	if (no_space(run, rc))
		return;
	if (beyond) {
		CHECK_RC(rc, -EBUSY);
		return;
	}
	/* Blocks of zeroes may lie there that are no holes. */
	if (rc == -EBUSY && want < size && !trimmed)
		return;
	CHECK_RC(rc, 0);
	model_resize(entry->model, want);
	CHECK_U64(ram_disk_size(entry->disk), want);
}

static void op_view(struct run *run)
{
	struct held_view *held = &run->view[rng_below(&run->rng, VIEWS_MAX)];
	unsigned i = pick(run);
	struct entry *entry = &run->entry[i];
	uint64_t len, off, sum = 0;

	if (held->bytes) {
		view_drop(run, held);
		return;
	}
	if (!choose(run, entry->model, &len, &off))
		return;
	CHECK_RC(env_view(&run->env, entry->disk, len, off, &held->view), 0);
	CHECK_U64(held->view.off, off);
	if (held->view.len == 0 || held->view.len > len ||
	    held->view.count == 0 || held->view.count > RAM_VIEW_MAX)
		FAIL("view of %llu: %llu bytes in %u pieces",
		     (unsigned long long)len,
		     (unsigned long long)held->view.len, held->view.count);
	for (unsigned p = 0; p < held->view.count; p++)
		sum += held->view.iov[p].iov_len;
	CHECK_U64(sum, held->view.len);
	held->bytes = malloc(held->view.len);
	CHECK(held->bytes);
	held->stage = false;
	held->entry = i;
	held->since = run->steps;
	model_read(entry->model, held->bytes, held->view.len, off);
	if (rng_chance(&run->rng, 30))
		view_drop(run, held);
}

/* Publish now; the view has been held for a while or not. */
static void stage_publish(struct run *run, struct held_view *held)
{
	struct entry *entry = &run->entry[held->entry];
	uint64_t off = held->view.off, len = held->view.len, where;
	struct model_window *window = model_find(entry->model, off);
	struct model *old;
	int rc;

	/* The disk may have been replaced meanwhile by one with other windows:
	 * then we could not tell what it holds. */
	if (!window || off + len > window->off + window->len) {
		view_drop(run, held);
		return;
	}
	/* Or shrunk; then nothing may appear, behind its end or before. */
	if (off + len > entry->model->size) {
		CHECK_RC(env_publish(&run->env, &held->view), -EINVAL);
		view_drop(run, held);
		return;
	}
	held->busy = true;
	if (run->tight)
		rc = ram_view_publish(&held->view);
	else
		rc = env_publish(&run->env, &held->view);
	held->busy = false;
	if (rc == -EAGAIN || rc == -ENOSPC) {
		CHECK(run->tight);
		old = model_copy(entry->model);
		model_write(entry->model, held->bytes, len, off);
		if (!model_either(old, entry->model, &run->env, entry->disk,
				  &where))
			FAIL("%s: after a failed publish the block at %#llx is "
			     "neither old nor new",
			     entry_text(run, held->entry),
			     (unsigned long long)where);
		model_free(old);
		model_adopt(entry->model, &run->env, entry->disk);
	} else {
		CHECK_RC(rc, 0);
		model_write(entry->model, held->bytes, len, off);
	}
	view_drop(run, held);
}

static void op_stage(struct run *run)
{
	struct held_view *held = &run->view[rng_below(&run->rng, VIEWS_MAX)];
	unsigned i = pick(run);
	struct entry *entry = &run->entry[i];
	uint64_t len, off;
	int rc;

	if (held->bytes && held->stage && rng_chance(&run->rng, 80)) {
		stage_publish(run, held);
		return;
	}
	view_drop(run, held); /* never published: no effect */
	if (!choose(run, entry->model, &len, &off))
		return;
	rc = env_stage(&run->env, entry->disk, len, off, &held->view);
	if (entry->readonly) {
		CHECK_RC(rc, -EROFS);
		return;
	}
	if (no_space(run, rc))
		return;
	CHECK_RC(rc, 0);
	CHECK_U64(held->view.off, off);
	if (held->view.len == 0 || held->view.len > len)
		FAIL("stage of %llu: %llu bytes", (unsigned long long)len,
		     (unsigned long long)held->view.len);
	held->stage = true;
	held->entry = i;
	held->since = run->steps;
	payload(run, held->view.len);
	held->bytes = malloc(held->view.len);
	CHECK(held->bytes);
	memcpy(held->bytes, run->buf, held->view.len);
	view_fill(&held->view, run->buf);
	if (rng_chance(&run->rng, 50))
		stage_publish(run, held);
}

static void op_extents(struct run *run)
{
	unsigned i = pick(run), b = pick(run);
	struct entry *entry = &run->entry[i], *base = &run->entry[b];
	unsigned flags = rng_chance(&run->rng, 50) ? RAM_EXTENT_SHARED : 0;

	if (rng_chance(&run->rng, 50))
		model_extents(entry->model, &run->env, entry->disk, NULL, NULL,
			      flags, entry_text(run, i));
	else
		model_extents(entry->model, &run->env, entry->disk, base->model,
			      base->disk, 0, entry_text(run, i));
}

static void op_outside(struct run *run)
{
	struct entry *entry = &run->entry[pick(run)];
	struct ram_thread *thread = run->env.thread;
	uint64_t size = entry->model->size, cursor = 0;
	struct ram_extent extent;
	struct ram_view view;
	uint64_t off = size, len = 1;

	switch (rng_below(&run->rng, 4)) {
	case 0:
		off = size - 1;
		len = 2;
		break;
	case 1:
		off = UINT64_MAX - 5;
		len = 10;
		break;
	case 2:
		off = 1;
		len = UINT64_MAX;
		break;
	default:
		break;
	}
	CHECK_RC(ram_disk_read(entry->disk, thread, run->buf, len, off),
		 -EINVAL);
	CHECK_RC(ram_disk_view(entry->disk, thread, len, off, &view), -EINVAL);
	CHECK_RC(ram_disk_extent(entry->disk, thread, NULL, len, off, 0,
				 &extent),
		 -EINVAL);
	if (!entry->readonly) {
		CHECK_RC(
			ram_disk_write(entry->disk, thread, run->buf, len, off),
			-EINVAL);
		CHECK_RC(ram_disk_stage(entry->disk, thread, len, off, RAM_LAST,
					&view),
			 -EINVAL);
		CHECK_RC(ram_disk_zero(entry->disk, thread, len, off, 0,
				       &cursor),
			 -EINVAL);
	}
	/* Length 0 is fine everywhere, the very end included. */
	CHECK_RC(ram_disk_read(entry->disk, thread, run->buf, 0, size), 0);
	if (!entry->readonly) {
		CHECK_RC(env_write(&run->env, entry->disk, run->buf, 0, size,
				   NULL),
			 0);
		CHECK_RC(env_zero(&run->env, entry->disk, 0, size, 0), 0);
	}
}

/* ------------------------------------------------------------------- rounds */

static void verify(struct run *run)
{
	for (unsigned i = 0; i < run->entries; i++) {
		model_verify(run->entry[i].model, &run->env, run->entry[i].disk,
			     entry_text(run, i));
		entry_info(run, &run->entry[i]);
	}
}

static bool has_stage(struct run *run)
{
	for (unsigned v = 0; v < VIEWS_MAX; v++)
		if (run->view[v].bytes)
			return true;
	return false;
}

static void check(struct run *run)
{
	struct ram_usage usage;

	/* Counts are compared when nothing is on its way. */
	if (has_stage(run))
		views_drop(run);
	env_check(&run->env);
	usage = env_usage(&run->env);
	CHECK_U64(usage.size, run->pool_size);
	CHECK(usage.held <= usage.size);
	CHECK(usage.held + usage.freed + usage.landing + usage.guaranteed <=
	      usage.size);
	CHECK_U64(usage.landing_used, 0);
}

/* Every disk that is listed is ours, and all of ours are listed. */
static void listing(struct run *run)
{
	unsigned shown = 0, seen = 0;
	uint64_t cursor = 0;
	struct ram_disk *disk;
	int rc;

	for (unsigned i = 0; i < run->entries; i++)
		shown += !run->entry[i].hidden && !run->entry[i].deleted;
	while ((rc = ram_disk_next(run->env.pool, &cursor, &disk)) == 0) {
		struct ram_disk_info info;
		unsigned i;

		CHECK_RC(env_info(&run->env, disk, 0, &info), 0);
		for (i = 0; i < run->entries; i++)
			if (!run->entry[i].hidden && !run->entry[i].deleted &&
			    strcmp(run->entry[i].name, info.name) == 0)
				break;
		if (i == run->entries)
			FAIL("%s is listed and should not be", info.name);
		CHECK(info.state == RAM_WHOLE);
		ram_disk_put(disk);
		if (++seen > shown)
			FAIL("more disks are listed than there are");
	}
	CHECK_RC(rc, -ENOENT);
	CHECK_U64(seen, shown);
}

/* What the store says is held must be what a walk of the file finds. */
static void check_file(const struct run *run, const struct ram_usage *usage)
{
	char *file = test_pool_file(run->folder);
	struct filewalk walk;

	CHECK(file);
	if (!filewalk_read(file, &walk))
		FAIL("the pool's file is unsound: %s", walk.error);
	/* The two blocks that are neither data, table nor slot may count. */
	if (usage->held < walk.reached * BLOCK_SIZE ||
	    usage->held > (walk.reached + 2) * BLOCK_SIZE)
		FAIL("held is %llu blocks, a walk finds %llu",
		     (unsigned long long)(usage->held / BLOCK_SIZE),
		     (unsigned long long)walk.reached);
	filewalk_free(&walk);
	free(file);
}

static void reopen(struct run *run)
{
	struct ram_usage usage;

	views_drop(run);
	for (unsigned i = run->entries; i-- > 0;) {
		if (run->entry[i].deleted || run->entry[i].hidden) {
			if (run->entry[i].hidden && !run->entry[i].deleted)
				CHECK_RC(ram_disk_delete(run->entry[i].disk),
					 0);
			entry_forget(run, i);
		} else {
			ram_disk_put(run->entry[i].disk);
			run->entry[i].disk = NULL;
		}
	}
	ram_pool_tidy(run->env.pool);
	usage = env_usage(&run->env);
	CHECK_U64(usage.freed, 0);
	env_close(&run->env);
	check_file(run, &usage);
	open_pool(run);
	for (unsigned i = 0; i < run->entries; i++)
		run->entry[i].disk = env_disk(&run->env, run->entry[i].name);
	check(run);
	CHECK_U64(env_usage(&run->env).held, usage.held);
	listing(run);
	verify(run);
}

/* The same with disks that are still being made: they are dropped. */
static void reopen_dropping(struct run *run)
{
	views_drop(run);
	for (unsigned i = run->entries; i-- > 0;) {
		if (run->entry[i].deleted || run->entry[i].hidden)
			entry_forget(run, i);
		else
			ram_disk_put(run->entry[i].disk);
	}
	env_close(&run->env);
	open_pool(run);
	for (unsigned i = 0; i < run->entries; i++)
		run->entry[i].disk = env_disk(&run->env, run->entry[i].name);
	listing(run);
	verify(run);
	ram_pool_tidy(run->env.pool);
	check(run);
	reopen(run);
}

static void step(struct run *run)
{
	unsigned what = (unsigned)rng_below(&run->rng, 1000);

	run->steps++;
	for (unsigned v = 0; v < VIEWS_MAX; v++)
		if (run->steps - run->view[v].since > VIEW_STEPS)
			view_drop(run, &run->view[v]);
	if (run->entries == 0 || what < 10)
		op_create(run);
	else if (what < 300)
		op_write(run);
	else if (what < 450)
		op_read(run);
	else if (what < 560)
		op_zero(run);
	else if (what < 690)
		op_view(run);
	else if (what < 850)
		op_stage(run);
	else if (what < 865)
		op_clone(run);
	else if (what < 885)
		op_delete(run);
	else if (what < 890)
		op_replace(run);
	else if (what < 930)
		op_resize(run);
	else if (what < 940)
		op_extents(run);
	else if (what < 950)
		op_note(run);
	else if (what < 960)
		op_state(run);
	else if (what < 970)
		op_outside(run);
	else if (what < 980)
		entry_info(run, &run->entry[pick(run)]);
	else if (what < 990)
		ram_pool_tidy(run->env.pool);
	else if (what < 995)
		check(run);
	else if (what < 997)
		verify(run);
	else if (!run->folder)
		listing(run);
	else if (what < 999)
		reopen(run);
	else
		reopen_dropping(run);
}

/* What is held by a pool that has had a disk and has none. */
static uint64_t held_by_nothing(struct run *run)
{
	env_delete(env_create(&run->env, "first", 4096));
	ram_pool_tidy(run->env.pool);
	return env_usage(&run->env).held;
}

static void random_steps(const char *name, bool folder, bool tight,
			 uint64_t steps, uint64_t stream)
{
	struct run *run = calloc(1, sizeof(*run));
	uint64_t nothing;

	test_part("%s: %llu steps", name, (unsigned long long)steps);
	CHECK(run);
	run->rng = rng_make(stream);
	run->folder = folder ? test_folder() : NULL;
	run->tight = tight;
	run->pool_size = tight ? 6 * MIB : 256 * MIB;
	open_pool(run);
	nothing = held_by_nothing(run);
	for (uint64_t i = 0; i < steps; i++) {
		step(run);
		/* To find the step that broke something. */
		if (getenv("NBDRAM_TEST_EACH")) {
			printf("step %llu\n", (unsigned long long)i);
			check(run);
		}
	}
	verify(run);
	check(run);

	/* All memory comes back. */
	views_drop(run);
	while (run->entries) {
		if (!run->entry[0].deleted)
			CHECK_RC(ram_disk_delete(run->entry[0].disk), 0);
		entry_forget(run, 0);
	}
	ram_pool_tidy(run->env.pool);
	check(run);
	CHECK_U64(env_usage(&run->env).held, nothing);
	CHECK_U64(env_usage(&run->env).freed, 0);
	CHECK_U64(env_usage(&run->env).guaranteed, 0);
	if (tight && run->refused == 0)
		printf("note: this pool was never full\n");
	CHECK_U64(env_usage(&run->env).refusals > 0, run->refused > 0);
	env_close(&run->env);
	if (folder)
		test_remove(run->folder);
	free(run->folder);
	free(run);
}

/* Own and shared, as two relatives come and go. */
static void shared_and_own(void)
{
	struct ram_disk *disk, *snapshot;
	struct ram_disk_info info;
	struct ram_extent extent;
	struct env env;
	uint8_t buf[64 * KIB];

	test_part("own and shared");
	env_open(&env, NULL, 16 * MIB, 0);
	disk = env_create(&env, "disk", MIB);
	memset(buf, 1, sizeof(buf));
	CHECK_RC(env_write(&env, disk, buf, sizeof(buf), 0, NULL), 0);
	CHECK_RC(env_extent(&env, disk, NULL, MIB, 0, RAM_EXTENT_SHARED,
			    &extent),
		 0);
	CHECK(extent.kind == RAM_OWN);
	CHECK_RC(env_info(&env, disk, RAM_INFO_USAGE, &info), 0);
	CHECK_U64(info.shared, 0);
	/* 16 blocks of data and the one table that 1 MiB needs */
	CHECK_U64(info.own, 17 * BLOCK_SIZE);

	snapshot = env_clone(disk, "snapshot", RAM_SNAPSHOT);
	CHECK_RC(env_extent(&env, disk, NULL, MIB, 0, RAM_EXTENT_SHARED,
			    &extent),
		 0);
	CHECK(extent.kind == RAM_SHARED);
	CHECK_RC(env_info(&env, disk, RAM_INFO_USAGE, &info), 0);
	CHECK_U64(info.own, 0);
	CHECK_U64(info.shared, 17 * BLOCK_SIZE);

	/* One block written: that and the table are own now. */
	memset(buf, 2, sizeof(buf));
	CHECK_RC(env_write(&env, disk, buf, BLOCK_SIZE, 5 * BLOCK_SIZE, NULL),
		 0);
	CHECK_RC(env_info(&env, disk, RAM_INFO_USAGE, &info), 0);
	CHECK_U64(info.own, 2 * BLOCK_SIZE);
	CHECK_U64(info.shared, 15 * BLOCK_SIZE);
	CHECK_RC(env_extent(&env, disk, NULL, MIB / 2, 5 * BLOCK_SIZE,
			    RAM_EXTENT_SHARED, &extent),
		 0);
	CHECK(extent.kind == RAM_OWN && extent.len <= BLOCK_SIZE);
	CHECK_RC(env_extent(&env, disk, snapshot, MIB / 2, 5 * BLOCK_SIZE, 0,
			    &extent),
		 0);
	CHECK(extent.kind == RAM_CHANGED && extent.len <= BLOCK_SIZE);
	CHECK_RC(env_extent(&env, disk, snapshot, MIB / 2, 6 * BLOCK_SIZE, 0,
			    &extent),
		 0);
	CHECK(extent.kind == RAM_SAME);

	env_delete(snapshot);
	ram_pool_tidy(env.pool);
	CHECK_RC(env_info(&env, disk, RAM_INFO_USAGE, &info), 0);
	CHECK_U64(info.own, 17 * BLOCK_SIZE);
	CHECK_U64(info.shared, 0);
	CHECK_RC(env_extent(&env, disk, NULL, MIB, 0, RAM_EXTENT_SHARED,
			    &extent),
		 0);
	CHECK(extent.kind == RAM_OWN);
	env_delete(disk);
	env_close(&env);
}

int main(void)
{
	test_begin("test-store-model");
	shared_and_own();
	random_steps("anonymous", false, false, test_count(100000, 500), 1);
	random_steps("folder", true, false, test_count(100000, 500), 2);
	random_steps("folder, nearly full", true, true, test_count(100000, 500),
		     3);
	random_steps("anonymous, nearly full", false, true,
		     test_count(100000, 500), 4);
	return test_end();
}
