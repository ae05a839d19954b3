# SPDX-License-Identifier: BSD-3-Clause
# What may not be opened takes as long to be refused as what is not there.
. ./functions.sh
. "$abs_top_srcdir/tests/server.sh"
. "$abs_top_srcdir/tests/tls.sh"

case $sanitizers in
?*) skip "times mean nothing with a sanitizer" ;;
esac
requires_command taskset
[ "$(nproc)" -ge 2 ] || skip "server and client want a processor each"
tls_init
start_nbdramd --tcp --with taskset -c 0 -- -m 64M -o tls=on -o "tls-dir=$tls" \
	-o workers=1 -e one,size=1M,allow=cert:nobody -e two,size=1M
peer "$tls_client" "$(scaled 1000 300)" <<'END' || fail "they can be told apart"
import statistics
folder, n = args[0], int(args[1])
os.sched_setaffinity(0, {1})
for secure in (False, True):
    # The machine may be busy: of several tries one must do.
    for attempt in range(5):
        p = Peer().hello()
        if secure:
            p.starttls(folder)
        times = {"one": [], "non": []}
        for i in range(n):
            for name in times:
                began = time.perf_counter_ns()
                try:
                    p.ask_info(name)
                except Refused:
                    pass
                times[name].append(time.perf_counter_ns() - began)
        a, b = (statistics.median(t) / 1000 for t in times.values())
        print("secure:", secure, "%.1f us and %.1f us" % (a, b))
        if abs(a - b) < 20:
            break
    assert abs(a - b) < 20
END
stop_nbdramd
