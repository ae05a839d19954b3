/* SPDX-License-Identifier: BSD-3-Clause */
/* See config-keys.h. */
#include "config-keys.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "store.h"

#define CONFIG_AT(field) offsetof(struct config, field)
#define EXPORT_AT(field) offsetof(struct config_export, field)
#define NOWHERE CONFIG_NOWHERE
#define MANY 10000000u
#define SECOND UINT64_C(1000)
#define HOUR (3600 * SECOND)
/* Milliseconds in 32 bits do not hold two of it. */
#define MONTH (30 * 24 * HOUR)

const char *const config_section_words[CONFIG_SECTIONS] = {
	[CONFIG_SERVER] = "server",
	[CONFIG_POOL] = "pool",
	[CONFIG_EXPORT] = "export",
	[CONFIG_TEMPLATE] = "template",
};

/* clang-format off */
/* section, name, type, field, least, most, default, choices, help */
static const struct config_key keys[] = {
	{CONFIG_SERVER, "listen", CONFIG_ADDRESSES, CONFIG_AT(listen), 0, 0,
	 "localhost:10809", {0}, "addresses, with commas between; see -l"},
	{CONFIG_SERVER, "workers", CONFIG_COUNT, CONFIG_AT(workers), 1, 256,
	 "auto", {0}, "threads that serve; auto: as many as processors"},
	{CONFIG_SERVER, "control", CONFIG_SOCKET, CONFIG_AT(control), 0, 0,
	 NBDRAM_RUNDIR "/nbdram/control", {0}, "socket for nbdramctl, as -s"},
	{CONFIG_SERVER, "insecure", CONFIG_BOOL, CONFIG_AT(insecure), 0, 0,
	 "no", {0}, "listen to all networks without TLS"},
	{CONFIG_SERVER, "tls", CONFIG_CHOICES, CONFIG_AT(tls), 0, 0,
	 "off", {"off", "on", "require"},
	 "require: nobody is served without TLS"},
	{CONFIG_SERVER, "tls-dir", CONFIG_PATH, CONFIG_AT(tls_dir), 0, 0,
	 NULL, {0}, "folder with certificates and keys"},
	{CONFIG_SERVER, "tls-ciphers", CONFIG_TEXT, CONFIG_AT(tls_ciphers),
	 0, 0,
	 NULL, {0}, "OpenSSL's names, with colons between"},
	{CONFIG_SERVER, "tls-verify", CONFIG_BOOL, CONFIG_AT(tls_verify), 0, 0,
	 "yes", {0}, "clients must have a certificate, or a key"},
	{CONFIG_SERVER, "max-connections", CONFIG_COUNT,
	 CONFIG_AT(max_connections), 0, MANY,
	 "0", {0}, "0: 20000, or what descriptors allow"},
	{CONFIG_SERVER, "max-unfinished", CONFIG_COUNT,
	 CONFIG_AT(max_unfinished), 1, MANY,
	 "1000", {0}, "handshakes; the oldest gives way"},
	{CONFIG_SERVER, "max-per-address", CONFIG_COUNT,
	 CONFIG_AT(max_per_address), 0, MANY,
	 "0", {0}, "connections from one address; 0: any"},
	{CONFIG_SERVER, "handshake-timeout", CONFIG_TIME,
	 CONFIG_AT(handshake_msec), 100, HOUR,
	 "10s", {0}, "for a client's handshake"},
	{CONFIG_SERVER, "busy-poll", CONFIG_COUNT, CONFIG_AT(busy_poll_usec),
	 0, 1000000,
	 "0", {0}, "microseconds of looking before workers sleep"},

	{CONFIG_POOL, "size", CONFIG_SIZE, CONFIG_AT(pool_size),
	 RAM_POOL_MIN, RAM_POOL_MAX,
	 "auto", {0}, "memory of all disks, as -m"},
	{CONFIG_POOL, "path", CONFIG_PATH, CONFIG_AT(pool_path), 0, 0,
	 NULL, {0}, "folder where the pool outlives the daemon, as -p"},
	{CONFIG_POOL, "any-fs", CONFIG_BOOL, CONFIG_AT(any_fs), 0, 0,
	 "no", {0}, "that folder need not be in memory (tmpfs)"},
	{CONFIG_POOL, "warm", CONFIG_SIZE, CONFIG_AT(warm), 0, RAM_POOL_MAX,
	 "auto", {0}, "free memory kept ready for writers"},
	{CONFIG_POOL, "headroom", CONFIG_SIZE, CONFIG_AT(headroom),
	 0, RAM_POOL_MAX,
	 "auto", {0}, "memory that is left to the host"},
	{CONFIG_POOL, "full", CONFIG_WAIT, CONFIG_AT(full_msec), 100, HOUR,
	 "wait 5s", {0}, "what a write does that finds no memory"},
	{CONFIG_POOL, "hugepages", CONFIG_CHOICES, CONFIG_AT(hugepages), 0, 0,
	 "no", {"no", "2M", "thp"}, "2M: those set aside by the system"},
	{CONFIG_POOL, "lock", CONFIG_BOOL, CONFIG_AT(lock), 0, 0,
	 "no", {0}, "its memory is never swapped"},
	{CONFIG_POOL, "numa", CONFIG_NODE, CONFIG_AT(numa), 0, 1023,
	 "any", {0}, "node that memory comes from, or interleave"},

	{CONFIG_EXPORT, "size", CONFIG_SIZE, EXPORT_AT(size), 1, RAM_DISK_MAX,
	 NULL, {0}, "how large the disk is"},
	{CONFIG_EXPORT, "clone", CONFIG_NAME, EXPORT_AT(clone), 0, 0,
	 NULL, {0}, "the disk of which a new one is a copy"},
	{CONFIG_EXPORT, "image", CONFIG_PATH, EXPORT_AT(image), 0, 0,
	 NULL, {0}, "the file that a new one is loaded from"},
	{CONFIG_EXPORT, "load", CONFIG_CHOICE, EXPORT_AT(lazy), 0, 0,
	 "now", {"now", "lazy"}, "lazy: served at once, loaded behind"},
	{CONFIG_EXPORT, "format", CONFIG_WORD, EXPORT_AT(format), 0, 0,
	 NULL, {0}, "file system made on a new one: mkfs.FORMAT"},
	{CONFIG_EXPORT, "label", CONFIG_TEXT, EXPORT_AT(label), 0, 0,
	 NULL, {0}, "label of that file system"},
	{CONFIG_EXPORT, "block", CONFIG_SIZE, EXPORT_AT(block), 512, 65536,
	 NULL, {0}, "its block size"},
	{CONFIG_EXPORT, "files", CONFIG_PATH, EXPORT_AT(files), 0, 0,
	 NULL, {0}, "folder that is copied into it"},
	{CONFIG_EXPORT, "save", CONFIG_PATH, EXPORT_AT(save), 0, 0,
	 NULL, {0}, "the file that it is saved to, and starts from"},
	{CONFIG_EXPORT, "save-every", CONFIG_TIME, EXPORT_AT(save_msec),
	 SECOND, 30 * 24 * HOUR,
	 NULL, {0}, "how often; else only at the end"},
	{CONFIG_EXPORT, "alloc", CONFIG_CHOICE, EXPORT_AT(fixed), 0, 0,
	 "thin", {"thin", "fixed"},
	 "thin: memory as written; fixed: all at once"},
	{CONFIG_EXPORT, "quota", CONFIG_SIZE, EXPORT_AT(quota),
	 1, RAM_DISK_MAX,
	 NULL, {0}, "most memory that it may have for itself"},
	{CONFIG_EXPORT, "guarantee", CONFIG_SIZE, EXPORT_AT(guarantee),
	 1, RAM_DISK_MAX,
	 NULL, {0}, "memory that is always there for it"},
	{CONFIG_EXPORT, "readonly", CONFIG_BOOL, EXPORT_AT(readonly), 0, 0,
	 "no", {0}, "clients may only read"},
	{CONFIG_EXPORT, "allow", CONFIG_ACCESS, EXPORT_AT(allow), 0, 0,
	 NULL, {0}, "who may open it: addresses, cert:, psk:, uid:"},
	{CONFIG_EXPORT, "writers", CONFIG_CHOICE, EXPORT_AT(many_writers),
	 0, 0,
	 "host", {"host", "many"}, "host: one host at a time may write"},
	{CONFIG_EXPORT, "default", CONFIG_BOOL, EXPORT_AT(is_default), 0, 0,
	 "no", {0}, "clients that name no export get this one"},
	{CONFIG_EXPORT, "max-connections", CONFIG_COUNT,
	 EXPORT_AT(max_connections), 0, MANY,
	 "0", {0}, "at a time; 0: any number"},
	{CONFIG_EXPORT, "detect-zeroes", CONFIG_BOOL,
	 EXPORT_AT(detect_zeroes), 0, 0,
	 "no", {0}, "written zeroes take no memory"},

	{CONFIG_TEMPLATE, "clone", CONFIG_NAME, NOWHERE, 0, 0,
	 NULL, {0}, "the disk of which each is a copy"},
	{CONFIG_TEMPLATE, "image", CONFIG_PATH, NOWHERE, 0, 0,
	 NULL, {0}, "file that each is loaded from"},
	{CONFIG_TEMPLATE, "size", CONFIG_SIZE_FROM_NAME, NOWHERE,
	 1, RAM_DISK_MAX,
	 NULL, {0}, "how large; from-name: as the client says"},
	{CONFIG_TEMPLATE, "quota", CONFIG_SIZE, NOWHERE, 1, RAM_DISK_MAX,
	 NULL, {0}, "most memory that each may have for itself"},
	{CONFIG_TEMPLATE, "guarantee", CONFIG_SIZE, NOWHERE, 1, RAM_DISK_MAX,
	 NULL, {0}, "memory that is always there for each"},
	{CONFIG_TEMPLATE, "alloc", CONFIG_CHOICE, NOWHERE, 0, 0,
	 "thin", {"thin", "fixed"}, "as in [export]"},
	{CONFIG_TEMPLATE, "expire", CONFIG_TIME, NOWHERE, SECOND, MONTH,
	 NULL, {0}, "dropped so long after its last client"},
	{CONFIG_TEMPLATE, "fresh", CONFIG_CHOICE, NOWHERE, 0, 0,
	 "never", {"never", "always"}, "always: a new one each session"},
	{CONFIG_TEMPLATE, "max-size", CONFIG_SIZE, NOWHERE, 1, RAM_DISK_MAX,
	 NULL, {0}, "largest size that a client may name"},
	{CONFIG_TEMPLATE, "max-disks", CONFIG_COUNT, NOWHERE, 0, MANY,
	 "10000", {0}, "at a time; 0: any number"},
	{CONFIG_TEMPLATE, "max-per-identity", CONFIG_COUNT, NOWHERE, 0, MANY,
	 "1000", {0}, "of them of one client; 0: any number"},
	{CONFIG_TEMPLATE, "format", CONFIG_WORD, NOWHERE, 0, 0,
	 NULL, {0}, "file system made on each: mkfs.FORMAT"},
	{CONFIG_TEMPLATE, "label", CONFIG_TEXT, NOWHERE, 0, 0,
	 NULL, {0}, "label of that file system"},
	{CONFIG_TEMPLATE, "block", CONFIG_SIZE, NOWHERE, 512, 65536,
	 NULL, {0}, "its block size"},
	{CONFIG_TEMPLATE, "files", CONFIG_PATH, NOWHERE, 0, 0,
	 NULL, {0}, "folder that is copied into it"},
	{CONFIG_TEMPLATE, "allow", CONFIG_ACCESS, NOWHERE, 0, 0,
	 NULL, {0}, "who may open them"},
	{CONFIG_TEMPLATE, "readonly", CONFIG_BOOL, NOWHERE, 0, 0,
	 "no", {0}, "clients may only read"},
	{CONFIG_TEMPLATE, "detect-zeroes", CONFIG_BOOL, NOWHERE, 0, 0,
	 "no", {0}, "written zeroes take no memory"},
	{CONFIG_TEMPLATE, "writers", CONFIG_CHOICE, NOWHERE, 0, 0,
	 "host", {"host", "many"}, "host: one host at a time may write"},
	{CONFIG_TEMPLATE, "rate", CONFIG_SIZE, NOWHERE, 1, RAM_DISK_MAX,
	 NULL, {0}, "most bytes in a second (not obeyed yet)"},
	{CONFIG_TEMPLATE, "weight", CONFIG_COUNT, NOWHERE, 1, 1000,
	 "1", {0}, "share of the server (not obeyed yet)"},
	{CONFIG_TEMPLATE, "max-connections", CONFIG_COUNT, NOWHERE, 0, MANY,
	 "0", {0}, "to each at a time; 0: any number"},
	{CONFIG_TEMPLATE, "load", CONFIG_CHOICE, NOWHERE, 0, 0,
	 "now", {"now", "lazy"}, "lazy: served at once, loaded behind"},
};
/* clang-format on */

const struct config_key *config_keys(enum config_section section,
				     unsigned *count)
{
	unsigned first, end;

	for (first = 0; keys[first].section != section; first++)
		;
	for (end = first; end < ARRAY_SIZE(keys); end++) {
		if (keys[end].section != section)
			break;
	}
	*count = end - first;
	return &keys[first];
}

const struct config_key *config_key_find(enum config_section section,
					 const char *name)
{
	unsigned count, i;
	const struct config_key *list = config_keys(section, &count);

	for (i = 0; i < count; i++) {
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	}
	return NULL;
}

/* --------------------------------------------------------------- nearest */

#define WORD_MAX 24u
#define NEAR 2u

static int letter(char c)
{
	return c == '_' ? '-' : tolower((unsigned char)c);
}

static unsigned least_of(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

/* How many letters have to be added, removed or changed; both at most WORD_MAX
 * long. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD_MAX + 1], i, j, corner, above;
	unsigned n = strlen(b);

	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; *a; i++, a++) {
		corner = row[0];
		row[0] = i;
		for (j = 1; j <= n; j++) {
			above = row[j];
			row[j] = least_of(
				above + 1, row[j - 1] + 1,
				corner + (letter(*a) != letter(b[j - 1])));
			corner = above;
		}
	}
	return row[n];
}

const char *config_nearest(const char *text, unsigned n,
			   const char *(*word)(void *arg, unsigned i),
			   void *arg)
{
	unsigned best = NEAR + 1, i, d;
	const char *found = NULL;

	if (strlen(text) < 2 || strlen(text) > WORD_MAX)
		return NULL;
	for (i = 0; i < n; i++) {
		d = distance(text, word(arg, i));
		if (d < best && 2 * d <= strlen(text)) {
			best = d;
			found = word(arg, i);
		}
	}
	return found;
}

static const char *key_word(void *arg, unsigned i)
{
	return ((const struct config_key *)arg)[i].name;
}

char *config_key_hint(enum config_section section, const char *name, char *buf,
		      size_t size)
{
	const struct config_key *list;
	const char *near;
	unsigned count, other;

	for (other = 0; other < CONFIG_SECTIONS; other++) {
		if (other != section && config_key_find(other, name)) {
			snprintf(buf, size, "; it is one of [%s]",
				 config_section_words[other]);
			return buf;
		}
	}
	list = config_keys(section, &count);
	near = config_nearest(name, count, key_word, (void *)list);
	if (near)
		snprintf(buf, size, "; did you mean \"%s\"?", near);
	else if (size > 0)
		*buf = 0;
	return buf;
}
