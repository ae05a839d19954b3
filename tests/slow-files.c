/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded ahead of nbdramd by tests of saving and loading: a file system that is slow,
 * one that can share what two files have in common, one that counts what is written,
 * and one that reads when it is told.
 * NBDRAM_TEST_SLOW_MSEC: each write of a whole block and more to a file
 * .tmp takes so long;
 * NBDRAM_TEST_CLONES: FICLONE copies, as if it shared; NBDRAM_TEST_WRITTEN: a file to
 * which the length of each such write is added as a line; NBDRAM_TEST_READS: a fifo, of
 * which each read of a file .img takes one byte before it is done. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void on_write(int fd, size_t len)
{
	const char *slow = getenv("NBDRAM_TEST_SLOW_MSEC");
	const char *written = getenv("NBDRAM_TEST_WRITTEN");
	struct timespec ts = {0};
	char link[64], path[4096] = "";
	int out;

	/* The pool is a file too. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (len < 4096 || readlink(link, path, sizeof(path) - 1) < 0 ||
	    !strstr(path, ".tmp"))
		return;
	if (slow) {
		ts.tv_sec = atol(slow) / 1000;
		ts.tv_nsec = atol(slow) % 1000 * 1000000;
		nanosleep(&ts, NULL);
	}
	out = written ? open(written, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
			     0600)
		      : -1;
	if (out >= 0) {
		dprintf(out, "%zu\n", len);
		close(out);
	}
}

ssize_t write(int fd, const void *buf, size_t len)
{
	on_write(fd, len);
	return syscall(SYS_write, fd, buf, len);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
	on_write(fd, len);
	return syscall(SYS_pwrite64, fd, buf, len, off);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t off)
{
	return pwrite(fd, buf, len, off);
}

static void on_read(int fd)
{
	const char *fifo = getenv("NBDRAM_TEST_READS");
	char link[64], path[4096] = "", byte;
	int in;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!fifo || readlink(link, path, sizeof(path) - 1) < 0 ||
	    !strstr(path, ".img"))
		return;
	in = open(fifo, O_RDONLY | O_CLOEXEC);
	while (in >= 0 && syscall(SYS_read, in, &byte, 1) < 0 && errno == EINTR)
		;
	close(in);
}

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
	on_read(fd);
	return syscall(SYS_pread64, fd, buf, len, off);
}

ssize_t pread64(int fd, void *buf, size_t len, off64_t off)
{
	return pread(fd, buf, len, off);
}

static int copy(int to, int from)
{
	off_t in = 0, out = 0;
	struct stat st;
	ssize_t n;

	if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
		return -1;
	while ((in = lseek(from, in, SEEK_DATA)) >= 0) {
		out = in;
		n = lseek(from, in, SEEK_HOLE) - in;
		n = syscall(SYS_copy_file_range, from, &in, to, &out, n, 0);
		if (n <= 0)
			return -1;
	}
	return errno == ENXIO ? 0 : -1;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	long value;

	va_start(args, request);
	value = va_arg(args, long);
	va_end(args);
	if (request == FICLONE && getenv("NBDRAM_TEST_CLONES"))
		return copy(fd, value);
	return syscall(SYS_ioctl, fd, request, value);
}
