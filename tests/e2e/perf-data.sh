#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# perf reads our stream and finds in it what a program with a known profile does, as a reader of JSON does in ours.
. "$(dirname "$0")/lib.sh"
need perf jq "${CC:=cc}"
capture=$(dirname "$PERFCOUNTD")/tests/e2e/capture
[ -x "$capture" ] || skip "there is no $capture: make it"
"$capture" ndjson 0 99 >/dev/null || skip "sampling does not work here"
"$CC" -O1 -g -fno-omit-frame-pointer -o "$scratch/hot" "$here/hot.c" || exit 1

# run_capture FILE ARGUMENTS...: of some seconds in which the program runs
run_capture() {
    local file=$1
    shift
    "$scratch/hot" 6 >"$scratch/hot.out" &
    children+=("$!")
    eventually 10 test -s "$scratch/hot.out"
    "$capture" "$@" >"$file"
    wait "${children[-1]}"
}

# share_of FILE: of lines "WEIGHT SYMBOL", how much of the two functions' weight the first has, in percent
share_of() {
    awk '$NF == "hot_seventy" { a += $1 } $NF == "hot_thirty" { b += $1 } END { print a + b ? 100 * a / (a + b) : 0 }' "$1"
}

# report FILE: what perf makes of it, a line "PERCENT SYMBOL" each; what it complains about is kept
report() {
    perf report -i - --stdio --comm hot --sort symbol -g none --no-children -F overhead,sym \
        <"$1" 2>"$scratch/complaints" | awk '$1 ~ /%$/ { print $1 + 0, $NF == "" ? "-" : $3 }'
}

within_3_points() {
    compares "$1 has 70 % in one function, within 3 points" "$2 > 67 && $2 < 73"
}

run_capture "$scratch/data" perf-data 5 997
report "$scratch/data" >"$scratch/report"
within_3_points "perf report" "$(share_of "$scratch/report")"
equals "perf has no complaint" "$(cat "$scratch/complaints")" ""
perf report -i - --stdio --header-only <"$scratch/data" >"$scratch/header" 2>&1
holds "perf knows the event" grep -q 'event : name = cpu-clock' "$scratch/header"
holds "perf knows the kernel" grep -q "os release : $(uname -r)" "$scratch/header"
perf script -i - -F comm,sym <"$scratch/data" 2>"$scratch/complaints" | awk '$1 == "hot" { print 1, $NF }' >"$scratch/script"
equals "perf script has no complaint" "$(cat "$scratch/complaints")" ""
within_3_points "perf script" "$(share_of "$scratch/script")"
if [ "$(awk '$3 == "_text" { print $1; exit }' /proc/kallsyms)" != 0000000000000000 ]; then
    holds "symbols of the kernel are found" \
        sh -c "perf script -i - -F comm,ip,sym <'$scratch/data' 2>/dev/null | grep -q 'ffff[0-9a-f]* [a-z_]'"
fi

run_capture "$scratch/group" perf-data 5 499 callchain read
report "$scratch/group" >"$scratch/report"
within_3_points "perf report, of a group with callchains," "$(share_of "$scratch/report")"
perf script -i - -F comm,event,ip,sym <"$scratch/group" >"$scratch/script" 2>/dev/null
holds "callers are found" grep -A2 -w hot_seventy "$scratch/script" -m 1 -q
holds "the other event of the group has its own samples" grep -q 'context-switches' "$scratch/script"

run_capture "$scratch/ndjson" ndjson 5 997 callchain
holds "every line is JSON" jq -es 'all(has("type"))' "$scratch/ndjson"
jq -r 'select(.type == "sample" and .comm == "hot") | "1 \(.symbol)"' "$scratch/ndjson" >"$scratch/report"
within_3_points "NDJSON" "$(share_of "$scratch/report")"
holds "header first" sh -c "head -n 1 '$scratch/ndjson' | jq -e '.type == \"header\" and .event == \"cpu-clock\"'"
holds "end last" sh -c "tail -n 1 '$scratch/ndjson' | jq -e '.type == \"end\" and .records > 100'"
finish
