/* SPDX-License-Identifier: BSD-3-Clause */
/* config_load(): what comes later replaces what came before, key by key; all
 * mistakes are told, and how many there may be is bounded. */
#include "unit/conf.h"

#include <sys/stat.h>

#include "check.h"
#include "config-keys.h"

/* A folder with nbdram.conf and conf.d in it. */
static char folder[] = "/tmp/nbdram-unit-XXXXXX";
static char main_file[64];

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void take_away(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
}

static int make_folder(void **state)
{
	char path[64];

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/conf.d", folder);
	snprintf(main_file, sizeof(main_file), "%s/nbdram.conf", folder);
	return mkdir(path, 0700);
}

static int remove_folder(void **state)
{
	(void)state;
	take_away("nbdram.conf");
	take_away("conf.d/10-a.conf");
	take_away("conf.d/9-b.conf");
	take_away("conf.d/.hidden.conf");
	take_away("conf.d/other");
	take_away("conf.d/.conf");
	rmdir(strcat(strcpy((char[64]){0}, folder), "/conf.d"));
	return rmdir(folder);
}

/* The main file, conf.d and the words that follow, in pairs of option and
 * text. */
static int load(struct config *config, struct config_errors *errors,
		const struct config_word *words, unsigned count)
{
	struct config_sources sources = {
		.file = main_file,
		.words = (struct config_word *)words,
		.word_count = count,
	};

	memset(errors, 0, sizeof(*errors));
	return config_load(&sources, config, errors);
}

#define LOAD(config, errors, ...)                                       \
	load(config, errors, (const struct config_word[]){__VA_ARGS__}, \
	     sizeof((const struct config_word[]){__VA_ARGS__}) /        \
		     sizeof(struct config_word))

static void precedence(void **state)
{
	struct config_errors errors;
	struct config c;

	(void)state;
	put("nbdram.conf", "[server]\nworkers = 1\nbusy-poll = 1\n"
			   "max-unfinished = 1\n"
			   "[pool]\nsize = 1G\n"
			   "[export a]\nsize = 1G\nquota = 1M\n"
			   "[export b]\nsize = 1G\n");
	/* Byte by byte, 1 comes before 9. */
	put("conf.d/10-a.conf", "[server]\nworkers = 2\nbusy-poll = 2\n"
				"[export c]\nsize = 4M\nreadonly = yes\n");
	put("conf.d/9-b.conf", "[export a]\nsize = 2G\n"
			       "[server]\nworkers = 3\n"
			       "[export c]\nreadonly = no\n");
	put("conf.d/.hidden.conf", "wrong\n");
	put("conf.d/.conf", "wrong\n");
	put("conf.d/other", "wrong\n");
	assert_int_equal(LOAD(&c, &errors, {'o', "workers=4"},
			      {'e', "a,quota=2M,default"}, {'m', "3G"},
			      {'e', "d,size=1M"}, {'s', "/s"}),
			 0);
	assert_int_equal(c.workers, 4);
	assert_int_equal(c.busy_poll_usec, 2);
	assert_int_equal(c.max_unfinished, 1);
	assert_int_equal(c.handshake_msec, 10000);
	assert_true(c.pool_size == UINT64_C(3) << 30);
	assert_true(c.control_asked);
	assert_string_equal(c.control, "/s");
	assert_int_equal(c.export_count, 4);
	assert_string_equal(c.exports[0].name, "a");
	assert_true(c.exports[0].size == UINT64_C(2) << 30);
	assert_true(c.exports[0].quota == UINT64_C(2) << 20);
	assert_true(c.exports[0].is_default);
	assert_non_null(strstr(c.exports[0].where, "nbdram.conf:7"));
	assert_string_equal(c.exports[2].name, "c");
	assert_true(c.exports[2].size == UINT64_C(4) << 20);
	assert_false(c.exports[2].readonly);
	assert_non_null(strstr(c.exports[2].where, "10-a.conf:4"));
	assert_string_equal(c.exports[3].name, "d");
	assert_string_equal(c.exports[3].where, "-e d");
	config_free(&c);
	take_away("conf.d/10-a.conf");
	take_away("conf.d/9-b.conf");
}

static void listen(void **state)
{
	struct config_errors errors;
	struct config c;

	(void)state;
	put("nbdram.conf", "[server]\nlisten = a:1, b:2\n");
	assert_int_equal(LOAD(&c, &errors, {'v', ""}), 0);
	assert_int_equal(c.listen_count, 2);
	config_free(&c);
	put("conf.d/10-a.conf", "[server]\nlisten = c:3\n");
	assert_int_equal(LOAD(&c, &errors, {'v', ""}), 0);
	assert_int_equal(c.listen_count, 1);
	assert_string_equal(c.listen[0], "c:3");
	config_free(&c);
	/* Those of the command line are one list, in place of the files'. */
	assert_int_equal(LOAD(&c, &errors, {'l', "unix:/x,y"},
			      {'o', "listen=d:4, e:5"}, {'l', ":6"}),
			 0);
	assert_int_equal(c.listen_count, 4);
	assert_string_equal(c.listen[0], "unix:/x,y");
	assert_string_equal(c.listen[1], "d:4");
	assert_string_equal(c.listen[2], "e:5");
	assert_string_equal(c.listen[3], ":6");
	config_free(&c);
	take_away("conf.d/10-a.conf");
}

/* One default after all: a later file may take it from an earlier one. */
static void default_moves(void **state)
{
	struct config_errors errors;
	struct config c;

	(void)state;
	put("nbdram.conf", "[export a]\nsize = 1M\ndefault = yes\n");
	put("conf.d/10-a.conf", "[export b]\nsize = 1M\ndefault = yes\n");
	assert_int_equal(LOAD(&c, &errors, {'v', ""}), -EINVAL);
	assert_int_equal(errors.count, 1);
	assert_int_equal(errors.usage, 0);
	assert_non_null(strstr(errors.lines[0], "10-a.conf:1: "));
	assert_non_null(strstr(errors.lines[0], "nbdram.conf:1"));
	config_errors_free(&errors);
	put("conf.d/9-b.conf", "[export a]\ndefault = no\n");
	assert_int_equal(LOAD(&c, &errors, {'v', ""}), 0);
	assert_true(c.exports[1].is_default);
	config_free(&c);
	take_away("conf.d/10-a.conf");
	take_away("conf.d/9-b.conf");
}

/* SIZE is one more export, or one that is there. */
static void size_word(void **state)
{
	struct config_errors errors;
	struct config c;

	(void)state;
	put("nbdram.conf", "[export default]\nsize = 1M\nreadonly = yes\n");
	assert_int_equal(LOAD(&c, &errors, {'S', "2M"}), 0);
	assert_int_equal(c.export_count, 1);
	assert_true(c.exports[0].is_default && c.exports[0].readonly);
	assert_true(c.exports[0].size == UINT64_C(2) << 20);
	config_free(&c);
	assert_int_equal(LOAD(&c, &errors, {'S', "2M"}, {'e', "default"}),
			 -EINVAL);
	assert_int_equal(errors.count, 1);
	assert_int_equal(errors.usage, 1);
	config_errors_free(&errors);
}

/* What goes wrong only when a client comes is told at once. */
static void templates_wrong(void **state)
{
	static const char *const wrong[][2] = {
		{"size = from-name\n", "max-size"},
		{"size = 4M\nquota = 1M\nguarantee = 2M\n",
		 "guarantee is larger"},
		{"quota = 1M\n", "what are its disks?"},
		{"clone = x\nimage = /y\n", "both clone and image"},
		{"clone = x\nformat = ext4\nsize = 1G\n",
		 "both clone and format"},
		{"image = /x\nformat = ext4\nsize = 1G\n",
		 "both image and format"},
		{"clone = x\nlabel = y\n",
		 "label means nothing without format"},
		{"size = 1G\nblock = 4K\n",
		 "block means nothing without format"},
		{"size = 1G\nfiles = /y\n",
		 "files means nothing without format"},
		{"size = 1G\nload = lazy\n",
		 "load means nothing without image"},
		{"size = 1G\nmax-size = 2G\n", "without size = from-name"},
		{"size = 2G\nquota = 1G\nalloc = fixed\n", "quota is smaller"},
		{"allow = foo bar baz\n", "foo bar baz"},
		{"allow = cert:%*, a\n", "is wanted"},
		{"allow = %*/8\n", "is wanted"},
	};
	struct config_errors errors;
	struct config c;
	char text[256];
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "[template a*]\n%s", wrong[i][0]);
		assert_int_not_equal(conf_load(text, &c, &errors), 0);
		assert_int_equal(errors.count, 1);
		assert_non_null(strstr(errors.lines[0], wrong[i][1]));
		config_errors_free(&errors);
	}
}

/* One address twice passes no check and no reload, for the next start would fail. */
static void listen_twice(void **state)
{
	struct config_errors errors;
	struct config c;

	(void)state;
	assert_int_not_equal(
		conf_load("[server]\nlisten = localhost:1, [::]:1, "
			  "localhost:1\n",
			  &c, &errors),
		0);
	assert_int_equal(errors.count, 1);
	assert_non_null(strstr(errors.lines[0], "twice"));
	config_errors_free(&errors);
	/* These are not the same. */
	assert_int_equal(conf_load("[server]\nlisten = localhost:0, "
				   "localhost:0\n",
				   &c, &errors),
			 0);
	config_free(&c);
}

/* A size may be left out: the pool may have the disk. Templates are kept apart
 * from exports, and may have the same names. */
static void templates(void **state)
{
	struct config_errors errors;
	struct config c;

	(void)state;
	assert_int_equal(conf_load("[export a]\n[template a]\nclone = a\n"
				   "[template host-*]\nsize = 1M\n"
				   "expire = 1h\n",
				   &c, &errors),
			 0);
	assert_int_equal(c.export_count, 1);
	assert_true(c.exports[0].size == 0);
	assert_int_equal(c.template_count, 2);
	assert_string_equal(c.templates[1].name, "host-*");
	assert_string_equal(
		config_text_get(&c.templates[1],
				config_key_find(CONFIG_TEMPLATE, "expire")),
		"1h");
	config_free(&c);
}

/* All of them, in order, and where they are. */
static void all_at_once(void **state)
{
	static const char text[] = "a = b\n"
				   "[nothing]\nx = y\n"
				   "[server]\nworkers = x\nwokers = 1\n"
				   "[pool]\nsize = 1\n"
				   "[pool]\n"
				   "[export]\n"
				   "word\n"
				   "[export a;b]\nsize = 1\n"
				   "[export c]\nsize = 0\n"
				   "[export c]\nsiez = 0\n"
				   "[server name]\n";
	static const char *const lines[] = {
		":1: the key \"a\" stands in front of all sections",
		":2: there is no section [nothing]",
		":5: workers = x: a number",
		(":6: there is no key \"wokers\" in [server]; did you mean "
		 "\"workers\"?"),
		":8: size = 1: a size",
		":9: [pool] stands in line 7 already",
		":10: [export] needs a name",
		":11: neither",
		":12: export \"a;b\": there is no ;",
		":15: size = 0: ",
		":16: [export c] stands in line 14 already",
		":17: there is no key \"siez\"",
		":18: [server] takes no name",
	};
	struct config_errors errors;
	struct config c;

	(void)state;
	assert_int_equal(conf_load(text, &c, &errors), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(lines) && i < errors.count; i++) {
		if (!strstr(errors.lines[i], lines[i]))
			fail_msg("%s, and not %s", errors.lines[i], lines[i]);
	}
	assert_int_equal(errors.count, ARRAY_SIZE(lines));
	config_errors_free(&errors);
}

/* A file that is wrong everywhere, or has more than anybody wants. */
static void bounded(void **state)
{
	const size_t size = 1 << 20;
	char *text = malloc(size + 1);
	struct config_errors errors;
	struct config c;
	size_t at;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', size);
	for (at = 1; at < size; at += 2)
		text[at] = '\n';
	assert_int_equal(conf_load_bytes(text, size, &c, &errors), -EINVAL);
	assert_int_equal(errors.count, 100);
	assert_int_equal(errors.count + errors.more, size / 2);
	config_errors_free(&errors);
	/* Too many exports. */
	for (at = 0; at + 16 < size; at += 15)
		sprintf(text + at, "[export %05u]\n", (unsigned)(at / 15));
	assert_int_equal(conf_load_bytes(text, at, &c, &errors), -EINVAL);
	assert_int_equal(errors.count + errors.more, at / 15 - 10000);
	assert_non_null(strstr(errors.lines[0], ":10001: more than 10000"));
	config_errors_free(&errors);
	/* A byte too long. */
	memset(text, '\n', size + 1);
	memcpy(text, "[pool]", 6);
	assert_int_equal(conf_load_bytes(text, size, &c, &errors), 0);
	config_free(&c);
	assert_int_equal(conf_load_bytes(text, size + 1, &c, &errors), -EINVAL);
	assert_int_equal(errors.count, 1);
	assert_non_null(strstr(errors.lines[0], "larger than 1 MiB"));
	config_errors_free(&errors);
	free(text);
}

/* Lines of foreign text neither forge another line nor harm a terminal. */
static void foreign_text(void **state)
{
	struct config_errors errors;
	struct config c;

	(void)state;
	assert_int_equal(conf_load("[server]\nworkers = \xc2\x9b\x31m\xff\n"
				   "gr\xc3\xb6\xc3\x9f\x65 = 1\n[\xff]\n"
				   "[export \xff;]\n",
				   &c, &errors),
			 -EINVAL);
	assert_int_equal(errors.count, 4);
	for (unsigned i = 0; i < errors.count; i++) {
		for (const char *p = errors.lines[i]; *p; p++)
			assert_true(*p >= ' ' && *p < 127);
	}
	config_errors_free(&errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(precedence),
		cmocka_unit_test(listen),
		cmocka_unit_test(default_moves),
		cmocka_unit_test(size_word),
		cmocka_unit_test(templates),
		cmocka_unit_test(templates_wrong),
		cmocka_unit_test(listen_twice),
		cmocka_unit_test(all_at_once),
		cmocka_unit_test(bounded),
		cmocka_unit_test(foreign_text),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
