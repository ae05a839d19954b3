/* SPDX-License-Identifier: BSD-3-Clause */
/* libnbd, loaded when it is needed and not before. With what it is linked to (GnuTLS,
 * libxml2, and the tables of Unicode behind that) it has some 40 MB, which every
 * other command would pay for: above all the watcher of attached devices, which
 * locks its memory, and an initramfs, which holds all that nbdramctl is linked to.
 *
 * Members are called as the library's functions are without nbd_; nbd_*(3) says what
 * they do. */
#ifndef NBDRAM_CTL_NBD_LIBRARY_H
#define NBDRAM_CTL_NBD_LIBRARY_H

#include <libnbd.h>

#define NBD_LIBRARY_FUNCTIONS(X)    \
	X(create)                   \
	X(close)                    \
	X(get_error)                \
	X(set_uri_allow_local_file) \
	X(set_pread_initialize)     \
	X(connect_uri)              \
	X(shutdown)                 \
	X(get_size)                 \
	X(get_block_size)           \
	X(is_read_only)             \
	X(get_tls_negotiated)       \
	X(aio_pread)                \
	X(aio_pwrite)               \
	X(aio_get_fd)               \
	X(aio_get_direction)        \
	X(aio_notify_read)          \
	X(aio_notify_write)

#define NBD_LIBRARY_MEMBER(name) __typeof__(nbd_##name) *name;

struct nbd_library {
	NBD_LIBRARY_FUNCTIONS(NBD_LIBRARY_MEMBER)
};

/* Load it; it stays until the process ends. NULL: told. */
const struct nbd_library *nbd_library_load(void);

#endif
