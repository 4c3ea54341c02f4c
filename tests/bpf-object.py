#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the compiled BPF objects in the tree have the same instructions and relocations as a new build of their
source.

usage: tests/bpf-object.py [INC]   INC: the file with the objects (default: bpf/object.inc)

Debug information and kernel types are not compared, since they depend on the versions of clang and of the headers.
The exit status is 77 if clang is not version 14, since other versions choose other instructions, or if libbpf's headers
are missing.
"""
import gzip
import os
import re
import struct
import subprocess
import sys
import tempfile

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGBITS, NOBITS, REL = 1, 8, 9
EXECUTABLE = 4


def text(table, at):
    return table[at:table.index(b"\0", at)].decode()


def sections(elf):
    """Returns (name, type, flags, bytes, info, link) of each section of a 64-bit ELF file, in order."""
    offset, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, offset + i * size) for i in range(count)]
    table = elf[headers[names][4]:][:headers[names][5]]
    return [(text(table, h[0]), h[1], h[2], elf[h[4]:h[4] + h[5]] if h[1] != NOBITS else b"", h[7], h[6])
            for h in headers]


def symbol(all_sections, table, number):
    """Returns the name of a symbol, or of its section if the symbol has no name."""
    _, _, _, entries, _, link = all_sections[table]
    name, _, _, section = struct.unpack_from("<IBBH", entries, number * 24)
    return text(all_sections[link][3], name) if name else all_sections[section][0]


def instructions(elf):
    """Returns {section: [code, (offset, relocation type, symbol), ...]}."""
    every = sections(elf)
    found = {s[0]: [s[3]] for s in every if s[1] == PROGBITS and (s[2] & EXECUTABLE or s[0] in (".rodata", "license"))}
    for name, kind, _, entries, info, link in every:
        if kind == REL and every[info][0] in found:
            for at in range(0, len(entries), 16):
                where, what = struct.unpack_from("<QQ", entries, at)
                found[every[info][0]].append((where, what & 0xffffffff, symbol(every, link, what >> 32)))
    return found


# The bpf/compile.sh option that builds each object.
OBJECTS = {"object_by_types": "--object", "object_by_offsets": "--object-without", "object_off_cpu": "--object-off-cpu"}


def shipped(path, name):
    with open(path, encoding="utf-8") as file:
        array = re.search(name + r"\[\] = {([^}]*)}", file.read()).group(1)
    return gzip.decompress(bytes(int(number) for number in re.findall(r"\d+", array)))


def compiled(option):
    clang = os.environ.get("CLANG", "clang")
    try:
        version = subprocess.run([clang, "-dumpversion"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        version = "none"
    if version.split(".")[0].strip() != "14":
        print("SKIP: clang 14, which compiled the object")
        sys.exit(77)
    if not os.path.exists("/usr/include/bpf/bpf_helpers.h") and "BPF_CPPFLAGS" not in os.environ:
        print("SKIP: bpf/bpf_helpers.h of libbpf-dev")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "object")
        subprocess.run([os.path.join(TREE, "bpf/compile.sh"), option, output], check=True)
        with open(output, "rb") as file:
            return file.read()


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TREE, "bpf/object.inc")
    failed = False
    for name, option in OBJECTS.items():
        built, kept = instructions(compiled(option)), instructions(shipped(path, name))
        wrong = [section for section in sorted(set(built) | set(kept)) if built.get(section) != kept.get(section)]
        for section in wrong:
            print(f"NOT OK: {section} of {name} in bpf/object.inc is not what its source gives; run bpf/compile.sh "
                  "bpf/object.inc")
        if not wrong:
            count = sum(len(code[0]) // 8 for code in built.values())
            print(f"ok: {name}: {len(built)} sections with {count} instructions match the source")
        failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
