/* SPDX-License-Identifier: BSD-3-Clause */
/* See options.h. One table of keys drives parsing and --help. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "log.h"
#include "parse.h"
#include "store.h"

enum key_type {
	KEY_SIZE,
	KEY_BOOL,
	KEY_COUNT,
	KEY_MSEC, /* "10s", "500ms" */
	KEY_ALLOC,
	KEY_TEXT,
	KEY_LISTEN,
};

struct key {
	const char *name;
	enum key_type type;
	size_t at; /* in struct options or struct export_options */
	uint64_t least, most;
	const char *help;
};

#define SERVER_KEY(field) offsetof(struct options, field)
#define EXPORT_KEY(field) offsetof(struct export_options, field)

static const struct key server_keys[] = {
	{"listen", KEY_LISTEN, 0, 0, 0, "an address to listen to, as -l"},
	{"workers", KEY_COUNT, SERVER_KEY(workers), 0, 256,
	 "threads that serve; 0: one for each processor"},
	{"max-connections", KEY_COUNT, SERVER_KEY(max_connections), 0, 10000000,
	 "most connections; 0: 20000, or what descriptors allow"},
	{"max-unfinished", KEY_COUNT, SERVER_KEY(max_unfinished), 1, 10000000,
	 "most unfinished handshakes; the oldest gives way"},
	{"max-per-address", KEY_COUNT, SERVER_KEY(max_per_address), 0, 10000000,
	 "most connections from one address; 0: no limit"},
	{"handshake-timeout", KEY_MSEC, SERVER_KEY(handshake_msec), 100,
	 3600000, "time for a client to finish its handshake"},
	{"busy-poll", KEY_COUNT, SERVER_KEY(busy_poll_usec), 0, 1000000,
	 "microseconds that workers look for input before they sleep"},
	{"insecure", KEY_BOOL, SERVER_KEY(insecure), 0, 0,
	 "listen to other addresses than this host's without TLS"},
	{"size", KEY_SIZE, SERVER_KEY(pool_size), RAM_POOL_MIN, RAM_POOL_MAX,
	 "the pool's memory, as -m"},
	{"path", KEY_TEXT, SERVER_KEY(pool_path), 0, 0,
	 "the pool's folder, as -p"},
	{"warm", KEY_SIZE, SERVER_KEY(warm), 0, RAM_POOL_MAX,
	 "free memory kept ready for writers"},
};

static const struct key export_keys[] = {
	{"size", KEY_SIZE, EXPORT_KEY(size), 1, RAM_DISK_MAX,
	 "how large the disk is"},
	{"alloc", KEY_ALLOC, EXPORT_KEY(fixed), 0, 0,
	 "thin: memory as written; fixed: all of it from the start"},
	{"quota", KEY_SIZE, EXPORT_KEY(quota), 1, RAM_DISK_MAX,
	 "most memory that it may have for itself"},
	{"guarantee", KEY_SIZE, EXPORT_KEY(guarantee), 1, RAM_DISK_MAX,
	 "memory that is always there for it"},
	{"readonly", KEY_BOOL, EXPORT_KEY(readonly), 0, 0,
	 "clients may only read"},
	{"default", KEY_BOOL, EXPORT_KEY(is_default), 0, 0,
	 "clients that name no export get this one"},
};

/* --------------------------------------------------------------- values */

static int parse_count(const char *text, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno || *end ? -EINVAL : 0;
}

static int parse_msec(const char *text, uint64_t *value)
{
	char digits[16] = {0};
	size_t n = strspn(text, "0123456789");
	uint64_t unit;

	if (n == 0 || n >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, n);
	if (strcmp(text + n, "ms") == 0)
		unit = 1;
	else if (strcmp(text + n, "s") == 0 || text[n] == 0)
		unit = 1000;
	else if (strcmp(text + n, "m") == 0)
		unit = 60000;
	else
		return -EINVAL;
	if (parse_count(digits, value) || mul_overflows(*value, unit, value))
		return -EINVAL;
	return 0;
}

static int parse_alloc(const char *text, bool *fixed)
{
	if (strcmp(text, "fixed") != 0 && strcmp(text, "thin") != 0)
		return -EINVAL;
	*fixed = strcmp(text, "fixed") == 0;
	return 0;
}

static int add_listen(struct options *o, const char *address)
{
	char **list = realloc(o->listen, (o->listen_count + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	o->listen = list;
	list[o->listen_count] = strdup(address);
	if (!list[o->listen_count])
		return -ENOMEM;
	o->listen_count++;
	return 0;
}

static int set_number(const struct key *key, uint64_t number, void *at)
{
	if (number < key->least || number > key->most)
		return -ERANGE;
	if (key->type == KEY_SIZE)
		*(uint64_t *)at = number;
	else
		*(unsigned *)at = number;
	return 0;
}

static int set_key(struct options *o, const struct key *key, void *base,
		   const char *value)
{
	void *at = (char *)base + key->at;
	uint64_t number;
	int error;

	switch (key->type) {
	case KEY_SIZE:
		error = parse_size(value, &number);
		return error ? error : set_number(key, number, at);
	case KEY_COUNT:
		error = parse_count(value, &number);
		return error ? error : set_number(key, number, at);
	case KEY_MSEC:
		error = parse_msec(value, &number);
		return error ? error : set_number(key, number, at);
	case KEY_BOOL:
		return parse_bool(value, at);
	case KEY_ALLOC:
		return parse_alloc(value, at);
	case KEY_LISTEN:
		return add_listen(o, value);
	case KEY_TEXT:
		free(*(char **)at);
		*(char **)at = strdup(value);
		return *(char **)at ? 0 : -ENOMEM;
	}
	return -EINVAL;
}

static const char *expectation(enum key_type type)
{
	switch (type) {
	case KEY_SIZE:
		return "a size such as 512M or 16G";
	case KEY_BOOL:
		return "yes or no";
	case KEY_COUNT:
		return "a number";
	case KEY_MSEC:
		return "a time such as 10s or 500ms";
	case KEY_ALLOC:
		return "thin or fixed";
	case KEY_TEXT:
	case KEY_LISTEN:
		break;
	}
	return "a text";
}

/* "key=value", or "key" alone for a yes. */
static bool set_pair(struct options *o, const struct key *keys, unsigned count,
		     void *base, const char *where, char *pair)
{
	char *value = strchr(pair, '='), yes[] = "yes";
	unsigned i;
	int error;

	if (value)
		*value++ = 0;
	else
		value = yes;
	for (i = 0; i < count && strcmp(keys[i].name, pair) != 0; i++)
		;
	if (i == count) {
		log_error("%s: there is no key \"%s\"; see --help", where,
			  pair);
		return false;
	}
	error = set_key(o, &keys[i], base, value);
	if (error == -ERANGE)
		log_error("%s: %s=%s is out of range", where, pair, value);
	else if (error)
		log_error("%s: %s=%s: %s is wanted", where, pair, value,
			  expectation(keys[i].type));
	return !error;
}

/* -------------------------------------------------------------- exports */

static struct export_options *new_export(struct options *o, const char *name,
					 size_t len)
{
	struct export_options *list, *e;

	list = realloc(o->exports, (o->export_count + 1) * sizeof(*list));
	if (!list)
		return NULL;
	o->exports = list;
	e = &list[o->export_count];
	memset(e, 0, sizeof(*e));
	e->name = strndup(name, len);
	if (!e->name)
		return NULL;
	o->export_count++;
	return e;
}

static bool name_good(struct options *o, const char *name)
{
	unsigned i;

	if (!*name || strlen(name) > RAM_NAME_MAX) {
		log_error("export \"%.40s\": a name has 1 to %u bytes", name,
			  RAM_NAME_MAX);
		return false;
	}
	if (strchr(name, ';')) {
		log_error("export \"%s\": there is no ; in names, for it "
			  "begins the session in what clients ask for",
			  name);
		return false;
	}
	for (i = 0; i + 1 < o->export_count; i++) {
		if (strcmp(o->exports[i].name, name) == 0) {
			log_error("export \"%s\" is named twice", name);
			return false;
		}
	}
	return true;
}

static bool add_export(struct options *o, char *text)
{
	size_t name_len = strcspn(text, ",");
	char *save = NULL, *pair, *keys = text + name_len;
	struct export_options *e;
	bool good;

	e = new_export(o, text, name_len);
	if (!e) {
		log_error("no memory for an export");
		return false;
	}
	good = name_good(o, e->name);
	for (; (pair = strtok_r(keys, ",", &save)); keys = NULL)
		good = set_pair(o, export_keys, ARRAY_SIZE(export_keys), e,
				"-e", pair) &&
		       good;
	return good;
}

/* SIZE alone: the disk "default". */
static bool add_default(struct options *o, const char *text)
{
	struct export_options *e;
	uint64_t size;

	if (parse_size(text, &size) || size == 0) {
		log_error("\"%s\" is no size for a disk; 512M, 16G and 2T are",
			  text);
		return false;
	}
	e = new_export(o, "default", strlen("default"));
	if (!e) {
		log_error("no memory for an export");
		return false;
	}
	e->size = size;
	e->is_default = true;
	return name_good(o, e->name);
}

/* ----------------------------------------------------------------- help */

static void print_keys(const struct key *keys, unsigned count)
{
	unsigned i;

	for (i = 0; i < count; i++)
		printf("  %-18s %s\n", keys[i].name, keys[i].help);
}

static void print_help(void)
{
	printf("usage: nbdramd [OPTION]... [SIZE]\n"
	       "\n"
	       "Serve RAM disks over NBD. SIZE alone makes the disk "
	       "\"default\", which clients\n"
	       "get that name none, on localhost:10809.\n"
	       "\n"
	       "  -e NAME[,KEY=VALUE]...  an export, see below\n"
	       "  -l ADDRESS      listen to HOST:PORT, [IPV6]:PORT, :PORT or "
	       "unix:PATH\n"
	       "  -m SIZE         the pool's memory (default: what the host "
	       "can "
	       "spare)\n"
	       "  -p FOLDER       keep the pool there, so that it outlives the "
	       "daemon\n"
	       "  -o KEY=VALUE    any of the keys below\n"
	       "      --insecure  let others than this host in without TLS\n"
	       "  -t, --test      look at the options and end\n"
	       "  -v, --verbose   say more\n"
	       "  -h, --help      this\n"
	       "  -V, --version   which release\n"
	       "\nkeys of -e:\n");
	print_keys(export_keys, ARRAY_SIZE(export_keys));
	printf("\nkeys of -o:\n");
	print_keys(server_keys, ARRAY_SIZE(server_keys));
}

/* -------------------------------------------------------------- parsing */

static bool server_pair(struct options *o, const char *name, const char *value)
{
	char pair[4200];

	snprintf(pair, sizeof(pair), "%s=%s", name, value);
	return set_pair(o, server_keys, ARRAY_SIZE(server_keys), o, "-o", pair);
}

static bool finish(struct options *o)
{
	unsigned i, defaults = 0;

	if (o->export_count == 0) {
		log_error("nothing to serve: give a SIZE, as in nbdramd 16G, "
			  "or exports with -e");
		return false;
	}
	for (i = 0; i < o->export_count; i++)
		defaults += o->exports[i].is_default;
	if (defaults > 1) {
		log_error("%u exports are the default; there can be one",
			  defaults);
		return false;
	}
	return true;
}

enum options_result options_parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{"insecure", no_argument, NULL, 'I'},
		{"test", no_argument, NULL, 't'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	bool good = true;
	char *copy;
	int c;

	memset(o, 0, sizeof(*o));
	o->pool_size = o->warm = RAM_DEFAULT;
	o->max_unfinished = 1000;
	o->handshake_msec = 10000;
	while ((c = getopt_long(argc, argv, "e:l:m:p:o:tvhV", longs, NULL)) !=
	       -1) {
		switch (c) {
		case 'e':
			good = add_export(o, optarg) && good;
			break;
		case 'l':
			good = server_pair(o, "listen", optarg) && good;
			break;
		case 'm':
			good = server_pair(o, "size", optarg) && good;
			break;
		case 'p':
			good = server_pair(o, "path", optarg) && good;
			break;
		case 'o':
			copy = strdup(optarg);
			good = copy &&
			       set_pair(o, server_keys, ARRAY_SIZE(server_keys),
					o, "-o", copy) &&
			       good;
			free(copy);
			break;
		case 'I':
			o->insecure = true;
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
		default:
			return OPTIONS_WRONG; /* getopt has said why */
		}
	}
	if (optind < argc)
		good = add_default(o, argv[optind++]) && good;
	if (optind < argc) {
		log_error("\"%s\" is one word too many; see --help",
			  argv[optind]);
		good = false;
	}
	return good && finish(o) ? OPTIONS_RUN : OPTIONS_WRONG;
}

void options_free(struct options *o)
{
	unsigned i;

	for (i = 0; i < o->export_count; i++)
		free(o->exports[i].name);
	for (i = 0; i < o->listen_count; i++)
		free(o->listen[i]);
	free(o->exports);
	free(o->listen);
	free(o->pool_path);
}
