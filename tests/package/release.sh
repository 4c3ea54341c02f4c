#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs `make release` in a git repository with this tree's files, with the test's own signing key and the packages that
# build.sh has built for this machine.
#
# usage: [PACKAGE_BUILD=build/package] release.sh
set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
PACKAGE_BUILD=${PACKAGE_BUILD:-$root/build/package}
# shellcheck source=../checks.sh
. "$root/tests/checks.sh"
# shellcheck source=../tree-lib.sh
. "$root/tests/tree-lib.sh"
git -C "$root" rev-parse >/dev/null 2>&1 || skip "a git repository"
[ "$(id -u)" -eq 0 ] || skip "root, to create a clean system"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/perfcountd-release.XXXXXX")
export GNUPGHOME=$scratch/gpg ARCHITECTURES=native SUITES=bookworm PACKAGES=$scratch/packages
trap 'gpgconf --kill all; rm -rf "$scratch"' EXIT

key=release@perfcountd.invalid
version=$(sed -n 's/^AC_INIT(\[perfcountd\], \[\([0-9.]*\)\].*/\1/p' "$root/configure.ac")
release=$scratch/source/build/release

git_in() {
    git -C "$scratch/source" -c user.name=test -c user.email=test@perfcountd.invalid "$@" >>"$scratch/git.log" 2>&1
}
# make_release VARIABLES...: runs `make release`. Sets told to its output, and status.
make_release() {
    told=$(make -C "$scratch/source/build" release "$@" 2>&1)
    status=$?
}

copy_sources "$scratch/source"
if ! git_in init || ! git_in add -A || ! git_in commit -m release; then
    die "git: $(cat "$scratch/git.log")"
fi
mkdir -m 700 "$GNUPGHOME" "$PACKAGES" "$PACKAGES/bookworm"
cp "$PACKAGE_BUILD"/{key,perfcountd*} "$PACKAGES/bookworm/" || exit
gpg --batch --quiet --passphrase '' --quick-generate-key "$key" >"$scratch/gpg.log" 2>&1 || cat "$scratch/gpg.log"
(cd "$scratch/source" && autoreconf -i && mkdir build && cd build && ../configure) >"$scratch/configure.log" 2>&1 ||
    die "$(tail -n 20 "$scratch/configure.log")"

make_release
matches "make release without a key is refused" "$status $told" '^2 .*release: KEY must name the signing key'
echo >>"$scratch/source/README.md"
make_release KEY="$key"
matches "make release with an uncommitted change is refused" \
    "$status $told" '^2 .*release: the tree has uncommitted changes.*README.md'
git_in checkout README.md
make_release KEY="$key"
equals "make release succeeds" "$status" 0
[ "$status" -eq 0 ] || echo "$told" | tail -n 30
for file in "perfcountd-$version.tar.xz" "perfcountd-$version.tar.xz.asc" SHA256SUMS SHA256SUMS.asc apt/; do
    contains "make release lists $file for upload" "$(sed -n '/^== upload/,$p' <<<"$told")" "$file: "
    holds "$file exists" test -e "$release/$file"
done
gpg --batch --export "$key" >"$scratch/public"
for file in "perfcountd-$version.tar.xz" SHA256SUMS; do
    holds "$file can be verified with the public key" \
        gpgv --keyring "$scratch/public" "$release/$file.asc" "$release/$file"
done
holds "apt's index can be verified with the public key" \
    gpgv --keyring "$scratch/public" "$release/apt/dists/bookworm/InRelease"
holds "the checksums in SHA256SUMS are right" sh -c "cd '$release' && sha256sum --check --quiet SHA256SUMS"
equals "SHA256SUMS lists every file" "$(cd "$release" && find . -type f ! -name '*.asc' ! -name SHA256SUMS | wc -l)" \
    "$(wc -l <"$release/SHA256SUMS")"
finish
