#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pods that replace each other, for kubernetes.sh: as many at once as asked for, with a process in each. Prints, as
JSON, how many there were, how many had their names while they ran, and how many another's.

The processes are moved from the pods that end to those that begin, so that no time goes into starting them.
"""
import argparse
import contextlib
import hashlib
import json
import os
import signal
import time
import urllib.request

SECONDS = 8  # for the names of a round


class Pod:
    def __init__(self, arguments, number):
        self.name = "%s-%d" % (arguments.name, number)
        digits = hashlib.sha256(self.name.encode()).hexdigest()
        uid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
        self.id = hashlib.sha256(digits.encode()).hexdigest()
        self.cgroup = "/kubepods/burstable/pod%s/%s" % (uid, self.id)
        self.directory = arguments.parent + self.cgroup
        self.link = "%s/%s_churn_app-%s.log" % (arguments.logs, self.name, self.id)

    def begin(self, process):
        os.makedirs(self.directory)
        with open(self.directory + "/cgroup.procs", "w") as procs:
            procs.write(str(process))
        os.symlink("/nowhere", self.link)

    def end(self):
        os.unlink(self.link)
        for directory in (self.directory, os.path.dirname(self.directory)):
            # A process that left the cgroup can hold it for a moment.
            for attempt in range(100):
                try:
                    os.rmdir(directory)
                    break
                except OSError:
                    if attempt == 99:
                        raise
                    time.sleep(0.02)


def processes(number):
    found = []
    for _ in range(number):
        pid = os.fork()
        if pid == 0:
            signal.pause()
            os._exit(0)
        found.append(pid)
    return found


def cgroups(url):
    with urllib.request.urlopen(url + "/api/v1/cgroups", timeout=30) as response:
        return {entry["cgroup"]: entry for entry in json.load(response)["cgroups"]}


def named(url, pods):
    """How many have their names within the time, how many have others', and what is known of some without."""
    deadline = time.monotonic() + SECONDS
    while True:
        known = cgroups(url)
        names = [known.get(pod.cgroup, {}).get("pod") for pod in pods]
        right = sum(name == pod.name for name, pod in zip(names, pods))
        wrong = sum(name is not None and name != pod.name for name, pod in zip(names, pods))
        if right == len(pods) or wrong or time.monotonic() > deadline:
            return right, wrong, [(pod.name, known.get(pod.cgroup)) for pod, name in zip(pods, names) if not name][:3]
        time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--parent", required=True, help="the directory of the cgroup that is the daemon's root")
    parser.add_argument("--logs", required=True, help="the daemon's /var/log/containers")
    parser.add_argument("--url", required=True)
    parser.add_argument("--name", required=True, help="what the pods' names begin with")
    parser.add_argument("--pods", type=int, required=True)
    parser.add_argument("--at-once", type=int, required=True)
    arguments = parser.parse_args()
    begin, right, wrong, missing = time.monotonic(), 0, 0, []
    moved = processes(arguments.at_once)
    try:
        before = []
        for first in range(0, arguments.pods, arguments.at_once):
            pods = [Pod(arguments, first + i) for i in range(arguments.at_once)]
            for i, pod in enumerate(pods):
                pod.begin(moved[i])
                if before:
                    before[i].end()
            before = pods
            round_right, round_wrong, round_missing = named(arguments.url, pods)
            right += round_right
            wrong += round_wrong
            missing += round_missing
    finally:
        for pid in moved:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    for pod in before:
        pod.end()
    print(json.dumps({"pods": first + len(pods), "named": right, "wrong": wrong, "missing": missing,
                      "seconds": round(time.monotonic() - begin, 1)}))


if __name__ == "__main__":
    main()
