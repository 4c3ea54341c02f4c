#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Profiles of a program whose profile is known, as folded stacks and as pprof; pprof field by field by protoc, and by
# readers of the format that nobody here wrote.
. "$(dirname "$0")/lib.sh"
need "${CC:=cc}" gzip
capture=$(dirname "$PERFCOUNTD")/tests/e2e/capture
[ -x "$capture" ] || skip "there is no $capture: make it"
"$capture" folded 0 99 >/dev/null || skip "sampling does not work here"
"$CC" -O1 -g -fno-omit-frame-pointer -o "$scratch/hot" "$here/hot.c" || exit 1

# run_capture FORMAT FILE: of 5 s; the program ends before, and so has gone when its stacks are written
run_capture() {
    "$scratch/hot" 4 >"$scratch/hot.out" &
    children+=("$!")
    eventually 10 test -s "$scratch/hot.out"
    "$capture" "$1" 5 997 callchain >"$2"
}

within_3_points() {
    compares "$1 has 70 % in one function, within 3 points" "$2 > 67 && $2 < 73"
}

# share: of lines "WEIGHT NAME", how much of the two functions' weight the first has, in percent
share() {
    awk '$2 == "hot_seventy" { a += $1 } $2 == "hot_thirty" { b += $1 } END { print a + b ? 100 * a / (a + b) : 0 }'
}

run_capture folded "$scratch/folded"
holds "each line is a stack and a count" not grep -qvE '^[^ ;]+(;[^;]+)* [1-9][0-9]*$' "$scratch/folded"
holds "no line is there twice, and they are sorted" sh -c "sed 's/ [0-9]*\$//' '$scratch/folded' | sort -cu"
within_3_points "folded" \
    "$(awk '/^hot;/ { print $NF, /;hot_seventy/ ? "hot_seventy" : /;hot_thirty/ ? "hot_thirty" : "?" }' \
        "$scratch/folded" | share)"
holds "callers are outside" grep -qE '^hot;.*main;hot_seventy [0-9]+$' "$scratch/folded"
if [ "$(awk '$3 == "_text" { print $1; exit }' /proc/kallsyms)" != 0000000000000000 ]; then
    holds "the kernel's functions are marked" grep -qE ';[a-z_][A-Za-z0-9_.]*_\[k\]' "$scratch/folded"
fi

run_capture pprof "$scratch/pprof" || { [ "$?" -eq 77 ] && { echo "skipped: pprof, which is not built in"; finish; }; }
holds "it is gzip" gzip -t <"$scratch/pprof"
gzip -dc <"$scratch/pprof" >"$scratch/messages"

if command -v protoc >/dev/null; then
    protoc --decode=perftools.profiles.Profile --proto_path="$root/sampler" "$root/sampler/profile.proto" \
        <"$scratch/messages" >"$scratch/text"
    equals "protoc decodes it" "$?" 0
    holds "and knows each field" not grep -qE '^ *[0-9]+[:{ ]' "$scratch/text"
    # A table of the texts, then the fields of each message by the names of the messages around them.
    awk -f "$here/profile.awk" "$scratch/text" >"$scratch/fields"
    has() {
        holds "protoc: $2" grep -qE "^$1\$" "$scratch/fields"
    }
    has 'sample_type samples/count' "samples are counted"
    has 'sample_type cpu-clock/nanoseconds' "the clock is in nanoseconds"
    has 'period_type cpu-clock/nanoseconds' "so is the period"
    has 'default_sample_type cpu-clock' "the default is the event"
    has 'period 100[0-9]{4}' "the period is that of 997 Hz"
    has 'duration_nanos 5[0-9]{9}' "it took 5 s"
    has "time_nanos $(date +%s | cut -c 1-7)[0-9]{12}" "it was today"
    has 'comment perfcountd: [0-9]+ samples' "it has a comment"
    build_id=$(readelf -n "$scratch/hot" 2>/dev/null | awk '/Build ID/ { print $3 }')
    has "mapping $scratch/hot ${build_id:-[0-9a-f]*} functions" "the program's file and build id are there"
    equals "protoc: every reference has what it refers to" "$(grep '^dangling' "$scratch/fields")" ""
    within_3_points "protoc" "$(awk '$1 == "leaf" && $2 == "hot" { print $3, $4 }' "$scratch/fields" | share)"
else
    echo "skipped: there is no protoc here"
fi

pprof=
for candidate in "$root"/build/tools/usr/bin/pprof /usr/lib/go-*/pkg/tool/*/pprof /usr/lib/go/pkg/tool/*/pprof; do
    [ -x "$candidate" ] && pprof=$candidate
done
if [ -n "$pprof" ]; then
    # The program is hidden, or pprof would look for the symbols itself.
    mv "$scratch/hot" "$scratch/hidden"
    HOME=$scratch "$pprof" -symbolize=none -unit=ms -tagfocus=comm=hot -top -nodecount=500 "$scratch/pprof" \
        >"$scratch/top" 2>"$scratch/complaints"
    equals "go tool pprof reads it" "$?" 0
    holds "go tool pprof knows the event" grep -qx 'Type: cpu-clock' "$scratch/top"
    within_3_points "go tool pprof" "$(awk '$6 ~ /^hot_/ { print $4 + 0, $6 }' "$scratch/top" | share)"
    HOME=$scratch "$pprof" -symbolize=none -sample_index=samples -tagfocus=comm=hot -traces "$scratch/pprof" \
        >"$scratch/traces" 2>/dev/null
    holds "go tool pprof finds the callers" sh -c "grep -A1 hot_seventy '$scratch/traces' | grep -qw main"
else
    echo "skipped: there is no go tool pprof here"
fi
finish
