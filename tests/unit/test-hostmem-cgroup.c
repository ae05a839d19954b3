/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory limit of the control group, in versions 1 and 2, on the host and
 * in a container. */
#include "unit/unit.h"

#include "hostmem.h"
#include "unit/fake-root.h"

#define MIB UINT64_C(1048576)

/* Every test begins with an empty folder. */
static int setup(void **state)
{
	if (fake_root_make(state))
		return -1;
	fake_file("proc/meminfo", "MemTotal: 8 kB\nMemAvailable: 4 kB\n");
	return 0;
}

static void expect_limit(uint64_t limit)
{
	struct host_memory m;

	assert_int_equal(host_memory_read_at(fake_root, &m), 0);
	if (m.cgroup_max != limit)
		fail_msg("the limit is %llu; should be %llu",
			 (unsigned long long)m.cgroup_max,
			 (unsigned long long)limit);
}

#define V2_MOUNT                                                            \
	"29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 " \
	"rw,nsdelegate\n"

static void v2_none(void **state)
{
	(void)state;
	fake_file("proc/self/mountinfo", V2_MOUNT);
	fake_file("proc/self/cgroup", "0::/a.slice/b.service\n");
	expect_limit(UINT64_MAX);
	fake_file("sys/fs/cgroup/a.slice/b.service/memory.max", "max\n");
	expect_limit(UINT64_MAX);
	fake_file("sys/fs/cgroup/a.slice/b.service/memory.max", "lots\n");
	expect_limit(UINT64_MAX);
	fake_file("sys/fs/cgroup/a.slice/b.service/memory.max", "");
	expect_limit(UINT64_MAX);
}

/* Each level on the way bounds those below. */
static void v2_smallest(void **state)
{
	(void)state;
	fake_file("proc/self/mountinfo", V2_MOUNT);
	fake_file("proc/self/cgroup", "0::/a.slice/b.service\n");
	fake_file("sys/fs/cgroup/a.slice/b.service/memory.max", "314572800\n");
	expect_limit(300 * MIB);
	fake_file("sys/fs/cgroup/a.slice/memory.max", "max\n");
	expect_limit(300 * MIB);
	fake_file("sys/fs/cgroup/a.slice/memory.max", "104857600\n");
	expect_limit(100 * MIB);
	fake_file("sys/fs/cgroup/memory.max", "52428800\n");
	expect_limit(50 * MIB);
	/* A neighbour's is no concern of ours. */
	fake_file("sys/fs/cgroup/c.slice/memory.max", "4096\n");
	expect_limit(50 * MIB);
	fake_file("sys/fs/cgroup/a.slice/b.service/memory.max", "0\n");
	expect_limit(0);
}

static void expect_left(uint64_t left, uint64_t of)
{
	struct host_memory m;

	assert_int_equal(host_memory_read_at(fake_root, &m), 0);
	assert_int_equal(m.cgroup_left, left);
	assert_int_equal(m.cgroup_left_of, of);
}

/* The one with the smallest limit need not be the one that leaves least. */
static void v2_left(void **state)
{
	(void)state;
	fake_file("proc/self/mountinfo", V2_MOUNT);
	fake_file("proc/self/cgroup", "0::/a.slice/b.service\n");
	fake_file("sys/fs/cgroup/a.slice/b.service/memory.max", "104857600\n");
	/* How much is used is not told: no limit that could be watched. */
	expect_left(UINT64_MAX, UINT64_MAX);
	fake_file("sys/fs/cgroup/a.slice/b.service/memory.current",
		  "41943040\n");
	expect_left(60 * MIB, 100 * MIB);
	fake_file("sys/fs/cgroup/a.slice/b.service/memory.stat",
		  "anon 7\nfile 20971520\ninactive_file 10485760\nactive_file "
		  "1\n");
	expect_left(70 * MIB, 100 * MIB);
	fake_file("sys/fs/cgroup/a.slice/memory.max", "209715200\n");
	fake_file("sys/fs/cgroup/a.slice/memory.current", "199229440\n");
	expect_left(10 * MIB, 200 * MIB);
	/* More than the limit, while the kernel takes memory back. */
	fake_file("sys/fs/cgroup/a.slice/memory.current", "230686720\n");
	expect_left(0, 200 * MIB);
}

static void v2_root_group(void **state)
{
	(void)state;
	fake_file("proc/self/mountinfo", V2_MOUNT);
	fake_file("proc/self/cgroup", "0::/\n");
	expect_limit(UINT64_MAX);
	fake_file("sys/fs/cgroup/memory.max", "1048576");
	expect_limit(MIB);
}

/* With a group namespace our path is relative to it, and so is what is mounted;
 * without one, only a part of the hierarchy is mounted. */
static void v2_container(void **state)
{
	(void)state;
	fake_file("proc/self/mountinfo",
		  "99 98 0:26 /docker/0123 /sys/fs/cgroup ro - cgroup2 cgroup "
		  "rw\n");
	fake_file("proc/self/cgroup", "0::/docker/0123\n");
	fake_file("sys/fs/cgroup/memory.max", "2097152\n");
	expect_limit(2 * MIB);
	fake_file("proc/self/cgroup", "0::/docker/0123/inner\n");
	fake_file("sys/fs/cgroup/inner/memory.max", "1048576\n");
	expect_limit(MIB);
	/* A name that only begins alike, and a path out of the namespace: what
	 * can be seen is the top. */
	fake_file("proc/self/cgroup", "0::/docker/01234\n");
	expect_limit(2 * MIB);
	fake_file("proc/self/cgroup", "0::/../elsewhere\n");
	expect_limit(2 * MIB);
}

#define V1_MOUNTS                                                       \
	"24 30 0:22 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"    \
	"25 24 0:23 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" \
	"31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"   \
	"32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

static void v1(void **state)
{
	(void)state;
	fake_file("proc/self/mountinfo", V1_MOUNTS);
	fake_file("proc/self/cgroup", "9:cpu,cpuacct:/\n"
				      "4:memory:/app/one\n"
				      "1:name=systemd:/x\n"
				      "0::/y\n");
	fake_file("sys/fs/cgroup/memory/memory.limit_in_bytes",
		  "9223372036854771712\n");
	expect_limit(UINT64_MAX);
	fake_file("sys/fs/cgroup/memory/app/one/memory.limit_in_bytes",
		  "9223372036854710272\n"); /* pages of 64 KiB */
	expect_limit(UINT64_MAX);
	fake_file("sys/fs/cgroup/memory/app/memory.limit_in_bytes",
		  "7340032\n");
	expect_limit(7 * MIB);
	fake_file("sys/fs/cgroup/memory/app/one/memory.limit_in_bytes",
		  "3145728\n");
	expect_limit(3 * MIB);
	/* Version 2 beside it may be tighter. */
	fake_file("sys/fs/cgroup/unified/y/memory.max", "1048576\n");
	expect_limit(MIB);
}

static void v1_left(void **state)
{
	(void)state;
	fake_file("proc/self/mountinfo", V1_MOUNTS);
	fake_file("proc/self/cgroup", "4:memory:/app\n0::/y\n");
	fake_file("sys/fs/cgroup/memory/app/memory.limit_in_bytes",
		  "104857600\n");
	fake_file("sys/fs/cgroup/memory/app/memory.usage_in_bytes",
		  "31457280\n");
	fake_file("sys/fs/cgroup/memory/app/memory.stat",
		  "inactive_file 1\ntotal_inactive_file 10485760\n");
	expect_left(80 * MIB, 100 * MIB);
}

static void v1_container(void **state)
{
	(void)state;
	fake_file("proc/self/mountinfo",
		  "32 24 0:28 /docker/77 /sys/fs/cgroup/memory ro master:1 - "
		  "cgroup memory rw,hugetlb,memory\n");
	fake_file("proc/self/cgroup", "4:hugetlb,memory:/docker/77\n");
	fake_file("sys/fs/cgroup/memory/memory.limit_in_bytes", "5242880\n");
	expect_limit(5 * MIB);
}

/* "memory" must be a whole word. */
static void v1_other_controllers(void **state)
{
	(void)state;
	fake_file("proc/self/mountinfo",
		  "32 24 0:28 / /cg rw - cgroup cgroup rw,memory2,xmemory\n");
	fake_file("proc/self/cgroup", "4:memory:/\n");
	fake_file("cg/memory.limit_in_bytes", "1\n");
	expect_limit(UINT64_MAX);
}

static void blanks_in_the_mount(void **state)
{
	(void)state;
	fake_file("proc/self/mountinfo",
		  "29 23 0:26 / /mnt/my\\040groups\\134 rw - cgroup2 none "
		  "rw\n");
	fake_file("proc/self/cgroup", "0::/g\n");
	fake_file("mnt/my groups\\/g/memory.max", "1048576\n");
	expect_limit(MIB);
}

/* Whatever stands there, it is no worse than no limit. */
static void nonsense(void **state)
{
	static const char *const texts[] = {
		"",
		"\n",
		" ",
		" - ",
		" - \n",
		" - cgroup2",
		"a b c - cgroup2",
		"1 2 3 4 5 - cgroup2",
		"\n\n\n",
		"- cgroup2 - ",
		"1 2 3 4 5 - cgroup",
		"::",
		"0::",
		"0:",
		"0",
		"4:memory",
		"4:memory:",
		":::::::",
		"0::a\n0::b",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fake_file("proc/self/mountinfo", texts[i]);
		for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
			fake_file("proc/self/cgroup", texts[j]);
			expect_limit(UINT64_MAX);
		}
	}
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, setup, fake_root_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(v2_none),
		TEST(v2_smallest),
		TEST(v2_left),
		TEST(v2_root_group),
		TEST(v2_container),
		TEST(v1),
		TEST(v1_left),
		TEST(v1_container),
		TEST(v1_other_controllers),
		TEST(blanks_in_the_mount),
		TEST(nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
