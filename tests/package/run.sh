#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs all tests of the packages: builds the packages if necessary, then installs those for this machine in containers
# with systemd.
#
# usage: run.sh [--install-only]
#
# --install-only: skips upgrade.sh and systemd/service.sh, which take minutes. SUITE is the Debian release (default:
# bookworm).
set -u

here=$(cd "$(dirname "$0")" && pwd)
export PACKAGE_BUILD=${PACKAGE_BUILD:-$here/../../build/package}
failed=0

# run SCRIPT: runs a test. A container that does not boot is a failure here, since a machine that builds the packages
# can boot it.
run() {
    echo "== $1"
    "$here/$1" || failed=1
}

"$here/build.sh" || exit
PACKAGE=$(realpath "$PACKAGE_BUILD"/perfcountd_*_"$(dpkg --print-architecture)".deb) || exit
export PACKAGE
run install.sh
if [ "${1-}" != --install-only ]; then
    run upgrade.sh
    run ../systemd/service.sh
fi
exit $failed
