#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which of the BPF programs ID... are still loaded, as bpf(2) tells. Tests use it to see that a program is gone.

usage: bpf-programs.py ID...
"""
import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {"x86_64": 321, "aarch64": 280, "armv7l": 386, "riscv64": 280}  # system call number of bpf(2)
PROG_GET_FD_BY_ID = 13

libc = ctypes.CDLL(None, use_errno=True)
for program in sys.argv[1:]:
    attributes = ctypes.create_string_buffer(struct.pack("<II", int(program), 0), 16)
    fd = libc.syscall(NUMBERS[platform.machine()], PROG_GET_FD_BY_ID, attributes, len(attributes))
    if fd >= 0:
        print(program)
        os.close(fd)
    elif ctypes.get_errno() != errno.ENOENT:
        sys.exit(f"bpf(2): {os.strerror(ctypes.get_errno())}")
