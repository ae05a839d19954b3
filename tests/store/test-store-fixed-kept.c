/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that a fixed disk was promised, and that the backing holds already, is
 * still there after a restart, however often: housekeeping does not take it for a
 * surplus and does not have to take it from the host again. */
#include "util.h"

#define FIXED (16 * MIB)

static void restarts(bool written)
{
	char *folder = test_folder();
	struct ram_disk *disk;
	struct env env;
	uint8_t *buf = malloc(FIXED);
	unsigned i;

	test_part("a fixed disk, %s",
		  written ? "half written" : "never written");
	CHECK(buf);
	fill_pattern(buf, FIXED / 2, 5);
	env_open(&env, folder, 64 * MIB, 0);
	disk = env_create_fixed(&env, "disk", FIXED);
	if (written)
		CHECK_RC(env_write(&env, disk, buf, FIXED / 2, 0, NULL), 0);
	ram_pool_tidy(env.pool);
	CHECK(env_usage(&env).backing >= FIXED);
	ram_disk_put(disk);
	env_close(&env);
	for (i = 0; i < 3; i++) {
		env_open(&env, folder, 64 * MIB, 0);
		/* Before anybody has done anything for it. */
		CHECK(env_usage(&env).backing >= FIXED);
		ram_pool_tidy(env.pool);
		CHECK(env_usage(&env).backing >= FIXED);
		CHECK(env_usage(&env).backing <= FIXED + 2 * MIB);
		CHECK(env_usage(&env).guaranteed >=
		      (written ? FIXED / 2 : FIXED));
		disk = env_disk(&env, "disk");
		if (i == 2) {
			/* And it serves. */
			CHECK_RC(env_write(&env, disk, buf, FIXED / 2,
					   FIXED / 2, NULL),
				 0);
			CHECK_RC(
				env_read(&env, disk, buf, FIXED / 2, FIXED / 2),
				0);
		}
		env_check(&env);
		ram_disk_put(disk);
		env_close(&env);
	}
	free(buf);
	free(folder);
}

int main(void)
{
	test_begin("test-store-fixed-kept");
	restarts(false);
	restarts(true);
	return test_end();
}
