#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages for amd64, arm64 and armhf in clean systems, from the files of this tree that git does not
# ignore, and checks them with lintian. They are rebuilt only if these files have changed.
#
# usage: build.sh [COMMIT]
#
# With COMMIT, the files of that commit are used; upgrade.sh does this for an earlier release. PACKAGE_BUILD is the
# directory for the packages (default: build/package). SUITE is the Debian release on which they are built (default:
# bookworm). ARCHITECTURES selects some architectures; the first one must be this machine's, which may be called native.
# A machine that is not amd64 builds only for itself. Needs root to create the clean systems.
set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
PACKAGE_BUILD=${PACKAGE_BUILD:-$root/build/package}
PATH=$PATH:/usr/sbin:/sbin
SUITE=${SUITE:-bookworm}
native=$(dpkg --print-architecture 2>/dev/null)
commit=${1-}
architectures=("$native")
[ "$native" != amd64 ] || architectures=(amd64 arm64 armhf)

# shellcheck source=../tree-lib.sh
. "$root/tests/tree-lib.sh"

# Prints everything that determines the packages: the clean systems, the architectures and the checksums of the files.
# Tests that do not affect the packages are left out.
key() {
    echo "${trees[@]}" "${architectures[@]}" "$commit"
    [ -z "$commit" ] || { sha256sum <"$here/inside.sh"; return; }
    git -C "$root" ls-files -z --cached --others --exclude-standard |
        grep -zvE '^(tests/(containers|e2e|distro|fuzz/corpus|unit/test-|vm|systemd)|bench/|[.]ci/)' |
        (cd "$root" && xargs -0 sha256sum -- 2>/dev/null)
}

# put_sources DIRECTORY: copies the files of COMMIT, or without it those of this tree, to the directory.
put_sources() {
    [ -n "$commit" ] || { copy_sources "$1"; return; }
    mkdir -p "$1" && git -C "$root" archive "$commit" | tar -C "$1" -x
}

build_packages() {
    local i
    for i in "${!trees[@]}"; do
        clean_system "${trees[i]}" "$PACKAGE_BUILD/new" 65534:65534 /build/inside.sh ${commit:+--unchecked} \
            "${architectures[i]}" || return
    done
}

print_packages() {
    local architecture package
    for architecture in "${architectures[@]}"; do
        for package in "$PACKAGE_BUILD"/perfcountd_*_"$architecture".deb; do
            [ -e "$package" ] || die "no package was built for $architecture"
            printf '%s: %d KiB, %d KiB installed\n' "$(basename "$package")" $(($(stat -c %s "$package") / 1024)) \
                "$(dpkg-deb -f "$package" Installed-Size)"
        done
    done
}

[ -e "$root/debian/control" ] || skip "a git repository"
git -C "$root" rev-parse >/dev/null 2>&1 || skip "a git repository"
[ "$(id -u)" -eq 0 ] || skip "root, to create a clean system"
[ -n "$native" ] || skip "dpkg"
read -ra architectures <<<"${ARCHITECTURES-${architectures[*]}}"
architectures=("${architectures[@]/#native/$native}")
trees=()
for architecture in "${architectures[@]}"; do
    # Each architecture has a tree of its own, since Debian 11 can install some libraries for only one architecture.
    trees+=("$("$root/tests/tree.sh" package "$SUITE" "${architecture#"$native"}")") || exit 1
done
mkdir -p "$PACKAGE_BUILD" || die "cannot write to $PACKAGE_BUILD"
exec 9>"$PACKAGE_BUILD/lock"
flock -w 900 9 || die "another process has been building packages in $PACKAGE_BUILD for 15 minutes"
key=$(key | sha256sum)
if [ "$(cat "$PACKAGE_BUILD/key" 2>/dev/null)" != "$key" ]; then
    rm -rf "$PACKAGE_BUILD/new" "$PACKAGE_BUILD"/{key,perfcountd[_-]*}
    put_sources "$PACKAGE_BUILD/new/source" || die "cannot copy the sources"
    cp "$here/inside.sh" "$PACKAGE_BUILD/new/"
    chown -R 65534:65534 "$PACKAGE_BUILD/new"
    if ! build_packages >"$PACKAGE_BUILD/build.log" 2>&1; then
        tail -n 30 "$PACKAGE_BUILD/build.log" >&2
        die "the packages were not built; the whole output is in $PACKAGE_BUILD/build.log"
    fi
    ! grep -E 'warning: .*\[-W' "$PACKAGE_BUILD/build.log" ||
        die "the compiler printed warnings; see $PACKAGE_BUILD/build.log"
    chown -R "$(id -u):$(id -g)" "$PACKAGE_BUILD/new"
    mv "$PACKAGE_BUILD"/new/perfcountd[_-]*_* "$PACKAGE_BUILD/" || exit
    rm -rf "$PACKAGE_BUILD/new"
    echo "$key" >"$PACKAGE_BUILD/key"
fi
print_packages
