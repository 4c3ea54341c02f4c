# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by scripts that run programs in other systems' file trees: functions to fail or skip, and to install tools.
# Source it with `log` set to a file in an existing directory and, for install_tools, `tools` set to COMMAND:PACKAGE
# pairs with Debian's package names, separated by blanks.

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# skip WHAT: ends a test that cannot run because WHAT is missing.
skip() {
    echo "skipped: $*"
    exit 77
}

# quietly WHAT COMMAND...: appends the output to the log, and shows its end only if the command fails.
quietly() {
    local what=$1
    shift
    # shellcheck disable=SC2154 # the script that sources this file sets the variable
    printf '\n+ %s\n' "$*" >>"$log"
    "$@" >>"$log" 2>&1 </dev/null && return
    tail -n 30 "$log" >&2
    die "$what; all of the output is in $log"
}

install_tools() {
    local pair missing=()
    # shellcheck disable=SC2154 # the script that sources this file sets the variable
    for pair in $tools; do
        command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
    done
    [ ${#missing[@]} -gt 0 ] || return
    command -v apt-get >/dev/null || die "please install these programs; their Debian packages are: ${missing[*]}"
    echo "installing ${missing[*]}" >&2
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}")
    "${install[@]}" >>"$log" 2>&1 </dev/null && return
    quietly "apt-get update failed" apt-get -q update
    quietly "could not install ${missing[*]}" "${install[@]}"
}

# copy_sources DIRECTORY: copies the files of this tree that git tracks or would add, and no build products.
copy_sources() {
    mkdir -p "$1" || exit
    # shellcheck disable=SC2154 # the script that sources this file sets the variable
    git -C "$root" ls-files -z --cached --others --exclude-standard |
        (cd "$root" && xargs -0 ls -d -- 2>/dev/null | tar -c -T - -f -) | tar -C "$1" -xf -
}

# clean_system TREE DIRECTORY USER COMMAND...: runs the command as USER:GROUP in a tree made by tree.sh. Changes are
# kept in memory, DIRECTORY is mounted at /build, and the only network is a private loopback interface. With
# `network=here`, the command uses this machine's network.
clean_system() {
    local unshare=(unshare --mount --pid --fork --kill-child --propagation private)
    [ "${network-}" = here ] || unshare+=(--net)
    mkdir -p "$2.system" || exit
    # shellcheck disable=SC2016 # the inner shell expands the variables
    "${unshare[@]}" bash -c '
        set -e
        tree=$1 directory=$2 user=$3 network=$4
        shift 4
        [ "$network" = here ] || ip link set lo up
        system=$directory.system
        mount -t tmpfs perfcountd-system "$system"
        mkdir "$system"/{upper,work,root}
        mount -t overlay perfcountd-system "$system/root" \
            -o "lowerdir=$tree,upperdir=$system/upper,workdir=$system/work"
        mount -t proc proc "$system/root/proc"
        mount --rbind /sys "$system/root/sys"
        mkdir "$system/root/build"
        mount --bind "$directory" "$system/root/build"
        [ "$network" != here ] || cp /etc/resolv.conf "$system/root/etc/resolv.conf"
        # A package registry may be behind a proxy whose certificate only the host trusts.
        authorities=/etc/ssl/certs/ca-certificates.crt
        if [ "$network" = here ] && [ -e $authorities ]; then
            cp $authorities "$system/root/etc/host-authorities.crt"
        fi
        exec env -i NODE_EXTRA_CA_CERTS=/etc/host-authorities.crt LC_ALL=C.UTF-8 HOME=/build PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            chroot --userspec="$user" "$system/root" "$@"' bash "$1" "$2" "$3" "${network-}" "${@:4}" </dev/null
}
