/* SPDX-License-Identifier: BSD-3-Clause */
/* See check-pool.h. */
#include "check-pool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "store.h"
#include "table.h"

int check_pool(const char *folder, bool json)
{
	struct ram_scrub result;
	struct ram_why why;
	char size[16];

	if (ram_pool_look(folder, &result, &why)) {
		complain("%s", why.text);
		return EXIT_FAILURE;
	}
	if (json)
		printf("{\n    \"disks\": %" PRIu64 ",\n    \"bytes\": %" PRIu64
		       "\n}\n",
		       result.disks, result.bytes);
	else
		printf("sound: %" PRIu64
		       " disks and snapshots, %s of data and tables\n",
		       result.disks, human_size(result.bytes, size));
	if (fflush(stdout) != 0 || ferror(stdout)) {
		complain("cannot write the result: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
