#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the npm packages of package-lock.json below build/tools/page, never in the tree of sources. Does nothing
# where they are there. PAGE_TOOLS is another folder.
#
# puppeteer-core downloads and unpacks browsers by packages that bring sixty others, which are never used here: nothing is
# downloaded.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tools=${PAGE_TOOLS:-$here/../../build/tools/page}
if cmp -s "$here/package-lock.json" "$tools/installed"; then
    exit 0
fi
command -v npm >/dev/null || { echo "there is no npm here" >&2; exit 1; }
mkdir -p "$tools"
exec 9>"$tools/lock"
flock 9
cp "$here/package.json" "$here/package-lock.json" "$tools/"
cd "$tools"
npm ci --ignore-scripts --no-audit --no-fund
cp package-lock.json installed
