#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the files of a small Debian machine with systemd, once, and prints where they are.
#
# usage: tree.sh
#
# They stay in SYSTEMD_CACHE under a name that is made of all that went into them, and must not be written to.
set -u
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
SYSTEMD_CACHE=${SYSTEMD_CACHE:-${XDG_CACHE_HOME:-${HOME:-$root/build}/.cache}/perfcountd-systemd}
PATH=$PATH:/usr/sbin:/sbin
suite=bookworm
# Behind systemd is what perfcountd is linked to, and libpfm4 and libdw, which it loads.
packages=systemd,systemd-sysv,dbus,procps
packages+=,libmicrohttpd12,libjansson4,libyaml-0-2,libdeflate0,libsystemd0,libpfm4,libcap-ng0,libseccomp2,libdw1
tools="mmdebstrap:mmdebstrap systemd-nspawn:systemd-container curl:curl jq:jq"
log=$SYSTEMD_CACHE/log
# shellcheck source=../tree-lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tree-lib.sh"

# The suite's mirrors as this machine's apt has them. Nothing where it has none: then mmdebstrap knows one.
sources() {
    # shellcheck disable=SC2016 # apt expands these
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
        awk -v suite=$suite '$1 == "Debian" && $4 == "main" && ($3 == suite || index($3, suite "-") == 1) &&
            !seen[$2, $3]++ { print "deb", $2, $3, $4 }' || :
}

make_tree() {
    local mirrors=()
    echo "making a Debian $suite machine with systemd in $1" >&2
    mapfile -t mirrors < <(sources)
    printf '%s\n' "${mirrors[@]}" | grep -q " $suite main" || mirrors=()
    rm -rf --one-file-system "$1.new"
    quietly "mmdebstrap failed" mmdebstrap --quiet --variant=minbase --include=$packages $suite "$1.new" "${mirrors[@]}"
    mv -T "$1.new" "$1"
}

mkdir -p "$SYSTEMD_CACHE" || die "cannot write to $SYSTEMD_CACHE"
exec 9>"$SYSTEMD_CACHE/lock"
flock -w 600 9 || die "something else has been filling $SYSTEMD_CACHE for 10 minutes"
install_tools
tree=$SYSTEMD_CACHE/$suite-$(uname -m)-$(cksum <<<"$packages" | cut -d' ' -f1)
[ -d "$tree" ] || make_tree "$tree"
echo "$tree"
