#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures the branch coverage of the unit tests: builds separately in build/coverage, runs all unit tests, and prints a
# line "FOLDER TAKEN of ALL branches PERCENT" for each folder of the daemon (including its subfolders), and a total.
# Branches of the tests themselves and of generated code are not counted. Branches taken in a process that ends with
# _exit() count as not taken.
#
# usage: tests/coverage.sh [--files] [FOLDER...]     --files: also prints a line for each file
set -eu
export LC_ALL=C

cd "$(dirname "$0")/.."
root=$PWD
build=$root/build/coverage
log=$build/coverage.log

each_file=no
if [ "${1-}" = --files ]; then
    each_file=yes
    shift
fi
folders=("$@")
[ $# -gt 0 ] || folders=(base process metrics perf bpf cgroups symbols config opener collectors sampler formats http)

command -v gcovr >/dev/null || {
    echo "gcovr is missing: install the package gcovr" >&2
    exit 1
}

# quietly COMMAND...: appends the output to the log, and shows its end if the command fails.
quietly() {
    "$@" >>"$log" 2>&1 </dev/null || {
        tail -n 30 "$log" >&2
        echo "$1 failed; all of the output is in $log" >&2
        exit 1
    }
}

mkdir -p "$build"
: >"$log"
cd "$build"
[ -e Makefile ] ||
    quietly "$root/configure" ${CC+CC="$CC"} CFLAGS='-O0 -g --coverage -fprofile-update=atomic'
# Removes the counts of earlier runs, and objects of files that no longer exist.
find . -name '*.gcda' -delete
find . -name '*.gcno' -delete -exec sh -c 'rm -f "${1%.gcno}.o" "${1%.gcno}.obj"' - {} \;
quietly make -j"$(getconf _NPROCESSORS_ONLN)" all
tests=$(cd "$root" && printf '%s ' tests/unit/test-*.c | sed 's/\.c / /g')
quietly make -k -j"$(getconf _NPROCESSORS_ONLN)" check TESTS="$tests"
rm -f a-conftest.gcno
# This test program contains a second copy of the functions in perf/pfm.c, at different line numbers.
rm -f tests/unit/*pfm-fallback*.gc*

filter=$(IFS='|' && echo "${folders[*]}")
quietly gcovr --root "$root" --object-directory . --filter "$root/($filter)/" --csv files.csv .

# The first six columns of the CSV file: file name, lines, covered lines, line coverage, branches, taken branches.
awk -F, -v folders="${folders[*]}" -v each_file=$each_file '
    function line(name, taken, all) {
        printf "%-40s %5d of %5d branches  %5.1f %%\n", name, taken, all, all ? 100 * taken / all : 100
    }
    NR == 1 { next }
    {
        folder = $1
        sub(/\/.*/, "", folder)
        all[folder] += $5
        taken[folder] += $6
        every += $5
        every_taken += $6
        if (each_file == "yes" && $5)
            line($1, $6, $5)
    }
    END {
        n = split(folders, list, " ")
        for (i = 1; i <= n; i++)
            if (list[i] in all)
                line(list[i] "/", taken[list[i]], all[list[i]])
        line("total", every_taken, every)
    }' files.csv
