#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All tests of the packages: builds them where they are missing, then installs this machine's one in machines with
# systemd.
#
# usage: run.sh [--install-only]
#
# --install-only: without the upgrade and systemd/service.sh, which take minutes. SUITE is the Debian, bookworm where it
# is not set.
set -u

here=$(cd "$(dirname "$0")" && pwd)
export PACKAGE_BUILD=${PACKAGE_BUILD:-$here/../../build/package}
failed=0

# run SCRIPT: a machine that does not boot is a failure here, since what builds the packages can boot it.
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
