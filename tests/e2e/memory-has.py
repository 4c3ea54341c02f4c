#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how often a text occurs in the memory of each process. The text is the first line of the standard input, so
that it does not appear in a command line.

usage: memory-has.py PID...
"""
import sys

CHUNK = 1 << 20


def count(pid, text):
    found = bytes_read = 0
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as memory:
        for line in maps:
            addresses, access = line.split()[:2]
            if access[0] != "r" or line.rstrip().endswith(("[vvar]", "[vvar_vclock]", "[vsyscall]")):
                continue
            at, end = (int(address, 16) for address in addresses.split("-"))
            tail = b""
            while at < end:
                try:
                    memory.seek(at)
                    part = memory.read(min(CHUNK, end - at))
                except OSError:
                    break  # device memory, or a mapping beyond the end of its file
                if not part:
                    break
                found += (tail + part).count(text)
                tail = part[-(len(text) - 1):]
                at += len(part)
                bytes_read += len(part)
    if bytes_read < 1 << 16:
        sys.exit("the memory of process %d cannot be read" % pid)
    return found


def main():
    text = sys.stdin.readline().strip().encode()
    if len(text) < 16:
        sys.exit("the text is too short")
    print(" ".join(str(count(int(pid), text)) for pid in sys.argv[1:]))


if __name__ == "__main__":
    main()
