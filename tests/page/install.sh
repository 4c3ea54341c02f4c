#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the npm packages of package-lock.json in build/tools/page, outside the source tree. Does nothing if they are
# already installed. PAGE_TOOLS selects another folder.
#
# puppeteer-core depends on some sixty packages for downloading browsers. These packages are not used here, so no
# browser is downloaded.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tools=${PAGE_TOOLS:-$here/../../build/tools/page}
if cmp -s "$here/package-lock.json" "$tools/installed"; then
    exit 0
fi
command -v npm >/dev/null || { echo "npm is not installed" >&2; exit 1; }
mkdir -p "$tools"
exec 9>"$tools/lock"
flock 9
cp "$here/package.json" "$here/package-lock.json" "$tools/"
cd "$tools"
npm ci --ignore-scripts --no-audit --no-fund
cp package-lock.json installed
