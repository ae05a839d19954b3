# SPDX-License-Identifier: BSD-3-Clause
"""Where the plugin under nbdkit behaves otherwise than nbdramd, for nbdkit
itself speaks the protocol there; and why. A test that tolerates one of them
says nbdkit("KEY"), and nothing else is tolerated."""

DIFFERS = {
    "32-options":
        "nbdkit ends a handshake of more than 32 options",
    "any-name":
        "nbdkit gives the one disk to a client whatever name it asks for: "
        "names are the plugin's to look at, and ours has no list of exports",
    "asked-twice":
        "nbdkit answers twice what a client asks for twice, in INFO, GO and "
        "LIST_META_CONTEXT",
    "disc":
        "nbdkit answers requests that are under way when DISC comes with "
        "ESHUTDOWN, where the protocol wants them done",
    "extended-headers":
        "nbdkit 1.32 does not know them",
    "holes":
        "nbdkit sends holes as data",
    "length-0":
        "nbdkit takes nothing for beyond the end: ENOSPC for WRITE and "
        "WRITE_ZEROES",
    "list-twice":
        "nbdkit answers a second LIST on a connection by ERR_INVALID",
    "long-options":
        "nbdkit 1.32 disconnects when an option is longer than it has room "
        "for, where it could answer ERR_TOO_BIG",
    "parallel":
        "nbdkit has the requests of a connection done by several threads; "
        "what a client sends without waiting may be done in any order",
    "qemu-contexts":
        "nbdkit has base:allocation alone",
}
