/* SPDX-License-Identifier: BSD-3-Clause */
/* See settings.h. */
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "check.h"
#include "cleanup.h"
#include "why.h"

#define MIB (UINT64_C(1) << 20)
#define HUGE_BYTES (2 * MIB)
#define HUGE_FOLDER "/sys/kernel/mm/hugepages/hugepages-2048kB/"
#define SHMEM_ENABLED "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
#define NODES "/sys/devices/system/node/has_memory"

#define NODES_MAX 1024
#define NODE_WORDS (NODES_MAX / (8 * sizeof(unsigned long)))

/* A short file's text. False: it is not there. */
static bool read_text(const char *path, char *buf, size_t size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, buf, size - 1);

	buf[got > 0 ? got : 0] = 0;
	return got >= 0;
}

/* ------------------------------------------------------------ huge pages */

static uint64_t huge_number(const char *name)
{
	char path[120], text[32];

	snprintf(path, sizeof(path), HUGE_FOLDER "%s", name);
	return read_text(path, text, sizeof(text)) ? strtoull(text, NULL, 10)
						   : 0;
}

uint64_t settings_huge_free(void)
{
	uint64_t have = huge_number("free_hugepages");
	uint64_t promised = huge_number("resv_hugepages");
	uint64_t over = huge_number("nr_overcommit_hugepages");
	uint64_t taken = huge_number("surplus_hugepages");

	have -= min_u64(have, promised);
	over -= min_u64(over, taken);
	return (have + over) * HUGE_BYTES;
}

/* The word in brackets: "always within_size [advise] never". */
static char *chosen(char *text)
{
	char *word = strchr(text, '[');

	if (!word)
		return text;
	word++;
	word[strcspn(word, "]")] = 0;
	return word;
}

/* What holds for a memfd, and may overrule what a tmpfs says. */
static int check_shmem(bool folder, bool *forced, struct ram_why *why)
{
	char text[128];
	const char *word;

	if (!read_text(SHMEM_ENABLED, text, sizeof(text)))
		return why_set(why, -EOPNOTSUPP,
			       "hugepages=thp: this kernel has no transparent "
			       "huge pages for shared memory (there is "
			       "no " SHMEM_ENABLED "); leave hugepages out");
	word = chosen(text);
	*forced = strcmp(word, "force") == 0;
	if (strcmp(word, "deny") == 0 ||
	    (!folder && strcmp(word, "never") == 0))
		return why_set(why, -EOPNOTSUPP,
			       "hugepages=thp: the kernel is told to use none "
			       "for shared memory (%s); echo advise "
			       ">" SHMEM_ENABLED ", or leave hugepages out",
			       word);
	return 0;
}

/* Whether the options of the mount of this device have huge=, other than
 * never. */
static bool mounted_huge(dev_t dev)
{
	CLEANUP_FREE char *line = NULL;
	FILE *file = fopen("/proc/self/mountinfo", "re");
	unsigned major_, minor_;
	bool huge = false;
	size_t size = 0;
	const char *word;

	while (file && !huge && getline(&line, &size, file) > 0) {
		if (sscanf(line, "%*u %*u %u:%u", &major_, &minor_) != 2 ||
		    makedev(major_, minor_) != dev)
			continue;
		word = strstr(line, "huge=");
		huge = word && strncmp(word, "huge=never", 10) != 0;
	}
	if (file)
		fclose(file);
	return huge;
}

static int folder_thp(const struct backing *b, long type, struct ram_why *why)
{
	struct stat st;
	bool forced;
	int error = check_shmem(true, &forced, why);

	if (error)
		return error;
	if (type != TMPFS_MAGIC || fstat(b->dir, &st) < 0)
		return why_set(why, -EOPNOTSUPP,
			       "%s: hugepages=thp needs a pool folder on a "
			       "tmpfs; take another, or leave hugepages out",
			       b->path);
	if (forced || mounted_huge(st.st_dev))
		return 0;
	return why_set(why, -EOPNOTSUPP,
		       "%s: hugepages=thp: this tmpfs has no huge pages; mount "
		       "it with -o huge=advise, or leave hugepages out",
		       b->path);
}

int settings_folder(const struct backing *b, bool memory_only,
		    struct ram_why *why)
{
	struct statfs fs;

	if (fstatfs(b->dir, &fs) < 0)
		return why_set(why, -errno, "%s: %s", b->path, strerror(errno));
	if (memory_only && fs.f_type != TMPFS_MAGIC &&
	    fs.f_type != HUGETLBFS_MAGIC)
		return why_set(why, -EINVAL,
			       "%s: is not in memory but on a disk: nothing is "
			       "mounted there, or no tmpfs; mount one, take "
			       "another folder, or say any-fs = yes",
			       b->path);
	if (b->thp)
		return folder_thp(b, fs.f_type, why);
	if (b->huge && (fs.f_type != HUGETLBFS_MAGIC ||
			(uint64_t)fs.f_bsize != HUGE_BYTES))
		return why_set(why, -EOPNOTSUPP,
			       "%s: hugepages=2M needs a pool folder on a "
			       "hugetlbfs: mount -t hugetlbfs -o pagesize=2M; "
			       "or leave path or hugepages out",
			       b->path);
	if (!b->huge && fs.f_type == HUGETLBFS_MAGIC)
		return why_set(why, -EINVAL,
			       "%s: is on a hugetlbfs, which has pages of 2 "
			       "MiB; say hugepages=2M, or take a folder on a "
			       "tmpfs",
			       b->path);
	return 0;
}

/* ------------------------------------------------------------------ nodes */

/* "0-1,3" into bits; the text. False: the kernel knows no nodes. */
static bool nodes_read(unsigned long mask[NODE_WORDS], char *text, size_t size)
{
	unsigned long first, last;
	char *at = text;

	memset(mask, 0, NODE_WORDS * sizeof(*mask));
	if (!read_text(NODES, text, size))
		return false;
	text[strcspn(text, "\n")] = 0;
	while (*at >= '0' && *at <= '9') {
		first = last = strtoul(at, &at, 10);
		if (*at == '-')
			last = strtoul(at + 1, &at, 10);
		for (; first <= last && first < NODES_MAX; first++)
			mask[first / (8 * sizeof(*mask))] |=
				1UL << first % (8 * sizeof(*mask));
		at += *at == ',';
	}
	return true;
}

static int numa_mask(const struct ram_pool_config *config,
		     unsigned long mask[NODE_WORDS], struct ram_why *why)
{
	unsigned node = config->numa - 1, bits = 8 * sizeof(*mask);
	char text[256];

	if (!nodes_read(mask, text, sizeof(text)))
		return why_set(
			why, -EOPNOTSUPP,
			"numa: this kernel knows no nodes (there is no " NODES
			"); leave numa out");
	if (config->numa == RAM_NUMA_INTERLEAVE)
		return 0;
	if (node >= NODES_MAX || !(mask[node / bits] >> node % bits & 1))
		return why_set(why, -EINVAL,
			       "numa=%u: there is no such node with memory; "
			       "there are: %s",
			       node, text);
	memset(mask, 0, NODE_WORDS * sizeof(*mask));
	mask[node / bits] = 1UL << node % bits;
	return 0;
}

static int apply_numa(const struct backing *b,
		      const struct ram_pool_config *config, struct ram_why *why)
{
	unsigned long mask[NODE_WORDS];
	int mode = config->numa == RAM_NUMA_INTERLEAVE ? MPOL_INTERLEAVE
						       : MPOL_PREFERRED;
	int error = numa_mask(config, mask, why);

	if (error)
		return error;
	/* Preferred, not bound: the kernel kills who has no other choice. */
	if (syscall(SYS_mbind, b->base, b->blocks << BLOCK_SHIFT, mode, mask,
		    (unsigned long)NODES_MAX, 0U) == 0)
		return 0;
	return why_set(why, errno == ENOSYS ? -EOPNOTSUPP : -errno,
		       "numa: the kernel does not let us choose nodes (%s); "
		       "leave numa out",
		       strerror(errno));
}

/* ------------------------------------------------------------------- lock */

int settings_lock(const void *area, uint64_t len, struct ram_why *why)
{
	char have[40] = "without limit";
	struct rlimit limit;
	int error;

	if (mlock2(area, len, MLOCK_ONFAULT) == 0)
		return 0;
	error = errno;
	if (error == ENOSYS)
		return why_set(why, -EOPNOTSUPP,
			       "lock: this kernel cannot lock memory as it is "
			       "touched (mlock2); leave lock out");
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		snprintf(have, sizeof(have), "%llu KiB",
			 (unsigned long long)limit.rlim_cur / 1024);
	return why_set(why, error == EPERM ? -EPERM : -ENOMEM,
		       "lock: cannot lock %llu MiB of memory (%s; the limit is "
		       "%s): raise it (ulimit -l, LimitMEMLOCK= of the "
		       "service), make the pool smaller, or leave lock out",
		       (unsigned long long)(len / MIB), strerror(error), have);
}

/* ------------------------------------------------------------------- all */

int settings_check(const struct ram_pool_config *config, struct ram_why *why)
{
	unsigned long mask[NODE_WORDS];
	int error = 0;
	bool forced;

	if (config->hugepages == RAM_PAGES_THP && !config->path)
		error = check_shmem(false, &forced, why);
	if (!error && config->numa != RAM_NUMA_ANY)
		error = numa_mask(config, mask, why);
	return error;
}

int settings_apply(const struct backing *b,
		   const struct ram_pool_config *config, struct ram_why *why)
{
	uint64_t bytes = b->blocks << BLOCK_SHIFT;
	int error = 0;

	if (b->thp && madvise(b->base, bytes, MADV_HUGEPAGE) < 0)
		error = why_set(why, -EOPNOTSUPP,
				"hugepages=thp: the kernel gives none (%s); "
				"leave hugepages out",
				strerror(errno));
	if (!error && config->numa != RAM_NUMA_ANY)
		error = apply_numa(b, config, why);
	/* Pages of a hugetlbfs are never swapped. */
	if (!error && b->lock && !b->huge)
		error = settings_lock(b->base, bytes, why);
	return error;
}
