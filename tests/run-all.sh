#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every test there is, in as many builds as they need: `./quickstart test` runs this once the packages are there.
#
# The last line is "N passed, N failed, N flaky, N skipped". Each test program or script counts as one; a part of one
# that cannot run here counts as skipped, and the lines before the last say why. A test fails when it fails once. Only
# those that measure time (`measures` below) are run a second time, alone, after all others: what passes only then is
# counted as flaky. A script of the folders below that no step runs is a failure, and so is a tool that is missing.
# FUZZ_SECONDS is the time for each fuzzer.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build
logs=$build/test
jobs=$(getconf _NPROCESSORS_ONLN)
fuzz_seconds=${FUZZ_SECONDS-1}
PATH=$PATH:/usr/sbin:/sbin:$build/tools/usr/bin:$build/tools/usr/sbin
trap 'kill $(jobs -p) 2>/dev/null; exit 143' TERM
cd "$root" || exit 1
rm -rf "$logs"
mkdir -p "$logs"
# shellcheck source=steps.sh
. tests/steps.sh

# The programs that tests run, by the step of quickstart that brings them. Without one a test would prove less.
programs="bash cc certutil chromium clang clang-format curl firefox-esr gnutls-cli haproxy ip jq jsonnet nginx node npm
    objdump openssl perf pgrep pprof prlimit prometheus prometheus-node-exporter promtool protoc python3
    readelf setpriv setsid shellcheck strace taskset tmux unshare valgrind wrk xmllint xz"
all_programs() {
    local program missing=
    for program in $programs; do
        command -v "$program" >/dev/null || missing+=" $program"
    done
    /usr/bin/python3 -c 'from prometheus_client.openmetrics import parser' || missing+=" python3-prometheus-client"
    [ -z "$missing" ] || echo "NOT OK: missing here:$missing; ./quickstart test installs them on Debian"
    [ -z "$missing" ]
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

# built NAME ARGUMENTS...: everything is compiled, also the tests and the benchmark.
built() {
    configured "$@" && make -C "$build/$1" -j"$jobs" all && make -C "$build/$1" -j"$jobs" check TESTS=
}

# clang_builds: the daemon and the fuzzers. The unit tests run in gcc's build.
clang_builds() {
    local make=(make -C "$build/clang" -j"$jobs")
    configured clang CC=clang CFLAGS='-O0 -g1' --enable-werror --enable-asan --enable-ubsan --enable-fuzzing &&
        "${make[@]}" all && "${make[@]}" fuzzers && warnings_of_tests "$build/clang"
}

# fuzz PROGRAM: for a bounded time, from the corpus in the tree and what earlier runs found.
fuzz() {
    local name corpus=() dictionary=()
    name=$(basename "$1")
    mkdir -p "$build/clang/corpus/$name"
    [ ! -d "tests/fuzz/corpus-${name#fuzz-}" ] || corpus=("tests/fuzz/corpus-${name#fuzz-}")
    [ ! -e "tests/fuzz/${name#fuzz-}.dict" ] || dictionary=("-dict=tests/fuzz/${name#fuzz-}.dict")
    # By default libFuzzer exits with 77 for a finding, which would be a skip here.
    "$1" -max_total_time="$fuzz_seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
        -error_exitcode=1 "${dictionary[@]}" \
        -artifact_prefix="$logs/$name-" "$build/clang/corpus/$name" "${corpus[@]}"
}

fuzz_all() {
    local program n=0
    while read -r program; do
        check "fuzz $(basename "$program"), $fuzz_seconds s" fuzz "$program"
        n=$((n + 1))
    done < <(find "$build/clang/tests/fuzz" -type f -name 'fuzz-*' -perm -u+x | sort)
    [ $n -gt 0 ] || result failed fuzzers "" "there is none in build/clang/tests/fuzz"
}

# [ENGINE=bpf] end_to_end SCRIPT [BUILD]: of tests/e2e, with the daemon of build/BUILD; $kind is measures for one that
# measures.
end_to_end() {
    local build_of=${2-plain} sanitized=()
    [ "$build_of" = plain ] || sanitized=(SANITIZED=yes)
    "${kind-check}" "e2e $1${2:+ ($2)}${ENGINE:+, engine $ENGINE}" \
        env PERFCOUNTD="$build/$build_of/perfcountd" "${sanitized[@]}" \
        timeout --foreground --kill-after=10 300 "tests/e2e/$1.sh"
}

# with_daemon SECONDS SCRIPT [ARGUMENTS...]: with the daemon of build/plain.
with_daemon() {
    env PERFCOUNTD="$build/plain/perfcountd" timeout --foreground --kill-after=10 "$@"
}

# --- beside compilers: nothing here depends on time

# Downloads for later steps. If they fail, those steps say why.
fetch() {
    local suite
    tests/tree.sh package bookworm armhf
    tests/vm/fetch.sh
    tests/page/install.sh
    tests/tree.sh machine
    tests/tree.sh containers
    for suite in bullseye trixie; do
        tests/tree.sh compile $suite
    done
} >"$logs/fetch.log" 2>&1 </dev/null

lane_end_to_end() {
    local script
    show='^[a-z].*: [0-9]' check "tests/check-style.sh" env PERFCOUNTD="$build/plain/perfcountd" \
        OBJECTS="$build/plain" tests/check-style.sh
    for script in cli stat exposition http assets limits descriptors libpfm4 lifecycle opener tally-end stream-events \
        impostor symboliser-impostor tls security-doc bad-clients local-user proxy valgrind contrib auth excerpts \
        kubernetes container-files container-users; do
        end_to_end $script
    done
}

# The boards' and armhf's are built by lanes of their own; their packages by make check-package alone.
export ARCHITECTURES=amd64
[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || unset ARCHITECTURES
lane_packages() {
    show=^perfcountd_ check "Debian packages, with lintian" tests/package/build.sh
    # The unit tests are in the archive, and are run elsewhere.
    check "make distcheck" make -C "$build/plain" -j"$jobs" distcheck DISTCHECK_CONFIGURE_FLAGS=CFLAGS=-O0 \
        AM_MAKEFLAGS="check_PROGRAMS= TESTS="
    show='^==|^gcc |passed|s of a CPU' check "other Debians: builds, unit tests, smoke" tests/distro/run.sh --others
}

lane_sanitizers() {
    local script
    if check "gcc with ASan and UBSan builds" \
        built sanitized CFLAGS='-O0 -g1' --enable-werror --enable-asan --enable-ubsan; then
        unit_tests "$build/sanitized"
        show='points' check "tests/faults, a sample" env CHECK_FAULTS="$build/sanitized/tests/faults/check-faults" \
            tests/faults/run.sh
        for script in smoke http tls lifecycle opener symboliser-impostor; do
            end_to_end $script sanitized
        done
    fi
    if check "clang with ASan and UBSan builds" clang_builds; then
        fuzz_all
    fi
}

check "tests/steps-test.sh" tests/steps-test.sh
check "tests/quickstart.sh" tests/quickstart.sh
check "the programs that tests run" all_programs
fetch &
check "shellcheck" shellcheck quickstart .ci/run tests/*.sh tests/*/*.sh tests/fuzz/run-long web/*.sh bench/footprint \
    bench/cgroup-vm bench/peers.sh contrib/completion/perfcountd &
plain=no
if check "gcc -O2 -Werror builds" built plain CFLAGS='-O2 -g' --enable-werror; then
    plain=yes
    lane_end_to_end &
    lane_packages &
fi
lane_sanitizers &
wait

# --- the emulated boards, which take both CPUs; time in them is that of their instructions. armhf takes what they leave

lane_armhf() {
    show='passed|^[0-9]+ s$' check "armhf: unit tests, run by qemu" nice -n 5 tests/distro/armhf.sh "$half"
}

lane_armhf &
if [ $plain = yes ]; then
    show='^==|checks passed|up in' check "emulated boards, Linux 6.1 and 5.10" \
        env VM_BUILD="$build/arm64" tests/vm/run.sh
fi

# --- tests that mostly wait, in lanes of about the same length, and one that computes

lane_systemd() {
    check "systemd machine" with_daemon 600 tests/systemd/units.sh
    check "systemd-nspawn and LXC" with_daemon 300 tests/containers/machines.sh
    show='systemd-analyze security' check "systemd service" with_daemon 300 tests/systemd/service.sh
    check "the package in the systemd machine" with_daemon 900 tests/package/run.sh
}

lane_containers() {
    check "podman, docker and containerd" with_daemon 300 tests/containers/runtimes.sh
    end_to_end page
    end_to_end top
}

lane_clients() {
    # Rates by two clocks over two windows of ten seconds, and the duration of scrapes.
    kind=measures end_to_end prometheus
    kind=measures end_to_end prometheus-secure
    end_to_end pause
    check "dashboards, asked of a real Prometheus" env VM_BUILD="$build/arm64" PERFCOUNTD="$build/plain/perfcountd" \
        timeout --foreground 400 tests/dashboards.sh
}

# lane_page N: each third of the tests in a browser, from the N-th on. The board's is run by dashboards.sh.
lane_page() {
    local file
    while read -r file; do
        check "page: $(basename "$file" .test.mjs)" with_daemon 200 tests/page/run.sh "$file"
    done < <(find tests/page -maxdepth 1 -name '*.test.mjs' ! -name board.test.mjs | sort |
        awk -v n="$1" 'NR % 3 == n % 3')
}

# Every failure of the real processes, and everything at once for a while.
lane_faults() {
    show='points' check "tests/faults/calls.sh, a sample" with_daemon 300 tests/faults/calls.sh \
        --sample="$(git rev-parse HEAD 2>/dev/null):12"
    show='^BAD' measures "a soak of 45 s" env DURATION=45 PERFCOUNTD="$build/plain/perfcountd" \
        timeout --foreground 200 tests/soak/run.sh
}

# By CPU time, so that others here do no harm.
lane_page_parts() {
    check "page: its parts, in node" tests/page/run.sh tests/page/unit/*.test.mjs
    show=. measures "bench/run-bench-page --quick" bench/run-bench-page --quick "$build/plain"
}

if [ $plain = yes ]; then
    lane_systemd &
    lane_containers &
    lane_clients &
    lane_page 1 &
    { lane_page 2; lane_page_parts; } &
    lane_page 3 &
    lane_faults &
    end_to_end sampler-rest &
fi
wait

# --- one at a time

if [ $plain = yes ]; then
    # Others on the machine would change these counts, samples and wake-ups.
    end_to_end truth
    end_to_end idle & # both wait, and count the calls of their own daemons
    end_to_end retry
    wait
    [ ! -x "$build/sanitized/perfcountd" ] || end_to_end cgroup sanitized & # each counts cgroups of its own
    ENGINE=bpf end_to_end cgroup &
    ENGINE=bpf end_to_end cgroup-soak &
    end_to_end cgroup-soak
    wait
    end_to_end cgroup-engines
    end_to_end sampler
    end_to_end sampler-perf
    end_to_end profile
    end_to_end names & # both look at names of functions, not at how often they are
    end_to_end kernel-addresses
    wait
    show=. check "make bench-check" bench/run-bench-check "$build/plain"
    show=. check "bench/run-bench-names --quick" bench/run-bench-names --quick "$build/plain"

    show='^==|^SKIP|the slowest of them|seconds until' measures "tests/pressure" \
        env PERFCOUNTD="$build/plain/perfcountd" tests/pressure/run.sh

    # These measure time.
    kind=measures end_to_end times
    kind=measures end_to_end cgroup-start
    kind=measures of_half 0 end_to_end flood
    kind=measures of_half 0 end_to_end flood-passwords
    show=. measures "bench/footprint" bench/footprint "$build/plain"
    show=. of_half 0 measures "bench/run-bench-sampler --quick" bench/run-bench-sampler --quick "$build/plain"
    show=. of_half 1 measures "bench/run --quick" bench/run --quick "$build/plain"
    show=. of_half 1 measures "bench/run-bench-cgroup --quick" bench/run-bench-cgroup --quick "$build/plain"
    show=. of_half 1 measures "bench/run-bench-growth --quick" bench/run-bench-growth --quick "$build/plain"
fi

# --- the end

run_again
all_are_run tests/*/*.sh bench/run bench/run-* bench/footprint
summary
