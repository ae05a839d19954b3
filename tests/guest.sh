# SPDX-License-Identifier: BSD-3-Clause
# A guest of User-mode Linux, for tests that need a kernel of their own. Its first
# process is a script of the test, which has the functions of guest-init.sh; it sees
# this host's programs by hostfs, where nothing is writable. Comes after
# functions.sh.
# shellcheck shell=bash

# requires_guest [MODULE...]: skip unless there can be one that has these files of
# modules (below kernel/, "drivers/block/nbd.ko"). Sets $guest_modules to the folder
# that has them.
requires_guest()
{
	local name
	requires_root
	requires_command linux.uml cpio busybox
	guest_modules=$(echo /usr/lib/uml/modules/*)
	for name in "$@"; do
		[ -f "$guest_modules/kernel/$name" ] ||
			skip "User-mode Linux has no $name"
	done
	[ ! "${guest_root:-}" ] || return 0
	ldd "$(command -v busybox)" >/dev/null 2>&1 &&
		skip "busybox is not static (Debian: busybox-static)"
	guest_root=$tmp/guest
	mkdir -p "$guest_root/bin" "$guest_root/dev" "$guest_root/files"
	cp "$(command -v busybox)" "$guest_root/bin/busybox"
	chroot "$guest_root" /bin/busybox --install -s /bin ||
		skip "busybox cannot be laid out"
	cp "$abs_top_srcdir/tests/guest-init.sh" "$guest_root/"
	mknod "$guest_root/dev/console" c 5 1 &&
		mknod "$guest_root/dev/null" c 1 3 ||
		skip "cannot make device nodes"
}

# run_guest [--with COMMAND... --] SCRIPT MEMORY SECONDS [ARGUMENT...]: boot it with
# the script (of tests/) as its first process and wait until it has ended. What is
# in $guest_root/files is at /files there; t_NAME=VALUE among the arguments sets
# $t_NAME in the script, t_tmp=SIZE its tmpfs. Fails the test unless the script has called pass.
run_guest()
{
	local front=() script memory seconds scratch since
	if [ "${1:-}" = --with ]; then
		shift
		while [ "$1" != -- ]; do
			front+=("$1")
			shift
		done
		shift
	fi
	script=$1 memory=$2 seconds=$3
	shift 3
	cp "$abs_top_srcdir/tests/$script" "$guest_root/init"
	chmod 755 "$guest_root/init"
	(cd "$guest_root" && find . | cpio -o -H newc --quiet | gzip -1) \
		>"$tmp/initrd.gz" || fail "no initrd"
	mkdir -p "$tmp/uml"
	# Its memory is a file, best on a tmpfs.
	scratch=$(mktemp -d /dev/shm/nbdram-test-XXXXXX) || scratch=$tmp
	cleanup_fn rm -rf "$scratch"
	since=$(date +%s)
	TMPDIR=$scratch timeout -k 5 "$seconds" "${front[@]}" linux.uml \
		"mem=$memory" uml_dir="$tmp/uml" umid="nbdram$$" \
		initrd="$tmp/initrd.gz" rdinit=/init con0=null,fd:1 con=null \
		quiet "t_modules=$guest_modules" "$@" \
		>"$tmp/guest.log" 2>&1 </dev/null
	tr -d '\r' <"$tmp/guest.log"
	echo "the guest ran for $(($(date +%s) - since)) s"
	grep -q 'GUEST-PASS' "$tmp/guest.log" || fail "the guest has not passed"
}
