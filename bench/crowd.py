# SPDX-License-Identifier: Apache-2.0
"""Programs with many symbols, which the sampler must resolve: generated ones, and large ones installed here."""
import os
import shutil
import subprocess

# Each generated program spins in randomly chosen functions.
MAIN = """
#include <stdint.h>
extern void (*const functions[])(void);
int main(void)
{
    for (uint32_t n = 1;; n = n * 1664525 + 1013904223)
        for (int i = 0; i < 50; i++)
            functions[(uint64_t)n * %d >> 32]();
}
"""
# The number of functions in each generated program. The sampler's memory limit has room for the smallest symbol table,
# but not for the largest.
SIZES = [5000, 10000, 20000, 30000, 50000, 80000, 120000, 300000]
# Short-lived programs that are large or use large libraries.
INSTALLED = ["clang --version", "clang-14 --version", "node --version", "qemu-system-aarch64 --version", "gdb --version",
             "python3 -c 0", "perl -e 0", "php --version", "ruby -e 0", "java -version", "postgres --version",
             "docker --version", "prometheus --version", "kubectl version --client", "terraform version",
             "lto-dump-12 --version", "ctest --version", "perf --version", "gcc --version", "git --version"]


def make_program(directory, number, size):
    """Builds an executable. Its functions use only the instructions nop and ret, which x86 and arm64 share."""
    names = ["namespace_%d_of_the_crowd_with_a_long_name_as_templates_have_%d" % (number, i) for i in range(size)]
    path = os.path.join(directory, "crowd%d" % number)
    with open(path + ".s", "w") as source:
        source.write(".text\n")
        for name in names:
            source.write("%s:\n.rept 16\nnop\n.endr\nret\n.type %s,%%function\n.size %s,.-%s\n" % ((name,) * 4))
        source.write(".section .data.rel.ro,\"aw\"\n.balign 8\n.globl functions\nfunctions:\n")
        source.write("".join(".quad %s\n" % name for name in names))
        source.write(".section .note.GNU-stack,\"\",%progbits\n")
    subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-o", path, path + ".s", "-xc", "-"], check=True, text=True,
                   input=MAIN % size)
    os.unlink(path + ".s")
    return path


def commands(directory, cpus):
    """Returns a shell command for each CPU, which keeps running the programs in turn, each for at most two seconds."""
    made = [make_program(directory, number, size) for number, size in enumerate(SIZES)]
    installed = [command for command in INSTALLED if shutil.which(command.split()[0])]
    lines = ["timeout 0.3 " + program for program in made] + ["timeout 2 " + command for command in installed]
    lines = [line + " >/dev/null 2>&1 </dev/null" for line in lines]
    return [["sh", "-c", "while :; do %s; done" % "; ".join(lines[n % len(lines):] + lines[:n % len(lines)])]
            for n in range(0, 7 * cpus, 7)]
