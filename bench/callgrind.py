# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of chosen functions and their callees with callgrind, which other load does not affect."""
import glob
import os
import re
import shutil
import subprocess
import tempfile

# A fixed environment: it is stored on the stack, so its size would change addresses on the stack.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
# Above these thresholds ("Hardware Capability Tunables" in the glibc manual), memset() and memcpy() use one string
# instruction, which callgrind counts once per byte: clearing a buffer would outweigh the rest of a request.
NEVER = 1 << 40  # bytes
NO_STRINGS = {
    "GLIBC_TUNABLES": ":".join("glibc.cpu.x86_%s_threshold=%#x" % (name, NEVER) for name in (
        "rep_movsb", "rep_stosb", "non_temporal")),
}
# This tunable makes free() merge freed chunks at once. By default glibc's free() merges small chunks only when more
# than 64 KiB is freed (FASTBIN_CONSOLIDATION_THRESHOLD in malloc.c of 2.36), which would add a step to the growth curve
# of closing.
NO_STEPS = {"GLIBC_TUNABLES": "glibc.malloc.mxfast=0"}


def available():
    return shutil.which("valgrind") is not None


def version():
    return subprocess.run(["valgrind", "--version"], check=True, capture_output=True, text=True).stdout.strip()


def costs(command, functions, environment=None):
    """
    Returns the output of a command, and (function, instructions) for each call of these functions, in order. callgrind
    writes a dump before and after each call; the difference is the cost of the call.

    The command runs in its own directory and is started by its name, so that the length of its path does not change the
    counts. Its environment consists of ENVIRONMENT and the given variables.
    """
    valgrind = shutil.which("valgrind")
    where, program = os.path.split(os.path.realpath(command[0]))
    options = ["--dump-%s=%s" % (when, name) for name in functions for when in ("before", "after")]
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out.%p")  # without the process ID there would be only one dump
        run = subprocess.run([valgrind, "-q", "--tool=callgrind", "--callgrind-out-file=" + out] + options +
                             ["./" + program] + command[1:], cwd=where, env=ENVIRONMENT | (environment or {}),
                             stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if run.returncode != 0:
            raise RuntimeError("%s: %s" % (" ".join(command), run.stderr.strip()[-500:] or run.returncode))
        calls = []
        for file in sorted(glob.glob(os.path.join(directory, "out.*.*")), key=lambda name: int(name.split(".")[-1])):
            with open(file) as dump:
                text = dump.read()
            after = re.search(r"^desc: Trigger: --dump-after=(\w+)", text, re.M)
            if after:
                calls.append((after[1], int(re.search(r"^totals: (\d+)", text, re.M)[1])))
    unseen = set(functions) - {function for function, _ in calls}
    if unseen:
        raise RuntimeError("callgrind saw no call to " + ", ".join(sorted(unseen)))
    return run.stdout, calls
