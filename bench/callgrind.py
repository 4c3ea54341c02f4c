# SPDX-License-Identifier: Apache-2.0
"""Instructions of chosen functions, with their callees, by callgrind: what no other load of the machine changes."""
import glob
import os
import re
import shutil
import subprocess
import tempfile

# Nothing of the caller's, since the environment lies on the stack and so moves what is below it.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
# Above the thresholds, which the glibc manual has in "Hardware Capability Tunables", memset() and memcpy() are one
# string instruction, which callgrind counts once for each byte: clearing a buffer would outweigh all else that a
# request costs.
NEVER = 1 << 40  # bytes
NO_STRINGS = {
    "GLIBC_TUNABLES": ":".join("glibc.cpu.x86_%s_threshold=%#x" % (name, NEVER) for name in (
        "rep_movsb", "rep_stosb", "non_temporal")),
}
# Freed pieces are joined at once. By itself glibc's free() joins the small ones when more than 64 KiB is given back
# (FASTBIN_CONSOLIDATION_THRESHOLD of malloc.c, 2.36), which is a step in a curve of what closing costs.
NO_STEPS = {"GLIBC_TUNABLES": "glibc.malloc.mxfast=0"}


def available():
    return shutil.which("valgrind") is not None


def version():
    return subprocess.run(["valgrind", "--version"], check=True, capture_output=True, text=True).stdout.strip()


def costs(command, functions, environment=None):
    """
    The output of a command, and (function, instructions) of each call of these functions, in order. A dump is made
    before and after each call, so that the difference is the call.

    The command is run by its name from its own directory, so that the length of that path does not count, with
    ENVIRONMENT and the variables that are given.
    """
    valgrind = shutil.which("valgrind")
    where, program = os.path.split(os.path.realpath(command[0]))
    options = ["--dump-%s=%s" % (when, name) for name in functions for when in ("before", "after")]
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out.%p")  # without the number of the process there would be but one dump
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
        raise RuntimeError("callgrind saw no call of " + ", ".join(sorted(unseen)))
    return run.stdout, calls
