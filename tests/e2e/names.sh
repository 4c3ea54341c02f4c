#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The names of functions of C++ and Rust in samples are those that who wrote them knows.
. "$(dirname "$0")/lib.sh"
need curl gzip jq "${CC:=cc}"
program=names$$
"$CC" -O1 -g -fno-omit-frame-pointer -o "$scratch/$program" "$here/names.c" || exit 1
echo 'sampler: {enabled: true, event: cpu-clock}' >"$scratch/config.yaml"
start_daemon --config.file="$scratch/config.yaml"
case $(status_of '/api/v1/folded?seconds=0.1') in
200) ;;
403) skip "sampling is not allowed here: $(get '/api/v1/folded?seconds=0.1')" ;;
esac

"$scratch/$program" 60 >"$scratch/names.out" &
pid=$!
children+=("$pid")
eventually 10 test -s "$scratch/names.out"
get "/api/v1/folded?seconds=3&frequency=997&pid=$pid" -o "$scratch/folded" &
folded=$!
get "/api/v1/samples?seconds=3&frequency=997&pid=$pid" -o "$scratch/samples" &
samples=$!
status=$(get "/debug/pprof/profile?seconds=3&frequency=997&pid=$pid" -o "$scratch/pprof" -w '%{http_code}')
wait "$folded" "$samples"

# In the stack's last frame, without parameters and hash.
for name in 'app::value<int>::spin' app::turn; do
    holds "folded: $name" grep -qE "^$program;.*;$name [0-9]+\$" "$scratch/folded"
    # shellcheck disable=SC2016 # jq's
    holds "NDJSON: $name" jq -se --arg name "$name" 'any(.[]; .symbol == $name)' "$scratch/samples"
    if [ "$status" = 200 ]; then
        holds "pprof: $name" sh -c "gzip -dc '$scratch/pprof' | grep -qaF '$name'"
    fi
done
holds "none is as the compiler wrote it" not grep -qE '_ZN3app' "$scratch/folded" "$scratch/samples"
holds "a name of C is what it was" grep -qE "^$program;.*main;" "$scratch/folded"
finish
