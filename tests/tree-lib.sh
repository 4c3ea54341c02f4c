# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the scripts that make trees of files of other systems: how they fail or skip, and the tools that they need.
# Sourced with `log` set, a file whose directory is there when something runs quietly, and for install_tools `tools`:
# COMMAND:PACKAGE by spaces, the packages by Debian's names.

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# skip WHAT: of a test that cannot run here for want of it.
skip() {
    echo "skipped: $*"
    exit 77
}

# quietly WHAT COMMAND...: its output goes to the log, and is shown only if it fails.
quietly() {
    local what=$1
    shift
    # shellcheck disable=SC2154 # set by the script that sources this
    printf '\n+ %s\n' "$*" >>"$log"
    "$@" >>"$log" 2>&1 </dev/null && return
    tail -n 30 "$log" >&2
    die "$what; all of the output is in $log"
}

install_tools() {
    local pair missing=()
    # shellcheck disable=SC2154 # set by the script that sources this
    for pair in $tools; do
        command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
    done
    [ ${#missing[@]} -gt 0 ] || return
    command -v apt-get >/dev/null || die "please install what Debian calls: ${missing[*]}"
    echo "installing ${missing[*]}" >&2
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}")
    "${install[@]}" >>"$log" 2>&1 </dev/null && return
    quietly "apt-get update failed" apt-get -q update
    quietly "could not install ${missing[*]}" "${install[@]}"
}

# copy_sources DIRECTORY: the files of this tree that git has or would have, without anything that was built.
copy_sources() {
    mkdir -p "$1" || exit
    # shellcheck disable=SC2154 # set by the script that sources this
    git -C "$root" ls-files -z --cached --others --exclude-standard |
        (cd "$root" && xargs -0 ls -d -- 2>/dev/null | tar -c -T - -f -) | tar -C "$1" -xf -
}

# clean_system TREE DIRECTORY USER COMMAND...: in a tree of tree.sh, whose changes go to memory, as USER:GROUP, with
# DIRECTORY at /build, and with a loopback of its own as the only network. `network=here` leaves it this machine's.
clean_system() {
    local unshare=(unshare --mount --pid --fork --kill-child --propagation private)
    [ "${network-}" = here ] || unshare+=(--net)
    mkdir -p "$2.system" || exit
    # shellcheck disable=SC2016 # the shell in there expands it
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
        # A registry may be behind a proxy whose certificate only this machine knows.
        authorities=/etc/ssl/certs/ca-certificates.crt
        if [ "$network" = here ] && [ -e $authorities ]; then
            cp $authorities "$system/root/etc/host-authorities.crt"
        fi
        exec env -i NODE_EXTRA_CA_CERTS=/etc/host-authorities.crt LC_ALL=C.UTF-8 HOME=/build PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            chroot --userspec="$user" "$system/root" "$@"' bash "$1" "$2" "$3" "${network-}" "${@:4}" </dev/null
}
