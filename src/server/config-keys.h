/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of all keys: it drives the reading of files and of the command
 * line, defaults, --help, what control shows, and the test of the manual. */
#ifndef NBDRAM_SERVER_CONFIG_KEYS_H
#define NBDRAM_SERVER_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"

enum config_section {
	CONFIG_SERVER,
	CONFIG_POOL,
	CONFIG_EXPORT,
	CONFIG_TEMPLATE,
	CONFIG_SECTIONS, /* how many */
};

enum config_type {
	CONFIG_SIZE,	       /* uint64_t */
	CONFIG_SIZE_FROM_NAME, /* the same, or the word from-name */
	CONFIG_COUNT,	       /* unsigned */
	CONFIG_TIME,	       /* unsigned, milliseconds */
	CONFIG_BOOL,	       /* bool */
	CONFIG_CHOICE,	       /* bool: the second of two words */
	CONFIG_CHOICES,	       /* unsigned: which one of three words */
	CONFIG_WAIT,	       /* unsigned: "wait TIME", or "error": 0 */
	CONFIG_NODE,	       /* int: "any", "interleave" or a number */
	CONFIG_PATH,	       /* char *, not empty */
	CONFIG_SOCKET,	       /* the same, as long as a socket's may be */
	CONFIG_NAME,	       /* of an export */
	CONFIG_WORD,	       /* letters, digits, . - _ */
	CONFIG_TEXT,	       /* anything that is not empty */
	CONFIG_ACCESS,	       /* the same, each a rule; see access.h */
	CONFIG_ADDRESSES,      /* the same, each an address to listen to */
};

#define CONFIG_NOWHERE SIZE_MAX
/* Bytes of any value: with its key it fits into a line of a file. */
#define CONFIG_TEXT_MAX 4000u

struct config_key {
	enum config_section section;
	const char *name;
	enum config_type type;
	/* In struct config ([server], [pool]) or struct config_export. Of a
	 * template nowhere: its keys are kept as text. */
	size_t at;
	uint64_t least, most;	/* of a number */
	const char *initial;	/* as text; NULL: nothing. "auto": a number
				 * may be that word, as the server sees fit */
	const char *choices[3]; /* of CONFIG_CHOICE (two) and _CHOICES */
	const char *help;	/* one line */
};

/* A key of a template and its value, which has been looked at. */
struct config_text {
	const struct config_key *key;
	char *value;
};

/* The word in [...] of each. */
extern const char *const config_section_words[CONFIG_SECTIONS];

/* The keys of a section, in the order in which they are shown. */
const struct config_key *config_keys(enum config_section section,
				     unsigned *count);

/* The key of exactly this name; NULL: there is none. */
const struct config_key *config_key_find(enum config_section section,
					 const char *name);

/* That one of n words that may have been meant by `text`; NULL: none is near.
 * word(i) gives the words. */
const char *config_nearest(const char *text, unsigned n,
			   const char *(*word)(void *arg, unsigned i),
			   void *arg);

/* A text for the end of a message: what may have been meant by this key, or
 * where it belongs. "" when there is nothing to say. Returns buf. */
char *config_key_hint(enum config_section section, const char *name, char *buf,
		      size_t size);

/* -------------------------------------------------------------- values
 * holder: the struct config, or for keys of exports and templates the struct
 * config_export. */

/* 0, and the value is set; -EINVAL: it is none (see config_value_wanted());
 * -ENOMEM. Nothing is changed then, except that of addresses, which are added
 * to those that are there, some may have been. */
int config_value_set(const struct config_key *key, void *holder,
		     const char *text);

/* Add one address to listen to. As above. */
int config_listen_add(struct config *config, const char *address);

/* Only look. */
int config_value_check(const struct config_key *key, const char *text);

/* What would be a value: "a size from 1M to 8T such as 16G". Returns buf. */
char *config_value_wanted(const struct config_key *key, char *buf, size_t size);

/* The present value, as it would stand in a file, "" where nothing is set. To
 * be freed; NULL: no memory. */
char *config_key_text(const struct config_key *key, const void *holder);

/* Set all keys of a section that have a field to their defaults. -ENOMEM. */
int config_defaults(enum config_section section, void *holder);

/* A key of a template as text; get: "" when it was not set. -ENOMEM. */
int config_text_set(struct config_export *e, const struct config_key *key,
		    const char *value);
const char *config_text_get(const struct config_export *e,
			    const struct config_key *key);

/* 1 to 255 bytes of a name that an export can have: NULL, or what is wrong. */
const char *config_name_fault(const char *name);

#endif
