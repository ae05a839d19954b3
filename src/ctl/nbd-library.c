/* SPDX-License-Identifier: BSD-3-Clause */
/* See nbd-library.h. */
#include "nbd-library.h"

#include <dlfcn.h>

#include "check.h"
#include "print.h"

/* Its name since 1.0, whatever the release. */
#define LIBNBD "libnbd.so.0"

static struct nbd_library library;

static const struct {
	const char *name;
	void *member; /* where its address goes */
} functions[] = {
#define NBD_LIBRARY_ENTRY(function) {"nbd_" #function, &library.function},
	NBD_LIBRARY_FUNCTIONS(NBD_LIBRARY_ENTRY)};

const struct nbd_library *nbd_library_load(void)
{
	void *handle = dlopen(LIBNBD, RTLD_NOW | RTLD_LOCAL);
	unsigned i;

	if (!handle) {
		complain("%s; bench needs libnbd (Debian: apt-get install "
			 "libnbd0)",
			 dlerror());
		return NULL;
	}
	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		void *address = dlsym(handle, functions[i].name);

		if (!address) {
			complain("%s has no %s: it is too old for bench",
				 LIBNBD, functions[i].name);
			return NULL;
		}
		/* All of them are pointers to functions: of one form. */
		*(void **)functions[i].member = address;
	}
	return &library;
}
