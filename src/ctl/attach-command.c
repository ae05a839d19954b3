/* SPDX-License-Identifier: BSD-3-Clause */
/* See attach-command.h. It is the watcher that attaches; what is done with the device then is
 * done here. */
#include "attach-command.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "check.h"
#include "cleanup.h"
#include "control.h"
#include "device.h"
#include "filesystem.h"
#include "nbd.h"
#include "print.h"
#include "table.h"
#include "uri.h"
#include "watch.h"

#define EXIT_USAGE 2
#define SECONDS_MOST 86400u
#define GIVE_UP_MOST 31536000u

struct order {
	struct attach_wish wish;
	const char *format, *mount;
};

/* ------------------------------------------------------------ command line */

enum attach_option {
	OPTION_DEVICE = 256,
	OPTION_CONNECTIONS,
	OPTION_FORMAT,
	OPTION_MOUNT,
	OPTION_READONLY,
	OPTION_TIMEOUT,
	OPTION_GIVE_UP,
};

static const struct option attach_options[] = {
	{"device", required_argument, NULL, OPTION_DEVICE},
	{"connections", required_argument, NULL, OPTION_CONNECTIONS},
	{"format", required_argument, NULL, OPTION_FORMAT},
	{"mount", required_argument, NULL, OPTION_MOUNT},
	{"readonly", no_argument, NULL, OPTION_READONLY},
	{"timeout", required_argument, NULL, OPTION_TIMEOUT},
	{"give-up", required_argument, NULL, OPTION_GIVE_UP},
	{NULL, 0, NULL, 0},
};

static bool read_number(const char *name, const char *text, unsigned least,
			unsigned most, unsigned *number)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && value >= least &&
	    value <= most) {
		*number = value;
		return true;
	}
	complain("--%s %s: is no number from %u to %u", name, text, least,
		 most);
	return false;
}

static bool take_option(struct order *o, int which)
{
	struct attach_wish *w = &o->wish;
	unsigned number;

	switch (which) {
	case OPTION_DEVICE:
		if (attach_device_number(optarg, &w->device) == 0)
			return true;
		complain("--device %s: is no NBD device; write nbd0 or "
			 "/dev/nbd0",
			 optarg);
		return false;
	case OPTION_CONNECTIONS:
		return read_number("connections", optarg, 1,
				   ATTACH_CONNECTIONS_MOST, &w->connections);
	case OPTION_TIMEOUT:
		if (!read_number("timeout", optarg, 0, SECONDS_MOST, &number))
			return false;
		w->timeout = number;
		return true;
	case OPTION_GIVE_UP:
		return read_number("give-up", optarg, 1, GIVE_UP_MOST,
				   &w->give_up);
	case OPTION_FORMAT:
		o->format = optarg;
		return filesystem_name_is_sane(optarg);
	case OPTION_MOUNT:
		o->mount = optarg;
		return true;
	case OPTION_READONLY:
		w->readonly = true;
		return true;
	}
	return false;
}

/* getopt's complaints are not one of our lines. */
static int wrong_option(char **words, int which)
{
	complain("%s: %s; see nbdramctl --help", words[optind - 1],
		 which == ':' ? "something is to follow it" : "no such option");
	return EXIT_USAGE;
}

static bool is_full(const char *path)
{
	return !path || *path == '/';
}

static bool take_uri(struct order *o, const char *uri)
{
	struct attach_uri parts;
	struct attach_why why;

	if (strlen(uri) > ATTACH_URI_MOST) {
		complain("the URI is too long");
		return false;
	}
	if (attach_uri_read(uri, &parts, &why)) {
		complain("%s", why.text);
		return false;
	}
	if (!is_full(parts.socket) || !is_full(parts.certificates) ||
	    !is_full(parts.psk_file)) {
		complain("the URI has a path that does not begin with /: the "
			 "watcher is in another folder");
		attach_uri_free(&parts);
		return false;
	}
	attach_uri_free(&parts);
	snprintf(o->wish.uri, sizeof(o->wish.uri), "%s", uri);
	return true;
}

static bool read_attach(struct order *o, int argc, char **argv)
{
	struct attach_record *fresh = malloc(sizeof(*fresh));
	int which;

	if (!fresh)
		return false;
	attach_record_clear(fresh);
	o->wish = fresh->wish;
	free(fresh);
	opterr = 0;
	while ((which = getopt_long(argc, argv, ":", attach_options, NULL)) !=
	       -1) {
		if (which == '?' || which == ':') {
			wrong_option(argv, which);
			return false;
		}
		if (!take_option(o, which))
			return false;
	}
	if (optind + 1 != argc) {
		complain(optind == argc ? "attach: which disk? Its URI is "
					  "missing"
					: "attach: one URI at a time");
		return false;
	}
	if (o->format && o->wish.readonly) {
		complain("--format writes, and --readonly does not let it");
		return false;
	}
	return take_uri(o, argv[optind]);
}

/* getopt wants a name in front; and may change the order of words. */
static char **with_name(int argc, char **argv)
{
	char **words = calloc(argc + 2, sizeof(*words));

	if (!words) {
		complain("no memory");
		return NULL;
	}
	words[0] = (char *)"nbdramctl";
	if (argc > 0)
		memcpy(words + 1, argv, argc * sizeof(*words));
	return words;
}

/* --------------------------------------------------------------- results */

static void put_record(struct control_writer *out,
		       const struct attach_record *r)
{
	char device[32] = "";

	if (r->index >= 0)
		snprintf(device, sizeof(device), "/dev/nbd%d", r->index);
	control_open(out, NULL, '{');
	control_put_text(out, "device", device);
	control_put_text(out, "uri", r->wish.uri);
	control_put_number(out, "size", r->size);
	control_put_truth(out, "readonly", r->flags & NBD_FLAG_READ_ONLY);
	control_put_number(out, "block-size", r->block);
	control_put_number(out, "connections", r->connections);
	control_put_number(out, "connected", r->live);
	control_put_number(out, "timeout", r->timeout);
	control_put_number(out, "give-up", r->wish.give_up);
	control_put_text(out, "state",
			 r->phase != ATTACH_ATTACHED
				 ? attach_phase_text(r->phase)
			 : r->live ? "connected"
				   : "away");
	if (!r->live)
		control_put_number(out, "away", r->away);
	control_put_number(out, "since", r->since);
	if (r->has_identity) {
		control_put_text(out, "uuid", r->uuid);
		control_put_number(out, "generation", r->gen);
	}
	if (*r->tls)
		control_put_text(out, "tls", r->tls);
	if (*r->trouble)
		control_put_text(out, "trouble", r->trouble);
	control_close(out, '}');
}

/* Written as JSON, and read from that as a table. */
static int finish(struct control_writer *out, const struct column *columns)
{
	CLEANUP_FREE char *line = NULL;
	CLEANUP_FREE char *text = NULL;
	struct json_t *value = NULL;
	const char *why;
	size_t len;
	int error = -ENOMEM;

	line = control_finish(out, &len);
	if (line)
		error = control_parse(line, len, &value, &why);
	if (!error && columns) {
		error = table_print(control_member(value, "devices"), columns);
	} else if (!error) {
		text = control_dump(value, true);
		error = text ? 0 : -ENOMEM;
		if (text)
			puts(text);
	}
	control_value_free(value);
	if (error || fflush(stdout) != 0 || ferror(stdout)) {
		complain("cannot write the result: %s",
			 strerror(error ? -error : errno));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static int show_attached(const struct attach_record *r, bool json)
{
	struct control_writer out = {0};

	if (json) {
		put_record(&out, r);
		return finish(&out, NULL);
	}
	printf("/dev/nbd%d\n", r->index);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return EXIT_SUCCESS;
	complain("cannot write the result: %s", strerror(errno));
	return EXIT_FAILURE;
}

/* ---------------------------------------------------------------- commands */

/* What is done with the device. */
static bool use_device(const struct order *o, const struct attach_record *r)
{
	char device[32];

	snprintf(device, sizeof(device), "/dev/nbd%d", r->index);
	if (o->format && !filesystem_make(device, o->format))
		return false;
	return !o->mount || filesystem_mount(device, o->mount,
					     r->flags & NBD_FLAG_READ_ONLY);
}

static int attach_it(const struct order *o, bool json)
{
	CLEANUP_FREE struct attach_record *r = malloc(sizeof(*r));
	struct attach_why why;
	char name[32];

	if (!r) {
		complain("no memory");
		return EXIT_FAILURE;
	}
	if (attach_ask_attach(&o->wish, r, &why)) {
		complain("%s", why.text);
		return EXIT_FAILURE;
	}
	if (*r->trouble)
		complain("warning: nbd%d: %s", r->index, r->trouble);
	if (use_device(o, r))
		return show_attached(r, json);
	/* What was there before stays. */
	snprintf(name, sizeof(name), "nbd%d", r->index);
	if (r->fresh && attach_ask_detach(name, false, &why))
		complain("%s", why.text);
	return EXIT_FAILURE;
}

int attach_command(int argc, char **argv, bool json)
{
	CLEANUP_FREE struct order *o = calloc(1, sizeof(*o));
	CLEANUP_FREE char **words = with_name(argc, argv);

	if (!o || !words)
		return EXIT_FAILURE;
	if (!read_attach(o, argc + 1, words))
		return EXIT_USAGE;
	return attach_it(o, json);
}

int detach_command(int argc, char **argv, bool json)
{
	static const struct option options[] = {
		{"force", no_argument, NULL, 'f'},
		{NULL, 0, NULL, 0},
	};
	CLEANUP_FREE char **words = with_name(argc, argv);
	struct attach_why why;
	bool force = false;
	int which;

	if (!words)
		return EXIT_FAILURE;
	opterr = 0;
	while ((which = getopt_long(argc + 1, words, "", options, NULL)) !=
	       -1) {
		if (which == '?')
			return wrong_option(words, which);
		force = true;
	}
	if (optind + 1 != argc + 1) {
		complain("detach: name one device, or the URI of its disk");
		return EXIT_USAGE;
	}
	if (attach_ask_detach(words[optind], force, &why)) {
		complain("%s", why.text);
		return EXIT_FAILURE;
	}
	if (json)
		puts("{}");
	return EXIT_SUCCESS;
}

static void add_record(const struct attach_record *r, void *arg)
{
	put_record(arg, r);
}

int attached_command(int argc, char **argv, bool json)
{
	static const struct column columns[] = {
		{"device", "DEVICE", COLUMN_TEXT},
		{"size", "SIZE", COLUMN_SIZE},
		{"uri", "URI", COLUMN_TEXT},
		{"connected", "LINKS", COLUMN_COUNT},
		{"state", "STATE", COLUMN_TEXT},
		{"away", "FOR", COLUMN_SECS},
		{"trouble", "TROUBLE", COLUMN_TEXT},
		{0},
	};
	struct control_writer out = {0};
	struct attach_why why;

	if (argc > 0) {
		complain("%s: is too much; usage: nbdramctl attached", argv[0]);
		return EXIT_USAGE;
	}
	control_open(&out, NULL, '{');
	control_open(&out, "devices", '[');
	if (attach_ask_list(add_record, &out, &why)) {
		control_writer_drop(&out);
		complain("%s", why.text);
		return EXIT_FAILURE;
	}
	control_close(&out, ']');
	control_close(&out, '}');
	return finish(&out, json ? NULL : columns);
}

int attach_watch_command(int argc, char **argv, bool json)
{
	const bool while_needed = argc == 1 &&
				  strcmp(argv[0], "--while-needed") == 0;
	struct attach_why why;

	(void)json;
	if (argc > 0 && !while_needed) {
		complain("%s: is too much; usage: nbdramctl attach-watch "
			 "[--while-needed]",
			 argv[0]);
		return EXIT_USAGE;
	}
	if (geteuid() != 0) {
		complain("block devices are root's: run it as root");
		return EXIT_FAILURE;
	}
	if (attach_watch(while_needed, &why) == 0)
		return EXIT_SUCCESS;
	complain("%s", why.text);
	return EXIT_FAILURE;
}
