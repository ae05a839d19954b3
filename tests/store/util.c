/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util.h"

/* A wake-up that has not come by then never will. Sanitizers and a loaded
 * machine slow things down a lot. */
#define WAKE_MSEC 30000

/* So many times -EAGAIN for one call means that it makes no progress. A slice
 * of zeroing is at least some blocks, and disks in tests hold little. */
#define TRIES_MAX 100000

static const char *program = "test";
static uint64_t seed;
static double scale = 0.05;
static char part[256];
static unsigned skipped, parts;
static int cleaner = -1; /* the pipe whose end tells the cleaner */

/* ---------------------------------------------------------------- checks */

void test_fail(const char *file, int line, const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fflush(stdout);
	fprintf(stderr,
		"%s:%d: FAILED: %s\n"
		"  in: %s\n"
		"  again: NBDRAM_TEST_SEED=%llu NBDRAM_TEST_SCALE=%g %s\n",
		file, line, text, part[0] ? part : "-",
		(unsigned long long)seed, scale, program);
	fflush(stderr);
	/* Not exit(): other threads may be at work, and this may be a child. */
	if (getenv("NBDRAM_TEST_ABORT"))
		abort();
	_exit(1);
}

static const char *errno_name(int64_t rc)
{
	static _Thread_local char text[64];

	if (rc >= 0 || rc < -4095)
		snprintf(text, sizeof(text), "%lld", (long long)rc);
	else
		snprintf(text, sizeof(text), "-%s",
			 strerrorname_np((int)-rc) ? strerrorname_np((int)-rc)
						   : "?");
	return text;
}

void test_check_rc(const char *file, int line, const char *call, int64_t got,
		   int64_t want)
{
	char text[64];

	if (got == want)
		return;
	snprintf(text, sizeof(text), "%s", errno_name(want));
	test_fail(file, line, "%s gave %s, not %s", call, errno_name(got),
		  text);
}

void test_check_u64(const char *file, int line, const char *what, uint64_t got,
		    uint64_t want)
{
	if (got != want)
		test_fail(file, line, "%s is %llu (%#llx), not %llu (%#llx)",
			  what, (unsigned long long)got,
			  (unsigned long long)got, (unsigned long long)want,
			  (unsigned long long)want);
}

void test_check_why(const char *file, int line, const struct ram_why *why,
		    const char *word)
{
	size_t len = strnlen(why->text, sizeof(why->text));

	if (len == 0 || len == sizeof(why->text))
		test_fail(file, line, "a refusal without a reason");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)why->text[i] < 0x20)
			test_fail(file, line,
				  "the reason is not one line of text: %s",
				  why->text);
	if (word && !strstr(why->text, word))
		test_fail(file, line, "no '%s' in the reason: %s", word,
			  why->text);
}

void test_begin(const char *name)
{
	const char *text = getenv("NBDRAM_TEST_SEED");

	program = name;
	if (text && *text)
		seed = strtoull(text, NULL, 0);
	else
		seed = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
	text = getenv("NBDRAM_TEST_SCALE");
	if (text && *text)
		scale = strtod(text, NULL);
	if (!(scale > 0))
		scale = 0.05;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%s: NBDRAM_TEST_SEED=%llu NBDRAM_TEST_SCALE=%g\n", name,
	       (unsigned long long)seed, scale);
}

void test_part(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(part, sizeof(part), format, args);
	va_end(args);
	parts++;
	printf("%s: %s\n", program, part);
}

void test_skip_part(const char *why)
{
	skipped++;
	printf("%s: skipped: %s (%s)\n", program, part, why);
}

int test_end(void)
{
	printf("%s: passed, %u of %u parts skipped\n", program, skipped, parts);
	/* 77 is automake's "skipped": only when nothing at all was tested. */
	return parts && skipped == parts ? 77 : 0;
}

uint64_t test_count(uint64_t full, uint64_t least)
{
	uint64_t count = (uint64_t)((double)full * scale);

	return max_u64(count, least);
}

uint64_t test_seed(void)
{
	return seed;
}

uint64_t test_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

bool test_slowed(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return true;
#endif
#endif
	return getenv("NBDRAM_VALGRIND") != NULL;
}

/* ---------------------------------------------------------------- random */

struct rng rng_make(uint64_t stream)
{
	struct rng rng = {seed ^ stream * UINT64_C(0xd1342543de82ef95)};

	rng_next(&rng);
	return rng;
}

/* splitmix64 */
uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
	return rng_next(rng) % bound;
}

bool rng_chance(struct rng *rng, unsigned percent)
{
	return rng_below(rng, 100) < percent;
}

void rng_fill(struct rng *rng, void *buf, size_t len)
{
	uint8_t *at = buf;

	for (; len >= 8; len -= 8, at += 8) {
		uint64_t word = rng_next(rng);

		memcpy(at, &word, 8);
	}
	if (len) {
		uint64_t word = rng_next(rng);

		memcpy(at, &word, len);
	}
}

void fill_pattern(void *buf, size_t len, uint64_t key)
{
	struct rng rng = {key};

	rng_fill(&rng, buf, len);
}

/* --------------------------------------------------------------- folders */

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

void test_remove(const char *folder)
{
	nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A process that outlives this one, however it ends, and then removes the
 * folder: a killed test must not leave gigabytes in memory. */
static void cleaner_start(const char *folder)
{
	int ends[2], null;
	char byte;

	if (pipe2(ends, O_CLOEXEC) != 0)
		FAIL("pipe2: %m");
	switch (fork()) {
	case -1:
		FAIL("fork: %m");
	case 0:
		break;
	default:
		close(ends[0]);
		cleaner = ends[1];
		return;
	}
	close(ends[1]);
	setsid();
	/* Nobody may wait for us because of an inherited pipe. */
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	while (read(ends[0], &byte, 1) == -1 && errno == EINTR)
		;
	test_remove(folder);
	_exit(0);
}

char *test_folder(void)
{
	static char *root;
	static unsigned serial;
	static pid_t owner;
	char *folder;

	if (!root || owner != getpid()) {
		const char *base = getenv("NBDRAM_TEST_TMPFS");

		if (asprintf(&root, "%s/nbdram-test-XXXXXX",
			     base && *base ? base : "/dev/shm") < 0 ||
		    !mkdtemp(root))
			FAIL("mkdtemp %s: %m", root);
		owner = getpid();
		cleaner_start(root);
	}
	if (asprintf(&folder, "%s/%u", root, serial++) < 0 ||
	    mkdir(folder, 0700) != 0)
		FAIL("mkdir %s: %m", folder);
	return folder;
}

char *test_pool_file(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char *found = NULL;

	if (!dir)
		FAIL("opendir %s: %m", folder);
	while ((entry = readdir(dir))) {
		uint64_t magic = 0;
		char *path;
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
			FAIL("no memory");
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && pread(fd, &magic, 8, 0) == 8 &&
		    magic == SUPER_MAGIC) {
			if (found)
				FAIL("two pool files: %s, %s", found, path);
			found = path;
		} else {
			free(path);
		}
		if (fd >= 0)
			close(fd);
	}
	closedir(dir);
	return found;
}

/* ------------------------------------------------------------------ pool */

void env_open(struct env *env, const char *path, uint64_t size, uint64_t warm)
{
	struct ram_pool_config config = {
		.size = size,
		.warm = warm,
		.path = path,
	};
	struct ram_why why = {""};
	int rc;

	memset(env, 0, sizeof(*env));
	rc = ram_pool_open(&config, &env->pool, &why);
	if (rc)
		FAIL("ram_pool_open(%s) gave %s: %s", path ? path : "memory",
		     errno_name(rc), why.text);
	CHECK_RC(ram_pool_join(env->pool, NULL, NULL, &env->thread), 0);
}

void env_keeper(struct env *env)
{
	CHECK_RC(ram_pool_start(env->pool), 0);
	env->keeper = true;
}

void env_close(struct env *env)
{
	ram_pool_leave(env->thread);
	ram_pool_close(env->pool);
	memset(env, 0, sizeof(*env));
}

void env_check(struct env *env)
{
	struct ram_why why = {""};
	int rc = ram_pool_check(env->pool, &why);

	if (rc)
		FAIL("ram_pool_check gave %s: %s", errno_name(rc), why.text);
}

struct ram_usage env_usage(struct env *env)
{
	struct ram_usage usage;

	memset(&usage, 0xff, sizeof(usage));
	ram_pool_usage(env->pool, &usage);
	return usage;
}

void env_again(struct env *env, unsigned *tries)
{
	int rc;

	if (++*tries > TRIES_MAX)
		FAIL("-EAGAIN %u times in a row", *tries);
	if (env->starved)
		env->starved(env->arg);
	if (!env->keeper)
		ram_pool_tidy(env->pool);
	rc = ram_wait(env->thread, WAKE_MSEC);
	if (rc)
		FAIL("after -EAGAIN ram_wait gave %s", errno_name(rc));
}

int env_read(struct env *env, struct ram_disk *disk, void *buf, uint64_t len,
	     uint64_t off)
{
	unsigned tries = 0;

	do {
		int64_t n = ram_disk_read(disk, env->thread, buf, len, off);

		if (n == -EAGAIN) {
			env_again(env, &tries);
			continue;
		}
		if (n < 0)
			return (int)n;
		if ((uint64_t)n > len || (n == 0 && len))
			FAIL("read of %llu gave %lld", (unsigned long long)len,
			     (long long)n);
		tries = 0;
		buf = (char *)buf + n;
		len -= (uint64_t)n;
		off += (uint64_t)n;
	} while (len);
	return 0;
}

int env_write(struct env *env, struct ram_disk *disk, const void *buf,
	      uint64_t len, uint64_t off, uint64_t *done)
{
	unsigned tries = 0;

	if (done)
		*done = 0;
	do {
		int64_t n = ram_disk_write(disk, env->thread, buf, len, off);

		if (n == -EAGAIN) {
			env_again(env, &tries);
			continue;
		}
		if (n < 0)
			return (int)n;
		if ((uint64_t)n > len || (n == 0 && len) ||
		    (uint64_t)n > RAM_PIECE)
			FAIL("write of %llu gave %lld", (unsigned long long)len,
			     (long long)n);
		tries = 0;
		buf = (const char *)buf + n;
		len -= (uint64_t)n;
		off += (uint64_t)n;
		if (done)
			*done += (uint64_t)n;
	} while (len);
	return 0;
}

int env_zero(struct env *env, struct ram_disk *disk, uint64_t len, uint64_t off,
	     unsigned flags)
{
	uint64_t cursor = 0;
	unsigned tries = 0;
	int rc;

	while ((rc = ram_disk_zero(disk, env->thread, len, off, flags,
				   &cursor)) == -EAGAIN)
		env_again(env, &tries);
	return rc;
}

int env_view(struct env *env, struct ram_disk *disk, uint64_t len, uint64_t off,
	     struct ram_view *view)
{
	unsigned tries = 0;
	int rc;

	while ((rc = ram_disk_view(disk, env->thread, len, off, view)) ==
	       -EAGAIN)
		env_again(env, &tries);
	return rc;
}

int env_stage(struct env *env, struct ram_disk *disk, uint64_t len,
	      uint64_t off, struct ram_view *view)
{
	unsigned tries = 0;
	int rc;

	while ((rc = ram_disk_stage(disk, env->thread, len, off, RAM_LAST,
				    view)) == -EAGAIN)
		env_again(env, &tries);
	return rc;
}

int env_publish(struct env *env, struct ram_view *view)
{
	unsigned tries = 0;
	int rc;

	while ((rc = ram_view_publish(view)) == -EAGAIN)
		env_again(env, &tries);
	return rc;
}

int env_extent(struct env *env, struct ram_disk *disk, struct ram_disk *base,
	       uint64_t len, uint64_t off, unsigned flags,
	       struct ram_extent *extent)
{
	unsigned tries = 0;
	int rc;

	memset(extent, 0xff, sizeof(*extent));
	while ((rc = ram_disk_extent(disk, env->thread, base, len, off, flags,
				     extent)) == -EAGAIN)
		env_again(env, &tries);
	if (rc == 0 && (extent->len == 0 || extent->len > len))
		FAIL("extent of %llu at %#llx is %llu long",
		     (unsigned long long)len, (unsigned long long)off,
		     (unsigned long long)extent->len);
	return rc;
}

int env_info(struct env *env, struct ram_disk *disk, unsigned flags,
	     struct ram_disk_info *info)
{
	unsigned tries = 0;
	int rc;

	memset(info, 0xff, sizeof(*info));
	while ((rc = ram_disk_info(disk, env->thread, flags, info)) == -EAGAIN)
		env_again(env, &tries);
	return rc;
}

void view_fill(const struct ram_view *view, const void *buf)
{
	const uint8_t *from = buf;
	uint64_t len = 0;

	if (view->count == 0 || view->count > RAM_VIEW_MAX)
		FAIL("a stage of %u pieces", view->count);
	for (unsigned i = 0; i < view->count; i++) {
		memcpy(view->iov[i].iov_base, from + len, view->iov[i].iov_len);
		len += view->iov[i].iov_len;
	}
	CHECK_U64(len, view->len);
}

static struct ram_disk *create(struct env *env, const char *name, uint64_t size,
			       bool fixed)
{
	struct ram_disk_spec spec = {
		.name = name,
		.size = size,
		.fixed = fixed,
		.state = RAM_WHOLE,
	};
	struct ram_disk *disk = NULL;

	CHECK_RC(ram_disk_create(env->pool, &spec, &disk), 0);
	return disk;
}

struct ram_disk *env_create(struct env *env, const char *name, uint64_t size)
{
	return create(env, name, size, false);
}

struct ram_disk *env_create_fixed(struct env *env, const char *name,
				  uint64_t size)
{
	return create(env, name, size, true);
}

struct ram_disk *env_clone(struct ram_disk *src, const char *name,
			   unsigned flags)
{
	struct ram_disk_spec spec = {.name = name, .state = RAM_WHOLE};
	struct ram_disk *disk = NULL;

	CHECK_RC(ram_disk_clone(src, &spec, flags, &disk), 0);
	return disk;
}

struct ram_disk *env_disk(struct env *env, const char *name)
{
	struct ram_disk *disk = NULL;

	CHECK_RC(ram_disk_open(env->pool, name, &disk), 0);
	return disk;
}

void env_delete(struct ram_disk *disk)
{
	CHECK_RC(ram_disk_delete(disk), 0);
	ram_disk_put(disk);
}
