/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may come back to a session: who has opened it. All ways that lead from this
 * host to itself are one, any other address is another. */
#include "unit/unit.h"

#include <arpa/inet.h>

#include "access.h"
#include "sessions.h"

static struct sessions sessions;

/* "": a Unix socket. */
static struct address address(const char *text)
{
	struct address a = {{0}};

	if (strchr(text, '.') && !strchr(text, ':')) {
		a.byte[10] = a.byte[11] = 0xff;
		assert_int_equal(inet_pton(AF_INET, text, &a.byte[12]), 1);
	} else if (*text) {
		assert_int_equal(inet_pton(AF_INET6, text, a.byte), 1);
	}
	return a;
}

static enum session_answer enter(uint8_t session, uint64_t epoch,
				 const char *from)
{
	const struct proto_session who = {.uuid = {session}, .epoch = epoch};
	const struct address a = address(from);
	enum session_answer answer;
	struct identity client;

	identity_begin(&client, &a, !*from, 1000);
	answer = sessions_enter(&sessions, &who, client.host);
	if (answer == SESSION_TAKEOVER)
		sessions_taken_over(&sessions, &who);
	if (answer == SESSION_IN || answer == SESSION_TAKEOVER)
		sessions_leave(&sessions, &who);
	return answer;
}

static void identities(void **state)
{
	static const char *const local[] = {"127.0.0.1", "127.255.3.4", "::1",
					    "::ffff:127.0.0.1", ""};
	static const char *const other[] = {
		"10.0.0.1", "10.0.0.127",  "128.0.0.1",	 "126.0.0.1",
		"fe80::1",  "2001:db8::1", "::127.0.0.1"};
	unsigned i, k;
	uint64_t epoch;

	(void)state;
	sessions_init(&sessions);
	for (i = 0; i < 5; i++) {
		epoch = 1;
		assert_int_equal(enter(i, epoch, local[i]), SESSION_IN);
		for (k = 0; k < 5; k++) {
			assert_int_equal(enter(i, epoch, local[k]), SESSION_IN);
			assert_int_equal(enter(i, ++epoch, local[k]),
					 SESSION_TAKEOVER);
			assert_int_equal(enter(i, epoch - 1, local[k]),
					 SESSION_OLD);
		}
		for (k = 0; k < 7; k++)
			assert_int_equal(enter(i, epoch + 1, other[k]),
					 SESSION_FOREIGN);
		assert_int_equal(enter(i, epoch, local[0]), SESSION_IN);
	}
	for (i = 0; i < 7; i++) {
		assert_int_equal(enter(10 + i, 5, other[i]), SESSION_IN);
		for (k = 0; k < 7; k++)
			assert_int_equal(enter(10 + i, 5, other[k]),
					 i == k ? SESSION_IN : SESSION_FOREIGN);
		for (k = 0; k < 5; k++)
			assert_int_equal(enter(10 + i, 6, local[k]),
					 SESSION_FOREIGN);
	}
	sessions_destroy(&sessions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
