#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every test there is, in as many builds as they need: `./quickstart test` runs this once the packages are there.
#
# The last line is "N passed, N failed", with ", N skipped" where some were. Each test program or script counts as one.
# A test that measures can fail because the machine was busy with other things: if it does, it is run once more, alone,
# after all others, and the second time counts. The lines before the last name each of them.
# FUZZ_SECONDS is the time for each fuzzer.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
logs=$build/test
results=$logs/results
jobs=$(getconf _NPROCESSORS_ONLN)
fuzz_seconds=${FUZZ_SECONDS-5}
PATH=$PATH:/usr/sbin:/sbin:$build/tools/usr/bin:$build/tools/usr/sbin
# Seconds of CPU time that the host of this machine gave to others.
stolen() {
    awk '$1 == "cpu" { printf "%.0f\n", $9 / 100 }' /proc/stat
}

begin=$SECONDS
stolen_before=$(stolen)
trap 'kill $(jobs -p) 2>/dev/null; exit 143' TERM

rm -rf "$logs"
mkdir -p "$logs"
: >"$results"

# result passed|failed|skipped|again NAME SECONDS [REMARK]
result() {
    echo "$1 $2" >>"$results"
    printf '%-7s %s%s%s\n' "$1" "$2" "${3:+ ($3 s)}" "${4:+: $4}"
}

log_of() {
    echo "$logs/${1//[^A-Za-z0-9]/-}.log"
}

# why LOG: the lines that say why a test failed.
why() {
    { grep -A 4 -E '^NOT OK|(error|warning):' "$1" || tail -n 30 "$1"; } | head -n 30 | sed 's/^/    | /'
}

# check NAME COMMAND...: one test. Exit status 77 is a skip, whose reason is the last line of the output. Where it
# passes, lines that match $show are shown. Where it fails and $later names a file, the command to run it again goes
# there.
check() {
    local name=$1 log status=0 start=$SECONDS stolen
    log=$(log_of "$name")
    stolen=$(stolen)
    shift
    "$@" >"$log" 2>&1 </dev/null || status=$?
    local remark="exit status $status, $(($(stolen) - stolen)) s stolen, all of it is in ${log#"$root/"}"
    case $status in
    0)
        result passed "$name" $((SECONDS - start))
        [ -z "${show-}" ] || grep -E "$show" "$log" | grep -v '^make' | sed 's/^/    /'
        ;;
    77) result skipped "$name" "" "$(tail -n 1 "$log" | sed 's/^skipped: //')" ;;
    *)
        if [ -n "${later-}" ]; then
            { printf '%q ' second_time "${show-}" "$name" "$@"; echo; } >>"$later"
            result again "$name" $((SECONDS - start)) "$remark"
        else
            result failed "$name" $((SECONDS - start)) "$remark"
        fi
        why "$log"
        return 1
        ;;
    esac
}

# timed NAME COMMAND...: a test that can fail because of other load on the machine.
timed() {
    later=$logs/again check "$@"
}

# second_time SHOW NAME COMMAND...: a test that timed() put off. After 25 minutes it is given up.
second_time() {
    local show=$1
    shift
    mv "$(log_of "$1")" "$(log_of "$1 first")"
    if [ $((SECONDS - begin)) -lt 1500 ]; then
        check "$@"
    else
        result failed "$1" "" "there is no time to run it again"
    fi
}

# configured NAME ARGUMENTS...: makes the build directory, again where the arguments are new.
configured() {
    local directory=$build/$1
    shift
    mkdir -p "$directory"
    if [ ! -e "$directory/Makefile" ] || [ "$(cat "$directory/arguments" 2>/dev/null)" != "$*" ]; then
        (cd "$directory" && ../../configure "$@") || return
        echo "$*" >"$directory/arguments"
    fi
}

# Everything is compiled, also the tests and the benchmark.
build_plain() {
    configured plain CFLAGS='-O2 -g' --enable-werror && make -C "$build/plain" -j"$jobs" all &&
        make -C "$build/plain" -j"$jobs" check TESTS=
}

build_sanitized() {
    configured sanitized CFLAGS='-O1 -g' --enable-werror --enable-asan --enable-ubsan &&
        make -C "$build/sanitized" -j"$jobs" all && make -C "$build/sanitized" -j"$jobs" check TESTS=
}

build_clang() {
    configured clang CC=clang CFLAGS='-O1 -g' --enable-werror --enable-asan --enable-ubsan --enable-fuzzing &&
        make -C "$build/clang" -j"$jobs" all && make -C "$build/clang" -j"$jobs" check TESTS=
}

# The unit tests of a build directory; automake leaves a .trs file for each.
unit_tests() {
    local trs name log=$logs/unit.log
    find "$build/$1" -name '*.trs' -delete
    make -C "$build/$1" -k -j"$jobs" check >"$log" 2>&1 </dev/null
    if [ -z "$(find "$build/$1" -name '*.trs' -print -quit)" ]; then
        result failed "unit tests" "" "none was run, see ${log#"$root/"}"
        return 1
    fi
    while read -r trs; do
        name=${trs#"$build/$1/"}
        case $(sed -n 's/^:global-test-result: //p' "$trs") in
        PASS | XFAIL) result passed "${name%.trs}" ;;
        SKIP) result skipped "${name%.trs}" "" "$(tail -n 1 "${trs%.trs}.log")" ;;
        *)
            result failed "${name%.trs}" "" "${trs%.trs}.log"
            tail -n 30 "${trs%.trs}.log" | sed 's/^/    | /'
            ;;
        esac
    done < <(find "$build/$1" -name '*.trs' | sort)
}

# fuzz PROGRAM: for a bounded time, from the corpus in the tree and what earlier runs found.
fuzz() {
    local name corpus=()
    name=$(basename "$1")
    mkdir -p "$build/clang/corpus/$name"
    [ ! -d "$root/tests/fuzz/corpus-${name#fuzz-}" ] || corpus=("$root/tests/fuzz/corpus-${name#fuzz-}")
    # By default libFuzzer exits with 77 for a finding, which would be a skip here.
    "$1" -max_total_time="$fuzz_seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
        -error_exitcode=1 \
        -artifact_prefix="$logs/$name-" "$build/clang/corpus/$name" "${corpus[@]}"
}

fuzz_all() {
    local program n=0
    while read -r program; do
        check "fuzz $(basename "$program"), $fuzz_seconds s" fuzz "$program"
        n=$((n + 1))
    done < <(find "$build/clang/tests/fuzz" -maxdepth 1 -type f -name 'fuzz-*' -perm -u+x | sort)
    [ $n -gt 0 ] || result failed fuzzers "" "there is none in build/clang/tests/fuzz"
}

end_to_end() {
    local script=$1
    shift
    timed "e2e $script${*:+ ($*)}" env PERFCOUNTD="$build/${1-plain}/perfcountd" ${1:+SANITIZED=yes} \
        timeout --foreground --kill-after=10 300 "$root/tests/e2e/$script.sh"
}

benchmark() {
    make -C "$build/plain" bench-quick
}

cgroup_benchmark() {
    make -C "$build/plain" bench/bare-reads && "$root/bench/run-bench-cgroup" --quick "$build/plain"
}

sampler_benchmark() {
    make -C "$build/plain" bench-sampler-quick
}

shellcheck_all() {
    command -v shellcheck >/dev/null || { echo "skipped: there is no shellcheck here"; return 77; }
    shellcheck "$root/quickstart" "$root/.ci/run" "$root"/tests/*.sh "$root"/tests/e2e/*.sh "$root"/tests/vm/*.sh \
        "$root"/tests/systemd/*.sh "$root"/tests/package/*.sh "$root"/tests/distro/*.sh "$root/bench/footprint" \
        "$root/bench/peers.sh" "$root/contrib/completion/perfcountd"
}

instructions() {
    make -C "$build/plain" bench/bench-instructions && "$root/bench/run-bench-check" "$build/plain"
}

growth() {
    make -C "$build/plain" bench/bench-growth && "$root/bench/run-bench-growth" --quick "$build/plain"
}

# --- tests that need no quiet machine: three lanes

cd "$root" || exit 1
# Downloads for later steps, while compilers run. If they fail, those steps say why.
{
    tests/tree.sh package bookworm arm64 armhf
    tests/vm/fetch.sh
    tests/tree.sh machine
    for suite in bullseye trixie bookworm; do
        tests/tree.sh compile $suite
    done
} >"$logs/fetch.log" 2>&1 </dev/null &
check "shellcheck" shellcheck_all
check "the arguments of quickstart" tests/quickstart.sh
plain=no
if check "gcc -O2 -Werror builds" build_plain; then
    plain=yes
    show='^[a-z].*: [0-9]' check "tests/check-style.sh" env PERFCOUNTD="$build/plain/perfcountd" \
        OBJECTS="$build/plain" tests/check-style.sh
    (
        for script in cli exposition http limits descriptors libpfm4 lifecycle idle opener stream-events impostor \
            symboliser-impostor tls bad-clients local-user proxy valgrind contrib; do
            end_to_end $script
        done
    ) &
    (
        check "make distcheck" make -C "$build/plain" distcheck DISTCHECK_CONFIGURE_FLAGS=CFLAGS=-O0
        show=^perfcountd_ check "Debian packages, with lintian" tests/package/build.sh
    ) &
fi
(
    if check "gcc with ASan and UBSan builds" build_sanitized; then
        unit_tests sanitized
        end_to_end smoke sanitized
        end_to_end http sanitized
        end_to_end tls sanitized
        end_to_end lifecycle sanitized
        end_to_end opener sanitized
        end_to_end symboliser-impostor sanitized
    fi
    if check "clang with ASan and UBSan builds" build_clang; then
        fuzz_all
    fi
) &
wait

# --- other Debians: two lanes of its own

show='^==|^gcc |passed|^[0-9]+ s$|^skipped' check "Debian 11, 12 and 13: builds, unit tests, smoke" tests/distro/run.sh

# --- the emulated boards, which take both CPUs

if [ $plain = yes ]; then
    show='^==|checks passed|up in' timed "emulated boards, Linux 6.1 and 5.10" \
        env VM_BUILD="$build/arm64" tests/vm/run.sh
fi

# --- tests that mostly wait: two lanes

if [ $plain = yes ]; then
    (
        timed "systemd machine" env PERFCOUNTD="$build/plain/perfcountd" timeout --foreground 600 \
            tests/systemd/units.sh
        show='systemd-analyze security' timed "systemd service" env PERFCOUNTD="$build/plain/perfcountd" \
            timeout --foreground 300 tests/systemd/service.sh
        timed "the package in the systemd machine" env PERFCOUNTD="$build/plain/perfcountd" \
            timeout --foreground 900 tests/package/run.sh
    ) &
    (
        end_to_end prometheus
        end_to_end prometheus-secure
        end_to_end pause
        end_to_end page
    ) &
    wait
fi

# --- tests that measure, one at a time

if [ $plain = yes ]; then
    end_to_end truth
    [ ! -x "$build/sanitized/perfcountd" ] || end_to_end cgroup sanitized
    end_to_end cgroup-soak
    end_to_end sampler
    show=. timed "bench/footprint" bench/footprint "$build/plain"
    end_to_end auth
    end_to_end flood
    show=. timed "make bench-quick" benchmark
    end_to_end sampler-perf
    end_to_end profile
    end_to_end names
    end_to_end kernel-addresses
    show=. timed "bench/run-bench-sampler --quick" sampler_benchmark
    show=. timed "bench/run-bench-cgroup --quick" cgroup_benchmark
    show=. timed "make bench-check" instructions
    show=. timed "bench/run-bench-growth --quick" growth
fi

# --- again the tests that failed and may have been disturbed, one at a time

# shellcheck source=/dev/null
[ ! -e "$logs/again" ] || . "$logs/again"

count() {
    grep -c "^$1 " "$results"
}
passed=$(count passed)
failed=$(count failed)
skipped=$(count skipped)
echo
while read -r outcome name; do
    case $outcome in
    again) echo "run twice: $name" ;;
    failed)
        echo "failed: $name"
        [ ! -e "$(log_of "$name")" ] || why "$(log_of "$name")"
        ;;
    esac
done <"$results"
echo "$((SECONDS - begin)) s; the host took away $(($(stolen) - stolen_before)) s of a CPU; logs in build/test"
if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
