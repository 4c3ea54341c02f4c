#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the clean system for build.sh: /build/source becomes the source package, and that the binary packages.
#
# usage: inside.sh [--unchecked] ARCHITECTURE...
#
# --unchecked: an earlier release, which passed the checks of its day.
set -eu
checked=yes
if [ "$1" = --unchecked ]; then
    checked=no
    shift
fi

cd /build
# Each Debian has a version of its own, so that one archive has all of them, and an upgrade to the next Debian replaces it.
# shellcheck disable=SC1091 # of that system
suffix=~deb$(. /etc/os-release && echo "${VERSION_ID:?}")
find source/debian \( -name changelog -o -name '*.NEWS' \) -exec sed -i "1s/)/$suffix)/" {} +
export DEB_BUILD_OPTIONS="parallel=2 nocheck" # the tests are run where there is all that they need
version=$(dpkg-parsechangelog -l source/debian/changelog -S Version)
upstream=${version%-*}

echo "== make dist"
(cd source && autoreconf -i)
mkdir dist
(cd dist && ../source/configure && make dist)
mv "dist/perfcountd-$upstream.tar.xz" "perfcountd_$upstream.orig.tar.xz"

echo "== source package"
tar -xf "perfcountd_$upstream.orig.tar.xz"
cp -r source/debian "perfcountd-$upstream/"
(cd "perfcountd-$upstream" && dpkg-buildpackage -S -us -uc -d -nc)

for architecture; do
    echo "== $architecture"
    dpkg-source -x "perfcountd_$version.dsc" "$architecture"
    options=(-b -us -uc -Pnocheck)
    # shellcheck disable=SC2054 # the comma is dpkg's
    [ "$architecture" = "$(dpkg --print-architecture)" ] || options=(-B -us -uc "-a$architecture" -Pcross,nocheck)
    (cd "$architecture" && dpkg-buildpackage "${options[@]}")
    [ $checked = no ] || [ ! -e "$architecture/config.status" ] || { echo "the sources are configured: ./quickstart would refuse them"; exit 1; }
done

[ $checked = yes ] || exit 0
echo "== lintian"
for changes in *.changes; do
    echo "$changes"
    # The policy that debian/control names is newer than an older suite's lintian, and so is Static-Built-Using, which
    # dpkg knows since 1.21.3.
    lintian --fail-on error,warning --suppress-tags newer-standards-version,unknown-field "$changes"
done
