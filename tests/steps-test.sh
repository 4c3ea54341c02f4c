#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # what other shells expand
# The test of steps.sh, which counts all others: runs of made-up steps, and what each of them says at its end.
set -u

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=checks.sh
. "$tests/checks.sh"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/perfcountd-steps.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# a_run STEPS...: of lines of shell in a tree of their own. Sets output, last (its last line) and status.
a_run() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/logs" "$scratch/tree/scripts"
    printf '%s\n' "set -u; root=$scratch/tree logs=$scratch/tree/logs" 'cd "$root"' ". '$tests/steps.sh'" "$@" summary \
        >"$scratch/tree/run"
    output=$(bash "$scratch/tree/run" 2>&1)
    status=$?
    last=${output##*$'\n'}
}
# ends_with TITLE LAST-LINE STATUS
ends_with() {
    equals "$1" "$last, $status" "$2, $3"
}
# A command that fails the first time.
second='{ [ -e once ] || { touch once; false; }; }'

a_run 'check good true' 'measures quick true'
ends_with "steps that pass" "2 passed, 0 failed, 0 flaky, 0 skipped" 0
a_run 'check good true' 'check bad bash -c "echo NOT OK: seven; exit 1"'
ends_with "a step that fails" "1 passed, 1 failed, 0 flaky, 0 skipped" 1
contains "has what it said" "$output" "| NOT OK: seven"
a_run 'check "armhf: all" bash -c "echo failed: tests/unit/x; exit 1"'
contains "the end has it again, whatever the step is called" "${output##*$'\n\n'}" "| failed: tests/unit/x"
a_run
ends_with "no step at all" "0 passed, 0 failed, 0 flaky, 0 skipped" 1

a_run "check good true" "check late bash -c '$second'" run_again
ends_with "a functional step has no second try" "1 passed, 1 failed, 0 flaky, 0 skipped" 1
a_run "check good true" "measures late bash -c '$second'" run_again
ends_with "one that measures has, and is flaky then" "1 passed, 0 failed, 1 flaky, 0 skipped" 0
contains "which is said at the end" "${output##*$'\n\n'}" "flaky: late"
a_run "check good true" "measures late false" run_again
ends_with "one that fails twice fails" "1 passed, 1 failed, 0 flaky, 0 skipped" 1
a_run "check good true" "run_again_until=0; measures late bash -c '$second'" run_again
ends_with "without time for it, too" "1 passed, 1 failed, 0 flaky, 0 skipped" 1
a_run "check good true" "disturbance() { echo 1 of 9; }; measures late false" run_again
ends_with "one that fails twice is skipped where the host disturbed both" "1 passed, 0 failed, 0 flaky, 1 skipped" 0
contains "which is said at the end" "${output##*$'\n\n'}" "skipped: late: not judged: the host took away 1 of 9 s"
a_run "check good true" "disturbance() { [ -e once ] || { touch once; echo 1 of 9; }; }; measures late false" run_again
ends_with "and fails where it disturbed one of them" "1 passed, 1 failed, 0 flaky, 0 skipped" 1
a_run "check good true" "disturbance() { echo 1 of 9; }; check late false" run_again
ends_with "a functional step fails however disturbed" "1 passed, 1 failed, 0 flaky, 0 skipped" 1
a_run 'getconf() { echo 2; }; seconds=20; for taken in 0 1 2; do echo "took: $(disturbance)"; done; check good true'
equals "a twentieth of the CPUs' time disturbs" "$(grep took: <<<"$output" | xargs)" "took: took: took: 2 of 40"
a_run "measures 'a \$name; (with)' bash -c '$second' x 'two words' '\$three'" 'check good true' run_again
ends_with "the second time has the same words" "1 passed, 0 failed, 1 flaky, 0 skipped" 0

a_run 'check good true' 'check none bash -c "echo skipped: no such hardware; exit 77"'
ends_with "a step that is skipped" "1 passed, 0 failed, 0 flaky, 1 skipped" 0
contains "says why at the end" "${output##*$'\n\n'}" "skipped: none: no such hardware"
a_run 'check part bash -c "echo SKIP: no IPv6; echo ok; echo \"    SKIP: no PMU\"; echo SKIP: no IPv6"'
ends_with "parts of one are counted, each once" "1 passed, 0 failed, 0 flaky, 2 skipped" 0
contains "with their reasons" "${output##*$'\n\n'}" "skipped: part: no PMU"
a_run 'measures late bash -c "'"$second"' && echo SKIP: no PMU"' 'check good true' run_again
ends_with "also those of the second time" "1 passed, 0 failed, 1 flaky, 1 skipped" 0

a_run 'half=1; check good true' 'of_half 0 measures slow false; of_half 1 check other true'
ends_with "of halves one is run" "2 passed, 0 failed, 0 flaky, 1 skipped" 0
contains "and the other says so" "$output" "skipped: slow: each commit runs one half"
a_run "$(printf 'half=%s; of_half 0 check a true; of_half 1 check b true\n' 0 1)"
ends_with "so that two commits run both" "2 passed, 0 failed, 0 flaky, 2 skipped" 0

printf '[ "" -gt 3 ] && exit 1\nexit 0\n' >"$scratch/empty.sh"
a_run 'check good true' "check compares bash '$scratch/empty.sh'"
ends_with "a comparison that the shell could not make is a failure" "1 passed, 1 failed, 0 flaky, 0 skipped" 1
printf 'equls "the same" 1 2\nexit 0\n' >"$scratch/typo.sh"
a_run 'check good true' "check typo bash '$scratch/typo.sh'"
ends_with "so is a check that does not exist" "1 passed, 1 failed, 0 flaky, 0 skipped" 1

# --- scripts that no step runs

# scripts: a.sh, which reads lib.sh and names b.sh; c.sh, which only a comment of a.sh names.
scripts='for i in a b c; do printf "#!/bin/sh\n" >scripts/$i.sh; chmod +x scripts/$i.sh; done
    echo ". scripts/lib.sh" >scripts/lib.sh
    printf "# c.sh\n\"\$here/b.sh\"\n" >>scripts/a.sh'
a_run "$scripts" 'check first true scripts/a.sh' 'check third env X=y scripts/c.sh' 'all_are_run scripts/*'
ends_with "scripts that steps run, or such scripts" "2 passed, 0 failed, 0 flaky, 0 skipped" 0
a_run "$scripts" 'check first true scripts/a.sh' 'all_are_run scripts/*'
ends_with "a script that none runs is a failure" "1 passed, 1 failed, 0 flaky, 0 skipped" 1
contains "by its name" "$output" "failed: scripts/c.sh: no step runs it"

# --- unit tests, as automake and cmocka leave them

# unit NAME RESULT LOG-LINE...
unit="unit() {
    mkdir -p unit
    echo \":global-test-result: \$2\" >unit/\$1.trs
    printf '%s\n' \"\${@:3}\" >unit/\$1.log
    unit_test unit/\$1.trs
}"
a_run "$unit" 'unit good PASS "[       OK ] test_a"' 'unit bad FAIL "[  FAILED  ] test_a"'
ends_with "unit tests" "1 passed, 1 failed, 0 flaky, 0 skipped" 1
a_run "$unit" 'unit part PASS "SKIP: test_b: only root" "[  SKIPPED ] test_b" "[  SKIPPED ] 1 test(s), listed below:" \
    "[  SKIPPED ] test_b"'
ends_with "a test in one that is skipped is counted" "1 passed, 0 failed, 0 flaky, 1 skipped" 0
contains "with its reason" "$output" "skipped: tests/unit/part: test_b: only root"
a_run "$unit" 'unit good PASS' 'unit silent PASS "SKIP: test_b: only root" "[  SKIPPED ] test_b" "[  SKIPPED ] test_c"'
ends_with "one without a reason is a failure" "1 passed, 1 failed, 0 flaky, 1 skipped" 1
a_run 'mkdir none' 'unit_tests none'
ends_with "no unit tests at all are a failure" "0 passed, 1 failed, 0 flaky, 0 skipped" 1
finish
