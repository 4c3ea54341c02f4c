#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The arguments and messages of ./quickstart, by a copy of it that finds what this script puts into its PATH: no apt,
# and what builds does nothing.
#
# usage: quickstart.sh
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=checks.sh
. "$root/tests/checks.sh"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/perfcountd-quickstart.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/bin" "$scratch/tree/build-aux" "$scratch/tree/tests"
cp "$root/quickstart" "$scratch/tree/"
for tool in sh bash env dirname mkdir cat tail id find getconf date chmod; do
    ln -s "$(command -v $tool)" "$scratch/bin/$tool"
done

# stub FILE LINE: a program of one line.
stub() {
    printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod +x "$1"
}

# quickstart ARGUMENTS...: sets output and status.
quickstart() {
    output=$(PATH=$scratch/bin "$scratch/tree/quickstart" "$@" 2>&1 </dev/null)
    status=$?
}

# refuses STATUS TEXT ARGUMENTS...
refuses() {
    quickstart "${@:3}"
    equals "'${*:3}' ends with" "$status" "$1"
    contains "'${*:3}' says why" "$output" "$2"
}

quickstart --help
equals "--help ends well" "$status" 0
for command in run test 'test --all'; do
    contains "--help names $command" "$output" "./quickstart $command"
    contains "so does README.md" "$(cat "$root/README.md")" "./quickstart $command "
done
contains "--help names --repeat" "$output" "./quickstart test --repeat=N"
help=$output
quickstart
equals "without a command, it is the same" "$output" "$help"
refuses 2 "there is no command 'serve'" serve
refuses 2 "test does not take '--fast', only --all, --only=NAME" test --fast
refuses 2 "test does not take '--all', only" test --only --all
refuses 2 "--only needs a value" test --only
equals "and nothing was begun" "$(ls "$scratch/tree")" "$(printf '%s\n' build-aux quickstart tests)"

refuses 1 "please install a C compiler, autoreconf, automake, make, pkg-config, the library libsystemd with its" run
refuses 1 "the library cmocka with its headers, then run this again" test
contains "which names the tools of tests as well" "$output" "curl, jq, python3, "

for tool in cc autoreconf automake make pkg-config curl jq; do
    stub "$scratch/bin/$tool" "[ $tool != make ] || echo \"make \$*\" >>'$scratch/made'"
done
stub "$scratch/tree/configure" ': >Makefile'
mkdir -p "$scratch/tree/build/run"
mkdir -p "$scratch/tree/base" "$scratch/tree/tests/unit"
touch "$scratch/tree/configure.ac" "$scratch/tree/Makefile.am" "$scratch/tree/base/Makemodule.am" \
    "$scratch/tree/tests/unit/Makemodule.am" "$scratch/tree/build-aux/quickstart.stamp"
# shellcheck disable=SC2016 # the program expands it
stub "$scratch/tree/build/run/perfcountd" 'echo "perfcountd $*"'
# shellcheck disable=SC2016 # the program expands it
stub "$scratch/bin/python3" 'shift; echo "run.py $*"'

# invites URL ARGUMENTS...: shows what to try, and passes the arguments.
invites() {
    quickstart run "${@:2}"
    contains "run ${*:2}: what to try" "$output" "curl -s $1"
    contains "run ${*:2}: the flags go to perfcountd" "$output" "perfcountd run${2+ ${*:2}}"
}
invites "'http://localhost:10298/metrics'"
invites "'http://127.0.0.1:9999/metrics'" --web.listen-address=127.0.0.1:9999
invites "'http://127.0.0.1:9999/metrics'" --web.listen-address 127.0.0.1:9999
invites "'http://localhost:9999/m'" --web.listen-address=:9999 --web.telemetry-path=/m
invites "--unix-socket /run/p.sock 'http://localhost/metrics'" --web.listen-address=unix:/run/p.sock
quickstart run --version
equals "run --version invites to nothing" "${output//curl/}" "$output"
quickstart test --only=unit,e2e
equals "test ends as its tests do" "$status" 0
contains "and passes its arguments" "$output" "run.py --only=unit,e2e"
quickstart test --only unit --repeat 3
contains "also where the values are words of their own" "$output" "run.py --only unit --repeat 3"
logs=("$scratch"/tree/build/*.log)
echo kept | tee "${logs[@]}" >/dev/null
quickstart test --list
contains "--list lists" "$output" "run.py --list"
equals "and empties no log" "$(sort -u "${logs[@]}")" kept
quickstart test
equals "test empties its own, not that of run" "$(cat "${logs[@]}")" kept
stub "$scratch/bin/python3" 'exit 3'
quickstart test
equals "also where they fail" "$status" 3
stub "$scratch/bin/make" 'echo "the reason"; exit 1'
refuses 1 "quickstart: the build failed; all of the output is in $scratch/tree/build/quickstart-run.log" run
contains "with the end of the output" "$output" "the reason"
finish
