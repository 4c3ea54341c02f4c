#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates pods that replace each other, for kubernetes.sh: ten rounds of 100 pods with a process each. Prints the
number of pods, how many had their own name while they ran, and how many had another pod's.

usage: kubernetes-churn.py PARENT LOGS URL

PARENT is the directory of the daemon's root cgroup, LOGS its /var/log/containers, and URL its address.

Processes are moved from the pods that end to the pods that begin, since starting them would take time.
"""
import hashlib
import json
import os
import signal
import sys
import time
import urllib.request

ROUNDS, AT_ONCE, PATIENCE = 10, 100, 60
parent, logs, url = sys.argv[1:]


class Pod:
    def __init__(self, number):
        self.name = "pod-%d" % number
        digits = hashlib.sha256(self.name.encode()).hexdigest()
        uid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
        container = hashlib.sha256(digits.encode()).hexdigest()
        self.cgroup = "/kubepods/burstable/pod%s/%s" % (uid, container)
        self.link = "%s/%s_churn_app-%s.log" % (logs, self.name, container)

    def begin(self, process):
        os.makedirs(parent + self.cgroup)
        with open(parent + self.cgroup + "/cgroup.procs", "w") as procs:
            procs.write(str(process))
        os.symlink("/nowhere", self.link)

    def end(self):
        os.unlink(self.link)
        for cgroup in (self.cgroup, os.path.dirname(self.cgroup)):
            deadline = time.monotonic() + PATIENCE
            while True:
                try:
                    os.rmdir(parent + cgroup)
                    break
                except OSError:  # a process that left the cgroup can hold it for a moment
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.02)


def process():
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    return pid


def named(pods):
    """Returns how many pods have their names after a while, and how many have another pod's."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with urllib.request.urlopen(url + "/api/v1/cgroups", timeout=PATIENCE) as response:
            known = {entry["cgroup"]: entry.get("pod") for entry in json.load(response)["cgroups"]}
        names = [known.get(pod.cgroup) for pod in pods]
        right = sum(name == pod.name for name, pod in zip(names, pods))
        wrong = sum(name is not None and name != pod.name for name, pod in zip(names, pods))
        if right == len(pods) or wrong or time.monotonic() > deadline:
            return right, wrong
        time.sleep(0.1)


right, wrong, before = 0, 0, []
moved = [process() for _ in range(AT_ONCE)]
try:
    for first in range(0, ROUNDS * AT_ONCE, AT_ONCE):
        pods = [Pod(first + i) for i in range(AT_ONCE)]
        for i, pod in enumerate(pods):
            pod.begin(moved[i])
            if before:
                before[i].end()
        before = pods
        of_round = named(pods)
        right, wrong = right + of_round[0], wrong + of_round[1]
finally:
    for pid in moved:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
for pod in before:
    pod.end()
print("%d pods, %d had their name, %d another's" % (ROUNDS * AT_ONCE, right, wrong))
