/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of access: what they are, and whom they fit. */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "access.h"

static struct identity of_address(const char *text)
{
	struct identity who = {.uid = 1000};

	if (inet_pton(AF_INET6, text, who.address.byte) != 1) {
		memset(who.address.byte + 10, 0xff, 2);
		assert_int_equal(
			inet_pton(AF_INET, text, who.address.byte + 12), 1);
	}
	return who;
}

static enum access ask(const char *rules, const struct identity *who)
{
	struct access_list *list = NULL;
	enum access access;
	char wrong[200] = "";

	if (access_parse(rules, &list, wrong, sizeof(wrong)))
		fail_msg("%s: %s", rules, wrong);
	access = access_of(list, who);
	access_free(list);
	return access;
}

static void expect(const char *rules, const char *address, enum access access)
{
	struct identity who = of_address(address);

	if (ask(rules, &who) != access)
		fail_msg("%s, %s", rules, address);
}

static void networks(void **state)
{
	(void)state;
	expect("10.0.0.7", "10.0.0.7", ACCESS_WRITE);
	expect("10.0.0.7", "10.0.0.6", ACCESS_NONE);
	expect("10.0.0.0/8", "10.255.0.1", ACCESS_WRITE);
	expect("10.0.0.0/8", "11.0.0.0", ACCESS_NONE);
	expect("10.0.0.0/9", "10.127.255.255", ACCESS_WRITE);
	expect("10.0.0.0/9", "10.128.0.0", ACCESS_NONE);
	expect("10.0.0.4/30", "10.0.0.7", ACCESS_WRITE);
	expect("10.0.0.4/30", "10.0.0.8", ACCESS_NONE);
	expect("0.0.0.0/0", "1.2.3.4", ACCESS_WRITE);
	expect("0.0.0.0/0", "::1", ACCESS_NONE);
	expect("::/0", "::1", ACCESS_WRITE);
	expect("::/0", "1.2.3.4", ACCESS_NONE);
	expect("fd00::/8", "fdff::1", ACCESS_WRITE);
	expect("fd00::/8", "fe80::1", ACCESS_NONE);
	/* IPv4 in the clothes of IPv6, on either side. */
	expect("::ffff:10.0.0.0/104", "10.1.2.3", ACCESS_WRITE);
	expect("::ffff:10.0.0.7", "10.0.0.7", ACCESS_WRITE);
	expect("10.0.0.0/8", "::ffff:10.1.2.3", ACCESS_WRITE);
	expect("::ffff:0.0.0.0/96", "10.1.2.3", ACCESS_WRITE);
	expect("::ffff:0.0.0.0/96", "::1", ACCESS_NONE);
	expect("any", "::1", ACCESS_WRITE);
	expect("uid:1000", "::1", ACCESS_NONE);
}

static void best(void **state)
{
	(void)state;
	expect("10.0.0.0/8 ro", "10.0.0.1", ACCESS_READ);
	expect("10.0.0.0/8 ro, 10.0.0.1", "10.0.0.1", ACCESS_WRITE);
	expect("10.0.0.1 rw,10.0.0.0/8 ro", "10.0.0.1", ACCESS_WRITE);
	expect("10.0.0.1 rw , 10.0.0.0/8   ro", "10.0.0.2", ACCESS_READ);
	expect("any\tro", "10.0.0.2", ACCESS_READ);
}

static enum access by_name(const char *rules, const char *a, const char *b)
{
	char *names[] = {(char *)a, (char *)b};
	struct identity who = {.names = names, .name_count = b ? 2 : 1};

	return ask(rules, &who);
}

static void names(void **state)
{
	struct identity local = {.local = true, .uid = 7};

	(void)state;
	assert_int_equal(by_name("cert:a", "cert:a", NULL), ACCESS_WRITE);
	assert_int_equal(by_name("cert:a", "cert:ab", NULL), ACCESS_NONE);
	assert_int_equal(by_name("cert:a", "psk:a", NULL), ACCESS_NONE);
	assert_int_equal(by_name("cert:a", "cert:b", "cert:a"), ACCESS_WRITE);
	assert_int_equal(by_name("psk:*", "psk:anybody", NULL), ACCESS_WRITE);
	assert_int_equal(by_name("psk:*", "cert:psk:a", NULL), ACCESS_NONE);
	assert_int_equal(by_name("cert:*a*b", "cert:xaxxaxb", NULL),
			 ACCESS_WRITE);
	assert_int_equal(by_name("cert:*a*b", "cert:xbxa", NULL), ACCESS_NONE);
	assert_int_equal(by_name("cert:host-* ro", "cert:host-", NULL),
			 ACCESS_READ);
	assert_int_equal(by_name("cert:a ro", "cert:a", NULL), ACCESS_READ);
	/* Blanks are letters. */
	assert_int_equal(by_name("cert:a b", "cert:a b", NULL), ACCESS_WRITE);
	assert_int_equal(ask("uid:7", &local), ACCESS_WRITE);
	assert_int_equal(ask("uid:8", &local), ACCESS_NONE);
	/* No address is behind a Unix socket. */
	assert_int_equal(ask("::/0,0.0.0.0/0", &local), ACCESS_NONE);
	assert_int_equal(ask("any ro", &local), ACCESS_READ);
	assert_int_equal(access_of(NULL, &local), ACCESS_WRITE);
	struct access_list *none = access_nobody();
	assert_int_equal(access_of(none, &local), ACCESS_NONE);
	access_free(none);
}

static void wrong(void **state)
{
	static const char *const rules[] = {
		"",
		",",
		"any,",
		"10.0.0.0/33",
		"10.1.0.0/8",
		"::1/129",
		"fd00::1/64",
		"cert:",
		"uid:x",
		"uid:",
		"nobody",
		"10.0.0.0/",
		"10.0.0.0/1x",
		"10.0.0.1 wr",
		"cert: ro, x",
		"uid:4294967295",
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		*text = 0;
		assert_int_equal(
			access_parse(rules[i], NULL, text, sizeof(text)),
			-EINVAL);
		assert_true(*text);
	}
}

/* A rule for whoever made something lets that one in and nobody else. */
static void owners(void **state)
{
	static const char *const none[] = {
		"cert:alice rw", "cert:alice ro", "psk:bob\trw", "any",
		"cert:a*",	 "cert:a,any",	  "cert:\\x41"};
	char *rule;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		rule = NULL;
		if (access_of_owner(none[i], &rule) != -EINVAL)
			fail_msg("%s becomes %s", none[i], rule);
	}
	assert_int_equal(access_of_owner("cert:Max Muster", &rule), 0);
	assert_string_equal(rule, "cert:Max Muster");
	free(rule);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners), cmocka_unit_test(networks),
		cmocka_unit_test(best),	  cmocka_unit_test(names),
		cmocka_unit_test(wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
