# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Checks that are counted and print a line each, for all test scripts; finish() ends the script with the count.

checks=0
failures=0

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

# left_out REASON: a part of the script that cannot run here. run-all.sh counts it as skipped.
left_out() {
    echo "SKIP: $*"
}

# attempts_left_out: of an impostor's output on the standard input, those that it could not make here, on one line.
attempts_left_out() {
    awk -F': ' '/^skip / { n++; if (!seen[$NF]++) why = why (n > 1 ? "; " : "") $NF }
        END { if (n) printf "SKIP: %d attempts: %s\n", n, why }'
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

finish() {
    echo "$((checks - failures)) of $checks checks passed"
    [ "$checks" -gt 0 ] && [ "$failures" -eq 0 ]
    exit
}

# eventually SECONDS COMMAND...: repeats the command until it succeeds. A machine too busy for 10 tries a second has up
# to four times as long.
eventually() {
    local seconds=$1 begin=${EPOCHREALTIME/[.,]/} tries=0 us
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        us=$((${EPOCHREALTIME/[.,]/} - begin))
        [ $us -lt $((seconds * 1000000)) ] || [ $tries -lt $((seconds * 10)) ] || return 1
        [ $us -lt $((seconds * 4000000)) ] || return 1
        sleep 0.05
    done
}
