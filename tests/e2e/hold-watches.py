# SPDX-License-Identifier: Apache-2.0
"""Holds all inotify watches that its user may have, except for REST, until it is killed.

usage: hold-watches.py REST DIRECTORY       prints a line when it has them
"""
import collections
import ctypes
import errno
import itertools
import os
import signal
import sys

INSTANCES = 64  # an instance can watch a file only once, and a user may have 128 instances
IN_DELETE_SELF = 0x400

libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def watch_each(directory):
    """Adds one watch at each step; yields the inotify instance and the watch descriptor."""
    instances = [check(libc.inotify_init1(0)) for _ in range(INSTANCES)]
    for number in itertools.count():
        path = os.path.join(directory, str(number))
        with open(path, "x"):
            pass
        for instance in instances:
            yield instance, check(libc.inotify_add_watch(instance, path.encode(), IN_DELETE_SELF))


def main():
    rest, directory = int(sys.argv[1]), sys.argv[2]
    last = collections.deque(maxlen=rest)
    try:
        for watch in watch_each(directory):
            last.append(watch)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    for instance, number in last:
        check(libc.inotify_rm_watch(instance, number))
    print("held", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
