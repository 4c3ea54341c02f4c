#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the clean system for build.sh: makes the source package from /build/source if it does not exist yet, and
# builds the binary packages for ARCHITECTURE from it.
#
# usage: inside.sh [--unchecked] ARCHITECTURE
#
# --unchecked: skips lintian, for an earlier release that passed the lintian of its time.
set -eu
checked=yes
if [ "$1" = --unchecked ]; then
    checked=no
    shift
fi
architecture=$1

cd /build
# The package version ends with the Debian release, so that one archive can hold packages for all releases, and
# upgrading Debian also upgrades the package.
make_source() {
    local suffix upstream
    # shellcheck disable=SC1091 # the file exists in each fresh Debian system
    suffix=~deb$(. /etc/os-release && echo "${VERSION_ID:?}")
    find source/debian \( -name changelog -o -name '*.NEWS' \) -exec sed -i "1s/)/$suffix)/" {} +
    upstream=$(dpkg-parsechangelog -l source/debian/changelog -S Version)
    upstream=${upstream%-*}

    echo "== make dist"
    (cd source && autoreconf -i)
    mkdir dist
    (cd dist && ../source/configure && make dist)
    mv "dist/perfcountd-$upstream.tar.xz" "perfcountd_$upstream.orig.tar.xz"

    echo "== source package"
    tar -xf "perfcountd_$upstream.orig.tar.xz"
    cp -r source/debian "perfcountd-$upstream/"
    (cd "perfcountd-$upstream" && dpkg-buildpackage -S -us -uc -d -nc)
}

export DEB_BUILD_OPTIONS="parallel=2 nocheck" # other scripts run the tests, with the programs they need
[ -d dist ] || make_source

echo "== $architecture"
dpkg-source -x perfcountd_*.dsc "$architecture"
options=(-b -us -uc -Pnocheck)
# shellcheck disable=SC2054 # dpkg separates profiles by commas
[ "$architecture" = "$(dpkg --print-architecture)" ] || options=(-B -us -uc "-a$architecture" -Pcross,nocheck)
(cd "$architecture" && dpkg-buildpackage "${options[@]}")

[ $checked = yes ] || exit 0
[ ! -e "$architecture/config.status" ] || { echo "the sources are configured: ./quickstart would refuse them"; exit 1; }
echo "== lintian"
for changes in perfcountd_*_{source,"$architecture"}.changes; do
    echo "$changes"
    # Older suites' lintian does not know the policy version in debian/control, nor the field Static-Built-Using (dpkg
    # 1.21.3).
    lintian --fail-on error,warning --suppress-tags newer-standards-version,unknown-field "$changes"
done
