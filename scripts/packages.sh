# SPDX-License-Identifier: BSD-3-Clause
# What is needed, by the names of Debian's packages: one a line, and what it is
# for. A|B: either will do, A is installed if neither is there.
# shellcheck shell=bash disable=SC2034

# To build, and to serve a RAM disk.
build_packages='
autoconf             makes configure
automake             makes Makefile.in
libtool              links the plugin
pkg-config|pkgconf   finds libraries
gcc                  the compiler
libc6-dev            and what it compiles against
make                 runs it all
perl                 pod2man for the manual page
nbdkit               serves the plugin
nbdkit-plugin-dev    nbdkit-plugin.h
libevent-dev         the event loop of nbdramd
libssl-dev           TLS
libnl-3-dev          nbdramctl attach asks the kernel by netlink
libnl-genl-3-dev     generic netlink, likewise
libjansson-dev       what nbdramctl and nbdramd say to each other
libnbd-dev           nbdramctl bench asks any NBD server by it
libzstd-dev          images that are compressed
libsystemd-dev       nbdramd tells the service manager when it is ready
'

# To run all tests; each test that misses something is skipped.
check_packages='
binutils             nm, readelf: what the libraries need from outside
clang                the second compiler
clang-format         the look of the source
valgrind             memory errors and leaks; instructions and system calls counted
libcmocka-dev        unit tests
libnbd-bin           nbdinfo, nbdcopy: clients
python3-libnbd       nbdsh, the client that tests are written with
qemu-utils           qemu-img, qemu-io: clients; qemu-nbd, a server for ours
gnutls-bin           certtool, psktool: the files that TLS needs
openssl              s_client
fio                  data checked under load
nbd-client           the client that administrators use
nbd-server           the server that they use, for our client
user-mode-linux      a kernel of its own for nbd-client, wherever tests run
busybox-static       what that kernel starts
cpio                 packs it
iproute2             its network
fuse3                nbdfuse, where no other kernel client may be had
e2fsprogs            file systems on RAM disks
dosfstools           mkfs.vfat
exfatprogs           mkfs.exfat
ntfs-3g              mkfs.ntfs
xfsprogs             mkfs.xfs
btrfs-progs          mkfs.btrfs
mmdebstrap           the root of a build host, in long runs
jq                   reads what nbdinfo and qemu-img say
procps               ps
systemd              systemd-analyze: whether the units are right
xz-utils             make dist
zstd                 images that others have compressed
'
