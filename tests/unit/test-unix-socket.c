/* SPDX-License-Identifier: BSD-3-Clause */
/* Many at once who want to listen at the path of a dead socket: one has it, and
 * goes on having it. A folder that somebody keeps locked is no reason to hang. */
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unix-socket.h"

#define THREADS 4

static char folder[64], path[80];
static pthread_barrier_t together;

static int begin(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/nbdram-test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/s", folder);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static int make_socket(struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	strcpy(address->sun_path, path);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void leave_dead_one(void)
{
	struct sockaddr_un address;
	int fd = make_socket(&address);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
	close(fd);
}

static bool answered(void)
{
	struct sockaddr_un address;
	int fd = make_socket(&address);
	int result = connect(fd, (struct sockaddr *)&address, sizeof(address));

	close(fd);
	return result == 0;
}

struct attempt {
	struct unix_socket socket;
	int error;
};

static void *attempt(void *arg)
{
	struct attempt *a = arg;
	struct ram_why why;

	pthread_barrier_wait(&together);
	a->error = unix_socket_listen(&a->socket, path, 0600, &why);
	return NULL;
}

static void rounds(void **state)
{
	const char *scale = getenv("NBDRAM_TEST_SCALE");
	unsigned n = 20000 * (scale ? atof(scale) : 0.05), i, k, in;
	struct attempt a[THREADS];
	pthread_t thread[THREADS];
	struct stat st;

	(void)state;
	pthread_barrier_init(&together, NULL, THREADS);
	for (i = 0; i < n; i++) {
		if (i % 4)
			leave_dead_one();
		for (k = 0; k < THREADS; k++)
			assert_int_equal(pthread_create(&thread[k], NULL,
							attempt, &a[k]),
					 0);
		for (k = 0; k < THREADS; k++)
			pthread_join(thread[k], NULL);
		for (k = in = 0; k < THREADS; k++) {
			if (a[k].error) {
				assert_int_equal(a[k].error, -EADDRINUSE);
				continue;
			}
			in++;
			assert_int_equal(stat(path, &st), 0);
			assert_int_equal(st.st_ino, a[k].socket.inode);
			assert_int_equal(st.st_mode & 0777, 0600);
			assert_true(answered());
			unix_socket_close(&a[k].socket);
		}
		assert_int_equal(in, 1);
		assert_int_equal(stat(path, &st), -1);
	}
	pthread_barrier_destroy(&together);
}

static void locked(void **state)
{
	struct unix_socket u;
	struct ram_why why;
	int fd;

	(void)state;
	leave_dead_one();
	fd = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(unix_socket_listen(&u, path, 0, &why), -EBUSY);
	assert_non_null(strstr(why.text, "lock on the folder"));
	close(fd);
	assert_int_equal(unix_socket_listen(&u, path, 0, &why), 0);
	unix_socket_close(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rounds, begin, end),
		cmocka_unit_test_setup_teardown(locked, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
