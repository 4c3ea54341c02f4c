#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In every format, the daemon shows a kernel address that it may not read as symbol and offset, never as a number, even
# if an opener has read it. A kernel address that the daemon may read is shown as a number.
# set: all
. "$(dirname "$0")/lib.sh"
need cc curl gzip jq perf protoc setpriv
[ "$(id -u)" -eq 0 ] || skip "root, to drop privileges"
chmod 755 "$scratch"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
shows_kernel() {
    "$@" grep -q -m 1 '^0*[1-9a-f][0-9a-f]* T _text$' /proc/kallsyms
}
shows_kernel env || skip "/proc/kallsyms that shows kernel addresses to root"
shows_kernel "${nobody[@]}" && skip "/proc/kallsyms that hides kernel addresses from users"
machine=$(uname -m | grep -E 'x86_64|aarch64|riscv64') || skip "64-bit addresses"

# The programs spend most of their time in the kernel, the second one in code that the kernel compiled for it.
cat /dev/zero >/dev/null &
children+=("$!")
cc -O1 -o "$scratch/filtered" "$here/filtered.c" || exit 1
"$scratch/filtered" 300 >/dev/null &
children+=("$!")

echo 'sampler: {enabled: true, event: cpu-clock, max_clients: 8, allow: local}' >"$scratch/config.yaml"
chmod 644 "$scratch/config.yaml"

# sample_all: samples into a file for each format.
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
# Each function prints the kernel addresses in its file, in hexadecimal without 0x.
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
# others: filters out addresses that reveal nothing because they are the same on all machines: nominal kernel addresses,
# the module for unknown addresses, and the vsyscall page.
case $machine in
aarch64) nominal='ffff8000(8[0-9a-f]|9[0-9a-f])[0-9a-f]{6}' ;;
*) nominal='ffffffff8[1-9a-f][0-9a-f]{6}' ;;
esac
others() {
    grep -vxE "$nominal|ffffffff80000000|ffffffffff60[0-9a-f]{4}|ffffffffffffffff" | sort -u | head -n 5
}
# frames CONDITION: prints how many frames meet the jq condition.
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
compares "NDJSON has kernel functions" "$(frames "$named") > 100"
equals "each kernel function has its offset" \
    "$(frames "$named and (.offset // \"\" | test(\"^0x[0-9a-f]+$\") | not)")" 0
equals "no kernel frame has an address" "$(frames "$kernel and has(\"ip\")")" 0
equals "NDJSON has no kernel address" "$(ndjson_numbers | others)" ""
compares "frames in user space have addresses" "$(frames ".module != \"[kernel.kallsyms]\" and has(\"ip\")") > 10"
compares "folded has kernel functions" "$(grep -cE ';[a-z_0-9]+_\[k\]' "$scratch/folded") > 3"
holds "perf.data has the nominal address of the kernel" test -n "$(perf_numbers | grep -xE "$nominal")"
equals "perf.data has no other kernel address" "$(perf_numbers | others)" ""
holds "perf finds kernel functions" grep -qE '^\s+ffff[0-9a-f]+ (do|sys|vfs|entry)[a-z_0-9]*' "$scratch/script"
holds "run-time compiled kernel code has no address" grep -qE '\bffffffff80000000 \[unknown\]' "$scratch/script"
compares "pprof has addresses" "$(pprof_numbers | wc -l) > 3"
equals "pprof has no other kernel address" "$(pprof_numbers | others)" ""
for path in /api/v1/status /api/v1/counters /api/v1/pmus /api/v1/events /api/v1/config /metrics; do
    get $path >"$scratch/page"
    lacks "$path has no kernel address" "\b(0x)?$half\b" "$scratch/page"
done
stop_daemon

# This daemon runs as root, which may read kernel addresses.
wrapper=()
start_daemon --no-opener --config.file="$scratch/config.yaml"
sample_all
compares "a kernel address that the daemon may read is shown as a number" \
    "$(frames "$named and (.ip // \"\" | test(\"^0x$half$\"))") > 100"
holds "perf.data has kernel addresses" test -n "$(perf_numbers | others)"
holds "pprof has kernel addresses" test -n "$(pprof_numbers | others)"
finish
