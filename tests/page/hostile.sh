#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs, functions, threads and cgroups with names that a page must not take for HTML: markup, controls of writing
# direction, 4 KB, bytes that are no UTF-8. Usage: hostile.sh FOLDER; runs until its standard input ends.
#
# Prints "ready CGROUP", or "ready" where no cgroups can be made.
set -eu
shopt -s nullglob
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
markup='<img src=x onerror="window.ran=1">'
bidi=$'\xe2\x80\xae\xe2\x81\xa6'
invalid=$'\xff\xfe\xc3'
long=$(printf 'n%.0s' {1..4000})
children=()
parent=

end() {
    local pid attempt
    for pid in "${children[@]}"; do
        kill -9 "$pid" 2>/dev/null || true
    done
    wait 2>/dev/null || true
    for attempt in 1 2 3 4 5; do
        [[ -n $parent && -d $parent ]] || break
        find "$parent" -depth -type d -delete 2>/dev/null || sleep "0.$attempt"
    done
}
trap end EXIT
trap 'exit 1' INT TERM

# As tests/e2e/cgroup-lib.sh has it: v1 where perf counts there, else v2.
hierarchy=$(awk '{
        for (i = 7; $i != "-"; i++)
            ;
        if ($(i + 1) == "cgroup" && $(i + 3) ~ /(^|,)perf_event(,|$)/)
            v1 = $5
        else if ($(i + 1) == "cgroup2")
            v2 = $5
    }
    END { print v1 ? v1 : v2 }' /proc/self/mountinfo)
below=/perfcountd-page-$$
if [ -n "$hierarchy" ] && mkdir "$hierarchy$below" 2>/dev/null; then
    parent=$hierarchy$below
    mkdir "$parent/$markup" "$parent/a${bidi}b" "$parent/c${invalid}d"
    deep=$parent
    for _ in {1..14}; do
        deep+=/${long:0:240}
        mkdir "$deep"
    done
fi

mkdir -p "$folder/$markup"
programs=("$folder/$markup/<b id=ran>$invalid" "$folder/$markup/$bidi$invalid<i id=ran>")
cc -O1 -g0 -fno-omit-frame-pointer -o "$folder/plain" "$here/../e2e/hot.c"
objcopy --redefine-sym "hot_seventy=$markup" --redefine-sym "hot_thirty=$bidi$invalid$long" \
    "$folder/plain" "${programs[0]}"
cp "${programs[0]}" "${programs[1]}"
for program in "${programs[@]}"; do
    "$program" 600 >/dev/null &
    children+=($!)
    [ -z "$parent" ] || echo $! >"$parent/$markup/cgroup.procs"
done
echo "ready${parent:+ $below}"
cat >/dev/null
