# SPDX-License-Identifier: Apache-2.0
"""Holds many inotify watches, which are limited for each user, until it is killed.

usage: hold-watches.py COUNT DIRECTORY      prints a line when it has them
"""
import ctypes
import itertools
import os
import signal
import sys

INSTANCES = 64  # each may watch a file once, and a user may have 128
IN_DELETE_SELF = 0x400

libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def watch_each(directory):
    """Takes a watch at each step."""
    instances = [check(libc.inotify_init1(0)) for _ in range(INSTANCES)]
    for number in itertools.count():
        path = os.path.join(directory, str(number))
        with open(path, "x"):
            pass
        for instance in instances:
            yield check(libc.inotify_add_watch(instance, path.encode(), IN_DELETE_SELF))


def main():
    count, directory = int(sys.argv[1]), sys.argv[2]
    for _ in itertools.islice(watch_each(directory), count):
        pass
    print("held", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
