/* SPDX-License-Identifier: BSD-3-Clause */
/* See options.h. What options mean is for config_load() to say. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "config-keys.h"
#include "log.h"

#define DEFAULT_FILE NBDRAM_SYSCONFDIR "/nbdram/nbdram.conf"

/* ----------------------------------------------------------------- help */

static void print_keys(enum config_section section, const char *heading)
{
	unsigned count, i;
	const struct config_key *keys = config_keys(section, &count);

	printf("\n%s:\n", heading);
	for (i = 0; i < count; i++) {
		printf("  %-18s %s", keys[i].name, keys[i].help);
		if (keys[i].initial)
			printf(" [%s]", keys[i].initial);
		printf("\n");
	}
}

static void print_help(void)
{
	printf("usage: nbdramd [OPTION]... [SIZE]\n"
	       "\n"
	       "Serve RAM disks over NBD. SIZE alone makes the disk "
	       "\"default\", which clients\n"
	       "get that name none, on localhost:10809. Without SIZE and -e "
	       "the configuration\n"
	       "file says what is served:\n" DEFAULT_FILE "\n"
	       "\n"
	       "  -c FILE         the configuration file; conf.d/*.conf beside "
	       "it are read too\n"
	       "  -e NAME[,KEY=VALUE]...  an export, see below\n"
	       "  -l ADDRESS      listen to HOST:PORT, [IPV6]:PORT, :PORT or "
	       "unix:PATH\n"
	       "  -m SIZE         the pool's memory (default: what the host "
	       "can "
	       "spare)\n"
	       "  -p FOLDER       keep the pool there, so that it outlives the "
	       "daemon\n"
	       "  -s PATH         the control socket, for nbdramctl\n"
	       "  -o KEY=VALUE    any key of [server] or [pool] below\n"
	       "      --insecure  let others than this host in without TLS\n"
	       "  -t, --test      look at options and files, and end\n"
	       "  -v, --verbose   say more\n"
	       "  -h, --help      this\n"
	       "  -V, --version   which release\n"
	       "\n"
	       "Keys; behind each, in [], what it is unless set:\n");
	print_keys(CONFIG_SERVER, "keys of -o and [server]");
	print_keys(CONFIG_POOL, "keys of -o and [pool]");
	print_keys(CONFIG_EXPORT, "keys of -e and [export NAME]");
	print_keys(CONFIG_TEMPLATE, "keys of [template PATTERN]");
}

/* -------------------------------------------------------------- parsing */

static bool add_word(struct options *o, char option, const char *text)
{
	struct config_sources *s = &o->sources;
	struct config_word *list =
		realloc(s->words, (s->word_count + 1) * sizeof(*list));

	if (!list) {
		log_error("no memory for the command line");
		return false;
	}
	s->words = list;
	list[s->word_count].option = option;
	list[s->word_count++].text = text;
	return true;
}

/* The options. OPTIONS_RUN: all have been understood so far. */
static enum options_result read_options(struct options *o, int argc,
					char **argv)
{
	static const struct option longs[] = {
		{"insecure", no_argument, NULL, 'I'},
		{"test", no_argument, NULL, 't'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	const char *letters = "c:e:l:m:p:s:o:tvhV";
	int c;

	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->sources.file = optarg;
			o->sources.file_asked = true;
			break;
		case 't':
			o->check_only = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'h':
			print_help();
			return OPTIONS_DONE;
		case 'V':
			printf("nbdramd %s\n", PACKAGE_VERSION);
			return OPTIONS_DONE;
		case '?':
		case ':':
			return OPTIONS_WRONG; /* getopt has said why */
		default:
			if (!add_word(o, c, optarg ? optarg : ""))
				return OPTIONS_FAILED;
		}
	}
	return OPTIONS_RUN;
}

/* Without a word about disks it is the file that has them. */
static bool names_disks(const struct options *o)
{
	unsigned i;

	for (i = 0; i < o->sources.word_count; i++) {
		if (o->sources.words[i].option == 'e' ||
		    o->sources.words[i].option == 'S')
			return true;
	}
	return false;
}

/* Keys of templates that are read and looked at, and not obeyed yet. */
static void warn_templates(const struct config *config)
{
	static const char *const later[] = {"rate", "weight"};
	const struct config_key *key;
	unsigned i, k;

	for (i = 0; i < config->template_count; i++) {
		for (k = 0; k < ARRAY_SIZE(later); k++) {
			key = config_key_find(CONFIG_TEMPLATE, later[k]);
			if (*config_text_get(&config->templates[i], key))
				log_warning("%s: [template] %s is read, but "
					    "not obeyed yet",
					    config->templates[i].where,
					    later[k]);
		}
	}
}

static enum options_result load(struct options *o)
{
	struct config_errors errors = {0};
	unsigned i;

	if (!o->sources.file && !names_disks(o)) {
		if (access(DEFAULT_FILE, F_OK) < 0) {
			log_error("nothing to serve: give a SIZE, as in "
				  "nbdramd 16G, exports with -e, or a file "
				  "with -c; " DEFAULT_FILE " is not there");
			return OPTIONS_WRONG;
		}
		o->sources.file = DEFAULT_FILE;
	}
	if (config_load(&o->sources, &o->config, &errors) == 0) {
		if (!o->check_only)
			warn_templates(&o->config);
		return OPTIONS_RUN;
	}
	for (i = 0; i < errors.count; i++)
		log_text(LOG_ERROR, errors.lines[i]);
	if (errors.more > 0)
		log_error("and %u more mistakes", errors.more);
	i = errors.usage;
	config_errors_free(&errors);
	return i > 0 ? OPTIONS_WRONG : OPTIONS_FAILED;
}

enum options_result options_parse(struct options *o, int argc, char **argv)
{
	enum options_result result;

	memset(o, 0, sizeof(*o));
	result = read_options(o, argc, argv);
	if (result != OPTIONS_RUN)
		return result;
	if (optind < argc && !add_word(o, 'S', argv[optind++]))
		return OPTIONS_FAILED;
	result = load(o);
	if (optind < argc) {
		log_error("\"%s\" is one word too many; see --help",
			  argv[optind]);
		result = OPTIONS_WRONG;
	}
	return result;
}

void options_free(struct options *o)
{
	config_free(&o->config);
	free(o->sources.words);
	memset(o, 0, sizeof(*o));
}
