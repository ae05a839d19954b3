/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded into nbdkit ahead of everything when it is tested with a plugin built
 * with address sanitizer. With that library loaded first, nbdkit of Debian 12
 * hangs at exit in a destructor of one of its TLS libraries, whatever the
 * plugin. The plugin has been unloaded by then, so nothing of ours is missed. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void exit(int status)
{
	fflush(NULL);
	_exit(status);
}
