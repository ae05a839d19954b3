/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands for bench-command.c where there is no libnbd. */
#include <stdlib.h>

#include "bench-command.h"
#include "print.h"

int bench_command(int argc, char **argv, bool json)
{
	(void)argc;
	(void)argv;
	(void)json;
	complain("bench: this nbdramctl was built without libnbd (configure "
		 "--without-libnbd)");
	return EXIT_FAILURE;
}
