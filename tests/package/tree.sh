#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the files of a Debian system that builds the packages for all three architectures, once, and prints where they
# are. Its packages are read from debian/control.
#
# usage: tree.sh
#
# They stay in PACKAGE_CACHE under a name that is made of all that went into them, and must not be written to.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
PACKAGE_CACHE=${PACKAGE_CACHE:-${XDG_CACHE_HOME:-${HOME:-$root/build}/.cache}/perfcountd-package}
PATH=$PATH:/usr/sbin:/sbin
suite=bookworm
native=$(dpkg --print-architecture)
foreign="arm64 armhf"
tools=mmdebstrap:mmdebstrap
log=$PACKAGE_CACHE/log
# shellcheck source=../tree-lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tree-lib.sh"

# The suite's mirror as this machine's apt has it. Nothing where it has none: then mmdebstrap knows one. The release
# alone, without its updates: libraries of two architectures have to be of one version, and updates come at their own
# times for each.
source_line() {
    # shellcheck disable=SC2016 # apt expands these
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
        awk -v suite=$suite '$1 == "Debian" && $4 == "main" && $3 == suite && !seen++ {
            print "deb", $2, $3, $4 }' || :
}

# The names in Build-Depends, without versions and profiles, and without what every build has.
build_depends() {
    awk '/^[^ ]/ { on = sub(/^Build-Depends:/, "") } on' "$root/debian/control" | tr -d '\n' | tr , '\n' |
        awk '$1 != "debhelper-compat" { print $1 }'
}

# The packages to install, separated by commas.
packages() {
    local architecture package
    printf 'build-essential,debhelper,lintian'
    for package in $(build_depends); do
        printf ',%s' "$package"
    done
    for architecture in $foreign; do
        printf ',crossbuild-essential-%s' "$architecture"
        # A compiler is a program to run here.
        for package in $(build_depends | grep -v -e '-compiler$'); do
            printf ',%s:%s' "$package" "$architecture"
        done
    done
}

make_tree() {
    local mirror=()
    echo "making a Debian $suite system that builds packages in $1" >&2
    mapfile -t mirror < <(source_line)
    rm -rf --one-file-system "$1.new"
    quietly "mmdebstrap failed" mmdebstrap --quiet --variant=minbase --architectures="$native,${foreign// /,}" \
        --include="$packages" $suite "$1.new" "${mirror[@]}"
    mv -T "$1.new" "$1"
}

mkdir -p "$PACKAGE_CACHE" || die "cannot write to $PACKAGE_CACHE"
exec 9>"$PACKAGE_CACHE/lock"
flock -w 900 9 || die "something else has been filling $PACKAGE_CACHE for 15 minutes"
install_tools
packages=$(packages)
tree=$PACKAGE_CACHE/$suite-$native-$(cksum <<<"$packages" | cut -d' ' -f1)
[ -d "$tree" ] || make_tree "$tree"
echo "$tree"
