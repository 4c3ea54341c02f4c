#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An address that the kernel hides from the daemon leaves it as symbol and offset, never as a number, also where an
# opener has read it: in each format. An address that the kernel shows to the daemon stays a number.
# set: all
. "$(dirname "$0")/lib.sh"
need cc curl gzip jq perf protoc setpriv
[ "$(id -u)" -eq 0 ] || skip "root, to part with privileges"
chmod 755 "$scratch"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
shows_kernel() {
    "$@" grep -q -m 1 '^0*[1-9a-f][0-9a-f]* T _text$' /proc/kallsyms
}
shows_kernel env || skip "/proc/kallsyms that shows root the kernel"
shows_kernel "${nobody[@]}" && skip "/proc/kallsyms that hides the kernel from users"
machine=$(uname -m | grep -E 'x86_64|aarch64|riscv64') || skip "addresses of 64 bits"

# Programs that are mostly in the kernel, the second one in code that the kernel has made for it.
cat /dev/zero >/dev/null &
children+=("$!")
cc -O1 -o "$scratch/filtered" "$here/filtered.c" || exit 1
"$scratch/filtered" 300 >/dev/null &
children+=("$!")

echo 'sampler: {enabled: true, event: cpu-clock, max_clients: 8, allow: local}' >"$scratch/config.yaml"
chmod 644 "$scratch/config.yaml"

# sample_all: into a file for each format.
sample_all() {
    local query="seconds=3&frequency=997" streams=()
    get "/api/v1/samples?$query" >"$scratch/ndjson" &
    streams+=("$!")
    get "/api/v1/folded?$query" >"$scratch/folded" &
    streams+=("$!")
    get "/api/v1/perf.data?$query" >"$scratch/perf.data" &
    streams+=("$!")
    get "/debug/pprof/profile?$query" >"$scratch/pprof" &
    streams+=("$!")
    wait "${streams[@]}"
}
# Each prints the numbers of the kernel's half that are in its file, in hexadecimal, without 0x.
half='[89a-f][0-9a-f]{15}'
ndjson_numbers() {
    grep -oE "0x$half" "$scratch/ndjson" | cut -c 3-
}
perf_numbers() {
    perf script -i - --show-mmap-events -F comm,ip,sym <"$scratch/perf.data" >"$scratch/script" 2>/dev/null
    grep -oE "\b(0x)?$half\b" "$scratch/script" | sed 's/^0x//'
}
pprof_numbers() {
    gzip -dc "$scratch/pprof" | protoc --decode=perftools.profiles.Profile --proto_path="$root/tests/e2e" \
        "$root/tests/e2e/profile.proto" >"$scratch/profile" || return
    awk '$1 == "address:" { print $2 }' "$scratch/profile" | sort -u | xargs env printf '%x\n' | grep -E "^$half\$"
}
# others: those that say where something is: not in the kernel as it was linked, or in a made-up module, not the one for
# what is unknown, which are the same on all machines; not the vsyscall page.
case $machine in
aarch64) nominal='ffff8000(8[0-9a-f]|9[0-9a-f])[0-9a-f]{6}' ;;
*) nominal='ffffffff8[1-9a-f][0-9a-f]{6}' ;;
esac
others() {
    grep -vxE "$nominal|ffffffff80000000|ffffffffff60[0-9a-f]{4}|ffffffffffffffff" | sort -u | head -n 5
}
# frames CONDITION: how many frames there are for which jq says so.
frames() {
    jq -c "select(.type == \"sample\") | ., (.callchain // [])[] | select($1)" "$scratch/ndjson" | wc -l
}
kernel='.module == "[kernel.kallsyms]"'
named=$kernel' and .symbol != "[unknown]"'

capabilities=+cap_38,+cap_40,+sys_admin,+dac_read_search,+setpcap,+sys_ptrace,+syslog
wrapper=("${nobody[@]}" "--inh-caps=$capabilities" "--ambient-caps=$capabilities")
start_daemon --config.file="$scratch/config.yaml"
case $(status_of '/api/v1/folded?seconds=0.1') in
200) ;;
*) skip "the right to sample" ;;
esac
sample_all
compares "NDJSON has the kernel's functions" "$(frames "$named") > 100"
equals "each has its offset" "$(frames "$named and (.offset // \"\" | test(\"^0x[0-9a-f]+$\") | not)")" 0
equals "none has a number" "$(frames "$kernel and has(\"ip\")")" 0
equals "nor has anything in NDJSON" "$(ndjson_numbers | others)" ""
compares "of user space they are there" "$(frames ".module != \"[kernel.kallsyms]\" and has(\"ip\")") > 10"
compares "folded has the kernel's functions" "$(grep -cE ';[a-z_0-9]+_\[k\]' "$scratch/folded") > 3"
holds "perf.data says where the kernel was linked to" test -n "$(perf_numbers | grep -xE "$nominal")"
equals "perf.data has no other number" "$(perf_numbers | others)" ""
holds "perf names functions of the kernel" grep -qE '^\s+ffff[0-9a-f]+ (do|sys|vfs|entry)[a-z_0-9]*' "$scratch/script"
holds "code that the kernel made has none" grep -qE '\bffffffff80000000 \[unknown\]' "$scratch/script"
compares "pprof has addresses" "$(pprof_numbers | wc -l) > 3"
equals "pprof has no other number" "$(pprof_numbers | others)" ""
for path in /api/v1/status /api/v1/counters /api/v1/pmus /api/v1/events /api/v1/config /metrics; do
    get $path >"$scratch/page"
    lacks "$path has none" "\b(0x)?$half\b" "$scratch/page"
done
stop_daemon

# The daemon may read where the kernel is.
wrapper=()
start_daemon --no-opener --config.file="$scratch/config.yaml"
sample_all
compares "an address that the daemon may read stays a number" \
    "$(frames "$named and (.ip // \"\" | test(\"^0x$half$\"))") > 100"
holds "for perf as well" test -n "$(perf_numbers | others)"
holds "and pprof" test -n "$(pprof_numbers | others)"
finish
