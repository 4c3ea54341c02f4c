#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fetches what the emulated boards need: tools for this machine, and two kernels, busybox and libraries from Debian's
# arm64 packages. These packages are only unpacked, below VM_CACHE, with a separate apt configuration for arm64.
#
# Afterwards, VM_CACHE has the links `linux-6.1`, `linux-5.10` and `sysroot` to directories named after the versions.

# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

tools="qemu-system-aarch64:qemu-system-arm dtc:device-tree-compiler cpio:cpio
    aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu aarch64-linux-gnu-readelf:binutils-aarch64-linux-gnu
    autoreconf:autoconf automake:automake make:make
    pkg-config:pkg-config curl:curl jq:jq python3:python3 xz:xz-utils"
# The -dev packages depend on the libraries and their dependencies. libpfm4, libdw and libbpf are loaded at run time.
sysroot_packages="libc6-dev linux-libc-dev libmicrohttpd-dev libjansson-dev libyaml-dev libdeflate-dev libsystemd-dev
    libgnutls28-dev libcap-ng-dev libseccomp-dev libcrypt-dev
    libpfm4-dev libdw-dev libbpf1 libiberty-dev libncurses-dev busybox-static"
old_kernel=linux-image-5.10.0-32-arm64 # the kernel series of an Orange Pi 5
old_suite=bullseye
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
lists_days=7 # maximum age of package lists

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

missing_tools() {
    local pair
    for pair in $tools; do
        command -v "${pair%%:*}" >/dev/null || printf '%s ' "${pair##*:}"
    done
    # The compiler also needs the C library's headers.
    [ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] || printf 'libc6-dev-arm64-cross '
}

install_tools() {
    local missing
    missing=$(missing_tools)
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null || die "please install (names of Debian packages): $missing"
    say "Installing $missing"
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install)
    # shellcheck disable=SC2086 # words
    if ! as_root "${install[@]}" $missing >>"$log" 2>&1 </dev/null; then
        quietly "apt-get update failed" as_root apt-get -q update
        quietly "could not install $missing" as_root "${install[@]}" $missing
    fi
    missing=$(missing_tools)
    [ -z "$missing" ] || die "these are still missing: $missing"
}

# Prints sources.list lines for Debian's mirror and its suites, as configured in this machine's apt.
debian_sources() {
    # shellcheck disable=SC2016 # apt expands these
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
        awk -v key="[signed-by=$keyring]" -v old=$old_suite '
            $1 == "Debian" && $4 == "main" && !seen[$2, $3]++ { print "deb", key, $2, $3, $4 }
            $1 == "Debian" && $4 == "main" && $3 !~ /-/ { mirror = $2 }
            END {
                if (mirror == "")
                    exit 1
                print "deb", key, mirror, old, "main"
            }'
}

# The package is only unpacked, since installing it would start a service.
unpack_promtool() {
    say "Fetching promtool"
    (cd "$1" && quietly "could not download prometheus" apt-get -q download prometheus) || exit
    quietly "could not unpack prometheus" dpkg-deb -x "$1"/prometheus_*.deb "$1"
    find "$1" -type f ! -name promtool -delete
}

# Configures apt for arm64 with an empty dpkg status, so that it downloads all dependencies.
prepare_apt() {
    local apt=$VM_CACHE/apt
    mkdir -p "$apt/state/lists/partial" "$apt/archives/partial"
    : >"$apt/status"
    [ -e $keyring ] || die "there is no $keyring: install debian-archive-keyring"
    # Origin and suite are in the package lists, which a new machine may not have yet.
    debian_sources >"$apt/sources.list" || quietly "apt-get update failed" as_root apt-get -q update
    debian_sources >"$apt/sources.list" || die "apt on this machine has no Debian mirror (apt-get indextargets)"
    cat >"$apt/apt.conf" <<END
#clear APT::Architectures;
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
END
    export APT_CONFIG=$apt/apt.conf
    if [ -z "$(find "$apt/updated" -mtime -$lists_days 2>/dev/null)" ]; then
        say "Fetching the lists of Debian's arm64 packages"
        quietly "apt-get update for arm64 failed" apt-get -q update
        : >"$apt/updated"
    fi
}

# complete DIRECTORY COMMAND...: creates the directory, completely or not at all: the command fills a temporary one,
# whose name is its last argument.
complete() {
    local directory=$1
    shift
    [ -d "$directory" ] && return
    rm -rf "$directory.new"
    mkdir -p "$directory.new"
    "$@" "$directory.new"
    mv -T "$directory.new" "$directory"
}

unpack_kernel() {
    local package=$1 directory=$2 debs=$VM_CACHE/apt/archives
    say "Fetching $package"
    rm -f "$debs"/*.deb
    (cd "$debs" && quietly "could not download $package" apt-get -q download "$package") || exit
    quietly "could not unpack $package" dpkg-deb -x "$debs/$package"_*.deb "$directory"
    rm -f "$debs"/*.deb
    # The modules take hundreds of megabytes; the board needs only those for the network.
    find "$directory" -regextype egrep -type f ! -path '*/boot/vmlinuz-*' \
        ! -regex '.*/(virtio|virtio_ring|virtio_mmio|failover|net_failover|virtio_net)\.ko.*' -delete
    find "$directory" -type d -empty -delete
}

# kernel LINK PACKAGE: unpacks the kernel and links to it.
kernel() {
    local version
    version=$(apt-cache policy "$2" | awk '$1 == "Candidate:" { print $2 }')
    case $version in
    '' | '(none)') die "Debian's mirror has no $2" ;;
    esac
    complete "$VM_CACHE/$2_$version" unpack_kernel "$2" || exit
    ln -sfn "$2_$version" "$VM_CACHE/$1"
}

unpack_sysroot() {
    local directory=$1 debs=$VM_CACHE/apt/archives deb link
    say "Fetching the arm64 libraries"
    rm -f "$debs"/*.deb
    # shellcheck disable=SC2086 # words
    quietly "could not download the arm64 libraries" apt-get -q -y --download-only install $sysroot_packages
    for deb in "$debs"/*.deb; do
        quietly "could not unpack $deb" dpkg-deb -x "$deb" "$directory"
    done
    rm -f "$debs"/*.deb
    # An absolute link would point outside the sysroot.
    find "$directory" -type l -lname '/*' | while read -r link; do
        ln -sfnr "$directory$(readlink "$link")" "$link"
    done
}

sysroot() {
    local key
    # shellcheck disable=SC2086 # words
    key=$(apt-get -q -s install $sysroot_packages | awk '$1 == "Inst" { print $2, $3 }' | sort)
    [ -n "$key" ] || die "Debian's mirror lacks one of: $sysroot_packages"
    key=$(sha256sum <<<"$key" | cut -c1-12)
    complete "$VM_CACHE/sysroot_$key" unpack_sysroot || exit
    ln -sfn "sysroot_$key" "$VM_CACHE/sysroot"
}

# Succeeds if everything that this script fetches is present, and the package lists are recent.
ready() {
    [ "$(cat "$VM_CACHE/ready" 2>/dev/null)" = "$(cksum <"${BASH_SOURCE[0]}")" ] &&
        [ -n "$(find "$VM_CACHE/ready" -mtime -$lists_days)" ] &&
        [ -d "$VM_CACHE/linux-6.1/" ] && [ -d "$VM_CACHE/linux-5.10/" ] && [ -d "$VM_CACHE/sysroot/" ]
}

mkdir -p "$VM_CACHE" "$VM_BUILD" || die "cannot write to $VM_CACHE"
exec 9>"$VM_CACHE/lock"
flock -w 900 9 || die "another process has been filling $VM_CACHE for 15 minutes"
install_tools
command -v promtool >/dev/null || complete "$VM_CACHE/tools" unpack_promtool
ready && exit
prepare_apt
current=$(apt-cache depends linux-image-arm64 | awk '$1 == "Depends:" { print $2; exit }')
[ -n "$current" ] || die "Debian's mirror has no linux-image-arm64"
kernel linux-6.1 "$current"
kernel linux-5.10 $old_kernel
sysroot
cksum <"${BASH_SOURCE[0]}" >"$VM_CACHE/ready"
