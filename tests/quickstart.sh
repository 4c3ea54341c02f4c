#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the arguments and messages of ./quickstart. A copy of it runs with a PATH that has only the programs that this
# script puts there: no apt, and build tools that do nothing.
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

# stub FILE LINE: writes a shell script that consists of this line, in place of any link to one of this machine's
# programs.
stub() {
    rm -f "$1"
    printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod +x "$1"
}

# quickstart ARGUMENTS...: runs the copy. Sets `output` and `status`.
quickstart() {
    output=$(PATH=$scratch/bin "$scratch/tree/quickstart" "$@" 2>&1 </dev/null)
    status=$?
}

# refuses STATUS TEXT ARGUMENTS...: checks that the arguments are rejected.
refuses() {
    quickstart "${@:3}"
    equals "'${*:3}' exits with $1" "$status" "$1"
    contains "'${*:3}' prints the reason" "$output" "$2"
}

quickstart --help
equals "--help exits with 0" "$status" 0
for command in run test 'test --all'; do
    contains "--help names $command" "$output" "./quickstart $command"
    contains "README.md names $command" "$(cat "$root/README.md")" "./quickstart $command "
done
contains "--help names --repeat" "$output" "./quickstart test --repeat=N"
help=$output
quickstart
equals "without a command, the help is printed" "$output" "$help"
refuses 2 "there is no command 'serve'" serve
refuses 2 "test does not take '--fast', only --all, --only=NAME" test --fast
refuses 2 "test does not take '--all', only" test --only --all
refuses 2 "--only needs a value" test --only
equals "rejected arguments create no files" "$(ls "$scratch/tree")" "$(printf '%s\n' build-aux quickstart tests)"

refuses 1 "please install a C compiler, autoreconf, automake, make, pkg-config, the library libsystemd with its" run
refuses 1 "the library cmocka with its headers, then run this again" test
contains "the message also names the programs that the tests need" "$output" "curl, jq, python3, "

for tool in cc autoreconf automake make pkg-config curl jq; do
    stub "$scratch/bin/$tool" "[ $tool != make ] || echo \"make \$*\" >>'$scratch/made'"
done
stub "$scratch/tree/configure" ': >Makefile'
mkdir -p "$scratch/tree/build/run"
mkdir -p "$scratch/tree/base" "$scratch/tree/tests/unit"
touch "$scratch/tree/configure.ac" "$scratch/tree/Makefile.am" "$scratch/tree/base/Makemodule.am" \
    "$scratch/tree/tests/unit/Makemodule.am" "$scratch/tree/build-aux/quickstart.stamp"
# shellcheck disable=SC2016 # the shell of the program expands the variables
stub "$scratch/tree/build/run/perfcountd" 'echo "perfcountd $*"'
# shellcheck disable=SC2016 # the shell of the program expands the variables
stub "$scratch/bin/python3" 'shift; echo "run.py $*"'

# invites URL ARGUMENTS...: checks that `run` prints commands to try, and passes the arguments on.
invites() {
    quickstart run "${@:2}"
    contains "run ${*:2}: prints commands to try" "$output" "curl -s $1"
    contains "run ${*:2}: passes the flags to perfcountd" "$output" "perfcountd run${2+ ${*:2}}"
}
invites "'http://localhost:10298/metrics'"
invites "'http://127.0.0.1:9999/metrics'" --web.listen-address=127.0.0.1:9999
invites "'http://127.0.0.1:9999/metrics'" --web.listen-address 127.0.0.1:9999
invites "'http://localhost:9999/m'" --web.listen-address=:9999 --web.telemetry-path=/m
invites "--unix-socket /run/p.sock 'http://localhost/metrics'" --web.listen-address=unix:/run/p.sock
quickstart run --version
equals "run --version prints no commands to try" "${output//curl/}" "$output"
quickstart test --only=unit,e2e
equals "test exits with the status of its tests" "$status" 0
contains "test passes its arguments to run.py" "$output" "run.py --only=unit,e2e"
quickstart test --only unit --repeat 3
contains "test passes values given as separate words to run.py" "$output" "run.py --only unit --repeat 3"
logs=("$scratch"/tree/build/*.log)
echo kept | tee "${logs[@]}" >/dev/null
quickstart test --list
contains "test --list passes the argument to run.py" "$output" "run.py --list"
equals "test --list empties no log" "$(sort -u "${logs[@]}")" kept
quickstart test
equals "test empties only its own log" "$(cat "${logs[@]}")" kept
stub "$scratch/bin/python3" 'exit 3'
quickstart test
equals "test exits with the status of failed tests" "$status" 3
stub "$scratch/bin/make" 'echo "the reason"; exit 1'
refuses 1 "quickstart: the build failed; all of the output is in $scratch/tree/build/quickstart-run.log" run
contains "the message ends with the last lines of the output" "$output" "the reason"
finish
