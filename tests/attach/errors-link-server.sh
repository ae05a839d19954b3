# SPDX-License-Identifier: BSD-3-Clause
# Links to servers that are none, or do as none should.
. ./functions.sh
. "$abs_top_srcdir/tests/attach/link.sh"

at() { echo "nbd://127.0.0.1:$liar/disk"; }

start_liar silent
no_link ETIMEDOUT "127.0.0.1:$liar/disk: connected, but nobody says anything; is that an NBD server" \
	-t 300 "$(at)"
no_link ETIMEDOUT 'nobody says anything' -t 300 -a "$(at)"
no_link ECANCELED 'given up' -c "$(at)" </dev/null
stop_liar

start_liar close
no_link ECONNRESET 'the server has hung up; its log may say why' "$(at)"
stop_liar

start_liar endless
no_link EPROTO "the server's answer has no end" "$(at)"
no_link ECANCELED 'given up' -c "$(at)" </dev/null
stop_liar

# Slow is not wrong.
start_liar trickle
link 'size=1048576 .*blocks=1,4096,33554432' "$(at)"
no_link ETIMEDOUT 'the server answers no more' -t 100 "$(at)"
stop_liar

# Cut at every byte of 18 + 34 + 32 + 20.
start_liar cut
uri=$(at)
for ((n = 0; n < 104; n++)); do
	"$link_io" "$uri" >"$tmp/link" 2>&1 && fail "opened after $n bytes"
	read -r line <"$tmp/link"
	[[ $line = "ECONNRESET: "*": the server has hung up"* ]] ||
		fail "after $n bytes: $line"
done
link 'size=1048576 ' "$(at)"
stop_liar

# What is said, the error, and its words.
hello=4e42444d4147494349484156454f50540003
lies=(
	485454502f312e31 EPROTO 'an HTTP server answers there'
	5353482d322e302d EPROTO 'an SSH server answers there'
	4e42444d41474943000042028186125300000000 EPROTO 'the oldstyle protocol'
	${hello}0003e889045565a90000000700000001ffffffff EPROTO 'answer is too long'
	${hello}0003e889045565a9000000070000000100000000 EPROTO
	"has not told the export's size"
	${hello}0003e889045565a9000000078000000600000000 ENXIO
	"refuses: ERR_UNKNOWN; is that the export's name"
	# Words from outside cannot forge lines.
	${hello}0003e889045565a90000000780000002000000060a1b5b33316d EACCES
	'refuses: \\x0a\\x1b\[31m$')
said=()
for ((i = 0; i < ${#lies[@]}; i += 3)); do
	said+=("${lies[i]}")
done
start_liar say "${said[@]}"
for ((i = 0; i < ${#lies[@]}; i += 3)); do
	no_link "${lies[i + 1]}" "${lies[i + 2]}" "$(at)"
done
