#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The system calls that a running process may make, one a line, as its filters have them.

usage: process-calls.py PID

Its filters (seccomp(2)) are read by ptrace(2), and followed for each number of a call: where one looks at an argument,
both ways are followed, so a call that is allowed with some argument is listed. A call of another architecture that is
allowed is listed as "foreign N". Exit status 2, with the reason, where the kernel does not show filters.
"""
import ctypes
import os
import struct
import sys

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_SECCOMP_GET_FILTER = 17, 0x4206, 0x4207, 0x420c
WALL = 0x40000000  # __WALL of waitpid(2)
NUMBER, ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
ALLOW = 0x7fff0000  # SECCOMP_RET_ALLOW; LOG, TRACE, USER_NOTIF are no refusal either, and below it
REFUSALS = {0x80000000, 0x00000000, 0x00030000, 0x00050000}  # KILL_PROCESS, KILL_THREAD, TRAP, ERRNO
ARCHITECTURES = {"x86_64": 0xc000003e, "aarch64": 0xc00000b7, "armv7l": 0x40000028}
FOREIGN = (0x40000003, 0xc000003e, 0x40000028, 0xc00000b7)  # i386, x86-64, arm, aarch64
N_CALLS = 700
X32 = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, address=None, data=None):
    result = libc.ptrace(request, pid, address, data)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def filters_of(pid):
    """Each filter as a list of (code, jt, jf, k), see BPF in the kernel's networking/filter.rst."""
    ptrace(PTRACE_SEIZE, pid)
    try:
        ptrace(PTRACE_INTERRUPT, pid)
        os.waitpid(pid, WALL)
        found = []
        while True:
            try:
                length = ptrace(PTRACE_SECCOMP_GET_FILTER, pid, len(found))
            except FileNotFoundError:
                return found
            code = ctypes.create_string_buffer(8 * length)
            ptrace(PTRACE_SECCOMP_GET_FILTER, pid, len(found), ctypes.addressof(code))
            found.append(list(struct.iter_unpack("=HBBI", code.raw)))
    finally:
        ptrace(PTRACE_DETACH, pid)


COMPARE = {0x10: lambda a, k: a == k, 0x20: lambda a, k: a > k, 0x30: lambda a, k: a >= k,
           0x40: lambda a, k: a & k != 0}


def actions(program, number, architecture):
    """All that the filter may return for a call; a value that depends on arguments is None."""
    known = {NUMBER: number, ARCHITECTURE: architecture}
    found, seen, paths = set(), set(), [(0, None, ())]
    while paths:
        state = paths.pop()
        if state in seen:
            continue
        seen.add(state)
        at, a, memory = state
        code, jt, jf, k = program[at]
        kind, slots = code & 0x07, dict(memory)
        if kind == 0x06:  # return
            found.add(k & 0xffff0000 if code & 0x18 == 0 else None)
        elif code == 0x20:  # load a word of seccomp_data
            paths.append((at + 1, known.get(k), memory))
        elif kind == 0x00:  # load a constant, or from memory
            paths.append((at + 1, k if code & 0xe0 == 0 else slots.get(k), memory))
        elif kind == 0x02:  # store
            slots[k] = a
            paths.append((at + 1, a, tuple(sorted(slots.items()))))
        elif code == 0x54:  # and
            paths.append((at + 1, None if a is None else a & k, memory))
        elif code == 0x05:  # jump
            paths.append((at + 1 + k, a, memory))
        elif kind == 0x05 and code & 0x08 == 0:
            results = {True, False} if a is None else {COMPARE[code & 0xf0](a, k)}
            paths += [(at + 1 + (jt if result else jf), a, memory) for result in results]
        else:
            raise ValueError("the filter has an instruction %#x that is not known here" % code)
    return found


def allowed(filters, number, architecture):
    return all(actions(program, number, architecture) - REFUSALS for program in filters)


def name_of(number):
    """As libseccomp knows it."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_syscall_resolve_num_arch.restype = ctypes.c_char_p
    name = library.seccomp_syscall_resolve_num_arch(0, number)
    return name.decode() if name else "call %d" % number


def main():
    pid, own = int(sys.argv[1]), ARCHITECTURES[os.uname().machine]
    try:
        filters = filters_of(pid)
    except OSError as error:
        print("the filters of process %d cannot be read: %s" % (pid, error))
        sys.exit(2)
    if not filters:
        sys.exit("process %d has no filter" % pid)
    print("\n".join(sorted(name_of(n) for n in range(N_CALLS) if allowed(filters, n, own))))
    for architecture in FOREIGN:
        for n in range(N_CALLS):
            if architecture != own and allowed(filters, n, architecture):
                print("foreign %d" % n)
    for n in range(X32, X32 + N_CALLS):
        if own == ARCHITECTURES["x86_64"] and allowed(filters, n, own):
            print("foreign %d" % n)


if __name__ == "__main__":
    main()
