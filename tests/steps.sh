# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # root and logs
# How run-all.sh runs its steps, judges and counts them. Sourced with `root`, the tree, and `logs`, an empty directory.
#
# Of long steps that other steps guard as well, each commit runs one half, by its hash, so that over time all are run.
#
# A step passes, fails, or is skipped (exit status 77). A line "SKIP: REASON" in the output of a step that passes is a
# part of it that was skipped, and counts as one more. Only a step that measures time may be run again, alone, after all
# others: it is flaky if it passes then, and skipped if the host took away a twentieth of the CPUs' time from each try:
# then it measured the host. A script that no step ran is a failure.

results=$logs/results # a line each: OUTCOME STEP REMARK, with tabs between
ran=$logs/ran         # the scripts that steps ran
again=$logs/again     # the commands of the steps to run again
steps_begin=$SECONDS
: >"$results"
: >"$ran"
: >"$again"

# Seconds of CPU time that the host of this machine gave to others.
stolen() {
    awk '$1 == "cpu" { printf "%.0f\n", $9 / 100 }' /proc/stat
}
stolen_before=$(stolen)

# 0 or 1: which half this commit runs.
half=$(git -C "$root" rev-parse HEAD 2>/dev/null | cksum | awk '{ print $1 % 2 }')

# result passed|failed|skipped|flaky|again STEP SECONDS [REMARK]: after attempt() with its cpu_seconds.
result() {
    printf '%s\t%s\t%s\n' "$1" "$2" "${4-}" >>"$results"
    printf '%-7s %s%s%s\n' "$1" "$2" "${3:+ ($3 s${cpu_seconds:+, $cpu_seconds s of CPU})}" "${4:+: $4}"
}

log_of() {
    echo "$logs/${1//[^A-Za-z0-9]/-}.log"
}

# why LOG: the lines that say why a step failed.
why() {
    { grep -A 9 -E '^NOT OK|^failed: |(error|warning):' "$1" || tail -n 30 "$1"; } | head -n 40 | sed 's/^/    | /'
}

# note_scripts COMMAND...: the scripts of the tree that are words of it.
note_scripts() {
    local word
    for word; do
        [ ! -f "$word" ] || realpath --relative-base="$root" "$word" >>"$ran"
    done
}

# skipped_parts STEP LOG: a result for each. A script or a program can say the same several times.
skipped_parts() {
    local reason
    while read -r reason; do
        result skipped "$1" "" "$reason"
    done < <(sed -n 's/^ *SKIP: //p' "$2" | sort -u)
}

# complaint LOG: of the shell about a script, whose check then was none.
complaint() {
    grep -m 1 -E \
        '\.sh: line [0-9]+: .*(command not found|(integer|unary|binary) .*expected|unbound variable|syntax error)' "$1"
}

# attempt STEP COMMAND...: sets status, seconds, cpu_seconds, taken (by the host, of a CPU), and remark where
# status is not 0.
attempt() {
    local log found TIMEFORMAT='%R %U %S'
    log=$(log_of "$1")
    taken=$(stolen)
    status=0
    { time "${@:2}" >"$log" 2>&1 </dev/null; } 2>"$log.times" || status=$?
    read -r seconds cpu_seconds < <(awk '{ printf "%.0f %.0f\n", $1, $2 + $3 }' "$log.times")
    rm "$log.times"
    taken=$(($(stolen) - taken))
    remark="exit status $status, $taken s stolen, all of it is in ${log#"$root/"}"
    if [ "$status" -eq 0 ] && found=$(complaint "$log"); then
        status=1
        remark=$found
    fi
}

# disturbance: "N of M", of the last attempt, where the host took away a twentieth of the CPUs' time or more.
disturbance() {
    local all=$((seconds * $(getconf _NPROCESSORS_ONLN)))
    [ "$taken" -eq 0 ] || [ $((taken * 20)) -lt $all ] || echo "$taken of $all"
}

# step KIND STEP COMMAND...: KIND is once or measures. Where it passes, lines that match $show are shown. Returns 0
# where it passes at once, so that others may depend on it.
step() {
    local kind=$1 name=$2 log status seconds cpu_seconds taken remark
    shift 2
    log=$(log_of "$name")
    note_scripts "$@"
    if [ -n "${not_now-}" ]; then
        result skipped "$name" "" "$not_now"
        return 1
    fi
    attempt "$name" "$@"
    case $status:$kind in
    0:*)
        result passed "$name" "$seconds"
        [ -z "${show-}" ] || grep -E "$show" "$log" | grep -v '^make' | sed 's/^/    /'
        skipped_parts "$name" "$log"
        ;;
    77:*) result skipped "$name" "" "$(tail -n 1 "$log" | sed 's/^skipped: //')" ;;
    *:measures)
        { printf '%q ' second_time "$(disturbance)" "$name" "$@"; echo; } >>"$again"
        result again "$name" "$seconds" "$remark"
        why "$log"
        ;;
    *)
        result failed "$name" "$seconds" "$remark"
        why "$log"
        ;;
    esac
    [ "$status" -eq 0 ]
}

# check STEP COMMAND...: a test whose result does not depend on time.
check() {
    step once "$@"
}

# measures STEP COMMAND...: a test of time that passes, which other load on the machine can spoil.
measures() {
    step measures "$@"
}

# of_half N COMMAND...: the steps of the command are for the commits of half N.
of_half() {
    local not_now=
    [ "$1" = "$half" ] || not_now="each commit runs one half of such steps, by its hash: this one runs the other"
    "${@:2}"
}

# not_passed STEP SECONDS REMARK FIRST SECOND: failed, or skipped where the host disturbed both tries.
not_passed() {
    if [ -n "$4" ] && [ -n "$5" ]; then
        result skipped "$1" "$2" "not judged: the host took away $4 s of the CPUs, then $5 ($3)"
    else
        result failed "$1" "$2" "$3"
    fi
}

# second_time DISTURBANCE STEP COMMAND...: of one that measures; given up $run_again_until seconds after the start.
second_time() {
    local first=$1 name=$2 status seconds cpu_seconds taken remark
    shift
    mv "$(log_of "$name")" "$(log_of "$name first")"
    if [ $((SECONDS - steps_begin)) -ge "${run_again_until:-2000}" ]; then
        not_passed "$name" "" "there is no time to run it again" "$first" "$first"
        return
    fi
    attempt "$@"
    if [ "$status" -eq 0 ]; then
        result flaky "$name" "$seconds" "it passed only at the second try; $(log_of "$name first") has the first"
        skipped_parts "$name" "$(log_of "$name")"
    else
        not_passed "$name" "$seconds" "twice: $remark" "$first" "$(disturbance)"
        why "$(log_of "$name")"
    fi
}

run_again() {
    # shellcheck source=/dev/null
    . "$again"
}

# silent_skips LOG: how many of cmocka's tests were skipped beyond those that gave a reason.
silent_skips() {
    awk '/^\[  SKIPPED \] [a-zA-Z_]+[a-zA-Z0-9_]*$/ { skipped[$NF] }
        /^ *SKIP: / { reasons++ }
        END { print length(skipped) - reasons }' "$1"
}

# unit_test TRS: the result of one, from what automake left.
unit_test() {
    local name log=${1%.trs}.log
    name=tests/unit/$(basename "${1%.trs}")
    case $(sed -n 's/^:global-test-result: //p' "$1") in
    PASS | XFAIL)
        if [ "$(silent_skips "$log")" -gt 0 ]; then
            result failed "$name" "" "a test in it is skipped and does not say why: $log"
        else
            result passed "$name"
        fi
        skipped_parts "$name" "$log"
        ;;
    SKIP) result skipped "$name" "" "$(tail -n 1 "$log")" ;;
    *)
        result failed "$name" "" "$log"
        tail -n 30 "$log" | sed 's/^/    | /'
        ;;
    esac
}

# unit_tests BUILD-DIRECTORY: runs them; automake leaves a .trs file for each.
unit_tests() {
    local trs log=$logs/unit.log
    find "$1" -name '*.trs' -delete
    make -C "$1" -k -j"$(getconf _NPROCESSORS_ONLN)" check >"$log" 2>&1 </dev/null
    if [ -z "$(find "$1" -name '*.trs' -print -quit)" ]; then
        result failed "unit tests" "" "none was run, see ${log#"$root/"}"
        return 1
    fi
    while read -r trs; do
        unit_test "$trs"
    done < <(find "$1" -name '*.trs' | sort)
}

# warnings_of_tests BUILD-DIRECTORY: the unit tests are only compiled, for the warnings, and no code is made of them.
warnings_of_tests() {
    make -C "$1" -j"$(getconf _NPROCESSORS_ONLN)" check TESTS= CFLAGS='-O0 -fsyntax-only' CCLD=true AR=true RANLIB=true
}

# is_named SCRIPT: by another of its folder that a step ran, or by what such a one reads (lib.sh).
is_named() {
    local file pattern name=${1##*/}
    pattern="[/\" ]${name//./[.]}([\" );]|\$)"
    for file in "${1%/*}"/*lib.sh $(grep "^${1%/*}/" "$ran"); do
        [ "$file" != "$1" ] && grep -v '^ *#' "$file" 2>/dev/null | grep -qE "$pattern" && return
    done
    return 1
}

# all_are_run FILE...: each script (a file that names its interpreter) was run by a step, or by one that was.
all_are_run() {
    local file found=no left=() once_more=yes
    for file in "$@"; do
        head -c 2 "$file" 2>/dev/null | grep -q '#!' && left+=("$file")
    done
    while [ $once_more = yes ]; do
        once_more=no
        for file in "${!left[@]}"; do
            if grep -qxF "${left[file]}" "$ran" || is_named "${left[file]}"; then
                echo "${left[file]}" >>"$ran"
                unset "left[file]"
                once_more=yes
            fi
        done
    done
    for file in "${left[@]}"; do
        result failed "$file" "" "no step runs it"
    done
}

count_of() {
    grep -c "^$1"$'\t' "$results"
}

# summary: what did not simply pass, by name, then the counts. The status of the run.
summary() {
    local outcome name remark
    echo
    while IFS=$'\t' read -r outcome name remark; do
        case $outcome in failed | flaky | skipped) echo "$outcome: $name${remark:+: $remark}" ;; esac
        [ "$outcome" != failed ] || [ ! -e "$(log_of "$name")" ] || why "$(log_of "$name")"
    done <"$results"
    echo "$((SECONDS - steps_begin)) s; the host took away $(($(stolen) - stolen_before)) s of a CPU;" \
        "logs in ${logs#"$root/"}"
    echo "$(count_of passed) passed, $(count_of failed) failed, $(count_of flaky) flaky, $(count_of skipped) skipped"
    [ "$(count_of failed)" -eq 0 ] && [ "$(count_of passed)" -gt 0 ]
}
