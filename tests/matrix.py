#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests under conditions that must not change their outcome, such as load, and keeps a table of the runs.

usage: tests/matrix.py [--file=TABLE] [CONDITION...]

After each run, a row is appended to TABLE (default: build/matrix.tsv): date, commit, condition, outcome, seconds,
failed steps. If the script is started again, it skips the runs that TABLE already has for the same commit. It needs
root and Debian, and installs stress-ng and mmdebstrap. The machine should be otherwise idle.
"""
import argparse
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEST = "./quickstart test"
LONG = TEST + " --only=boards,containers"
LOOP = "%s --repeat=50 --only=" % TEST
LOAD = "stress-ng --quiet --cpu 4 --io 2 & load=$!; trap 'kill $load' EXIT; %s"
# A time namespace moves CLOCK_MONOTONIC and CLOCK_BOOTTIME, never CLOCK_REALTIME.
BOOTED = "u=$(cut -d. -f1 /proc/uptime); unshare --time --monotonic=-$((u-%d)) --boottime=-$((u-%d)) --fork %s"
# Only scripts are run under this condition, since programs with a sanitizer reject a preloaded library. Scripts that
# use Prometheus are left out: it reads the time without libc, and rejects certificates that become valid only next
# year.
AHEAD = r"""
    cc -shared -fPIC -O2 -o build/ahead.so tests/ahead.c || exit
    names=$(./quickstart test --list | sed -n 's/^ *\(e2e\/[^ ]*\)$/\1/p' | grep -v prometheus | paste -sd,)
    ./quickstart test --only=build/plain && LD_PRELOAD=$PWD/build/ahead.so ./quickstart test --only=rules,$names
"""
# A new system that has only git, without systemd and without a build directory.
FRESH = """
    tree=$(tests/tree.sh bare %s) && . tests/tree-lib.sh && root=$PWD && directory=$PWD/build/matrix-%s || exit
    rm -rf "$directory" && copy_sources "$directory/source" || exit
    network=here clean_system "$tree" "$directory" 0:0 sh -c '%s'
"""
FIRST = "cd /build/source && ./quickstart run --version && ./quickstart test"

# (condition, number of runs, shell command)
CONDITIONS = (
    ("quiet", 5, TEST),
    ("loaded", 5, LOAD % TEST),
    ("booted", 1, BOOTED % (30, 30, TEST)),
    ("ahead", 1, AHEAD),
    ("locale", 1, "umask 077; unset HOME; LANG=de_DE.UTF-8 TZ=Asia/Kolkata %s" % TEST),
    ("debian12", 1, BOOTED % (60, 60, "bash -c '%s'" % (FRESH % ("bookworm", "bookworm", FIRST)).replace("'", "'\\''"))),
    ("debian13", 1, BOOTED % (60, 60, "bash -c '%s'" % (FRESH % ("trixie", "trixie", FIRST)).replace("'", "'\\''"))),
    ("long", 1, LONG),
    ("long-loaded", 1, LOAD % LONG),
    ("loop-unit", 1, LOAD % (LOOP + "unit")),
    ("loop-scripts", 1, LOAD % (LOOP + "e2e,page,rules")),
)
PACKAGES = ("stress-ng", "mmdebstrap")


def head():
    return subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, check=True, capture_output=True,
                          text=True).stdout.strip()


def runs_of(path, commit, condition):
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as file:
        return sum(1 for line in file if line.split("\t")[1:3] == [commit, condition])


def run(path, commit, condition, command):
    log = os.path.join(os.path.dirname(path), "matrix-%s-%d.log" % (condition, time.time()))
    begin = time.time()
    with open(log, "w", encoding="utf-8") as output:
        status = subprocess.run(["bash", "-c", command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output,
                                stderr=output, check=False).returncode
    with open(log, encoding="utf-8", errors="replace") as output:
        failed = [line.split()[1] for line in output if line.startswith("failed: ")]
    row = (time.strftime("%Y-%m-%d %H:%M", time.gmtime(begin)), commit, condition, "passed" if status == 0 else "failed",
           "%.0f" % (time.time() - begin), " ".join(failed))
    with open(path, "a", encoding="utf-8") as file:
        file.write("\t".join(row) + "\n")
    print(*row, flush=True)
    return status == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", default=os.path.join(ROOT, "build", "matrix.tsv"), metavar="TABLE")
    parser.add_argument("condition", nargs="*", help=", ".join(name for name, _, _ in CONDITIONS))
    arguments = parser.parse_args()
    unknown = set(arguments.condition) - {name for name, _, _ in CONDITIONS}
    if unknown:
        parser.error("unknown condition: " + ", ".join(unknown))
    path = os.path.abspath(arguments.file)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run(["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "--no-install-recommends", "install",
                    *PACKAGES], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    commit, good = head(), True
    for name, times, command in CONDITIONS:
        if arguments.condition and name not in arguments.condition:
            continue
        for _ in range(times - runs_of(path, commit, name)):
            good &= run(path, commit, name, command)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
