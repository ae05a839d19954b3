#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The units of systemd as they are built: systemd-analyze finds nothing wrong, and
# the daemon is shut in well enough. Options that they use are there.
. ./functions.sh
requires_command systemd-analyze

units=("$abs_top_builddir"/conf/nbdramd.service
	"$abs_top_builddir"/conf/nbdramd.socket
	"$abs_top_builddir"/conf/run-nbdram-pool.mount
	"$abs_top_builddir"/conf/nbdram-attach.service
	"$abs_top_builddir"/conf/nbdram-disk@.service)
for unit in "${units[@]}"; do
	[ -f "$unit" ] || skip "$unit has not been built"
	! grep -n '@[a-z]*@' "$unit" || fail "$unit: not filled in"
done

# Nothing is installed: the programs are those of this build, and a template is looked
# at as one of what it makes.
mkdir "$tmp/units"
for unit in "${units[@]}"; do
	name=$(basename "$unit")
	sed -e "s|[^ =]*/sbin/nbdramd|$nbdramd|" \
		-e "s|[^ =@]*/bin/nbdramctl|$nbdramctl|" "$unit" \
		>"$tmp/units/${name/@./@scratch.}"
done
grep -q "^ExecStart=$nbdramd " "$tmp/units/nbdramd.service" ||
	fail "nbdramd.service does not start nbdramd"
systemd-analyze verify --man=no "$tmp"/units/* >"$tmp/out" 2>&1
status=$?
cat "$tmp/out"
[ "$status" = 0 ] && ! grep -q "$tmp/units\|nbdram" "$tmp/out" ||
	fail "systemd-analyze verify finds something"

# What attach starts is what the unit starts, and by a name that is left alone.
grep -q "^ExecStart=@$nbdramctl @nbdramctl attach-watch$" \
	"$tmp/units/nbdram-attach.service" ||
	fail "nbdram-attach.service does not start the watcher"
grep -q "^EnvironmentFile=.*/nbdram/disks.d/%i.conf$" \
	"$tmp/units/nbdram-disk@scratch.service" ||
	fail "nbdram-disk@.service reads another file"

# 10 is a service without any of it.
systemd-analyze security --offline=yes --threshold=20 \
	"$tmp/units/nbdramd.service" >"$tmp/out" 2>&1 ||
	{ cat "$tmp/out"; fail "nbdramd.service is more exposed than it need be"; }

# What stands behind -p of the service is the mount point.
where=$(sed -n 's/^Where=//p' "$tmp/units/run-nbdram-pool.mount")
grep -q "NBDRAMD_OPTIONS=-p $where\"" "$tmp/units/nbdramd.service" ||
	fail "the pool is not where it is mounted"
[ "$(systemd-escape --path --suffix=mount "$where")" = run-nbdram-pool.mount ] ||
	fail "the mount's unit has the wrong name for $where"
"$nbdramd" -t -p "$where" 1M || fail "its options are none"

# Whom it runs as is whom sysusers makes, and who owns the pool.
user=$(sed -n 's/^User=//p' "$tmp/units/nbdramd.service")
grep -q "^u $user " "$abs_top_srcdir/conf/nbdram.sysusers" ||
	fail "nobody makes the user $user"
grep -q "uid=$user,gid=$user" "$tmp/units/run-nbdram-pool.mount" ||
	fail "the pool is not the user's"

# What the generator adds to the mount is right for the kernel there is, and for an
# older and a newer one.
mkdir "$tmp/bin"
for version in 5.10.0-1-amd64 6.1.0-28-amd64 6.4.0 6.12.9-x 7.0-rc1 10.1 odd; do
	printf '#!/bin/sh\necho %s\n' "$version" >"$tmp/bin/uname"
	chmod +x "$tmp/bin/uname"
	rm -rf "$tmp/added"
	NBDRAM_MOUNT=$abs_top_builddir/conf/run-nbdram-pool.mount \
		PATH=$tmp/bin:$PATH sh "$abs_top_builddir/conf/nbdram-generator" \
		"$tmp/added" || fail "the generator fails for Linux $version"
	added=$tmp/added/run-nbdram-pool.mount.d/noswap.conf
	case $version in
	5.* | 6.1.* | odd)
		[ ! -e "$added" ] || fail "noswap for Linux $version" ;;
	*)
		[ -e "$added" ] || fail "no noswap for Linux $version"
		options=$(sed -n 's/^Options=//p' \
			"$abs_top_builddir/conf/run-nbdram-pool.mount")
		grep -qx "Options=$options,noswap" "$added" ||
			fail "other options for Linux $version" ;;
	esac
done
# Swap is no way out for what is not on that mount either.
grep -qx 'MemorySwapMax=0' "$tmp/units/nbdramd.service" ||
	fail "nbdramd.service may be swapped"
