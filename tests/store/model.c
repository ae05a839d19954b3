/* SPDX-License-Identifier: BSD-3-Clause */
#include "model.h"

/* So far does a window reach to either side of an interesting place. */
#define MODEL_REACH (96 * KIB)

/* Disks up to this size are modelled whole, with as much for growing. */
#define MODEL_SMALL (4 * MIB)

static uint64_t stamps;

static void *must(void *memory)
{
	if (!memory)
		FAIL("the test has no memory");
	return memory;
}

struct model *model_new(uint64_t size)
{
	struct model *model = must(calloc(1, sizeof(*model)));

	model->size = size;
	return model;
}

void model_window(struct model *model, uint64_t off, uint64_t len)
{
	struct model_window *window;

	CHECK(model->windows < MODEL_WINDOWS);
	CHECK(off % BLOCK_SIZE == 0 && len % BLOCK_SIZE == 0 && len);
	window = &model->window[model->windows++];
	window->off = off;
	window->len = len;
	window->bytes = must(calloc(1, len));
	window->stamp = must(calloc(len / BLOCK_SIZE, sizeof(uint64_t)));
}

struct model *model_copy(const struct model *from)
{
	struct model *model = model_new(from->size);

	for (unsigned i = 0; i < from->windows; i++) {
		const struct model_window *window = &from->window[i];

		model_window(model, window->off, window->len);
		memcpy(model->window[i].bytes, window->bytes, window->len);
		memcpy(model->window[i].stamp, window->stamp,
		       window->len / BLOCK_SIZE * sizeof(uint64_t));
	}
	return model;
}

void model_free(struct model *model)
{
	if (!model)
		return;
	for (unsigned i = 0; i < model->windows; i++) {
		free(model->window[i].bytes);
		free(model->window[i].stamp);
	}
	free(model);
}

struct model *model_for_size(uint64_t size)
{
	static const uint64_t places[] = {0, 2 * MIB, GIB, 512 * GIB,
					  256 * TIB};
	struct model *model = model_new(size);
	uint64_t end = 0;

	if (size <= MODEL_SMALL) {
		model_window(model, 0,
			     round_up(size, BLOCK_SIZE) + 2 * MODEL_REACH);
		return model;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(places); i++) {
		uint64_t from = places[i] ? places[i] - MODEL_REACH : 0;

		if (from >= size)
			break;
		end = places[i] + MODEL_REACH;
		model_window(model, from, end - from);
	}
	/* The end, unless the last window has it; a disk of 2^63-1 bytes has
	 * nothing beyond. */
	if (end < size) {
		uint64_t from = max_u64(
			end, round_down(size - MODEL_REACH, BLOCK_SIZE));

		model_window(model, from,
			     round_up(size - from, BLOCK_SIZE) +
				     (size < TIB ? MODEL_REACH : 0));
	}
	return model;
}

struct model_window *model_find(struct model *model, uint64_t off)
{
	for (unsigned i = 0; i < model->windows; i++) {
		struct model_window *window = &model->window[i];

		if (off >= window->off && off - window->off < window->len)
			return window;
	}
	return NULL;
}

static void touch(struct model_window *window, uint64_t len, uint64_t at)
{
	if (len == 0)
		return;
	stamps++;
	for (uint64_t b = at / BLOCK_SIZE; b <= (at + len - 1) / BLOCK_SIZE;
	     b++)
		window->stamp[b] = stamps;
}

void model_write(struct model *model, const void *buf, uint64_t len,
		 uint64_t off)
{
	struct model_window *window;

	if (len == 0)
		return;
	window = model_find(model, off);
	CHECK(window && off - window->off <= window->len - len);
	CHECK(off + len <= model->size);
	memcpy(window->bytes + (off - window->off), buf, len);
	touch(window, len, off - window->off);
}

/* Which part of a window [off, off+len) covers. */
static bool overlap(const struct model_window *window, uint64_t len,
		    uint64_t off, uint64_t *part_len, uint64_t *part_off)
{
	uint64_t from = max_u64(off, window->off);
	uint64_t to = min_u64(off + len, window->off + window->len);

	if (from >= to)
		return false;
	*part_off = from;
	*part_len = to - from;
	return true;
}

void model_zero(struct model *model, uint64_t len, uint64_t off)
{
	for (unsigned i = 0; i < model->windows; i++) {
		struct model_window *window = &model->window[i];
		uint64_t part_len, part_off;

		if (!overlap(window, len, off, &part_len, &part_off))
			continue;
		memset(window->bytes + (part_off - window->off), 0, part_len);
		touch(window, part_len, part_off - window->off);
	}
}

void model_read(const struct model *model, void *buf, uint64_t len,
		uint64_t off)
{
	memset(buf, 0, len);
	for (unsigned i = 0; i < model->windows; i++) {
		const struct model_window *window = &model->window[i];
		uint64_t part_len, part_off;

		if (overlap(window, len, off, &part_len, &part_off))
			memcpy((uint8_t *)buf + (part_off - off),
			       window->bytes + (part_off - window->off),
			       part_len);
	}
}

void model_resize(struct model *model, uint64_t size)
{
	CHECK(size >= model->size || !model_data_beyond(model, size));
	model->size = size;
}

static bool all_zero(const uint8_t *bytes, uint64_t len)
{
	return len == 0 ||
	       (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

bool model_data_beyond(const struct model *model, uint64_t off)
{
	for (unsigned i = 0; i < model->windows; i++) {
		const struct model_window *window = &model->window[i];
		uint64_t part_len, part_off;

		if (overlap(window, UINT64_MAX - off, off, &part_len,
			    &part_off) &&
		    !all_zero(window->bytes + (part_off - window->off),
			      part_len))
			return true;
	}
	return false;
}

/* ---------------------------------------------------------- verification */

static void compare(const struct model *model, const uint8_t *got, uint64_t len,
		    uint64_t off, const char *what)
{
	uint8_t *want = must(malloc(len));
	uint64_t at = 0;

	model_read(model, want, len, off);
	if (memcmp(got, want, len) != 0) {
		while (got[at] == want[at])
			at++;
		FAIL("%s: byte %#llx is %02x, not %02x (size %llu)", what,
		     (unsigned long long)(off + at), got[at], want[at],
		     (unsigned long long)model->size);
	}
	free(want);
}

void model_verify(const struct model *model, struct env *env,
		  struct ram_disk *disk, const char *what)
{
	uint8_t between[512];

	CHECK_U64(ram_disk_size(disk), model->size);
	for (unsigned i = 0; i < model->windows; i++) {
		const struct model_window *window = &model->window[i];
		uint64_t len, off;
		uint8_t *got;

		if (!overlap(window, model->size, 0, &len, &off))
			continue;
		got = must(malloc(len));
		memset(got, 0xa5, len);
		CHECK_RC(env_read(env, disk, got, len, off), 0);
		compare(model, got, len, off, what);
		free(got);

		/* right behind the window */
		off += len;
		len = min_u64(model->size - off, sizeof(between));
		memset(between, 0xa5, sizeof(between));
		CHECK_RC(env_read(env, disk, between, len, off), 0);
		compare(model, between, len, off, what);
	}
}

bool model_either(const struct model *old, const struct model *new,
		  struct env *env, struct ram_disk *disk, uint64_t *where)
{
	uint64_t size = ram_disk_size(disk);
	uint8_t got[BLOCK_SIZE], want[BLOCK_SIZE];

	for (unsigned i = 0; i < old->windows; i++) {
		const struct model_window *window = &old->window[i];

		for (uint64_t at = 0; at < window->len; at += BLOCK_SIZE) {
			uint64_t off = window->off + at, len;

			if (off >= size)
				break;
			len = min_u64(size - off, BLOCK_SIZE);
			CHECK_RC(env_read(env, disk, got, len, off), 0);
			model_read(old, want, len, off);
			if (memcmp(got, want, len) == 0)
				continue;
			model_read(new, want, len, off);
			if (memcmp(got, want, len) == 0)
				continue;
			*where = off;
			return false;
		}
	}
	return true;
}

void model_adopt(struct model *model, struct env *env, struct ram_disk *disk)
{
	uint8_t got[BLOCK_SIZE];

	for (unsigned i = 0; i < model->windows; i++) {
		struct model_window *window = &model->window[i];

		for (uint64_t at = 0; at < window->len; at += BLOCK_SIZE) {
			uint64_t off = window->off + at, len;

			if (off >= model->size)
				break;
			len = min_u64(model->size - off, BLOCK_SIZE);
			CHECK_RC(env_read(env, disk, got, len, off), 0);
			if (memcmp(got, window->bytes + at, len) != 0)
				model_write(model, got, len, off);
		}
	}
}

/* --------------------------------------------------------------- extents */

/* One extent of a disk asked about without base. */
static void check_kind(const struct model *model,
		       const struct ram_extent *extent, uint64_t off,
		       const char *what)
{
	uint64_t in_windows = 0;

	for (unsigned i = 0; i < model->windows; i++) {
		const struct model_window *window = &model->window[i];
		uint64_t part_len, part_off;

		if (!overlap(window, extent->len, off, &part_len, &part_off))
			continue;
		in_windows += part_len;
		if (extent->kind == RAM_HOLE &&
		    !all_zero(window->bytes + (part_off - window->off),
			      part_len))
			FAIL("%s: data in what is said to be a hole of %llu at "
			     "%#llx",
			     what, (unsigned long long)extent->len,
			     (unsigned long long)off);
	}
	if (extent->kind != RAM_HOLE && in_windows != extent->len)
		FAIL("%s: %llu bytes at %#llx are no hole, though never "
		     "written",
		     what, (unsigned long long)(extent->len - in_windows),
		     (unsigned long long)off);
}

/* The same place in the other disk's model. */
static bool same_history(const struct model *base, uint64_t block_off,
			 uint64_t stamp)
{
	for (unsigned i = 0; i < base->windows; i++) {
		const struct model_window *window = &base->window[i];

		if (block_off >= window->off &&
		    block_off - window->off < window->len)
			return window->stamp[(block_off - window->off) /
					     BLOCK_SIZE] == stamp;
	}
	return stamp == 0;
}

static void check_base(const struct model *model, const struct model *base,
		       const struct ram_extent *extent, uint64_t off,
		       const char *what)
{
	uint64_t in_windows = 0;

	for (unsigned i = 0; i < model->windows; i++) {
		const struct model_window *window = &model->window[i];
		uint64_t len, at;
		uint8_t *other;

		if (!overlap(window, extent->len, off, &len, &at))
			continue;
		in_windows += len;
		if (extent->kind == RAM_SAME) {
			other = must(malloc(len));
			model_read(base, other, len, at);
			if (memcmp(other, window->bytes + (at - window->off),
				   len) != 0)
				FAIL("%s: %llu bytes at %#llx differ, though "
				     "said to be the same",
				     what, (unsigned long long)len,
				     (unsigned long long)at);
			free(other);
			continue;
		}
		for (uint64_t b = round_down(at, BLOCK_SIZE); b < at + len;
		     b += BLOCK_SIZE)
			if (b < base->size &&
			    same_history(base, b,
					 window->stamp[(b - window->off) /
						       BLOCK_SIZE]))
				FAIL("%s: block at %#llx is said to be changed "
				     "(extent of %llu at %#llx), though nobody "
				     "touched it",
				     what, (unsigned long long)b,
				     (unsigned long long)extent->len,
				     (unsigned long long)off);
	}
	if (extent->kind == RAM_CHANGED && in_windows != extent->len) {
		/* Outside our windows: only where the base has data. */
		uint64_t theirs = 0;

		for (unsigned i = 0; i < base->windows; i++) {
			uint64_t len, at;

			if (overlap(&base->window[i], extent->len, off, &len,
				    &at))
				theirs += len;
		}
		if (in_windows + theirs < extent->len && off < base->size)
			FAIL("%s: %llu bytes at %#llx changed, though never "
			     "written",
			     what, (unsigned long long)extent->len,
			     (unsigned long long)off);
	}
}

void model_extents(const struct model *model, struct env *env,
		   struct ram_disk *disk, const struct model *base_model,
		   struct ram_disk *base, unsigned flags, const char *what)
{
	uint64_t off = 0, calls = 0;

	while (off < model->size) {
		struct ram_extent extent;

		CHECK_RC(env_extent(env, disk, base, model->size - off, off,
				    flags, &extent),
			 0);
		if (++calls > 200000)
			FAIL("%s: extents of %llu bytes take too many calls",
			     what, (unsigned long long)model->size);
		if (base) {
			if (extent.kind != RAM_SAME &&
			    extent.kind != RAM_CHANGED)
				FAIL("%s: kind %d with a base", what,
				     extent.kind);
			check_base(model, base_model, &extent, off, what);
		} else {
			if (extent.kind != RAM_HOLE &&
			    (flags & RAM_EXTENT_SHARED
				     ? extent.kind != RAM_OWN &&
					       extent.kind != RAM_SHARED
				     : extent.kind != RAM_DATA))
				FAIL("%s: kind %d without a base, flags %u",
				     what, extent.kind, flags);
			check_kind(model, &extent, off, what);
		}
		off += extent.len;
	}
}
