# SPDX-License-Identifier: Apache-2.0
"""Instructions of chosen functions, with their callees, by callgrind: what no other load of the machine changes."""
import glob
import os
import re
import shutil
import subprocess
import tempfile


def available():
    return shutil.which("valgrind") is not None


def version():
    return subprocess.run(["valgrind", "--version"], check=True, capture_output=True, text=True).stdout.strip()


def costs(command, functions):
    """
    The output of a command, and (function, instructions) of each call of these functions, in order. A dump is made
    before and after each call, so that what lies between is the call.
    """
    options = ["--dump-%s=%s" % (when, name) for name in functions for when in ("before", "after")]
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out.%p")  # without the number of the process there would be but one dump
        # The size of the environment moves the stack, and so the alignment of what is copied.
        run = subprocess.run(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + out] + options + command,
                             env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True)
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
