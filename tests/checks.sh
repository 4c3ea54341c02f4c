# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Checks that are counted and print a line each, for all test scripts; finish() ends the script with the count.

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

# holds TITLE COMMAND...: the command succeeds. Its output is shown if it does not.
holds() {
    local title=$1 output
    shift
    if output=$("$@" 2>&1); then
        pass "$title"
    else
        fail "$title" "$* failed" "$output"
    fi
}

# left_out WHAT: a part of the script cannot run here for want of it: at most ten words.
left_out() {
    parts_left_out=$((parts_left_out + 1))
    echo "SKIP: $*"
}

# find_daemon: sets PERFCOUNTD to the absolute path of the program that it names; if it is empty, to one in build/.
find_daemon() {
    local candidate candidates=("$root"/build/{plain/,run/,}perfcountd)
    [ -z "${PERFCOUNTD-}" ] || candidates=("$PERFCOUNTD")
    for candidate in "${candidates[@]}"; do
        if [ -f "$candidate" ] && [ -x "$candidate" ]; then
            PERFCOUNTD=$(realpath "$candidate")
            return
        fi
    done
    echo "there is no program ${PERFCOUNTD:-perfcountd in build/}: build it, or name one by PERFCOUNTD=/path" >&2
    exit 1
}

# unit_environment: of the service, as NAME=VALUE, for a daemon that is to use memory as the service does.
unit_environment() {
    # shellcheck disable=SC2154 # of the script
    sed -n 's/^Environment=//p' "$root/systemd/perfcountd.service.in"
}

# equals TITLE ACTUAL EXPECTED
equals() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        fail "$1" "expected: $3" "got:      $2"
    fi
}

# matches TITLE ACTUAL REGEX
matches() {
    if [[ $2 =~ $3 ]]; then
        pass "$1"
    else
        fail "$1" "expected a match of: $3" "got: $2"
    fi
}

# contains TITLE ACTUAL TEXT
contains() {
    if [[ $2 == *"$3"* ]]; then
        pass "$1"
    else
        fail "$1" "expected in it: $3" "got: $2"
    fi
}

# lacks TITLE REGEX FILE...: each file has something in it, but no line that matches.
lacks() {
    local file
    for file in "${@:3}"; do
        [ -s "$file" ] || { fail "$1" "there is nothing in $file"; return; }
        ! grep -qE -e "$2" "$file" || { fail "$1" "in $file:" "$(grep -E -m 3 -e "$2" "$file")"; return; }
    done
    pass "$1"
}

# compares TITLE EXPRESSION: an awk expression of numbers is true.
compares() {
    if awk "BEGIN { exit !($2) }"; then
        pass "$1 ($2)"
    else
        fail "$1" "not so: $2"
    fi
}

# A script without a check failed, unless it says what it wants for.
finish() {
    echo "$((checks - failures)) of $checks checks passed"
    [ "$checks" -gt 0 ] || [ "$parts_left_out" -eq 0 ] || exit 77
    [ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
    exit
}

# eventually SECONDS COMMAND...: repeats the command until it succeeds. After SECONDS, or 60 where that is more, it says
# what it has waited for, and fails. Time is that since boot, which nobody sets.
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
