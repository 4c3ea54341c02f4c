#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Profiles of a program whose profile is known, as folded stacks and as pprof; pprof field by field by protoc, and by
# readers of the format that nobody here wrote.
. "$(dirname "$0")/lib.sh"
need curl gzip pprof protoc readelf "${CC:=cc}"
# A name of its own: others may run it too.
program=hot$$
"$CC" -O1 -g -fno-omit-frame-pointer -o "$scratch/$program" "$here/hot.c" || exit 1
echo 'sampler: {enabled: true, allow: local, event: cpu-clock}' >"$scratch/config.yaml"
# The program and the daemon have priority, and the time that they need for enough samples.
first=()
[ "$(id -u)" -ne 0 ] || first=(nice -n -10)
wrapper=("${first[@]}")
start_daemon --config.file="$scratch/config.yaml"
case $(status_of '/api/v1/folded?seconds=0.1') in
200) ;;
403) skip "sampling is not allowed here: $(get '/api/v1/folded?seconds=0.1')" ;;
esac

cpu_seconds=$(cpu_seconds_of "${first[@]}" "$scratch/$program")
long=$(awk "BEGIN { n = int(1.5 * $enough / 1999 / $cpu_seconds) + 2; print (n > 45 ? 45 : n) }")

# It ends before, and so has gone when its stacks are written.
: >"$scratch/hot.out"
"${first[@]}" "$scratch/$program" $((long - 1)) >"$scratch/hot.out" &
hot=$!
children+=("$hot")
eventually 10 test -s "$scratch/hot.out"
get "/api/v1/folded?seconds=$long&frequency=1999" -o "$scratch/folded" &
folded=$!
children+=("$folded")
status=$(get "/debug/pprof/profile?seconds=$long&frequency=1999" -o "$scratch/pprof" -w '%{http_code}')
wait "$folded" "$hot"

truth=$(share <"$scratch/hot.out")
truth=${truth% *}
compares "the program had 70 % there, by its own clock" "$truth > 68 && $truth < 72"

compares "there are stacks" "$(wc -l <"$scratch/folded") > 5"
equals "each line is a stack and a count" "$(grep -vE '^[^ ;]+(;[^;]+)* [1-9][0-9]*$' "$scratch/folded")" ""
# Stacks that found no room come last.
holds "no line is there twice, and they are sorted" \
    sh -c "grep -v '^\[truncated\] ' '$scratch/folded' | sed 's/ [0-9]*\$//' | sort -cu"
within_points "folded" \
    "$(awk -v comm="$program;" 'index($0, comm) == 1 {
            print $NF, /;hot_seventy/ ? "hot_seventy" : /;hot_thirty/ ? "hot_thirty" : "?"
        }' \
        "$scratch/folded" | share)"
holds "callers are outside" grep -qE "^$program;.*main;hot_seventy [0-9]+\$" "$scratch/folded"
if [ "$(awk '$3 == "_text" { print $1; exit }' /proc/kallsyms)" != 0000000000000000 ]; then
    holds "the kernel's functions are marked" grep -qE ';[a-z_][A-Za-z0-9_.]*_\[k\]' "$scratch/folded"
fi

equals "pprof" "$status" 200
holds "it is gzip" gzip -t <"$scratch/pprof"
gzip -dc <"$scratch/pprof" >"$scratch/messages"

protoc --decode=perftools.profiles.Profile --proto_path="$root/tests/e2e" "$root/tests/e2e/profile.proto" \
    <"$scratch/messages" >"$scratch/text"
equals "protoc decodes it" "$?" 0
lacks "and knows each field" '^ *[0-9]+[:{ ]' "$scratch/text"
# A table of the texts, then the fields of each message by the names of the messages around them.
awk -f "$here/profile.awk" "$scratch/text" >"$scratch/fields"
has() {
    holds "protoc: $2" grep -qE "^$1\$" "$scratch/fields"
}
has 'sample_type samples/count' "samples are counted"
has 'sample_type cpu-clock/nanoseconds' "the clock is in nanoseconds"
has 'period_type cpu-clock/nanoseconds' "so is the period"
has 'default_sample_type cpu-clock' "the default is the event"
has 'period 500[0-9]{3}' "the period is that of 1999 Hz"
has "duration_nanos ${long}[0-9]{9}" "it took $long s"
has "time_nanos $(date +%s | cut -c 1-7)[0-9]{12}" "it was today"
has 'comment perfcountd: [0-9]+ samples' "it has a comment"
build_id=$(readelf -n "$scratch/$program" | awk '/Build ID/ { print $3 }')
has "mapping $scratch/$program ${build_id:?} functions" "the program's file and build id are there"
equals "protoc: every reference leads somewhere" "$(grep '^dangling' "$scratch/fields")" ""
within_points "protoc" \
    "$(awk -v comm="$program" '$1 == "leaf" && $2 == comm { print $3, $4 }' "$scratch/fields" | share)"

# The program is hidden, or pprof would look for the symbols itself.
mv "$scratch/$program" "$scratch/hidden"
HOME=$scratch pprof -symbolize=none -unit=ms -tagfocus=comm="$program" -top -nodecount=500 "$scratch/pprof" \
    >"$scratch/top" 2>"$scratch/complaints"
equals "go tool pprof reads it" "$?" 0
holds "go tool pprof knows the event" grep -qx 'Type: cpu-clock' "$scratch/top"
within_points "go tool pprof" "$(awk '$6 ~ /^hot_/ { print $4 * 1.999, $6 }' "$scratch/top" | share)"
HOME=$scratch pprof -symbolize=none -sample_index=samples -tagfocus=comm="$program" -traces "$scratch/pprof" \
    >"$scratch/traces" 2>/dev/null
holds "go tool pprof finds the callers" sh -c "grep -A1 hot_seventy '$scratch/traces' | grep -qw main"
finish
