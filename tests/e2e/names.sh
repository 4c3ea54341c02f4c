#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Samples have function names as in the source, for C++, Rust, and functions that a program generates at run time and
# lists in /tmp/perf-PID.map, with an opener (if there is one) and without.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl gzip jq cc
program=names$$
cc -O1 -g -fno-omit-frame-pointer -o "$scratch/$program" "$here/names.c" || exit 1
echo 'sampler: {enabled: true, allow: local, event: cpu-clock}' >"$scratch/config.yaml"

# start_program: starts the program. Sets pid.
start_program() {
    rm -f "$scratch/names.out"
    "$scratch/$program" 600 >"$scratch/names.out" &
    pid=$!
    children+=("$pid")
    eventually 60 test -s "$scratch/names.out"
}

end_program() {
    kill "$pid"
    wait "$pid" 2>/dev/null
    rm -f "/tmp/perf-$pid.map"
}

# knows NAME: succeeds if a stream of the program's samples has the function's name. During the stream, the daemon reads
# symbols.
knows() {
    get "/api/v1/folded?seconds=0.3&frequency=997&pid=$pid" | grep -qF "${1//;/:}"
}

# sample SECONDS: samples into the files folded, samples and pprof, and repeats this if the program hardly ran
# meanwhile.
sample() {
    holds "the program is sampled" eventually 60 sampled "$1"
}
sampled() {
    local query="seconds=$1&frequency=997&pid=$pid" folded samples
    get "/api/v1/folded?$query" -o "$scratch/folded" &
    folded=$!
    get "/api/v1/samples?$query" -o "$scratch/samples" &
    samples=$!
    get "/debug/pprof/profile?$query" -o "$scratch/pprof"
    wait "$folded" "$samples"
    has_samples "$scratch/samples" 100
}

in_all() {
    holds "folded: $1" grep -qE "^$program;(.*;)?${1//;/:} [0-9]+\$" "$scratch/folded"
    # shellcheck disable=SC2016 # jq expands it
    holds "NDJSON: $1" jq -se --arg name "$1" 'any(.[]; .symbol == $name)' "$scratch/samples"
    holds "pprof: $1" sh -c "gzip -dc '$scratch/pprof' | grep -qaF '$1'"
}

start_daemon --config.file="$scratch/config.yaml"
case $(status_of '/api/v1/folded?seconds=0.1') in
200) ;;
403) skip "the right to sample" ;;
esac
start_program
holds "the daemon reads the program's symbols" eventually 60 knows 'early function:1'
kill -USR1 "$pid"
holds "the daemon finds the function that was generated since" eventually 60 knows 'late;function'
sample 1
in_all 'app::value<int>::spin'
in_all app::turn
in_all 'early function:1'
in_all 'late;function'
lacks "no name is mangled" _ZN3app "$scratch/folded" "$scratch/samples"
holds "a C name is unchanged" grep -qE "^$program;.*main;" "$scratch/folded"
holds "the module of anonymous memory is //anon" \
    jq -se 'any(.[]; .symbol == "early function:1" and .module == "//anon")' "$scratch/samples"
end_program

# A JIT symbol file that is a link, or that belongs to another user, is not read.
start_program
mv "/tmp/perf-$pid.map" "$scratch/map"
ln -s "$scratch/map" "/tmp/perf-$pid.map"
eventually 60 knows 'app::value<int>::spin'
sample 1
lacks "a link is not followed" 'early function' "$scratch/folded"
holds "C++ names are still found" grep -q 'app::value<int>::spin' "$scratch/folded"
end_program
if [ "$(id -u)" -eq 0 ]; then
    start_program
    chown 1 "/tmp/perf-$pid.map"
    eventually 60 knows 'app::value<int>::spin'
    sample 1
    lacks "another user's JIT symbol file is not read" 'early function' "$scratch/folded"
    holds "C++ names are still found if the JIT symbol file belongs to another user" \
        grep -q 'app::value<int>::spin' "$scratch/folded"
    end_program
fi
stop_daemon

start_daemon --no-opener --config.file="$scratch/config.yaml"
start_program
eventually 60 knows 'early function:1'
sample 1
in_all 'early function:1'
end_program
finish
