/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may open what: lists of rules, and whom they are about. Pure. */
#ifndef NBDRAM_SERVER_ACCESS_H
#define NBDRAM_SERVER_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "addresses.h"

/* What is known of a client. */
struct identity {
	struct address address; /* of no meaning if local */
	bool local;		/* by a Unix socket */
	uid_t uid;		/* valid if local */
	/* What its certificate or key says: "cert:NAME", "psk:USER". */
	char **names;
	unsigned name_count;
	/* One text for who it is, fit for logs: its first name, or "uid:N" or
	 * its address. */
	char text[200];
	/* By what clients are told from each other where hosts matter: its
	 * first name as it is; all without a name that come from this host are
	 * one. Points into the same struct, or to what it holds. */
	const char *host;
};

/* A client that has shown nothing yet. */
void identity_begin(struct identity *identity, const struct address *address,
		    bool local, uid_t uid);

void identity_end(struct identity *identity);

enum access {
	ACCESS_NONE,
	ACCESS_READ,
	ACCESS_WRITE,
};

/* Rules with commas between, each WHO, WHO ro or WHO rw (which is meant if nothing
 * is said). WHO is
 *
 *	10.0.0.7  10.0.0.0/8  fd00::/8	an address, or a network
 *	cert:NAME			CN, or DNS or URI of subjectAltName
 *	psk:USER
 *	uid:NUMBER			by a Unix socket
 *	any
 *
 * where * in NAME and USER stands for any letters. */
struct access_list;

/* Parse `text`. 0, or -EINVAL with what is wrong in `wrong`, or -ENOMEM. list NULL:
 * only look. Free it by access_free(). */
int access_parse(const char *text, struct access_list **list, char *wrong,
		 size_t size);
void access_free(struct access_list *list); /* NULL is fine */

/* Whether a rule is about a name that only TLS can show. */
bool access_by_name(const struct access_list *list);

/* The rules of a template as text, with `text` for each %* in them; to be freed. A
 * text that could make another rule of one (a comma, a blank, a *, "any") is
 * -EINVAL, as is none where one is wanted. text NULL: only to see whether the rules
 * are any, something that fits each of them. -ENOMEM. */
int access_fill(const char *rules, const char *text, char **filled);

/* Whose what a client makes is, as one harmless text that stays the same when it
 * comes back: its first name, or its user's number, or its address. False: it
 * does not fit. */
#define IDENTITY_OWNER_MAX 600u
#define OWNER_THIS_HOST "this host" /* of all that comes by loopback */
bool identity_owner(const struct identity *who, char *buf, size_t size);

/* The rule that lets such an owner in, and nobody else, to be freed. -EINVAL: none
 * can say so. -ENOMEM. */
int access_of_owner(const char *owner, char **rule);

/* A list without rules. NULL: no memory. */
struct access_list *access_nobody(void);

/* The best that a rule gives; NULL: no rules, all that there is. */
enum access access_of(const struct access_list *list,
		      const struct identity *who);

#endif
