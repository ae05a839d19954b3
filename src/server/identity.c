/* SPDX-License-Identifier: BSD-3-Clause */
/* Who a client is. See access.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"

static void address_text(const struct address *a, char *buf, size_t size)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char text[INET6_ADDRSTRLEN];

	if (memcmp(a->byte, mapped, sizeof(mapped)) == 0)
		inet_ntop(AF_INET, a->byte + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, a->byte, text, sizeof(text));
	snprintf(buf, size, "%s", text);
}

void identity_begin(struct identity *who, const struct address *address,
		    bool local, uid_t uid)
{
	static const struct address nowhere;
	struct address same;

	memset(who, 0, sizeof(*who));
	who->address = *address;
	who->local = local;
	who->uid = uid;
	if (local)
		snprintf(who->text, sizeof(who->text), "uid:%u", (unsigned)uid);
	else
		address_text(address, who->text, sizeof(who->text));
	same = address_identity(address);
	if (local || memcmp(&same, &nowhere, sizeof(same)) == 0)
		who->host = OWNER_THIS_HOST;
	else
		who->host = who->text;
}

void identity_end(struct identity *who)
{
	while (who->name_count > 0)
		free(who->names[--who->name_count]);
	free(who->names);
	who->names = NULL;
}
