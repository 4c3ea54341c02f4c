#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the file tree of a Debian system if it does not exist yet, and prints its path.
#
# usage: tree.sh KIND [SUITE [ARCHITECTURE]]
#
# KIND is the purpose of the system:
#   bare        a new system with git only
#   compile     the build dependencies of debian/control, gcc, clang, and what the unit tests, e2e/smoke.sh and
#               e2e/cgroup.sh need
#   package     the build dependencies, debhelper and lintian; with another ARCHITECTURE, those of a cross-build for it
#   image       the packages that contrib/container/Containerfile installs for its build
#   machine     systemd, and the libraries of perfcountd's package
#   containers  the same, and podman, docker.io, containerd, systemd-nspawn and LXC
# SUITE is bullseye (Debian 11), bookworm (12, the default) or trixie (13).
#
# Trees are kept in TREE_CACHE under a name that depends on their packages, and must not be modified. Packages are
# verified with the keys that this machine's apt trusts and with those of debian-archive-keyring.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)
TREE_CACHE=${TREE_CACHE:-${XDG_CACHE_HOME:-${HOME:-$root/build}/.cache}/perfcountd-trees}
PATH=$PATH:/usr/sbin:/sbin
kind=${1-}
suite=${2-bookworm}
foreign=${3-}
libbpf=libbpf1
[ "$suite" != bullseye ] || libbpf=libbpf0
tools=mmdebstrap:mmdebstrap
[[ ! $kind =~ ^(machine|containers)$ ]] || tools+=" systemd-nspawn:systemd-container curl:curl jq:jq"
log=$TREE_CACHE/$suite-$kind.log
# shellcheck source=tree-lib.sh
. "$root/tests/tree-lib.sh"

# The suite is used without updates: the libraries of two architectures must have the same version, but their updates
# are published at different times. The mirror is that of this machine's apt, or else mmdebstrap's default.
source_line() {
    # shellcheck disable=SC2016 # apt-get expands the variables
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
        awk -v suite="$suite" '$1 == "Debian" && $4 == "main" && $3 !~ /-/ && !seen++ {
            print "deb", $2, suite, $4 }' || :
}

# build_depends: prints the package names in Build-Depends, without debhelper-compat, versions, profiles and
# alternatives. For another architecture, names end with it, except those of programs that run on this machine
# (":native"). Debian 11's pkgconf does not support other architectures, so pkg-config takes its place there.
build_depends() {
    awk '/^[^ ]/ { on = sub(/^Build-Depends:/, "") } on' "$root/debian/control" | tr -d '\n' | tr , '\n' |
        awk -v foreign="$foreign" -v suite="$suite" '$1 == "debhelper-compat" { next }
            $1 == "pkgconf" && suite == "bullseye" { $1 = "pkg-config:native" }
            sub(/:native$/, "", $1) || !foreign { print $1; next }
            { print $1 ":" foreign }'
}

# packages: prints the packages to install, one per line.
packages() {
    case $kind in
    bare) printf '%s\n' ca-certificates git ;;
    machine | containers)
        printf '%s\n' systemd systemd-sysv dbus procps curl jq
        # After systemd come the libraries of perfcountd, and libpfm4, libdw and libbpf, which it loads at run time.
        printf '%s\n' libmicrohttpd12 libjansson4 libyaml-0-2 libdeflate0 libsystemd0 libcap-ng0 libseccomp2
        printf '%s\n' libpfm4 libdw1
        echo "$libbpf"
        [ "$kind" = machine ] ||
            printf '%s\n' podman catatonit crun uidmap dbus-user-session libpam-systemd docker.io containerd \
                systemd-container lxc busybox-static
        ;;
    compile)
        printf '%s\n' build-essential autoconf automake clang curl jq procps python3
        echo "$libbpf"
        build_depends
        ;;
    image) sed -n '/^ARG PACKAGES="/,/"$/ { s/^ARG PACKAGES=//; s/["\\]//g; p }' "$root/contrib/container/Containerfile" |
        tr -s ' ' '\n' | grep . ;;
    package)
        printf '%s\n' build-essential debhelper lintian
        build_depends
        # libpfm4-dev and libdw-dev depend on libpfm4 and libdw1, which are loaded at run time, as libbpf is.
        [ -z "$foreign" ] || printf '%s\n' "crossbuild-essential-$foreign" "$libbpf:$foreign"
        ;;
    *) die "unknown kind '$kind': use bare, compile, image, package, machine or containers" ;;
    esac
}

# The keys of older and newer suites come with debian-archive-keyring.
explain_failure() {
    if grep -q NO_PUBKEY "$log"; then
        die "this machine has no key for Debian $suite: install a newer debian-archive-keyring; see $log"
    fi
    tail -n 30 "$log" >&2
    die "mmdebstrap failed; all of the output is in $log"
}

make_tree() {
    local mirror=()
    echo "making a Debian $suite system in $1" >&2
    mapfile -t mirror < <(source_line)
    rm -rf --one-file-system "$1.new"
    # Retries, since a mirror may be unavailable for a moment.
    mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Retries "3"' --architectures="$architectures" \
        --include="${packages//$'\n'/,}" "$suite" "$1.new" "${mirror[@]}" >"$log" 2>&1 </dev/null || explain_failure
    mv -T "$1.new" "$1"
}

mkdir -p "$TREE_CACHE" || die "cannot write to $TREE_CACHE"
[ "$(id -u)" -eq 0 ] || die "must run as root, so that other users can use the tree"
exec 8>"$TREE_CACHE/tools.lock" 9>"$TREE_CACHE/$suite-$kind.lock"
flock -w 900 9 || die "another process has been making $suite-$kind in $TREE_CACHE for 15 minutes"
flock -w 900 8 || die "another process has been installing mmdebstrap for 15 minutes"
install_tools
exec 8>&-
packages=$(packages) || exit
architectures=$(dpkg --print-architecture)${foreign:+,$foreign}
tree=$TREE_CACHE/$suite-$kind-${architectures//,/-}-$(cksum <<<"$packages" | cut -d' ' -f1)
[ -d "$tree" ] || make_tree "$tree"
echo "$tree"
