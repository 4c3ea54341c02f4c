#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A load of known size on one CPU: PAGES page faults, then ROUNDS bytes to and fro between two processes.

usage: stat-load.py CPU PAGES ROUNDS
"""
import mmap
import os
import sys


def fault(pages):
    area = mmap.mmap(-1, pages * mmap.PAGESIZE)
    for offset in range(0, len(area), mmap.PAGESIZE):
        area[offset] = 1


def play(rounds):
    """On one CPU, each byte is a context switch."""
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
    cpu, pages, rounds = map(int, sys.argv[1:])
    os.sched_setaffinity(0, {cpu})
    fault(pages)
    play(rounds)


main()
