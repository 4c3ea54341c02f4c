#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cross-builds perfcountd for arm64 below VM_BUILD, and packs it with the libraries it needs, busybox and the guest's
# scripts into initramfs.gz there. At boot, linux-6.1.modules.gz or linux-5.10.modules.gz is appended, and armhf.gz for
# the 32-bit daemon. Boards that are already running may still read these files, so they are repacked only if necessary.

# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

host=aarch64-linux-gnu
[ -d "$VM_CACHE/sysroot/" ] || die "there is no $VM_CACHE/sysroot: run fetch.sh first"
sysroot=$(realpath "$VM_CACHE/sysroot")
image=$VM_BUILD/image
compiler=("$host-gcc" "--sysroot=$sysroot")

configure_daemon() {
    local arguments="$sysroot $root"
    [ -e "$VM_BUILD/Makefile" ] && [ "$(cat "$VM_BUILD/arguments" 2>/dev/null)" = "$arguments" ] && return
    [ -x "$root/configure" ] || quietly "autoreconf failed" autoreconf -i "$root"
    cd "$VM_BUILD" || exit
    # pkg-config searches only the sysroot.
    quietly "configure failed" env PKG_CONFIG_LIBDIR="$sysroot/usr/lib/$host/pkgconfig:$sysroot/usr/share/pkgconfig" \
        PKG_CONFIG_SYSROOT_DIR="$sysroot" \
        "$root/configure" --host=$host --prefix=/usr --sysconfdir=/etc CC="${compiler[*]}" CFLAGS='-O2 -g'
    echo "$arguments" >"$VM_BUILD/arguments"
}

find_library() {
    local directory
    for directory in "$sysroot/lib/$host" "$sysroot/usr/lib/$host" "$sysroot/lib"; do
        [ -e "$directory/$1" ] && echo "$directory/$1" && return
    done
    return 1
}

# pack_libraries FILE...: copies the libraries that the files need, recursively. Fails if one is not in the sysroot.
pack_libraries() {
    local file name path
    for file in "$@"; do
        for name in $($host-readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
            [ -e "$image/lib/$name" ] && continue
            path=$(find_library "$name") || die "$file needs $name, which is not in $sysroot"
            cp -L "$path" "$image/lib/$name"
            pack_libraries "$image/lib/$name"
        done
    done
}

pack() {
    local program library path
    rm -rf "$image"
    mkdir -p "$image"/{bin,sbin,lib,dev,proc,sys,tmp,run,etc,root,www/cgi-bin}
    cp "$sysroot/bin/busybox" "$image/bin/"
    cp "$VM_BUILD/perfcountd" "$VM_BUILD/tests/impostor/impostor" "$image/bin/"
    $host-strip "$image/bin/perfcountd" "$image/bin/impostor"
    cp -L "$sysroot/lib/ld-linux-aarch64.so.1" "$image/lib/"
    pack_libraries "$image/bin/perfcountd" "$image/bin/impostor"
    # The daemon loads these at run time if it is built with them.
    for library in libpfm.so.4 libdw.so.1 libbpf.so.1; do
        if path=$(find_library $library); then
            cp -L "$path" "$image/lib/"
            pack_libraries "$path"
        fi
    done
    quietly "could not build hot" "${compiler[@]}" -static -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror \
        -o "$image/bin/hot" "$root/tests/e2e/hot.c"
    quietly "could not build waits" "${compiler[@]}" -static -O1 -g -fno-omit-frame-pointer -pthread -Wall -Wextra \
        -Werror -o "$image/bin/waits" "$root/tests/e2e/waits.c"
    for program in "$vm_dir"/guest/{spin,hold,drop}.c "$root/bench/board-switches.c"; do
        quietly "could not build $program" "${compiler[@]}" -static -O2 -Wall -Wextra -Werror \
            -o "$image/bin/$(basename "$program" .c)" "$program"
    done
    install -m 755 "$vm_dir/guest/init" "$image/init"
    install -m 755 "$vm_dir/guest/run" "$image/www/cgi-bin/run"
    install -m 755 "$vm_dir/guest/by-offsets" "$image/bin/by-offsets"
    printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$image/etc/passwd"
    printf 'root:*:1:0:99999:7:::\n' >"$image/etc/shadow"
    chmod 600 "$image/etc/shadow"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$image/etc/group"
}

is_packed() {
    local newer
    newer=$(find "$VM_BUILD"/{arguments,perfcountd,tests/impostor/impostor} "$vm_dir"/{build.sh,guest} \
        "$root"/tests/e2e/{hot,waits}.c "$root/bench/board-switches.c" -newer "$VM_BUILD/initramfs.gz") &&
        [ -z "$newer" ] && [ -d "$image" ]
}

archive() {
    (cd "$1" && find . -mindepth 1 | sort | cpio --quiet -o -H newc -R 0:0) | gzip -1 >"$2.new" && mv "$2.new" "$2"
}

# Packs one kernel's modules without their paths; the guest's init loads them.
pack_modules() {
    local link=$1 directory
    directory=$(mktemp -d "$VM_BUILD/modules.XXXXXX")
    mkdir -p "$directory/lib/modules"
    find "$VM_CACHE/$link/" -name '*.ko*' -exec cp {} "$directory/lib/modules/" \;
    find "$directory" -name '*.ko.xz' -exec xz -d {} +
    archive "$directory" "$VM_BUILD/$link.modules.gz"
    rm -rf "$directory"
}

mkdir -p "$VM_BUILD" || die "cannot write to $VM_BUILD"
exec 9>"$VM_BUILD/lock"
flock -w 900 9 || die "another process has been building in $VM_BUILD for 15 minutes"
configure_daemon
quietly "the arm64 build failed" make -C "$VM_BUILD" -j"$(getconf _NPROCESSORS_ONLN)" perfcountd \
    tests/impostor/impostor
if ! is_packed; then
    pack
    archive "$image" "$VM_BUILD/initramfs.gz"
fi
pack_modules linux-6.1
pack_modules linux-5.10
[ ! -d "$ARMHF_SYSTEM" ] || archive "$ARMHF_SYSTEM" "$VM_BUILD/armhf.gz"
