#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzzer for long, in builds of its own (build/fuzz and, to measure coverage, build/fuzz-coverage), and that
# of the page in node. Inputs that add coverage to the seeds of the tree are kept for the next time, as few as possible,
# and those that reach new code are offered for the tree. A line for each fuzzer has its executions, those in a second,
# the inputs that were kept and offered, and the lines and branches of the fuzzed files that were run; the last one has
# the sum. Exit status: 1 if there is a finding, whose input is named, or the coverage of one is not known.
#
# usage: tests/fuzz/long.sh [NAME...]     only these fuzzers, as fuzzed.tsv names them
# FUZZ_SECONDS: of each (600). FUZZ_JOBS: how many at a time (2). FUZZ_KEPT: where inputs are kept (build/fuzz-kept).
set -eu
export LC_ALL=C

cd "$(dirname "$0")/../.."
root=$PWD
seconds=${FUZZ_SECONDS-600} jobs=${FUZZ_JOBS-2} kept=${FUZZ_KEPT-$root/build/fuzz-kept}
out=$root/build/fuzz-long
table=$root/tests/fuzz/fuzzed.tsv

fail() {
    echo "$0: $*" >&2
    exit 1
}

# built DIRECTORY CONFIGURE-ARGUMENTS...: all fuzzers, in build/DIRECTORY.
built() {
    local build=$root/build/$1 compiler=clang
    shift
    ! command -v ccache >/dev/null || compiler='ccache clang'
    mkdir -p "$build"
    (
        cd "$build"
        [ -e Makefile ] || "$root/configure" CC="$compiler" --enable-fuzzing "$@"
        make -j"$jobs" fuzzers
    ) >"$out/build.log" 2>&1 || {
        tail -n 20 "$out/build.log" >&2
        fail "the fuzzers cannot be built in $build; all of the output is in $out/build.log"
    }
}

# program BUILD NAME: its path.
program() {
    find "$root/build/$1/tests/fuzz" -name "fuzz-$2" -type f -perm -u+x
}

# tool NAME: of LLVM, which Debian also has with the version behind its name.
tool() {
    local version
    version=$(clang -dumpversion)
    command -v "$1" || command -v "$1-${version%%.*}" || fail "$1 is missing: install the package llvm"
}

# run_program NAME: fuzzes, and then keeps what adds coverage to the seeds.
run_program() {
    local name=$1 fuzzer seeds=$root/tests/fuzz/corpus-$1 options=(-max_len=4096)
    fuzzer=$(program fuzz "$name")
    [ ! -e "tests/fuzz/$name.dict" ] || options+=("-dict=$root/tests/fuzz/$name.dict")
    mkdir -p "$kept/$name" "$out/$name.new"
    "$fuzzer" "${options[@]}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
        -verbosity=0 -artifact_prefix="$out/$name-" "$out/$name.new" "$kept/$name" "$seeds" >"$out/$name.log" 2>&1 ||
        touch "$out/$name.found"
    [ ! -e "$out/$name.found" ] || return 0
    keep "$fuzzer" "$name" "$out/$name.kept" && keep "$fuzzer" "$name" "$out/$name.offered" -use_counters=0
    rm -rf "${kept:?}/$name"
    mv "$out/$name.kept" "$kept/$name"
}

# keep FUZZER NAME DIRECTORY [OPTION]: few inputs that add to the seeds of the tree.
keep() {
    local fuzzer=$1 name=$2 directory=$3 seeds=$root/tests/fuzz/corpus-$2
    shift 3
    mkdir -p "$directory"
    cp "$seeds"/* "$directory"
    "$fuzzer" -merge=1 -max_len=4096 -rss_limit_mb=1024 "$@" "$directory" "$out/$name.new" "$kept/$name" \
        >"$out/merge-$name.log" 2>&1 || fail "the inputs of $name cannot be merged: $out/merge-$name.log"
    (cd "$seeds" && find -L . -type f -print0) | (cd "$directory" && xargs -0 rm -f)
}

run_page() {
    NODE_V8_COVERAGE=$out/page.v8 node tests/page/unit/fuzz.mjs "$seconds" >"$out/page.log" 2>&1 ||
        touch "$out/page.found"
}

# coverage_of NAME FILE...: "LINES BRANCHES" that the kept inputs and the seeds run.
coverage_of() {
    local name=$1 fuzzer
    shift
    if [ "$name" = page ]; then
        python3 tests/fuzz/coverage.py v8 "$out/page.v8" "$@"
        return
    fi
    fuzzer=$(program fuzz-coverage "$name")
    LLVM_PROFILE_FILE=$out/$name.profraw "$fuzzer" -runs=0 "$kept/$name" "tests/fuzz/corpus-$name" \
        >"$out/coverage.log" 2>&1
    "$profdata" merge -sparse -o "$out/$name.profdata" "$out/$name.profraw"
    "$cov" export -summary-only -instr-profile="$out/$name.profdata" "$fuzzer" >"$out/$name.json" 2>/dev/null
    python3 tests/fuzz/coverage.py llvm "$out/$name.json" "$@"
}

count_files() {
    find "$1" -type f 2>/dev/null | wc -l
}

# The line of a fuzzer.
report() {
    local name=$1 executions lines branches kept_inputs offered
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$name.log")
    total=$((total + ${executions:-0}))
    if [ -e "$out/$name.found" ]; then
        printf '%-19s FOUND something: %s\n' "$name" "$(find "$out" -name "$name-*" -o -name "$name.log" | tr '\n' ' ')"
        found=yes
        return
    fi
    IFS=' ' read -r lines branches < <(coverage_of "$@") || {
        lines=unknown branches=unknown
        found=yes
    }
    kept_inputs=$(count_files "$kept/$name") offered=$(count_files "$out/$name.offered")
    printf '%-19s %11d %9d/s %6d %7d %9s %9s\n' "$name" "$executions" $((executions / seconds)) "$kept_inputs" \
        "$offered" "$lines" "$branches"
}

[ -e configure ] || fail "there is no configure: run autoreconf -i"
rm -rf "$out"
mkdir -p "$out" "$kept"
profdata=$(tool llvm-profdata) cov=$(tool llvm-cov)
built fuzz CFLAGS='-O1 -g1' --enable-asan --enable-ubsan
built fuzz-coverage CFLAGS='-O0 -g1 -fprofile-instr-generate -fcoverage-mapping' LDFLAGS=-fprofile-instr-generate
names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(grep -v '^#' "$table" | cut -f1)
while read -r path; do
    name=${path##*/fuzz-}
    grep -q "^$name	" "$table" || fail "fuzzed.tsv does not say what fuzz-$name is about"
done < <(find "$root/build/fuzz/tests/fuzz" -name 'fuzz-*' -type f -perm -u+x)

for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n || true
    done
    if [ "$name" = page ]; then
        run_page &
    else
        run_program "$name" &
    fi
done
wait

total=0 found=no
printf '%-19s %11s %11s %6s %7s %9s %9s\n' fuzzer executions each kept offered lines branches
for name in "${names[@]}"; do
    IFS=' ' read -r -a files < <(sed -n "s/^$name	//p" "$table")
    report "$name" "${files[@]}"
done
echo "inputs that reach code that the seeds do not: $out/NAME.offered; all that were kept: $kept"
echo "$total executions by ${#names[@]} fuzzers in $((seconds * ${#names[@]})) s"
[ $found = no ]
