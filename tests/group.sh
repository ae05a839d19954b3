# SPDX-License-Identifier: BSD-3-Clause
# For tests that need a memory control group. Comes after functions.sh.
# shellcheck shell=bash

# memory_group BYTES: make one with this limit, for memory and (where the kernel
# counts it) swap together; skip where that cannot be done. in_group is then what
# start_nbdramd --with wants, to start it in there.
memory_group()
{
	local parent limit swap
	requires_root
	parent=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' \
		/proc/mounts)
	if [ "$parent" ]; then
		limit=memory.limit_in_bytes swap=memory.memsw.limit_in_bytes
	else
		parent=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
		grep -qw memory "${parent:-/nowhere}/cgroup.subtree_control" \
			2>/dev/null || skip "no memory control groups"
		limit=memory.max swap=memory.swap.max
	fi
	group=$parent/nbdram-test-$$
	mkdir "$group" 2>/dev/null || skip "no control group can be made"
	cleanup_fn _remove_group "$group"
	echo "$1" >"$group/$limit" || skip "the group takes no limit"
	case $swap in
	memory.swap.max) echo 0 >"$group/$swap" ;;
	*) echo "$1" >"$group/$swap" ;;
	esac 2>/dev/null
	# shellcheck disable=SC2034
	in_group=(sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group")
}

# How often the kernel has killed somebody in it for want of memory.
group_kills()
{
	cat "$group/memory.oom_control" "$group/memory.events" 2>/dev/null |
		awk '$1 == "oom_kill" { print $2 }'
}

_remove_group()
{
	wait_for 10 rmdir "$1"
}
