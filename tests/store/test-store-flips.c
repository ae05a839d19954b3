/* SPDX-License-Identifier: BSD-3-Clause */
/* A damaged or foreign pool file: refused with one line that says why, and left
 * as it is to the byte; or opened, and then usable. Never a crash, a loop or an
 * access outside. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util.h"
#include "filewalk.h"

#define POOL_SIZE RAM_POOL_MIN

static struct {
	char *folder, *file;
	int fd;
	uint8_t *image;	  /* of the sound file */
	uint8_t *flipped; /* what it is now */
	uint8_t *got;
	const uint8_t *map; /* of the file */
	uint64_t length;
	uint64_t *tables, *slots; /* numbers of such blocks */
	uint64_t table_count, slot_count;
	uint64_t *used; /* numbers of any block that is reached */
	uint64_t used_count;
	uint64_t blocks;
	uint64_t touched[4]; /* blocks that differ from the image */
	unsigned touched_count;
} pool;

/* What was done to the file, for the message of a crash. */
static char deed[400];
static struct sigaction before[NSIG];

static void crashed(int number)
{
	static const char text[] = "\nsignal after: ";

	if (write(2, text, sizeof(text) - 1) > 0 &&
	    write(2, deed, strlen(deed)) > 0 && write(2, "\n", 1) > 0)
		sigaction(number, &before[number], NULL);
	/* and once more, for a sanitizer or a core */
	if (number == SIGALRM)
		abort();
}

static void catch_signals(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGALRM, SIGFPE, SIGILL};
	struct sigaction action = {.sa_handler = crashed};

	for (unsigned i = 0; i < ARRAY_SIZE(numbers); i++)
		sigaction(numbers[i], &action, &before[numbers[i]]);
}

/* --------------------------------------------------------------- the pool */

static void write_some(struct env *env, struct ram_disk *disk, uint64_t len,
		       uint64_t off)
{
	uint8_t *buf = malloc(len);

	CHECK(buf);
	fill_pattern(buf, len, off + len);
	CHECK_RC(env_write(env, disk, buf, len, off, NULL), 0);
	free(buf);
}

static void make_pool(void)
{
	struct ram_disk_spec spec = {.name = "making", .size = 70000};
	struct ram_disk *disk[8];
	struct env env;
	struct filewalk walk;
	struct stat st;

	pool.folder = test_folder();
	env_open(&env, pool.folder, POOL_SIZE, 0);
	disk[0] = env_create(&env, "odd", 300001);
	write_some(&env, disk[0], 100000, 0);
	write_some(&env, disk[0], 5000, 295001);
	disk[1] = env_clone(disk[0], "clone", 0);
	write_some(&env, disk[1], 9000, 4000);
	disk[2] = env_clone(disk[1], "snapshot", RAM_SNAPSHOT);
	write_some(&env, disk[1], 4096, 8192);
	disk[3] = env_create(&env, "huge", INT64_MAX);
	write_some(&env, disk[3], 10000, 2 * MIB - 5000);
	write_some(&env, disk[3], 10000, GIB - 5000);
	write_some(&env, disk[3], 10000, INT64_MAX - 10000);
	disk[4] = env_create_fixed(&env, "fixed", 100000);
	write_some(&env, disk[4], 50000, 50000);
	CHECK_RC(ram_disk_note(disk[4], "some note", 9), 0);
	disk[5] = env_clone(disk[3], "huger", 0);
	spec.state = RAM_MAKING;
	CHECK_RC(ram_disk_create(env.pool, &spec, &disk[6]), 0);
	write_some(&env, disk[6], 20000, 0);
	spec.name = "temporary";
	spec.state = RAM_TEMPORARY;
	CHECK_RC(ram_disk_clone(disk[0], &spec, RAM_SNAPSHOT, &disk[7]), 0);
	for (unsigned i = 0; i < 8; i++)
		ram_disk_put(disk[i]);
	env_check(&env);
	env_close(&env);

	pool.file = test_pool_file(pool.folder);
	CHECK(pool.file);
	if (!filewalk_read(pool.file, &walk))
		FAIL("the pool is unsound from the start: %s", walk.error);
	pool.blocks = walk.blocks;
	pool.tables = calloc(walk.blocks, sizeof(uint64_t));
	pool.slots = calloc(walk.blocks, sizeof(uint64_t));
	pool.used = calloc(walk.blocks, sizeof(uint64_t));
	CHECK(pool.tables && pool.slots && pool.used);
	for (uint64_t b = 0; b < walk.blocks; b++) {
		if (walk.page[b].kind == WALK_NONE)
			continue;
		pool.used[pool.used_count++] = b;
		if (walk.page[b].kind == WALK_SLOT)
			pool.slots[pool.slot_count++] = b;
		else if (walk.page[b].kind != WALK_DATA)
			pool.tables[pool.table_count++] = b;
	}
	CHECK(pool.slot_count >= 6 && pool.table_count >= 20);
	filewalk_free(&walk);

	CHECK(stat(pool.file, &st) == 0);
	pool.length = (uint64_t)st.st_size;
	pool.image = malloc(pool.length);
	pool.flipped = malloc(pool.length);
	pool.got = malloc(pool.length + BLOCK_SIZE);
	CHECK(pool.image && pool.flipped && pool.got);
	pool.fd = open(pool.file, O_RDWR | O_CLOEXEC);
	CHECK(pool.fd >= 0);
	CHECK(pread(pool.fd, pool.image, pool.length, 0) ==
	      (ssize_t)pool.length);
	memcpy(pool.flipped, pool.image, pool.length);
	pool.map = mmap(NULL, pool.length, PROT_READ, MAP_SHARED, pool.fd, 0);
	CHECK(pool.map != MAP_FAILED);
}

/* Write back what an accepted pool has changed. */
static void restore(void)
{
	CHECK(ftruncate(pool.fd, 0) == 0);
	CHECK(pwrite(pool.fd, pool.image, pool.length, 0) ==
	      (ssize_t)pool.length);
}

/* Put the blocks that were flipped into the file, or out of it again. */
static void write_touched(const uint8_t *from)
{
	for (unsigned i = 0; i < pool.touched_count; i++) {
		off_t at = (off_t)(pool.touched[i] * BLOCK_SIZE);

		CHECK(pwrite(pool.fd, from + at, BLOCK_SIZE, at) ==
		      (ssize_t)BLOCK_SIZE);
	}
}

static void unchanged(const uint8_t *want, uint64_t length)
{
	const uint8_t *got = pool.got;
	struct stat st;

	CHECK(fstat(pool.fd, &st) == 0);
	if ((uint64_t)st.st_size != length)
		FAIL("%s: refused, but the file was made %lld long", deed,
		     (long long)st.st_size);
	/* The mapping saves a copy; behind a shorter file's end it must not be
	 * looked at. */
	if (length == pool.length)
		got = pool.map;
	else
		CHECK(pread(pool.fd, pool.got, length, 0) == (ssize_t)length);
	if (memcmp(got, want, length) != 0)
		FAIL("%s: refused, but the file was changed", deed);
}

/* -------------------------------------------------------- an accepted pool */

/* Nothing may wait for ever. */
static bool again(struct env *env, int64_t rc, unsigned *tries)
{
	if (rc != -EAGAIN)
		return false;
	if (++*tries > 200)
		FAIL("%s: opened, and then -EAGAIN without end", deed);
	ram_pool_tidy(env->pool);
	ram_wait(env->thread, 1);
	return true;
}

static void use_disk(struct env *env, struct ram_disk *disk)
{
	static uint8_t buf[64 * KIB];
	struct ram_thread *thread = env->thread;
	uint64_t size = ram_disk_size(disk), off = 0;
	struct ram_disk_info info;
	unsigned tries = 0, calls = 0;
	uint64_t cursor = 0;
	int64_t rc;

	CHECK(size >= 1 && size <= (uint64_t)INT64_MAX);
	while (again(env, ram_disk_info(disk, thread, RAM_INFO_USAGE, &info),
		     &tries))
		;
	/* Read all that is there. */
	while (off < size) {
		struct ram_extent extent;

		tries = 0;
		while (again(env,
			     rc = ram_disk_extent(disk, thread, NULL,
						  size - off, off, 0, &extent),
			     &tries))
			;
		if (rc)
			FAIL("%s: opened, and then extent gave %lld", deed,
			     (long long)rc);
		CHECK(extent.len && extent.len <= size - off);
		if (++calls > 20000)
			FAIL("%s: opened, and then extents without end", deed);
		if (extent.kind != RAM_HOLE)
			for (uint64_t at = 0; at < extent.len;) {
				uint64_t len =
					min_u64(extent.len - at, sizeof(buf));

				tries = 0;
				while (again(env,
					     rc = ram_disk_read(disk, thread,
								buf, len,
								off + at),
					     &tries))
					;
				if (rc <= 0)
					break;
				at += (uint64_t)rc;
			}
		off += extent.len;
	}
	if (ram_disk_readonly(disk))
		return;
	/* Write in it, in whole and in part, and cut a piece out. */
	tries = 0;
	while (again(env, ram_disk_write(disk, thread, buf, 1, size - 1),
		     &tries))
		;
	tries = 0;
	while (again(env,
		     ram_disk_write(disk, thread, buf, min_u64(size, 9000),
				    size / 2 > 9000 ? size / 2 : 0),
		     &tries))
		;
	tries = 0;
	while (again(env,
		     ram_disk_zero(disk, thread, size - size / 3, size / 3, 0,
				   &cursor),
		     &tries))
		;
}

static void use_pool(struct env *env, struct rng *rng)
{
	struct ram_disk_spec spec = {
		.name = "another",
		.size = 100000,
		.state = RAM_WHOLE,
	};
	struct ram_disk *disk, *clone;
	struct ram_why why = {""};
	uint64_t cursor = 0;
	unsigned disks = 0;

	while (ram_disk_next(env->pool, &cursor, &disk) == 0) {
		use_disk(env, disk);
		if (rng_chance(rng, 30)) {
			clone = NULL;
			if (ram_disk_clone(disk, &spec, 0, &clone) == 0) {
				use_disk(env, clone);
				ram_disk_delete(clone);
			}
			ram_disk_put(clone);
		}
		if (rng_chance(rng, 30))
			ram_disk_delete(disk);
		ram_disk_put(disk);
		if (++disks > 1000)
			FAIL("%s: opened, and then disks without end", deed);
	}
	disk = NULL;
	if (ram_disk_create(env->pool, &spec, &disk) == 0)
		use_disk(env, disk);
	ram_disk_put(disk);
	ram_pool_tidy(env->pool);
	if (ram_pool_check(env->pool, &why) != 0)
		FAIL("%s: opened, used, and then found unsound: %s", deed,
		     why.text);
}

/* Open the file as it is now. True: accepted (and used, and restored). */
static bool try_pool(struct rng *rng, const uint8_t *now, uint64_t length)
{
	struct ram_pool_config config = {
		.size = POOL_SIZE,
		.path = pool.folder,
	};
	struct ram_why why = {""};
	struct env env = {0};
	int rc;

	alarm(60);
	rc = ram_pool_open(&config, &env.pool, &why);
	if (rc) {
		/* -ENOSPC: a guarantee that is believed, but does not fit. */
		if (rc != -EINVAL && rc != -ENOSPC)
			FAIL("%s: refused with %d: %s", deed, rc, why.text);
		CHECK_WHY(&why, pool.folder);
		unchanged(now, length);
		return false;
	}
	CHECK_RC(ram_pool_join(env.pool, NULL, NULL, &env.thread), 0);
	use_pool(&env, rng);
	env_close(&env);
	restore();
	return true;
}

/* ------------------------------------------------------------------- flips */

static uint64_t interesting(struct rng *rng, uint64_t here, uint64_t old)
{
	switch (rng_below(rng, 16)) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return here; /* its own number */
	case 3:
		return pool.blocks - 1;
	case 4:
		return pool.blocks;
	case 5:
		return pool.blocks + 1;
	case 6:
		return UINT64_C(1) << 63;
	case 7:
		return UINT64_MAX;
	case 8:
		return pool.used[rng_below(rng, pool.used_count)];
	case 9:
		return pool.tables[rng_below(rng, pool.table_count)];
	case 10:
		return pool.slots[rng_below(rng, pool.slot_count)];
	case 11:
		return old + 1;
	case 12:
		return old - 1;
	case 13:
		return old ^ UINT64_C(1) << rng_below(rng, 64);
	case 14:
		return rng_below(rng, pool.blocks);
	default:
		return rng_next(rng);
	}
}

/* Change something in block `number` of the flipped image, `low` being the part
 * of the block that has a meaning. */
static void flip(struct rng *rng, uint64_t number, uint64_t low, bool used)
{
	uint8_t *block = pool.flipped + number * BLOCK_SIZE;
	uint64_t at = 0, old, new;

	pool.touched[pool.touched_count++] = number;
	/* Mostly where something is. */
	for (unsigned i = 0; i < 1000; i++) {
		at = rng_below(rng, low / 8) * 8;
		memcpy(&old, block + at, 8);
		if (!used || old)
			break;
	}
	memcpy(&old, block + at, 8);
	switch (rng_below(rng, 4)) {
	case 0:
		new = old ^ UINT64_C(1) << rng_below(rng, 64);
		break;
	case 1:
		new = old;
		((uint8_t *)&new)[rng_below(rng, 8)] = (uint8_t)rng_next(rng);
		break;
	default:
		new = interesting(rng, number, old);
		break;
	}
	memcpy(block + at, &new, 8);
	snprintf(deed + strlen(deed), sizeof(deed) - strlen(deed),
		 "; block %llu + %llu: %#llx -> %#llx",
		 (unsigned long long)number, (unsigned long long)at,
		 (unsigned long long)old, (unsigned long long)new);
}

static void resum_slot(uint64_t number)
{
	struct layout_slot *slot = (void *)(pool.flipped + number * BLOCK_SIZE);

	slot->checksum = filewalk_slot_crc(slot);
}

static void resum_super(void)
{
	struct layout_super *super = (void *)pool.flipped;

	super->checksum =
		filewalk_crc(0, super, offsetof(struct layout_super, checksum));
}

/* Two disks of one name, a slot that is another's, and the like. */
static void swap_parts(struct rng *rng)
{
	uint64_t a = pool.slots[rng_below(rng, pool.slot_count)];
	uint64_t b = pool.slots[rng_below(rng, pool.slot_count)];
	struct layout_slot *to = (void *)(pool.flipped + a * BLOCK_SIZE);
	struct layout_slot *from = (void *)(pool.flipped + b * BLOCK_SIZE);
	unsigned what = (unsigned)rng_below(rng, 4);

	pool.touched[pool.touched_count++] = a;
	switch (what) {
	case 0:
		to->name_len = from->name_len;
		memcpy(to->name, from->name, SLOT_NAME_MAX);
		break;
	case 1:
		memcpy(to->uuid, from->uuid, 16);
		break;
	case 2:
		to->root = from->root;
		break;
	default:
		to->size = from->size;
		break;
	}
	to->checksum = filewalk_slot_crc(to);
	snprintf(deed + strlen(deed), sizeof(deed) - strlen(deed),
		 "; part %u of slot block %llu is that of %llu", what,
		 (unsigned long long)a, (unsigned long long)b);
}

static void flips(uint64_t count)
{
	struct rng rng = rng_make(20);
	uint64_t accepted = 0, refused = 0;

	test_part("%llu flips", (unsigned long long)count);
	memcpy(pool.flipped, pool.image, pool.length);
	restore();
	for (uint64_t i = 0; i < count; i++) {
		bool must_refuse = false;
		uint64_t number, many;

		snprintf(deed, sizeof(deed), "flip %llu",
			 (unsigned long long)i);
		pool.touched_count = 0;
		many = 1 + rng_below(&rng, 10) / 8;
		for (uint64_t n = many; n; n--) {
			switch (rng_below(&rng, 10)) {
			case 0: /* superblock, with its checksum as it was */
				flip(&rng, 0,
				     round_down(offsetof(struct layout_super,
							 checksum),
						8),
				     false);
				break;
			case 1: /* with the right checksum */
				flip(&rng, 0,
				     round_up(sizeof(struct layout_super), 8),
				     false);
				resum_super();
				break;
			case 2:
				number = pool.slots[rng_below(&rng,
							      pool.slot_count)];
				flip(&rng, number, BLOCK_SIZE,
				     rng_chance(&rng, 70));
				must_refuse = many == 1;
				break;
			case 3:
			case 4: /* the fields before the name, mostly */
				number = pool.slots[rng_below(&rng,
							      pool.slot_count)];
				flip(&rng, number,
				     rng_chance(&rng, 80) ? 112 : BLOCK_SIZE,
				     false);
				resum_slot(number);
				break;
			case 5:
				swap_parts(&rng);
				break;
			default:
				number = pool.tables[rng_below(
					&rng, pool.table_count)];
				flip(&rng, number, BLOCK_SIZE,
				     rng_chance(&rng, 80));
				break;
			}
		}
		if (memcmp(pool.flipped, pool.image, pool.length) == 0)
			continue;
		write_touched(pool.flipped);
		if (try_pool(&rng, pool.flipped, pool.length)) {
			if (must_refuse)
				FAIL("%s: a damaged slot was accepted", deed);
			accepted++;
		} else {
			write_touched(pool.image);
			refused++;
		}
		for (unsigned t = 0; t < pool.touched_count; t++)
			memcpy(pool.flipped + pool.touched[t] * BLOCK_SIZE,
			       pool.image + pool.touched[t] * BLOCK_SIZE,
			       BLOCK_SIZE);
	}
	restore();
	printf("%llu refused, %llu accepted\n", (unsigned long long)refused,
	       (unsigned long long)accepted);
	/* Both happen, or this test tests nothing. */
	CHECK(refused > 0 && accepted > 0);
}

/* ------------------------------------------------------------- other files */

static void must_be_refused(struct rng *rng, const uint8_t *now,
			    uint64_t length, const char *word)
{
	struct ram_pool_config config = {
		.size = POOL_SIZE,
		.path = pool.folder,
	};
	struct ram_pool *none = NULL;
	struct ram_why why = {""};

	CHECK(ftruncate(pool.fd, 0) == 0);
	CHECK(pwrite(pool.fd, now, length, 0) == (ssize_t)length);
	CHECK(ftruncate(pool.fd, (off_t)length) == 0);
	if (try_pool(rng, now, length))
		FAIL("%s: accepted", deed);
	CHECK_RC(ram_pool_open(&config, &none, &why), -EINVAL);
	CHECK_WHY(&why, word);
}

static void truncated(void)
{
	struct rng rng = rng_make(21);
	uint64_t lengths[64], n = 0, least = pool.blocks * BLOCK_SIZE;

	test_part("truncated files");
	lengths[n++] = 1;
	lengths[n++] = 8;
	lengths[n++] = sizeof(struct layout_super) - 1;
	lengths[n++] = sizeof(struct layout_super);
	lengths[n++] = BLOCK_SIZE - 1;
	lengths[n++] = BLOCK_SIZE;
	lengths[n++] = BLOCK_SIZE + 1;
	lengths[n++] = 2 * BLOCK_SIZE;
	lengths[n++] = least - 1;
	lengths[n++] = least - BLOCK_SIZE;
	while (n < ARRAY_SIZE(lengths))
		lengths[n++] = 1 + rng_below(&rng, least - 1);
	for (uint64_t i = 0; i < n; i++) {
		snprintf(deed, sizeof(deed), "truncated to %llu bytes",
			 (unsigned long long)lengths[i]);
		must_be_refused(&rng, pool.image, lengths[i], NULL);
	}
	restore();

	/* Longer is fine: a kill while it grew leaves that. */
	snprintf(deed, sizeof(deed), "made longer");
	CHECK(ftruncate(pool.fd, (off_t)(pool.length + 3 * BLOCK_SIZE)) == 0);
	CHECK(try_pool(&rng, NULL, 0));
}

static void foreign(void)
{
	static const char text[] = "#!/bin/sh\necho this is no pool\n";
	struct rng rng = rng_make(22);
	struct layout_super *super = (void *)pool.flipped;
	uint8_t *zeroes = calloc(1, pool.length);

	CHECK(zeroes);
	test_part("an empty file");
	snprintf(deed, sizeof(deed), "empty file");
	must_be_refused(&rng, zeroes, 0, NULL);
	test_part("zeroes");
	snprintf(deed, sizeof(deed), "zeroes");
	must_be_refused(&rng, zeroes, pool.length, NULL);
	free(zeroes);
	test_part("some other file");
	snprintf(deed, sizeof(deed), "shell script");
	must_be_refused(&rng, (const uint8_t *)text, sizeof(text), NULL);

	test_part("another version");
	snprintf(deed, sizeof(deed), "version");
	memcpy(pool.flipped, pool.image, pool.length);
	super->version = 0;
	resum_super();
	must_be_refused(&rng, pool.flipped, pool.length, NULL);

	test_part("another order of bytes");
	snprintf(deed, sizeof(deed), "byte order");
	memcpy(pool.flipped, pool.image, pool.length);
	super->magic = __builtin_bswap64(super->magic);
	resum_super();
	must_be_refused(&rng, pool.flipped, pool.length, NULL);

	test_part("another block size");
	snprintf(deed, sizeof(deed), "block size");
	memcpy(pool.flipped, pool.image, pool.length);
	super->block_size = 8192;
	resum_super();
	must_be_refused(&rng, pool.flipped, pool.length, "block");

	for (unsigned bit = 0; bit < 64; bit++) {
		test_part("unknown feature, bit %u", bit);
		snprintf(deed, sizeof(deed), "incompatible bit %u", bit);
		memcpy(pool.flipped, pool.image, pool.length);
		super->incompatible |= UINT64_C(1) << bit;
		resum_super();
		must_be_refused(&rng, pool.flipped, pool.length, "feature");

		snprintf(deed, sizeof(deed), "compatible bit %u", bit);
		memcpy(pool.flipped, pool.image, pool.length);
		super->compatible |= UINT64_C(1) << bit;
		resum_super();
		CHECK(pwrite(pool.fd, pool.flipped, pool.length, 0) ==
		      (ssize_t)pool.length);
		if (!try_pool(&rng, pool.flipped, pool.length))
			FAIL("%s: refused", deed);
	}
	restore();
}

static void still_good(void)
{
	struct rng rng = rng_make(23);

	test_part("the sound file");
	snprintf(deed, sizeof(deed), "nothing");
	CHECK(try_pool(&rng, NULL, 0));
}

int main(void)
{
	test_begin("test-store-flips");
	make_pool();
	catch_signals();
	still_good();
	truncated();
	foreign();
	flips(test_count(100000, 1000));
	still_good();
	munmap((void *)pool.map, pool.length);
	close(pool.fd);
	free(pool.folder);
	free(pool.file);
	free(pool.image);
	free(pool.flipped);
	free(pool.got);
	free(pool.tables);
	free(pool.slots);
	free(pool.used);
	return test_end();
}
