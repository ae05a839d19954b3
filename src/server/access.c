/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules. See access.h; identity.c has the other half. */
#include "access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "log.h"

#define PART_MAX 512u
#define RULES_MAX 1000u

enum who {
	WHO_ANY,
	WHO_NETWORK,
	WHO_UID,
	WHO_NAME,
};

struct rule {
	enum who who;
	enum access access;
	struct address address; /* of NETWORK */
	unsigned bits;		/* of it, that count; IPv4: 96 more */
	bool v4;
	uid_t uid;
	char *name; /* of NAME: with its "cert:" or "psk:" */
};

struct access_list {
	unsigned count;
	struct rule *rules;
};

void access_free(struct access_list *list)
{
	unsigned i;

	if (!list)
		return;
	for (i = 0; i < list->count; i++)
		free(list->rules[i].name);
	free(list->rules);
	free(list);
}

struct access_list *access_nobody(void)
{
	return calloc(1, sizeof(struct access_list));
}

/* ------------------------------------------------------------------ parsing */

/* Digits, at most `most`; what stands behind is *end. */
static bool parse_number(const char *text, unsigned long most,
			 unsigned long *number)
{
	size_t n = strspn(text, "0123456789");

	if (n == 0 || n > 10 || text[n])
		return false;
	*number = strtoul(text, NULL, 10);
	return *number <= most;
}

static bool is_v4(const struct address *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(a->byte, mapped, sizeof(mapped)) == 0;
}

/* Are all bits behind the first `bits` zero? */
static bool rest_zero(const struct address *a, unsigned bits)
{
	unsigned i;

	for (i = bits; i < 128; i++) {
		if (a->byte[i / 8] & 0x80 >> i % 8)
			return false;
	}
	return true;
}

/* ADDRESS or ADDRESS/BITS. NULL, or what is wrong. */
static const char *parse_network(char *text, struct rule *rule)
{
	char *slash = strchr(text, '/');
	struct in_addr v4;
	unsigned long bits;
	bool dotted;

	if (slash)
		*slash++ = 0;
	dotted = inet_pton(AF_INET, text, &v4) == 1;
	if (dotted) {
		memset(rule->address.byte, 0, 10);
		memset(rule->address.byte + 10, 0xff, 2);
		memcpy(rule->address.byte + 12, &v4, 4);
	} else if (inet_pton(AF_INET6, text, rule->address.byte) != 1) {
		return "is nobody that there could be";
	}
	bits = dotted ? 32 : 128;
	if (slash && !parse_number(slash, bits, &bits))
		return dotted ? "has no number from 0 to 32 behind the /"
			      : "has no number from 0 to 128 behind the /";
	rule->bits = bits + (dotted ? 96 : 0);
	/* ::ffff:10.0.0.0/104 is 10.0.0.0/8, but ::/0 is not all of IPv4. */
	rule->v4 = is_v4(&rule->address) && rule->bits >= 96;
	if (!rest_zero(&rule->address, rule->bits))
		return "has bits behind its network; write 10.0.0.0/8, and not "
		       "10.1.2.3/8";
	return NULL;
}

static const char *parse_who(char *text, struct rule *rule)
{
	unsigned long uid;

	if (strcmp(text, "any") == 0) {
		rule->who = WHO_ANY;
		return NULL;
	}
	if (strncmp(text, "uid:", 4) == 0) {
		rule->who = WHO_UID;
		if (!parse_number(text + 4, UINT32_MAX - 1, &uid))
			return "has no number of a user behind uid:";
		rule->uid = uid;
		return NULL;
	}
	if (strncmp(text, "cert:", 5) == 0 || strncmp(text, "psk:", 4) == 0) {
		rule->who = WHO_NAME;
		if (!strchr(text, ':')[1])
			return "has no name behind the colon";
		rule->name = strdup(text);
		return rule->name ? NULL : "no memory";
	}
	rule->who = WHO_NETWORK;
	return parse_network(text, rule);
}

/* Cut " ro" or " rw" off. */
static enum access parse_access(char *text)
{
	size_t len = strlen(text);
	enum access access = ACCESS_WRITE;

	if (len > 3 && strchr(" \t", text[len - 3]) &&
	    (strcmp(text + len - 2, "ro") == 0 ||
	     strcmp(text + len - 2, "rw") == 0)) {
		access = text[len - 1] == 'o' ? ACCESS_READ : ACCESS_WRITE;
		len -= 3;
		while (len > 0 && strchr(" \t", text[len - 1]))
			len--;
		text[len] = 0;
	}
	return access;
}

static int complain(const char *part, const char *what, char *wrong,
		    size_t size)
{
	char shown[80];

	log_escape(part, strlen(part), shown, sizeof(shown));
	snprintf(wrong, size, "\"%s\" %s", shown, what);
	return strcmp(what, "no memory") == 0 ? -ENOMEM : -EINVAL;
}

/* One rule, into the list. */
static int parse_rule(struct access_list *list, const char *text, size_t len,
		      char *wrong, size_t size)
{
	char part[PART_MAX], whole[PART_MAX];
	struct rule rule = {0}, *rules;
	const char *what;

	while (len > 0 && strchr(" \t", *text))
		text++, len--;
	while (len > 0 && strchr(" \t", text[len - 1]))
		len--;
	if (len == 0)
		return complain("", "is empty", wrong, size);
	if (len >= sizeof(part))
		return complain("...", "is longer than 511 bytes", wrong, size);
	memcpy(part, text, len);
	part[len] = 0;
	strcpy(whole, part);
	rule.access = parse_access(part);
	what = parse_who(part, &rule);
	if (!what && list->count == RULES_MAX)
		what = "is one rule too many; 1000 are";
	rules = what ? NULL
		     : realloc(list->rules, (list->count + 1) * sizeof(*rules));
	if (!what && !rules)
		what = "no memory";
	if (what) {
		free(rule.name);
		return complain(whole, what, wrong, size);
	}
	list->rules = rules;
	list->rules[list->count++] = rule;
	return 0;
}

int access_parse(const char *text, struct access_list **result, char *wrong,
		 size_t size)
{
	struct access_list *list = calloc(1, sizeof(*list));
	int error = list ? 0 : -ENOMEM;
	size_t len;

	for (; !error; text += len + 1) {
		len = strcspn(text, ",");
		error = parse_rule(list, text, len, wrong, size);
		if (!text[len])
			break;
	}
	if (error || !result) {
		access_free(list);
		return error;
	}
	*result = list;
	return 0;
}

/* --------------------------------------------------------------- templates */

/* Whether a rule that says `rule` up to its %* is still the same kind of rule with
 * the text in that place. */
static bool may_fill(const char *rule, const char *text)
{
	const char *c;

	if (!*text)
		return false;
	if (strncmp(rule, "cert:", 5) != 0 && strncmp(rule, "psk:", 4) != 0)
		return text[strspn(text, "0123456789abcdefABCDEF.:")] == 0;
	for (c = text; *c; c++) {
		if ((unsigned char)*c <= ' ' || strchr(",*%\"\177", *c))
			return false;
	}
	return true;
}

/* One rule of n bytes into out. */
static int fill_rule(FILE *out, const char *rule, size_t n, const char *text)
{
	const char *end = rule + n, *what = text;

	while (rule < end && strchr(" \t", *rule))
		rule++;
	if (!text)
		what = *rule == '%' ? "::1" : "1";
	for (n = 0; rule + n < end; n++) {
		if (rule[n] != '%' || rule + n + 1 == end ||
		    rule[n + 1] != '*') {
			fputc(rule[n], out);
			continue;
		}
		if (!may_fill(rule, what))
			return -EINVAL;
		fputs(what, out);
		n++;
	}
	return 0;
}

int access_fill(const char *rules, const char *text, char **filled)
{
	char *result = NULL;
	size_t len, n;
	FILE *out = open_memstream(&result, &len);
	int error = out ? 0 : -ENOMEM;

	while (!error) {
		n = strcspn(rules, ",");
		error = fill_rule(out, rules, n, text);
		rules += n;
		if (error || !*rules)
			break;
		fputs(", ", out);
		rules++;
	}
	if (out && fclose(out) != 0 && !error)
		error = -ENOMEM;
	if (error)
		free(result);
	else
		*filled = result;
	return error;
}

bool identity_owner(const struct identity *who, char *buf, size_t size)
{
	const char *text = who->local ? who->text : who->host;
	char whole[4 * IDENTITY_OWNER_MAX];
	size_t len;

	if (who->name_count > 0)
		text = who->names[0];
	len = strlen(text);
	if (len >= size || 4 * len >= sizeof(whole))
		return false;
	log_escape(text, len, whole, sizeof(whole));
	if (strlen(whole) >= size)
		return false;
	strcpy(buf, whole);
	return true;
}

/* Whether a rule would take the end of the name for what may be done. */
static bool ends_in_access(const char *name)
{
	char whole[IDENTITY_OWNER_MAX];

	if (strlen(name) >= sizeof(whole))
		return true;
	strcpy(whole, name);
	parse_access(whole);
	return strcmp(whole, name) != 0;
}

int access_of_owner(const char *owner, char **rule)
{
	struct access_list *list = NULL;
	char wrong[8];
	int error;

	if (strcmp(owner, OWNER_THIS_HOST) == 0)
		owner = "127.0.0.0/8, ::1";
	/* A name that is a pattern, or that had to be made harmless. */
	else if (strpbrk(owner, "*,\\") || ends_in_access(owner))
		return -EINVAL;
	error = access_parse(owner, &list, wrong, sizeof(wrong));
	if (!error && list->count == 1 && list->rules[0].who == WHO_ANY)
		error = -EINVAL;
	access_free(list);
	if (error)
		return error;
	*rule = strdup(owner);
	return *rule ? 0 : -ENOMEM;
}

/* ------------------------------------------------------------------ asking */

/* Does text fit the pattern? * stands for any letters. */
static bool fits(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			from = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool in_network(const struct rule *rule, const struct address *a)
{
	unsigned whole = rule->bits / 8, rest = rule->bits % 8;
	uint8_t mask = (uint8_t)(0xff00 >> rest);

	if (rule->v4 != is_v4(a) ||
	    memcmp(rule->address.byte, a->byte, whole) != 0)
		return false;
	return rest == 0 ||
	       ((rule->address.byte[whole] ^ a->byte[whole]) & mask) == 0;
}

static bool is_about(const struct rule *rule, const struct identity *who)
{
	unsigned i;

	switch (rule->who) {
	case WHO_ANY:
		return true;
	case WHO_UID:
		return who->local && who->uid == rule->uid;
	case WHO_NETWORK:
		return !who->local && in_network(rule, &who->address);
	case WHO_NAME:
		for (i = 0; i < who->name_count; i++) {
			if (fits(rule->name, who->names[i]))
				return true;
		}
	}
	return false;
}

bool access_by_name(const struct access_list *list)
{
	unsigned i;

	for (i = 0; i < list->count; i++) {
		if (list->rules[i].who == WHO_NAME)
			return true;
	}
	return false;
}

enum access access_of(const struct access_list *list,
		      const struct identity *who)
{
	enum access best = ACCESS_NONE;
	unsigned i;

	if (!list)
		return ACCESS_WRITE;
	for (i = 0; i < list->count; i++) {
		if (list->rules[i].access > best &&
		    is_about(&list->rules[i], who))
			best = list->rules[i].access;
	}
	return best;
}
