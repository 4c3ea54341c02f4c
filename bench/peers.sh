#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks the programs that perfcountd is compared with, and Prometheus, from Debian packages into a directory. Nothing
# is installed, so no service is started or enabled. An unavailable program is reported, but is not an error.
#
# usage: peers.sh DIRECTORY
set -u

tools=${1:?usage: peers.sh DIRECTORY}
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)

# unpack FILE PACKAGE...: unpacks the packages, unless FILE of the first package already exists.
unpack() {
    file=$1
    shift
    [ -e "/$file" ] || [ -e "$tools/$file" ] && return
    if ! command -v apt-get >/dev/null; then
        echo "apt-get is not installed, so $1 is not compared"
        return
    fi
    scratch=$(mktemp -d "$tools/unpack.XXXXXX")
    echo "unpacking $*"
    if (cd "$scratch" && apt-get -q download "$@" >log 2>&1); then
        for package in "$scratch"/*.deb; do
            dpkg-deb -x "$package" "$tools"
        done
    else
        echo "$1 is not compared, since it could not be downloaded: $(tail -n 1 "$scratch/log")"
    fi
    rm -rf "$scratch"
}

unpack usr/bin/prometheus-node-exporter prometheus-node-exporter
unpack usr/lib/netdata/plugins.d/perf.plugin netdata-core
unpack usr/lib/pcp/bin/pmproxy pcp pcp-conf libpcp3 libpcp-pmda3 libpcp-web1 libpcp-mmv1 libpcp-archive1 libuv1
unpack usr/bin/perf linux-perf
unpack usr/bin/prometheus prometheus
exit 0
