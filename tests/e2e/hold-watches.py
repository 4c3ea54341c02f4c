# SPDX-License-Identifier: Apache-2.0
"""Holds many inotify watches, which are limited for each user, until it is killed.

usage: hold-watches.py COUNT DIRECTORY      prints a line when it has them
"""
import ctypes
import itertools
import os
import signal
import sys

INSTANCES = 32  # each may watch a file once
IN_DELETE_SELF = 0x400

libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def main():
    count, directory = int(sys.argv[1]), sys.argv[2]
    instances = [check(libc.inotify_init1(0)) for _ in range(INSTANCES)]
    files = (os.path.join(directory, str(number)) for number in itertools.count())
    pairs = itertools.islice(((instance, path) for path in files for instance in instances), count)
    for instance, path in pairs:
        with open(path, "a"):
            check(libc.inotify_add_watch(instance, path.encode(), IN_DELETE_SELF))
    print("held", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
