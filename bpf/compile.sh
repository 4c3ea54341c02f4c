#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the BPF programs and writes their compressed objects in the form that program.c includes. The one that counts
# cgroups is compiled with and without the kernel's types. It needs clang 14 with its target bpf and the headers of
# libbpf; without llvm-strip, the objects keep their debug information.
#
# usage: compile.sh OUTPUT                  writes all objects; bpf/object.inc is in the tree for machines without clang
#        compile.sh --object OUTPUT         the object that counts cgroups, for kernels with BTF
#        compile.sh --object-without OUTPUT the same for kernels without BTF
#        compile.sh --object-off-cpu OUTPUT the object that measures off-CPU time
#
# The variables CLANG and LLVM_STRIP name other programs. BPF_CPPFLAGS has flags for the compiler, such as -I if
# libbpf's headers are not installed.
set -eu
export LC_ALL=C

# compile SOURCE OUTPUT [FLAG...]: writes the same bytes on every architecture (all are little-endian) and in every
# directory.
compile() {
    source=$1 object=$2
    shift 2
    # linux/types.h includes asm/types.h, which Debian has in a directory named after the architecture.
    # shellcheck disable=SC2086 # flags, a word each
    ${CLANG:-clang} -target bpfel -mcpu=v2 -O2 -g -Wall -Wextra -Werror -I. -ffile-prefix-map="$PWD"=. \
        -I"/usr/include/$(uname -m)-linux-gnu" ${BPF_CPPFLAGS-} "$@" -c "bpf/$source.bpf.c" -o "$object"
    if command -v "${LLVM_STRIP:-llvm-strip}" >/dev/null; then
        "${LLVM_STRIP:-llvm-strip}" -g "$object"
    fi
}

# array NAME SOURCE [FLAG...]: prints an object as a C array.
array() {
    name=$1 source=$2
    shift 2
    compile "$source" "$output.object" "$@"
    gzip -9n <"$output.object" >"$output.gz"
    echo "static const unsigned char ${name}[] = {"
    od -An -v -w28 -tu1 "$output.gz" | sed 's/  */,/g; s/^,//; s/$/,/'
    echo '};'
    echo "static const size_t ${name}_size = $(wc -c <"$output.object");"
}

mode=$1
case $mode in
--object*) shift ;;
esac
output=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/.."
case $mode in
--object) compile cgroup "$output" ;;
--object-without) compile cgroup "$output" -DWITHOUT_TYPES ;;
--object-off-cpu) compile off-cpu "$output" ;;
*)
    trap 'rm -f "$output.object" "$output.gz"' EXIT
    {
        echo '/* Made by bpf/compile.sh of bpf/cgroup.bpf.c and bpf/off-cpu.bpf.c. */'
        array object_by_types cgroup
        array object_by_offsets cgroup -DWITHOUT_TYPES
        array object_off_cpu off-cpu
    } >"$output"
    ;;
esac
