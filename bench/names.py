# SPDX-License-Identifier: Apache-2.0
"""Measures what container names add to the cost of a scrape: compares the instructions of a scrape when the daemon
knows the names of 100 containers and when it knows only their IDs, and optionally with an earlier program.
"""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import callgrind
import lib
import peers

CONTAINERS = 100
CONFIG = """
web: {min_interval: 0s}
collectors:
  cpu: {enabled: false}
  self: {enabled: false}
  cgroup: {include: ["%s/*"], groups: [{name: bench, events: "{context-switches,minor-faults}"}]}
"""
# Runs a command with private directories: /var/log is the first argument, with or without the kubelet's links;
# /var/lib and /run are the second one, so that state files of this machine's container runtimes are never read.
PRIVATE = ['unshare', '--mount', '--propagation', 'private', 'sh', '-e', '-c',
           'mount --bind "$0" /var/log; mount --bind "$1" /var/lib; mount --bind "$1" /run; shift; exec "$@"']


def sleepers(cgroups):
    """Starts a process in each cgroup, since empty cgroups are not counted."""
    started = []
    for number in range(CONTAINERS):
        pid = os.fork()
        if pid == 0:
            signal.pause()
            os._exit(0)
        cgroups.join(number, pid)
        started.append(pid)
    return started


def end(started):
    for pid in started:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Counted(peers.Perfcountd):
    """A daemon under callgrind."""

    def __init__(self, build, directory, logs, config):
        empty = os.path.join(directory, "empty")
        os.makedirs(empty, exist_ok=True)
        self.out = os.path.join(directory, "out")
        tunables = ["%s=%s" % item for item in callgrind.NO_STRINGS.items()]
        super().__init__(build, directory, config, wrapper=[
            *PRIVATE, logs, empty, "env", *tunables, "valgrind", "-q", "--tool=callgrind",
            "--callgrind-out-file=" + self.out], flags=["--no-opener"], patience=60)
        self.pid = self.started[0].pid

    def control(self, action):
        subprocess.run(["callgrind_control", action, str(self.pid)], check=True, capture_output=True)

    def instructions(self, scrapes):
        """Returns the instructions per scrape, averaged over this number of scrapes."""
        self.control("--zero")
        for _ in range(scrapes):
            self.client.get()
        self.control("--dump")
        dumps = sorted(glob.glob(self.out + ".*"), key=lambda name: int(name.rsplit(".", 1)[1]))
        with open(dumps[-1]) as dump:
            return int(re.search(r"^totals: (\d+)", dump.read(), re.M)[1]) / scrapes

    def wait_for(self, named):
        """Waits until all containers are counted and this number of them have a name."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            page = self.client.page()
            infos = re.findall(r"^perf_cgroup_info\{.*\}", page, re.M)
            if len(infos) == CONTAINERS and sum('pod="pod-' in info for info in infos) == named:
                return
            time.sleep(0.2)
        sys.exit("expected %d containers with %d names: %s" % (CONTAINERS, named, infos[:2]))


def scrape_instructions(program, named, cgroups):
    """Returns the lowest instruction count per scrape of several rounds, since a timer may fire during a round."""
    rounds, scrapes = (5, 50)
    with tempfile.TemporaryDirectory() as directory:
        logs = os.path.join(directory, "logs")
        os.makedirs(logs + "/containers")
        for number in range(named):
            os.symlink("/nowhere", "%s/containers/pod-%d_bench_app-%064x.log" % (logs, number, number))
        daemon = Counted(program, directory, logs, CONFIG % cgroups.below)
        try:
            daemon.wait_for(named)
            daemon.instructions(5)
            return min(daemon.instructions(scrapes) for _ in range(rounds))
        finally:
            daemon.stop()


def add_options(parser):
    parser.add_argument("--before", help="the build directory of a version without container names, to compare with")


def measure(arguments, table):
    if os.geteuid() != 0:
        lib.skip("only root can create cgroups")
    if not shutil.which("callgrind_control"):
        lib.skip("valgrind is not installed")
    with contextlib.ExitStack() as stack:
        cgroups = lib.Cgroups(CONTAINERS, "%064x")
        stack.callback(cgroups.remove)
        stack.callback(end, sleepers(cgroups))
        print("%d containers, two software events on %d CPUs; figures are instructions." % (CONTAINERS, os.cpu_count()))
        with_names = scrape_instructions(arguments.build, CONTAINERS, cgroups)
        table.compare("scrape of named containers vs. ids only", with_names,
                      scrape_instructions(arguments.build, 0, cgroups))
        if arguments.before:
            # The earlier program may not know names, so this does not wait for them.
            table.compare("scrape of named containers vs. the earlier program", with_names,
                          scrape_instructions(arguments.before, 0, cgroups))
