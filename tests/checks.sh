# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Checks for all test scripts. Each check is counted and prints a line; finish() prints the totals and exits.

checks=0
failures=0
parts_left_out=0

pass() {
    checks=$((checks + 1))
    echo "ok: $1"
}

fail() {
    checks=$((checks + 1))
    failures=$((failures + 1))
    echo "NOT OK: $1"
    [ $# -lt 2 ] || printf '%s\n' "${@:2}" | head -n 40 | cut -c1-1000 | sed 's/^/    /'
}

# holds TITLE COMMAND...: checks that the command succeeds, and prints its output if it fails.
holds() {
    local title=$1 output
    shift
    if output=$("$@" 2>&1); then
        pass "$title"
    else
        fail "$title" "$* failed" "$output"
    fi
}

# left_out WHAT: reports that a part of the script cannot run because WHAT (at most ten words) is missing.
left_out() {
    parts_left_out=$((parts_left_out + 1))
    echo "SKIP: $*"
}

# find_daemon: makes the path in PERFCOUNTD absolute, or sets it to a daemon in build/ if it is empty.
find_daemon() {
    local candidate candidates=("$root"/build/{plain/,run/,}perfcountd)
    [ -z "${PERFCOUNTD-}" ] || candidates=("$PERFCOUNTD")
    for candidate in "${candidates[@]}"; do
        if [ -f "$candidate" ] && [ -x "$candidate" ]; then
            PERFCOUNTD=$(realpath "$candidate")
            return
        fi
    done
    echo "cannot find the program ${PERFCOUNTD:-perfcountd in build/}: build it, or set PERFCOUNTD=/path" >&2
    exit 1
}

# unit_environment: prints the environment variables of perfcountd.service as NAME=VALUE. Tests of memory use need them,
# since one configures malloc(3).
unit_environment() {
    # shellcheck disable=SC2154 # the script that sources this file sets root
    sed -n 's/^Environment=//p' "$root/systemd/perfcountd.service.in"
}

# equals TITLE ACTUAL EXPECTED: checks that two texts are equal.
equals() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        fail "$1" "expected: $3" "got:      $2"
    fi
}

# matches TITLE ACTUAL REGEX: checks that a text matches.
matches() {
    if [[ $2 =~ $3 ]]; then
        pass "$1"
    else
        fail "$1" "expected a match of: $3" "got: $2"
    fi
}

# contains TITLE ACTUAL TEXT: checks that a text contains another.
contains() {
    if [[ $2 == *"$3"* ]]; then
        pass "$1"
    else
        fail "$1" "expected in it: $3" "got: $2"
    fi
}

# lacks TITLE REGEX FILE...: checks that no file is empty or has a matching line.
lacks() {
    local file
    for file in "${@:3}"; do
        [ -s "$file" ] || { fail "$1" "$file is empty or missing"; return; }
        ! grep -qE -e "$2" "$file" || { fail "$1" "in $file:" "$(grep -E -m 3 -e "$2" "$file")"; return; }
    done
    pass "$1"
}

# compares TITLE EXPRESSION: checks that a numeric awk expression is true.
compares() {
    if awk "BEGIN { exit !($2) }"; then
        pass "$1 ($2)"
    else
        fail "$1" "false: $2"
    fi
}

# finish: prints the totals and exits: with 0 if there were checks and all passed, with 77 if everything was left out,
# otherwise with 1.
finish() {
    echo "$((checks - failures)) of $checks checks passed"
    [ "$checks" -gt 0 ] || [ "$parts_left_out" -eq 0 ] || exit 77
    [ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
    exit
}

# eventually SECONDS COMMAND...: repeats the command until it succeeds. After SECONDS, but no less than 60, it prints
# the command and fails. Time is measured by the uptime, which cannot be set.
eventually() {
    local seconds=$(($1 > 60 ? $1 : 60)) begin now
    shift
    read -r begin _ </proc/uptime
    until "$@" >/dev/null 2>&1; do
        read -r now _ </proc/uptime
        if ((${now%.*} - ${begin%.*} > seconds)); then
            echo "waited $seconds s for: $*" >&2
            return 1
        fi
        sleep 0.05
    done
}
