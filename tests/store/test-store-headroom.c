/* SPDX-License-Identifier: BSD-3-Clause */
/* The host runs short of memory while the pool has not had all of its size: new
 * memory is refused before the host would page, what is there is read and
 * overwritten as ever, what was promised is there, and all goes on when the host
 * has memory again.
 *
 * The host is the test's: so much, less what the pool occupies. */
#include "hostmem.h"
#include "util.h"

#define POOL (128 * MIB)
#define LANDING (16 * MIB) /* an eighth of it */
#define HEADROOM (1 * GIB)

static struct env env;
static uint64_t host_has;    /* available, if the pool had nothing */
static uint64_t group_limit; /* of a control group; 0: none */
static unsigned asked;
static uint8_t buf[MIB], got[MIB];

static int host(struct host_memory *m)
{
	static uint64_t backing;
	static bool inside; /* usage asks us too */

	if (!inside) {
		inside = true;
		backing = env.pool ? env_usage(&env).backing : 0;
		inside = false;
	}
	asked++;
	m->total = 8 * GIB;
	m->available = host_has - (backing < host_has ? backing : host_has);
	m->cgroup_max = m->cgroup_left = m->cgroup_left_of = UINT64_MAX;
	if (group_limit) {
		m->cgroup_max = m->cgroup_left_of = group_limit;
		m->cgroup_left = group_limit - backing;
	}
	return 0;
}

static void begin(uint64_t has)
{
	struct ram_pool_config config = {
		.size = POOL,
		.headroom = HEADROOM,
	};
	struct ram_why why;

	memset(&env, 0, sizeof(env));
	host_has = has;
	asked = 0;
	CHECK_RC(ram_pool_open(&config, &env.pool, &why), 0);
	CHECK_RC(ram_pool_join(env.pool, NULL, NULL, &env.thread), 0);
}

static void end(struct ram_disk *disk)
{
	env_check(&env);
	ram_disk_put(disk);
	env_close(&env);
	env.pool = NULL;
}

/* The host is asked again a few milliseconds later only. */
static void pause_a_little(void)
{
	uint64_t until = test_now() + 10000000;

	while (test_now() < until)
		;
}

/* MiB by MiB from `from` on, until it is refused; how much is there then. */
static uint64_t fill(struct ram_disk *disk, uint64_t from, uint64_t most)
{
	int error = 0;

	while (!error && from < most) {
		fill_pattern(buf, sizeof(buf), from);
		error = env_write(&env, disk, buf, sizeof(buf), from, NULL);
		if (!error)
			from += sizeof(buf);
		pause_a_little();
	}
	if (error)
		CHECK_RC(error, -ENOSPC);
	return from;
}

static void overwrite(struct ram_disk *disk, uint64_t len)
{
	for (uint64_t off = 0; off < len; off += sizeof(buf)) {
		fill_pattern(buf, sizeof(buf), off + 1);
		CHECK_RC(env_write(&env, disk, buf, sizeof(buf), off, NULL), 0);
		CHECK_RC(env_read(&env, disk, got, sizeof(got), off), 0);
		CHECK(memcmp(buf, got, sizeof(buf)) == 0);
	}
}

static void short_of_memory(bool group)
{
	struct ram_disk *disk;
	uint64_t written, more, spare = 48 * MIB, refusals;

	test_part("a host that has little%s", group ? ", in a group" : "");
	group_limit = group ? spare + 8 * MIB : 0;
	begin(group ? 8 * GIB : HEADROOM + spare);
	disk = env_create(&env, "disk", GIB);
	written = fill(disk, 0, GIB);
	printf("%llu MiB were written, the host was asked %u times\n",
	       (unsigned long long)(written / MIB), asked);
	/* All but landing and what half of what is left leaves. */
	CHECK(written <= spare);
	CHECK(written >= spare - LANDING - 8 * MIB);
	CHECK(env_usage(&env).backing <= spare);
	CHECK(asked < 200);
	CHECK_U64(env_usage(&env).headroom, group ? 8 * MIB : HEADROOM);
	CHECK(env_usage(&env).spare < LANDING + 2 * MIB);
	refusals = env_usage(&env).refusals;
	CHECK(refusals > 0);
	overwrite(disk, written);
	CHECK(env_usage(&env).backing <= spare + MIB);

	test_part("somebody takes more, and gives it back");
	host_has = HEADROOM / 2;
	group_limit = 0;
	pause_a_little();
	more = fill(disk, written, GIB);
	CHECK_U64(more, written);
	overwrite(disk, written);
	host_has = 8 * GIB;
	pause_a_little();
	/* Now the pool's own size is the bound. */
	more = fill(disk, written, GIB);
	CHECK(more > 96 * MIB);
	end(disk);
}

static void promised(void)
{
	struct ram_disk_spec spec = {
		.name = "too large",
		.size = 64 * MIB,
		.fixed = true,
		.state = RAM_WHOLE,
	};
	struct ram_disk *fixed, *disk;
	uint64_t before;

	test_part("fixed disks");
	group_limit = 0;
	begin(HEADROOM + 64 * MIB);
	before = env_usage(&env).backing;
	CHECK_RC(ram_disk_create(env.pool, &spec, &disk), -ENOSPC);
	CHECK_U64(env_usage(&env).backing, before);
	fixed = env_create_fixed(&env, "fixed", 32 * MIB);
	CHECK(env_usage(&env).backing >= 32 * MIB);
	disk = env_create(&env, "disk", GIB);
	host_has = HEADROOM;
	pause_a_little();
	CHECK_RC(env_write(&env, disk, buf, MIB, 0, NULL), -ENOSPC);
	CHECK_U64(fill(fixed, 0, 32 * MIB), 32 * MIB);
	overwrite(fixed, 32 * MIB);
	ram_disk_put(fixed);
	end(disk);
}

int main(void)
{
	test_begin("test-store-headroom");
	ram_host_hook = host;
	short_of_memory(false);
	short_of_memory(true);
	promised();
	return test_end();
}
