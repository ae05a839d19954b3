/* SPDX-License-Identifier: BSD-3-Clause */
/* What is made of what a server tells: the identity at the end of a description is
 * one only in the very form in which our servers write it. */
#include "unit/unit.h"

#include "terms.h"

#define UUID "01234567-89ab-CDEF-fedc-ba9876543210"

static struct proto_client_terms told;
static struct attach_terms terms;

static void take(const char *description)
{
	memset(&told, 0, sizeof(told));
	strcpy(told.description, description);
	memset(&terms, 0xa5, sizeof(terms));
	attach_terms_take(&terms, &told);
}

static void with_identity(void **state)
{
	(void)state;
	take("RAM disk [uuid=" UUID " gen=18446744073709551615]");
	assert_true(terms.has_identity);
	assert_string_equal(terms.uuid, "01234567-89ab-cdef-fedc-ba9876543210");
	assert_true(terms.gen == UINT64_MAX);
	assert_string_equal(terms.description, "RAM disk");
	take(" [uuid=" UUID " gen=0]");
	assert_true(terms.has_identity);
	assert_string_equal(terms.description, "");
	take("[x] [uuid=" UUID " gen=3] [uuid=" UUID " gen=7]");
	assert_true(terms.gen == 7);
	assert_string_equal(terms.description, "[x] [uuid=" UUID " gen=3]");
}

static void without(void **state)
{
	static const char *const texts[] = {
		"",
		"a disk",
		"[",
		"[uuid=" UUID " gen=1]",
		"x [uuid=" UUID " gen=1] ",
		"x [uuid=" UUID " gen=1",
		"x [uuid=" UUID " gen=]",
		"x [uuid=" UUID " gen=-1]",
		"x [uuid=" UUID " gen= 1]",
		"x [uuid=" UUID " gen=18446744073709551616]",
		"x [uuid=" UUID "  gen=1]",
		"x [uuid=" UUID "0 gen=1]",
		"x [uuid=0123456789ab-CDEF-fedc-ba98765432100123 gen=1]",
		"x [uuid=g1234567-89ab-CDEF-fedc-ba9876543210 gen=1]",
		("x [uuid=" UUID),
		"x [uuid=",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		take(texts[i]);
		assert_false(terms.has_identity);
		assert_true(terms.gen == 0);
		assert_string_equal(terms.uuid, "");
		assert_string_equal(terms.description, texts[i]);
	}
}

static void sizes(void **state)
{
	(void)state;
	memset(&told, 0, sizeof(told));
	told.size = INT64_MAX;
	told.flags = 0x10d;
	told.block_size_told = true;
	told.block_min = 1;
	told.block_preferred = 8192;
	told.payload_max = 1 << 25;
	memset(told.name, 'n', PROTO_NAME_MAX);
	memset(told.description, 'd', PROTO_STRING_MAX - 60);
	strcat(told.description, " [uuid=" UUID " gen=4]");
	attach_terms_take(&terms, &told);
	assert_true(terms.size == INT64_MAX);
	assert_int_equal(terms.flags, 0x10d);
	assert_true(terms.block_size_told);
	assert_int_equal(terms.block_min, 1);
	assert_int_equal(terms.block_preferred, 8192);
	assert_int_equal(terms.payload_max, 1 << 25);
	assert_int_equal(strlen(terms.name), PROTO_NAME_MAX);
	assert_int_equal(strlen(terms.description), PROTO_DESCRIPTION_MAX);
	assert_true(terms.has_identity);
	assert_false(terms.tls);
	/* Half a name would be another. */
	told.name[PROTO_NAME_MAX] = 'n';
	attach_terms_take(&terms, &told);
	assert_string_equal(terms.name, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_identity),
		cmocka_unit_test(without),
		cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
