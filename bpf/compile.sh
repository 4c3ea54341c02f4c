#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the BPF program, with and without the kernel's types, and writes both objects, compressed, as program.c
# includes them. It needs clang 14 with its target bpf and the headers of libbpf; without llvm-strip the objects keep
# what only a debugger reads.
#
# usage: compile.sh OUTPUT                  writes both objects; bpf/object.inc is in the tree for machines without clang
#        compile.sh --object OUTPUT         the object for kernels with BTF itself
#        compile.sh --object-without OUTPUT the object for kernels without BTF
#
# CLANG and LLVM_STRIP name others; BPF_CPPFLAGS are for the compiler, as -I where libbpf's headers are not installed.
set -eu
export LC_ALL=C

# compile OUTPUT [FLAG...]: the same bytes for all architectures, which are little-endian, and in all directories.
compile() {
    object=$1
    shift
    # linux/types.h wants asm/types.h, which Debian has below the name of the architecture.
    # shellcheck disable=SC2086 # flags, a word each
    ${CLANG:-clang} -target bpfel -mcpu=v2 -O2 -g -Wall -Wextra -Werror -I. -ffile-prefix-map="$PWD"=. \
        -I"/usr/include/$(uname -m)-linux-gnu" ${BPF_CPPFLAGS-} "$@" -c bpf/cgroup.bpf.c -o "$object"
    if command -v "${LLVM_STRIP:-llvm-strip}" >/dev/null; then
        "${LLVM_STRIP:-llvm-strip}" -g "$object"
    fi
}

# array NAME [FLAG...]: prints an object as a C array.
array() {
    name=$1
    shift
    compile "$output.object" "$@"
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
--object) compile "$output" ;;
--object-without) compile "$output" -DWITHOUT_TYPES ;;
*)
    trap 'rm -f "$output.object" "$output.gz"' EXIT
    {
        echo '/* Made by bpf/compile.sh of bpf/cgroup.bpf.c. */'
        array object_by_types
        array object_by_offsets -DWITHOUT_TYPES
    } >"$output"
    ;;
esac
