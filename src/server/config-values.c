/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of keys: from text, into text. See config-keys.h. */
#include "config-keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "access.h"
#include "check.h"
#include "parse.h"
#include "store.h"

#define SOCKET_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

static const struct {
	const char *suffix;
	uint64_t msec;
} units[] = {
	{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

/* --------------------------------------------------------------- numbers */

/* Digits alone. */
static int parse_count(const char *text, uint64_t *number)
{
	if (text[strspn(text, "0123456789")])
		return -EINVAL;
	return parse_size(text, number);
}

static int parse_time(const char *text, uint64_t *number)
{
	size_t n = strspn(text, "0123456789"), i;
	char digits[16] = {0};

	if (n >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, n);
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(text + n, units[i].suffix) == 0 ||
		    (!text[n] && units[i].msec == 1000))
			break;
	}
	if (i == ARRAY_SIZE(units) || parse_size(digits, number) ||
	    mul_overflows(*number, units[i].msec, number))
		return -EINVAL;
	return 0;
}

static bool is_automatic(const struct config_key *key)
{
	return key->initial && strcmp(key->initial, "auto") == 0;
}

/* What stands in the field for "auto". */
static uint64_t automatic(const struct config_key *key)
{
	return key->type == CONFIG_SIZE ? RAM_DEFAULT : 0;
}

static int parse_number(const struct config_key *key, const char *text,
			uint64_t *number)
{
	int error;

	if (is_automatic(key) &&
	    (strcmp(text, "auto") == 0 ||
	     (strcmp(text, "0") == 0 && automatic(key) == 0))) {
		*number = automatic(key);
		return 0;
	}
	if (key->type == CONFIG_COUNT)
		error = parse_count(text, number);
	else if (key->type == CONFIG_TIME)
		error = parse_time(text, number);
	else
		error = parse_size(text, number);
	if (error || *number < key->least || *number > key->most)
		return -EINVAL;
	return 0;
}

static int parse_choice(const struct config_key *key, const char *text,
			uint64_t *number)
{
	for (*number = 0;
	     *number < ARRAY_SIZE(key->choices) && key->choices[*number];
	     ++*number) {
		if (strcmp(text, key->choices[*number]) == 0)
			return 0;
	}
	return -EINVAL;
}

/* "error", "wait 5s"; a word and one blank or more. */
static int parse_wait(const struct config_key *key, const char *text,
		      uint64_t *number)
{
	size_t blanks;

	*number = 0;
	if (strcmp(text, "error") == 0)
		return 0;
	if (strncmp(text, "wait", 4) != 0)
		return -EINVAL;
	blanks = strspn(text + 4, " \t");
	if (blanks == 0 || parse_time(text + 4 + blanks, number) ||
	    *number < key->least || *number > key->most)
		return -EINVAL;
	return 0;
}

/* As struct ram_pool_config has it. */
static int parse_node(const struct config_key *key, const char *text,
		      uint64_t *number)
{
	if (strcmp(text, "any") == 0) {
		*number = RAM_NUMA_ANY;
	} else if (strcmp(text, "interleave") == 0) {
		*number = (uint64_t)RAM_NUMA_INTERLEAVE;
	} else {
		if (parse_count(text, number) || *number < key->least ||
		    *number > key->most)
			return -EINVAL;
		*number = RAM_NUMA_NODE(*number);
	}
	return 0;
}

/* ----------------------------------------------------------------- texts */

/* "HOST:PORT", "[V6]:PORT", ":PORT", "HOST", "unix:PATH". Names are resolved
 * when they are listened to. */
static bool address_good(const char *text)
{
	const char *port, *host = text, *colon = strrchr(text, ':');
	size_t len;

	if (strncmp(text, "unix:", 5) == 0)
		return text[5] && strlen(text + 5) <= SOCKET_PATH_MAX;
	port = colon;
	len = colon ? (size_t)(colon - text) : strlen(text);
	if (*text == '[') {
		host = text + 1;
		len = strcspn(host, "]");
		if (len == 0 || !host[len])
			return false;
		port = host + len + 1;
		if (!*port)
			port = NULL;
		else if (*port != ':')
			return false;
	}
	if (len > 255 || (len == 0 && !port) ||
	    strcspn(host, host > text ? " \t" : " \t:") < len)
		return false;
	if (!port)
		return true;
	port++;
	if (*port && !port[strspn(port, "0123456789")])
		return strlen(port) <= 5 && atoi(port) <= 65535;
	return strspn(port, "abcdefghijklmnopqrstuvwxyz") > 0 &&
	       !port[strspn(port, "abcdefghijklmnopqrstuvwxyz0123456789-")];
}

static bool word_good(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
					   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789._-")];
}

/* What all texts keep to, so that they can be written into a file: no control
 * characters, no blanks at the ends. */
static bool text_good(const char *text)
{
	size_t len = strlen(text), i;

	for (i = 0; i < len; i++) {
		if (((unsigned char)text[i] < ' ' && text[i] != '\t') ||
		    text[i] == 127)
			return false;
	}
	return len > 0 && len <= CONFIG_TEXT_MAX && !strchr(" \t", text[0]) &&
	       !strchr(" \t", text[len - 1]);
}

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	for (len = strlen(text); len > 0 && strchr(" \t", text[len - 1]);)
		text[--len] = 0;
	return text;
}

/* Call use() for each part of a list, blanks cut; until one is not 0. An empty
 * part is -EINVAL. */
static int each_part(const char *text, int (*use)(void *arg, const char *part),
		     void *arg)
{
	char part[CONFIG_TEXT_MAX + 1];
	size_t len;
	int error;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		if (len >= sizeof(part))
			return -EINVAL;
		memcpy(part, text, len);
		part[len] = 0;
		error = use(arg, trim(part));
		if (error || !text[len])
			return error;
	}
}

static int check_part(void *arg, const char *part)
{
	const struct config_key *key = arg;

	if (!text_good(part))
		return -EINVAL;
	return key->type != CONFIG_ADDRESSES || address_good(part) ? 0
								   : -EINVAL;
}

/* Those of a template with something for %* in them. */
static bool rules_good(const struct config_key *key, const char *text)
{
	char wrong[256], *filled = NULL;
	bool good;

	if (key->section != CONFIG_TEMPLATE)
		return access_parse(text, NULL, wrong, sizeof(wrong)) == 0;
	if (access_fill(text, NULL, &filled))
		return false;
	good = access_parse(filled, NULL, wrong, sizeof(wrong)) == 0;
	free(filled);
	return good;
}

static bool string_good(const struct config_key *key, const char *text)
{
	switch (key->type) {
	case CONFIG_SOCKET:
		return text_good(text) && strlen(text) <= SOCKET_PATH_MAX;
	case CONFIG_NAME:
		return !config_name_fault(text);
	case CONFIG_WORD:
		return text_good(text) && word_good(text);
	case CONFIG_ACCESS:
		return text_good(text) && rules_good(key, text);
	case CONFIG_ADDRESSES:
		return each_part(text, check_part, (void *)key) == 0;
	default:
		return text_good(text);
	}
}

/* --------------------------------------------------------------- setting */

/* What is no text becomes a number. */
static int parse(const struct config_key *key, const char *text,
		 uint64_t *number)
{
	bool yes;

	*number = 0;
	switch (key->type) {
	case CONFIG_SIZE_FROM_NAME:
		if (strcmp(text, "from-name") == 0)
			return 0;
		return parse_number(key, text, number);
	case CONFIG_SIZE:
	case CONFIG_COUNT:
	case CONFIG_TIME:
		return parse_number(key, text, number);
	case CONFIG_BOOL:
		if (parse_bool(text, &yes))
			return -EINVAL;
		*number = yes;
		return 0;
	case CONFIG_CHOICE:
	case CONFIG_CHOICES:
		return parse_choice(key, text, number);
	case CONFIG_WAIT:
		return parse_wait(key, text, number);
	case CONFIG_NODE:
		return parse_node(key, text, number);
	default:
		return string_good(key, text) ? 0 : -EINVAL;
	}
}

int config_value_check(const struct config_key *key, const char *text)
{
	uint64_t number;

	return parse(key, text, &number);
}

/* Bytes of all addresses in one line. */
static size_t listen_length(const struct config *config)
{
	size_t len = 0;
	unsigned i;

	for (i = 0; i < config->listen_count; i++)
		len += strlen(config->listen[i]) + strlen(", ");
	return len;
}

/* Any number of times: each is a port of its own. */
static bool any_port(const char *address)
{
	size_t len = strlen(address);

	return len >= 2 && strcmp(address + len - 2, ":0") == 0;
}

static int add_listen(void *arg, const char *address)
{
	struct config *config = arg;
	char **list;
	unsigned i;

	for (i = 0; i < config->listen_count && !any_port(address); i++) {
		if (strcmp(config->listen[i], address) == 0)
			return -EEXIST;
	}

	if (listen_length(config) + strlen(address) > CONFIG_TEXT_MAX)
		return -EINVAL;
	list = realloc(config->listen,
		       (config->listen_count + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	config->listen = list;
	list[config->listen_count] = strdup(address);
	if (!list[config->listen_count])
		return -ENOMEM;
	config->listen_count++;
	return 0;
}

static int set_string(char **at, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*at);
	*at = copy;
	return 0;
}

int config_value_set(const struct config_key *key, void *holder,
		     const char *text)
{
	uint64_t number;
	int error = parse(key, text, &number);
	void *at;

	if (error)
		return error;
	if (key->at == CONFIG_NOWHERE)
		return config_text_set(holder, key, text);
	at = (char *)holder + key->at;
	switch (key->type) {
	case CONFIG_SIZE:
	case CONFIG_SIZE_FROM_NAME:
		*(uint64_t *)at = number;
		return 0;
	case CONFIG_COUNT:
	case CONFIG_TIME:
	case CONFIG_CHOICES:
	case CONFIG_WAIT:
		*(unsigned *)at = number;
		return 0;
	case CONFIG_NODE:
		*(int *)at = (int)(int64_t)number;
		return 0;
	case CONFIG_BOOL:
	case CONFIG_CHOICE:
		*(bool *)at = number;
		return 0;
	case CONFIG_ADDRESSES:
		return each_part(text, add_listen, holder);
	default:
		return set_string(at, text);
	}
}

int config_defaults(enum config_section section, void *holder)
{
	unsigned count, i;
	const struct config_key *list = config_keys(section, &count);

	for (i = 0; i < count; i++) {
		/* Where to listen is for the listener to say, if nobody has:
		 * it may be given sockets. */
		if (list[i].at == CONFIG_NOWHERE || !list[i].initial ||
		    list[i].type == CONFIG_ADDRESSES)
			continue;
		if (config_value_set(&list[i], holder, list[i].initial))
			return -ENOMEM;
	}
	return 0;
}

int config_listen_add(struct config *config, const char *address)
{
	if (!text_good(address) || !address_good(address))
		return -EINVAL;
	return add_listen(config, address);
}

/* --------------------------------------------------------------- showing */

static void size_text(uint64_t size, char *buf, size_t room)
{
	static const char suffixes[] = "KMGTPE";
	unsigned i = 0;

	if (size == RAM_DISK_MAX) {
		snprintf(buf, room, "%" PRIu64, size);
		return;
	}
	for (; size > 0 && size % 1024 == 0 && i < strlen(suffixes); i++)
		size /= 1024;
	snprintf(buf, room, "%" PRIu64 "%.*s", size, i > 0,
		 i > 0 ? &suffixes[i - 1] : "");
}

static void time_text(uint64_t msec, char *buf, size_t room)
{
	unsigned i;

	for (i = 0; msec % units[i].msec; i++)
		;
	snprintf(buf, room, "%" PRIu64 "%s", msec / units[i].msec,
		 units[i].suffix);
}

static void number_text(const struct config_key *key, uint64_t number,
			char *buf, size_t room)
{
	if (key->type == CONFIG_TIME)
		time_text(number, buf, room);
	else if (key->type == CONFIG_COUNT)
		snprintf(buf, room, "%" PRIu64, number);
	else
		size_text(number, buf, room);
}

static void wait_text(uint64_t msec, char *buf, size_t room)
{
	size_t len = snprintf(buf, room, "%s", msec ? "wait " : "error");

	if (msec)
		time_text(msec, buf + len, room - len);
}

static void node_text(int node, char *buf, size_t room)
{
	if (node == RAM_NUMA_ANY || node == RAM_NUMA_INTERLEAVE)
		snprintf(buf, room, "%s",
			 node == RAM_NUMA_ANY ? "any" : "interleave");
	else
		snprintf(buf, room, "%d", node - RAM_NUMA_NODE(0));
}

/* The number of its field; of keys that have no such the result means nothing. */
static uint64_t field(const struct config_key *key, const void *at)
{
	switch (key->type) {
	case CONFIG_BOOL:
	case CONFIG_CHOICE:
		return *(const bool *)at;
	case CONFIG_COUNT:
	case CONFIG_TIME:
	case CONFIG_CHOICES:
	case CONFIG_WAIT:
		return *(const unsigned *)at;
	default:
		return *(const uint64_t *)at;
	}
}

static char *listen_text(const struct config *config)
{
	char *text = calloc(1, listen_length(config) + 1);
	unsigned i;

	for (i = 0; text && i < config->listen_count; i++) {
		strcat(text, i ? ", " : "");
		strcat(text, config->listen[i]);
	}
	return text;
}

char *config_key_text(const struct config_key *key, const void *holder)
{
	char buf[32] = "";
	uint64_t number;
	const void *at;

	if (key->at == CONFIG_NOWHERE)
		return strdup(config_text_get(holder, key));
	at = (const char *)holder + key->at;
	switch (key->type) {
	case CONFIG_ADDRESSES:
		return listen_text(holder);
	case CONFIG_BOOL:
		return strdup(field(key, at) ? "yes" : "no");
	case CONFIG_CHOICE:
	case CONFIG_CHOICES:
		return strdup(key->choices[field(key, at)]);
	case CONFIG_WAIT:
		wait_text(field(key, at), buf, sizeof(buf));
		return strdup(buf);
	case CONFIG_NODE:
		node_text(*(const int *)at, buf, sizeof(buf));
		return strdup(buf);
	case CONFIG_SIZE:
	case CONFIG_SIZE_FROM_NAME:
	case CONFIG_COUNT:
	case CONFIG_TIME:
		number = field(key, at);
		if (is_automatic(key) && number == automatic(key))
			return strdup("auto");
		/* 0 stands for what was not set, where it is no value. */
		if (number >= key->least)
			number_text(key, number, buf, sizeof(buf));
		return strdup(buf);
	default:
		at = *(char *const *)at;
		return strdup(at ? at : "");
	}
}

static void wanted_number(const struct config_key *key, char *buf, size_t size)
{
	const char *what = "a size", *such = " such as 512M or 16G";
	char least[32], most[32];

	if (key->type == CONFIG_COUNT) {
		what = "a number";
		such = "";
	} else if (key->type == CONFIG_TIME) {
		what = "a time";
		such = " such as 10s or 500ms";
	}
	number_text(key, key->least, least, sizeof(least));
	if (key->most == RAM_DISK_MAX)
		snprintf(most, sizeof(most), "2^63-1");
	else
		number_text(key, key->most, most, sizeof(most));
	snprintf(buf, size, "%s from %s to %s%s%s", what, least, most, such,
		 is_automatic(key)		      ? ", or auto,"
		 : key->type == CONFIG_SIZE_FROM_NAME ? ", or from-name,"
						      : "");
}

char *config_value_wanted(const struct config_key *key, char *buf, size_t size)
{
	switch (key->type) {
	case CONFIG_BOOL:
		snprintf(buf, size, "yes or no");
		break;
	case CONFIG_CHOICE:
		snprintf(buf, size, "%s or %s", key->choices[0],
			 key->choices[1]);
		break;
	case CONFIG_CHOICES:
		snprintf(buf, size, "%s, %s or %s", key->choices[0],
			 key->choices[1], key->choices[2]);
		break;
	case CONFIG_ACCESS:
		snprintf(buf, size,
			 "ADDRESS, NETWORK/BITS, cert:NAME, psk:USER, "
			 "uid:NUMBER or any, each with ro or rw behind, with "
			 "commas between,");
		break;
	case CONFIG_WAIT:
		snprintf(buf, size,
			 "error, or wait and a time from 100ms to 1h, such as "
			 "wait 5s");
		break;
	case CONFIG_NODE:
		snprintf(buf, size, "any, interleave or a node's number");
		break;
	case CONFIG_PATH:
		snprintf(buf, size, "a path");
		break;
	case CONFIG_SOCKET:
		snprintf(buf, size, "a path of 1 to %zu bytes",
			 SOCKET_PATH_MAX);
		break;
	case CONFIG_NAME:
		snprintf(buf, size, "the name of an export");
		break;
	case CONFIG_WORD:
		snprintf(buf, size, "a word of letters, digits, . - and _");
		break;
	case CONFIG_TEXT:
		snprintf(buf, size, "a text");
		break;
	case CONFIG_ADDRESSES:
		snprintf(buf, size,
			 "HOST:PORT, [IPV6]:PORT, :PORT or unix:PATH, with "
			 "commas between,");
		break;
	default:
		wanted_number(key, buf, size);
	}
	return buf;
}
