# SPDX-License-Identifier: Apache-2.0
"""Readings of the processes of a daemon: memory, descriptors, watches, wake-ups, CPU time."""
import collections
import contextlib
import json
import os
import re
import time


class Uses:
    """Sums over a daemon's processes since the start, those that have ended included."""

    def __init__(self):
        self.last = {}  # by pid
        self.wakeups, self.cpu = 0, 0.0

    def take(self, pids):
        for pid in pids:
            with contextlib.suppress(OSError):  # it has just ended
                now = wakeups_of(pid), time.clock_gettime((~pid << 3) | 2)
                before = self.last.get(pid, (0, 0.0))
                self.wakeups += max(0, now[0] - before[0])
                self.cpu += now[1] - before[1]
                self.last[pid] = now


class Reading:
    """Of one moment. `at_rest`: of a daemon that nobody has asked for anything since it let go of what it keeps."""

    def __init__(self, processes, uses, at_rest):
        self.at_rest = at_rest
        self.time = time.monotonic()
        self.anonymous, self.kinds, self.watches = {}, collections.Counter(), 0
        for name, pid in processes.items():
            with contextlib.suppress(OSError):
                self.anonymous[name] = anonymous_of(pid)
                self.kinds += descriptors_of(name, pid)
                self.watches += watches_of(pid)
        self.descriptors = sum(self.kinds.values())
        self.wakeups, self.cpu = uses.wakeups, uses.cpu


def processes_of(target):
    """Process ids by what they are, the daemon first; as its status has them."""
    return {entry["process"]: entry["pid"] for entry in json.loads(target.get("/api/v1/status"))["processes"]}


def anonymous_of(pid):
    """kB."""
    with open("/proc/%d/smaps_rollup" % pid) as rollup:
        return int(re.search(r"^Anonymous: *(\d+) kB", rollup.read(), re.M)[1])


def descriptors_of(name, pid):
    """How many of each kind."""
    found = collections.Counter()
    for fd in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(OSError):
            found["%s of the %s" % (re.sub(r"\d+", "N", os.readlink("/proc/%d/fd/%s" % (pid, fd))), name)] += 1
    return found


def watches_of(pid):
    count = 0
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        with contextlib.suppress(OSError), open("/proc/%d/fdinfo/%s" % (pid, fd)) as info:
            count += sum(line.startswith("inotify ") for line in info)
    return count


def wakeups_of(pid):
    """How often its threads have gone to sleep of themselves."""
    count = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(OSError), open("/proc/%d/task/%s/status" % (pid, task)) as status:
            count += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read(), re.M)[1])
    return count


def quiet(all_processes, all_uses, seconds=1):
    """How often the processes of each daemon wake up in a second in which nobody asks them for anything."""
    before = [take(uses, processes).wakeups for processes, uses in zip(all_processes, all_uses)]
    time.sleep(seconds)
    return [(take(uses, processes).wakeups - was) / seconds
            for processes, uses, was in zip(all_processes, all_uses, before)]


def take(uses, processes):
    uses.take(processes.values())
    return uses
