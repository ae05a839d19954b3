/* SPDX-License-Identifier: BSD-3-Clause */
/* What templates take, and whom it is for: patterns, sizes in names, %* that is
 * nothing but a client's name; owners that stay the same and are nobody else's. */
#include "unit/conf.h"

#include <stdio.h>
#include <stdlib.h>

#include "template.h"

static const char *const cert_17[] = {"cert:17", "cert:host-17.example"};
static const char *const cert_odd[] = {"cert:a, any"};

static struct identity client(const char *const *names, unsigned count)
{
	struct identity who = {
		.names = (char **)names,
		.name_count = count,
		.host = count ? names[0] : "10.0.0.7",
	};

	snprintf(who.text, sizeof(who.text), "%s", who.host);
	memset(who.address.byte + 10, 0xff, 2);
	memcpy(who.address.byte + 12, "\12\0\0\7", 4);
	return who;
}

/* The answer to the name; 0: *t is to be freed. */
static int ask(const char *templates, const char *name,
	       const struct identity *who, struct template_disk *t)
{
	struct config_errors errors;
	struct config config;
	struct ram_why why;
	int result;

	if (conf_load(templates, &config, &errors))
		fail_msg("%s: %s", templates, errors.lines[0]);
	result = template_find(&config, name, who, t, &why);
	config_free(&config);
	return result;
}

static void expect(const char *templates, const char *name,
		   const struct identity *who, int want)
{
	struct template_disk t;
	int result = ask(templates, name, who, &t);

	if (result == 0)
		template_disk_free(&t);
	if (result != want)
		fail_msg("%s, \"%s\": %d, not %d", templates, name, result,
			 want);
}

static void patterns(void **state)
{
	static const char host[] = "[template host-*]\nsize = 1M\n";
	static const char mid[] = "[template a*z]\nsize = 1M\n";
	static const char one[] = "[template one]\nsize = 1M\n";
	struct identity who = client(NULL, 0);
	char name[300];

	(void)state;
	expect(host, "host-1", &who, 0);
	expect(host, "host-a b/\xc3\xa4*", &who, 0);
	expect(host, "host-", &who, -ENOENT);
	expect(host, "Host-1", &who, -ENOENT);
	expect(host, "xhost-1", &who, -ENOENT);
	expect(host, "", &who, -ENOENT);
	expect(host, "host-\n", &who, -ENOENT);
	expect(host, "host-\177", &who, -ENOENT);
	expect(host, "host-;", &who, -ENOENT);
	expect(mid, "abz", &who, 0);
	expect(mid, "azz", &who, 0);
	expect(mid, "az", &who, -ENOENT);
	expect(mid, "abzy", &who, -ENOENT);
	expect(one, "one", &who, 0);
	expect(one, "one1", &who, -ENOENT);
	expect(one, "on", &who, -ENOENT);
	memset(name, 'x', sizeof(name));
	memcpy(name, "host-", 5);
	name[255] = 0;
	expect(host, name, &who, 0);
	name[255] = 'x';
	name[256] = 0;
	expect(host, name, &who, -ENOENT);
}

static void what_it_says(void **state)
{
	struct identity who = client(cert_17, 2);
	struct template_disk t;

	(void)state;
	assert_int_equal(ask("[template b-*]\nsize = 3M\nquota = 2M\n"
			     "guarantee = 1M\nalloc = thin\nreadonly = yes\n"
			     "detect-zeroes = yes\nwriters = many\n"
			     "max-connections = 4\nexpire = 2s\n"
			     "fresh = always\nmax-disks = 5\n"
			     "max-per-identity = 6\nclone = x\n"
			     "allow = cert:%*, any ro\n"
			     "[template b*]\nsize = 1M\n",
			     "b-17", &who, &t),
			 0);
	assert_string_equal(t.o.name, "b-17");
	assert_string_equal(t.pattern, "b-*");
	assert_string_equal(t.owner, "cert:17");
	assert_string_equal(t.o.clone, "x");
	assert_string_equal(t.o.allow, "cert:17, any ro");
	assert_true(t.o.size == 3 << 20 && t.o.quota == 2 << 20);
	assert_true(t.o.guarantee == 1 << 20 && !t.o.fixed);
	assert_true(t.o.readonly && t.o.detect_zeroes && t.o.many_writers);
	assert_int_equal(t.o.max_connections, 4);
	assert_int_equal(t.expire_msec, 2000);
	assert_int_equal(t.max_disks, 5);
	assert_int_equal(t.max_each, 6);
	assert_true(t.fresh && !t.size_in_name);
	template_disk_free(&t);
	/* Unless it says something. */
	assert_int_equal(ask("[template b*]\nsize = 1M\n", "b1", &who, &t), 0);
	assert_true(t.expire_msec == 0 && !t.fresh && !t.o.allow);
	assert_true(t.max_disks > 0 && t.max_each > 0);
	template_disk_free(&t);
}

static void size_in_name(void **state)
{
	static const char text[] =
		"[template t-*]\nsize = from-name\nmax-size = 8M\n";
	static const struct {
		const char *name, *base;
		uint64_t size;
	} good[] = {
		{"t-1@8M", "t-1", 8 << 20},  {"t-1", "t-1", 0},
		{"t-a@b@1K", "t-a@b", 1024}, {"t-1@x", "t-1@x", 0},
		{"t-1@0", "t-1@0", 0},	     {"t-1@", "t-1@", 0},
		{"t-1@-1", "t-1@-1", 0},     {"t-1@8m", "t-1", 8 << 20},
	};
	struct identity who = client(NULL, 0);
	struct template_disk t;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(ask(text, good[i].name, &who, &t), 0);
		assert_string_equal(t.o.name, good[i].base);
		assert_true(t.o.size == good[i].size && t.size_in_name);
		template_disk_free(&t);
	}
	expect(text, "t-1@8388609", &who, -ERANGE);
	expect(text, "t-1@7E", &who, -ERANGE);
	expect(text, "t-@1M", &who, -ENOENT);
	/* "t-1@1" is how t-1 is asked for. */
	expect(text, "t-1@1@2", &who, -ENOENT);
	expect(text, "@1M", &who, -ENOENT);
}

/* A name must not become a rule. */
static void whom(void **state)
{
	static const char allow[] =
		"[template h-*]\nsize = 1M\nallow = cert:%*, psk:%*\n";
	static const char bare[] = "[template h-*]\nsize = 1M\nallow = %*\n";
	static const char own[] = "[template h-%*]\nsize = 1M\n";
	static const char *const wrong[] = {
		"h-18", "h-17,any", "h-any", "h-17 ro", "h- 17",  "h-17, any",
		"h-*",	"h-1*",	    "h-%*",  "h-%",	"h-17\\", "h-cert:17",
	};
	struct identity cert = client(cert_17, 2), odd = client(cert_odd, 1);
	struct identity bare_client = client(NULL, 0);
	struct identity user = {.local = true, .uid = 5, .host = "x"};
	size_t i;

	(void)state;
	strcpy(user.text, "uid:5");
	expect(allow, "h-17", &cert, 0);
	expect(allow, "h-host-17.example", &cert, 0);
	expect(allow, "h-17", &bare_client, -EACCES);
	expect(allow, "h-a, any", &odd, -EACCES);
	expect(own, "h-17", &cert, 0);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		expect(allow, wrong[i], &cert, -EACCES);
		expect(bare, wrong[i], &bare_client, -EACCES);
		expect(own, wrong[i], &bare_client, -EACCES);
		expect(own, wrong[i], &cert, -EACCES);
	}
	expect(bare, "h-10.0.0.7", &bare_client, 0);
	expect(bare, "h-10.0.0.0/8", &bare_client, -EACCES);
	expect(bare, "h-::ffff:10.0.0.7", &bare_client, 0);
	expect(own, "h-10.0.0.7", &bare_client, 0);
	expect(own, "h-10.0.0.7", &cert, -EACCES);
	expect(own, "h-5", &user, 0);
	expect(own, "h-uid:5", &user, -EACCES);
	expect("[template h-*]\nsize = 1M\nallow = uid:%*\n", "h-5", &user, 0);
	expect("[template h-*]\nsize = 1M\nallow = uid:%*\n", "h-6", &user,
	       -EACCES);
}

static void owners(void **state)
{
	static const char *const cut[] = {"cert:x\ny"};
	struct identity who = client(cert_17, 2);
	char buf[IDENTITY_OWNER_MAX], small[7], name[700], *rule;
	const char *names[] = {name};

	(void)state;
	assert_true(identity_owner(&who, buf, sizeof(buf)));
	assert_string_equal(buf, "cert:17");
	assert_false(identity_owner(&who, small, sizeof(small)));
	who = client(cut, 1);
	assert_true(identity_owner(&who, buf, sizeof(buf)));
	assert_string_equal(buf, "cert:x\\x0ay");
	memset(name, 'n', sizeof(name));
	name[699] = 0;
	who = client(names, 1);
	assert_false(identity_owner(&who, buf, sizeof(buf)));

	assert_int_equal(access_of_owner("cert:17", &rule), 0);
	assert_string_equal(rule, "cert:17");
	free(rule);
	assert_int_equal(access_of_owner(OWNER_THIS_HOST, &rule), 0);
	assert_string_equal(rule, "127.0.0.0/8, ::1");
	free(rule);
	assert_int_equal(access_of_owner("cert:a*", &rule), -EINVAL);
	assert_int_equal(access_of_owner("cert:a, any", &rule), -EINVAL);
	assert_int_equal(access_of_owner("cert:a ro", &rule), -EINVAL);
	assert_int_equal(access_of_owner("cert:x\\x0ay", &rule), -EINVAL);
	assert_int_equal(access_of_owner("any", &rule), -EINVAL);
}

static void again(void **state)
{
	struct config_errors errors;
	struct template_disk t;
	struct config config;

	(void)state;
	assert_int_equal(conf_load("[template a-*]\nsize = 1M\n"
				   "allow = cert:%*\nexpire = 5s\n",
				   &config, &errors),
			 0);
	assert_int_equal(template_again(&config, "a-*", "a-17", &t), 0);
	assert_string_equal(t.o.allow, "cert:17");
	assert_int_equal(t.expire_msec, 5000);
	template_disk_free(&t);
	assert_int_equal(template_again(&config, "b-*", "b-17", &t), -ENOENT);
	assert_int_equal(template_again(&config, "a-*", "b-17", &t), -ENOENT);
	assert_int_equal(template_again(&config, "a-*", "a-1, any", &t),
			 -EINVAL);
	config_free(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns),	cmocka_unit_test(what_it_says),
		cmocka_unit_test(size_in_name), cmocka_unit_test(whom),
		cmocka_unit_test(owners),	cmocka_unit_test(again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
