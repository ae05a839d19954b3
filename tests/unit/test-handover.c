/* SPDX-License-Identifier: BSD-3-Clause */
/* What one nbdramd leaves to the next arrives as it was sent; anything else is
 * refused, and no descriptor stays open. */
#include "unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handover.h"

static int ends[2];

static int begin(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int end(void **state)
{
	(void)state;
	close(ends[0]);
	return close(ends[1]);
}

static unsigned descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static void fill(struct handover *h, unsigned sockets)
{
	struct unix_socket tcp = {.fd = 0};
	struct unix_socket at = {.fd = 1,
				 .path = (char *)"/some\npath",
				 .device = 42,
				 .inode = UINT64_C(1) << 60};
	unsigned i;

	handover_init(h);
	for (i = 0; i < sockets; i++)
		assert_int_equal(handover_add(h, i % 2 ? &at : &tcp,
					      i % 3 ? "a text" : NULL),
				 0);
	assert_int_equal(handover_control(h, &at), 0);
	assert_int_equal(handover_pool(h, 2, "/a/pool"), 0);
}

static void arrives(void **state)
{
	static const unsigned counts[] = {0, 1, 6, HANDOVER_MOST - 2};
	unsigned before = descriptors(), i, k;
	struct handover from, to;

	(void)state;
	for (k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
		fill(&from, counts[k]);
		assert_int_equal(handover_send(&from, ends[0]), 0);
		assert_int_equal(handover_receive(&to, ends[1]), 0);
		assert_int_equal(to.count, counts[k]);
		for (i = 0; i < to.count; i++) {
			const struct handed_socket *one = &to.listeners[i];

			assert_true(same_file(one->socket.fd, i % 2));
			assert_true((fcntl(one->socket.fd, F_GETFD) &
				     FD_CLOEXEC) != 0);
			if (i % 3)
				assert_string_equal(one->text, "a text");
			else
				assert_null(one->text);
			if (i % 2) {
				assert_string_equal(one->socket.path,
						    "/some\npath");
				assert_int_equal(one->socket.device, 42);
				assert_true(one->socket.inode == UINT64_C(1)
									 << 60);
			} else {
				assert_null(one->socket.path);
			}
		}
		assert_string_equal(to.control.path, "/some\npath");
		assert_string_equal(to.pool_path, "/a/pool");
		assert_true(same_file(to.pool, 2));
		handover_free(&from);
		handover_free(&to);
	}
	assert_int_equal(descriptors(), before);
}

static void too_many(void **state)
{
	struct handover h;

	(void)state;
	fill(&h, HANDOVER_MOST - 1);
	assert_int_equal(handover_send(&h, ends[0]), -E2BIG);
	handover_free(&h);
}

/* A message with so many descriptors. */
static void send_raw(const char *text, size_t len, unsigned fds)
{
	union {
		char bytes[CMSG_SPACE(8 * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {(char *)text, len};
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};
	int list[8] = {0, 1, 2, 0, 1, 2, 0, 1};
	struct cmsghdr *c;

	if (fds > 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		c = CMSG_FIRSTHDR(&header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds * sizeof(int));
		memcpy(CMSG_DATA(c), list, fds * sizeof(int));
	}
	assert_true(sendmsg(ends[0], &header, 0) == (ssize_t)len);
}

static void refuse(const char *text, size_t len, unsigned fds)
{
	struct handover h;

	send_raw(text, len, fds);
	assert_int_equal(handover_receive(&h, ends[1]), -EPROTO);
	assert_int_equal(h.count, 0);
	assert_int_equal(h.pool, -1);
}

#define FORM "nbdram-handover-1\0"
#define POOL           \
	"pool\0\0/a\0" \
	"0\0"          \
	"0\0"
#define ONE               \
	"listener\0t\0\0" \
	"0\0"             \
	"0\0"
#define CONTROL           \
	"control\0\0/c\0" \
	"1\0"             \
	"1\0"

static void wrong(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		unsigned fds;
	} cases[] = {
#define CASE(text, fds) {text, sizeof(text) - 1, fds}
		CASE("x", 0),
		CASE("\0", 1),
		CASE("nbdram-handover-2\0" POOL, 1),
		CASE(FORM, 0),
		CASE(FORM, 3),
		CASE(FORM POOL, 0),
		CASE(FORM POOL, 2),
		CASE(FORM POOL POOL, 2),
		CASE(FORM ONE, 1),
		CASE(FORM ONE POOL, 1),
		CASE(FORM CONTROL CONTROL POOL, 3),
		CASE(FORM "else\0\0\0"
			  "0\0"
			  "0\0" POOL,
		     2),
		CASE(FORM "pool\0\0/a\0"
			  "0\0",
		     1),
		CASE(FORM "pool\0", 1),
		CASE(FORM "pool", 1),
	};
	unsigned before = descriptors(), i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		refuse(cases[i].text, cases[i].len, cases[i].fds);
	assert_int_equal(descriptors(), before);
}

/* Any byte of a good message may be another: it is taken or refused. */
static void flips(void **state)
{
	static const char good[] = FORM ONE CONTROL ONE POOL;
	unsigned before = descriptors();
	char text[sizeof(good) - 1];
	struct handover h;
	size_t i, bit;

	(void)state;
	for (i = 0; i < sizeof(text); i++) {
		for (bit = 0; bit < 8; bit++) {
			memcpy(text, good, sizeof(text));
			text[i] ^= 1 << bit;
			send_raw(text, sizeof(text), 4);
			if (handover_receive(&h, ends[1]) == 0)
				assert_true(h.pool >= 0 && h.count <= 4);
			handover_free(&h);
		}
	}
	for (i = 1; i < sizeof(text); i++) {
		send_raw(good, i, 4);
		assert_int_equal(handover_receive(&h, ends[1]), -EPROTO);
	}
	assert_int_equal(descriptors(), before);
}

/* The other has gone. */
static void gone(void **state)
{
	struct handover h;

	(void)state;
	shutdown(ends[0], SHUT_RDWR);
	assert_int_equal(handover_receive(&h, ends[1]), -EPROTO);
	fill(&h, 1);
	assert_int_equal(handover_send(&h, ends[0]), -EPIPE);
	handover_free(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(arrives, begin, end),
		cmocka_unit_test_setup_teardown(too_many, begin, end),
		cmocka_unit_test_setup_teardown(wrong, begin, end),
		cmocka_unit_test_setup_teardown(flips, begin, end),
		cmocka_unit_test_setup_teardown(gone, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
