#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the BPF program, and writes its object, compressed, as what object.c includes. It takes clang 14 with
# its target bpf and the headers of libbpf; without llvm-strip the object keeps what only a debugger reads.
#
# usage: compile.sh OUTPUT             bpf/object.inc is in the tree, for machines without such a compiler
#        compile.sh --object OUTPUT    the object itself
#
# CLANG and LLVM_STRIP name others; BPF_CPPFLAGS are for the compiler, as -I where libbpf's headers are not installed.
set -eu
export LC_ALL=C

# compile OUTPUT: the same bytes for all architectures, which are little-endian, and in all directories.
compile() {
    # linux/types.h wants asm/types.h, which Debian has below the name of the architecture.
    # shellcheck disable=SC2086 # flags, a word each
    ${CLANG:-clang} -target bpfel -mcpu=v2 -O2 -g -Wall -Wextra -Werror -I. -ffile-prefix-map="$PWD"=. \
        -I"/usr/include/$(uname -m)-linux-gnu" ${BPF_CPPFLAGS-} -c bpf/cgroup.bpf.c -o "$1"
    if command -v "${LLVM_STRIP:-llvm-strip}" >/dev/null; then
        "${LLVM_STRIP:-llvm-strip}" -g "$1"
    fi
}

mode=bytes
if [ "$1" = --object ]; then
    mode=object
    shift
fi
output=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/.."
if [ $mode = object ]; then
    compile "$output"
    exit
fi
trap 'rm -f "$output.object" "$output.gz"' EXIT
compile "$output.object"
gzip -9n <"$output.object" >"$output.gz"
{
    echo '/* Made by bpf/compile.sh of bpf/cgroup.bpf.c. */'
    echo "#define OBJECT_SIZE $(wc -c <"$output.object")"
    echo 'static const unsigned char compressed[] = {'
    od -An -v -w28 -tu1 "$output.gz" | sed 's/  */,/g; s/^,//; s/$/,/'
    echo '};'
} >"$output"
