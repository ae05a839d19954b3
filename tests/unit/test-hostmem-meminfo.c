/* SPDX-License-Identifier: BSD-3-Clause */
/* What is read from /proc/meminfo, and what makes it unreadable. */
#include "unit/unit.h"

#include <errno.h>

#include "hostmem.h"
#include "unit/fake-root.h"

static void refused(const char *meminfo, int result)
{
	struct host_memory m = {1, 2, 3, 4, 5};

	fake_file("proc/meminfo", meminfo);
	assert_int_equal(host_memory_read_at(fake_root, &m), result);
	/* Nothing was written. */
	assert_int_equal(m.total, 1);
	assert_int_equal(m.available, 2);
	assert_int_equal(m.cgroup_max, 3);
	assert_int_equal(m.cgroup_left, 4);
	assert_int_equal(m.cgroup_left_of, 5);
}

static void plain(void **state)
{
	struct host_memory m;

	(void)state;
	fake_file("proc/meminfo", "MemTotal:       24599876 kB\n"
				  "MemFree:        23766244 kB\n"
				  "MemAvailable:   24025516 kB\n"
				  "Buffers:            2080 kB\n"
				  "HugePages_Total:       0\n");
	assert_int_equal(host_memory_read_at(fake_root, &m), 0);
	assert_int_equal(m.total, UINT64_C(24599876) * 1024);
	assert_int_equal(m.available, UINT64_C(24025516) * 1024);
	assert_true(m.cgroup_max == UINT64_MAX);
	assert_true(m.cgroup_left == UINT64_MAX);
}

static void any_order(void **state)
{
	struct host_memory m;

	(void)state;
	fake_file("proc/meminfo", "XMemTotal: 5 kB\n"
				  "MemTotalX: 6 kB\n"
				  "MemAvailable:0 kB\n"
				  "MemTotal:\t\t7 kB");
	assert_int_equal(host_memory_read_at(fake_root, &m), 0);
	assert_int_equal(m.total, 7 * 1024);
	assert_int_equal(m.available, 0);
}

static void unreadable(void **state)
{
	struct host_memory m;

	(void)state;
	assert_int_equal(host_memory_read_at("/nonexistent", &m), -ENOENT);
	refused("", -EINVAL);
	refused("MemTotal: 1 kB\n", -EINVAL);
	refused("MemAvailable: 1 kB\n", -EINVAL);
	refused("MemTotal: kB\nMemAvailable: 1 kB\n", -EINVAL);
	refused("MemTotal: 1\nMemAvailable: 1 kB\n", -EINVAL);
	refused("MemTotal: 1 MB\nMemAvailable: 1 kB\n", -EINVAL);
	refused("MemTotal: -1 kB\nMemAvailable: 1 kB\n", -EINVAL);
	refused("MemTotal: 9223372036854775807 kB\nMemAvailable: 1 kB\n",
		-EINVAL);
	refused("MemTotal: 111111111111111111111111111 kB\n"
		"MemAvailable: 1 kB\n",
		-EINVAL);
}

static void this_host(void **state)
{
	struct host_memory m;

	(void)state;
	assert_int_equal(host_memory_read(&m), 0);
	assert_true(m.total >= 1 << 20);
	assert_true(m.available <= m.total);
	assert_true(m.cgroup_max > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(any_order),
		cmocka_unit_test(unreadable),
		cmocka_unit_test(this_host),
	};

	return cmocka_run_group_tests(tests, fake_root_make, fake_root_remove);
}
