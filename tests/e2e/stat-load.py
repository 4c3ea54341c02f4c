#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A load of known size on one CPU: PAGES page faults, then ROUNDS bytes back and forth between two processes.

usage: stat-load.py CPU PAGES ROUNDS [FILE]

With FILE, a grandchild causes as many page faults again, this process computes for seconds, and FILE gets what
all of them have used according to getrusage(2), as lines "EVENT COUNT"; task_clock is in milliseconds.
"""
import mmap
import os
import resource
import sys
import time

AREA = 50000  # number of pages that are mapped at a time
SECONDS = 3


def fault(pages):
    for first in range(0, pages, AREA):
        with mmap.mmap(-1, min(AREA, pages - first) * mmap.PAGESIZE) as area:
            for offset in range(0, len(area), mmap.PAGESIZE):
                area[offset] = 1


def fault_below(pages, generations):
    """Causes the faults in a descendant, while its ancestors wait."""
    if os.fork() == 0:
        if generations > 1:
            fault_below(pages, generations - 1)
        else:
            fault(pages)
        os._exit(0)
    os.wait()


def compute():
    while time.process_time() < SECONDS:
        pass


def write_usage(file):
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    with open(file, "w", encoding="ascii") as out:
        print("page_faults", sum(u.ru_minflt + u.ru_majflt for u in both), file=out)
        print("context_switches", sum(u.ru_nvcsw + u.ru_nivcsw for u in both), file=out)
        print("task_clock", sum(u.ru_utime + u.ru_stime for u in both) * 1000, file=out)


def send_back_and_forth(rounds):
    """Sends bytes back and forth; on one CPU, each byte is a context switch."""
    there, back = os.pipe(), os.pipe()
    if os.fork() == 0:
        for _ in range(rounds):
            os.write(back[1], os.read(there[0], 1))
        os._exit(0)
    for _ in range(rounds):
        os.write(there[1], b".")
        os.read(back[0], 1)
    os.wait()


def main():
    cpu, pages, rounds = map(int, sys.argv[1:4])
    os.sched_setaffinity(0, {cpu})
    fault(pages)
    send_back_and_forth(rounds)
    if len(sys.argv) > 4:
        fault_below(pages, 2)
        compute()
        write_usage(sys.argv[4])


main()
