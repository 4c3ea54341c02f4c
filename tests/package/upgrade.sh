#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a container with systemd, upgrades the package from the previous release while the service is scraped: no scrape is
# lost, the operator's configuration is kept, and NEWS.Debian names the removed metrics.
#
# usage: PACKAGE=perfcountd_VERSION_ARCHITECTURE.deb PACKAGE_BUILD=DIRECTORY [SUITE=bookworm] upgrade.sh
#
# The previous release's package is built below PACKAGE_BUILD, from the commit that added its version to CHANGELOG.md.

# Runs in a network namespace, so that the service can use its default port.
if [ -z "${PERFCOUNTD_OWN_LOOPBACK-}" ] && [ "$(id -u)" -eq 0 ]; then
    # The namespace has no network, so the system is made first.
    "$(dirname "$0")/../tree.sh" machine "${SUITE:-bookworm}" >/dev/null || exit
    PERFCOUNTD_OWN_LOOPBACK=yes exec unshare --net "$0" "$@"
fi
# shellcheck source=../systemd/lib.sh
. "$(dirname "$0")/../systemd/lib.sh"
need dpkg-deb git ip
[ -e "${PACKAGE-}" ] || { echo "no such package: '${PACKAGE-}'; set PACKAGE to the path of one" >&2; exit 1; }
ip link set lo up
url=http://127.0.0.1:10298
config=/etc/perfcountd/perfcountd.yaml
own='collectors: {cgroup: {max_cgroups: 99}}'
new=$(dpkg-deb -f "$PACKAGE" Version)
new=${new%-*}

# --- the previous release

old=$(sed -n 's/^perfcountd (\([0-9.]*\)-[0-9]*) .*/\1/p' "$root/debian/changelog" | sed -n 2p)
commit=$(git -C "$root" log --format=%H -S"## [$old] - " -- CHANGELOG.md 2>/dev/null | tail -n 1)
if [ -z "$commit" ]; then
    left_out "the git commit of version $old"
    exit 0
fi
build=${PACKAGE_BUILD:?}/previous
PACKAGE_BUILD=$build ARCHITECTURES=native "$root/tests/package/build.sh" "$commit" || exit
previous=$(realpath "$build"/perfcountd_"$old"-*_"$(dpkg --print-architecture)".deb) || exit

# --- scrapes

# scrape: scrapes once, and appends a line to $scratch/scrapes: the status, the version that answered, and curl's exit
# status.
scrape() {
    local body status
    body=$(curl -sS --max-time 60 -w '\nstatus %{http_code}\n' "$url/metrics" 2>&1)
    status=$?
    echo "$(sed -n 's/^status //p' <<<"$body")" \
        "$(sed -n 's/^perfcountd_build_info{version="\([^"]*\)".*/\1/p' <<<"$body") $status" >>"$scratch/scrapes"
}
# scrape_begin: starts five scrapes a second, even while earlier ones wait for a response. scrape_end: stops this, and
# waits for all scrapes to end.
scrape_begin() {
    : >"$scratch/scrapes"
    : >"$scratch/scraping"
    (
        while [ -e "$scratch/scraping" ]; do
            scrape &
            sleep 0.2
        done
        wait
    ) &
    scraper=$!
    children+=("$scraper")
}
scrape_end() {
    rm "$scratch/scraping"
    wait "$scraper"
}
# scraped VERSION N: succeeds if this version has answered N scrapes.
scraped() {
    [ "$(grep -c "^200 $1 0\$" "$scratch/scrapes")" -ge "$2" ]
}

install_package() {
    inside_write /root/perfcountd.deb <"$1"
    inside env DEBIAN_FRONTEND=noninteractive dpkg --force-confdef --force-confold -i /root/perfcountd.deb \
        >"$scratch/dpkg.log" 2>&1 || fail "$(basename "$1") is installed" "$(cat "$scratch/dpkg.log")"
}
# socket_since: prints when the socket unit became active.
socket_since() {
    inside systemctl show -P ActiveEnterTimestampMonotonic perfcountd.socket
}
# names: prints the names of all counter metrics and of perfcountd's own metrics, each with its group.
names() {
    get /metrics | grep '^perf' | sed 's/\(^[a-z0-9_]*\)\({.*[{,]group="\([^"]*\)\|.*\).*/\1 \3/; s/}.*//' | sort -u
}

boot
echo "-- $old"
install_package "$previous"
echo "$own" | inside_write "$config"
inside mkdir -p /etc/systemd/system/perfcountd.service.d
inside_write /etc/systemd/system/perfcountd.service.d/local.conf \
    <<<$'[Service]\nExecStart=\nExecStart=/usr/sbin/perfcountd --log.level=warning'
inside systemctl daemon-reload
inside systemctl stop perfcountd.service perfcountd.socket
inside systemctl start perfcountd.service
holds "$old serves" eventually 60 get /-/ready
names >"$scratch/names.$old"
since=$(socket_since)

echo "-- $new"
scrape_begin
holds "$old is scraped" eventually 60 scraped "$old" 10
install_package "$PACKAGE"
holds "$new is scraped" eventually 60 scraped "$new" 10
scrape_end
equals "each of $(wc -l <"$scratch/scrapes") scrapes was answered by the old or the new version" \
    "$(sort "$scratch/scrapes" | uniq -c | grep -vE " 200 ($old|$new) 0$")" ""
equals "the socket stayed open" "$(socket_since)" "$since"
equals "the units are enabled and active" \
    "$(inside systemctl is-enabled perfcountd.service perfcountd.socket | xargs) $(
        inside systemctl is-active perfcountd.service perfcountd.socket | xargs)" "enabled enabled active active"
equals "the operator's configuration is kept" "$(inside cat "$config")" "$own"
equals "the operator's configuration is in effect" "$(get /api/v1/config | jq '.. | .max_cgroups? // empty')" 99
equals "the operator's drop-in is in effect" \
    "$(inside cat "/proc/$(inside systemctl show -P MainPID perfcountd)/cmdline" | tr '\0' ' ')" \
    "/usr/sbin/perfcountd --log.level=warning "
equals "systemd has read the new unit" "$(inside systemctl show -P NeedDaemonReload perfcountd)" no
inside sh -c 'zcat /usr/share/doc/perfcountd/NEWS.Debian.gz' >"$scratch/news"
matches "the first entry of NEWS.Debian is for $new" "$(head -n 1 "$scratch/news")" "^perfcountd \\($new-"
names >"$scratch/names.$new"
while read -r name group; do
    contains "NEWS.Debian names the removed metric $name${group:+ of group $group}" "$(cat "$scratch/news")" "$name"
    [ -z "$group" ] || contains "NEWS.Debian names group $group of this metric" "$(cat "$scratch/news")" "$group"
done < <(comm -23 "$scratch/names.$old" "$scratch/names.$new")
finish
