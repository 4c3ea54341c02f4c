#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The upgrade from the release before this one, in a machine with systemd, while the service is scraped: no scrape is
# lost, what an operator has configured stays, and NEWS.Debian names the metrics that are gone.
#
# usage: PACKAGE=perfcountd_VERSION_ARCHITECTURE.deb PACKAGE_BUILD=DIRECTORY [SUITE=bookworm] upgrade.sh
#
# The package of the release before is built from the commit that closed it in CHANGELOG.md, below PACKAGE_BUILD.

# A loopback of its own: the service listens where it does by default.
if [ -z "${PERFCOUNTD_OWN_LOOPBACK-}" ] && [ "$(id -u)" -eq 0 ]; then
    PERFCOUNTD_OWN_LOOPBACK=yes exec unshare --net "$0" "$@"
fi
# shellcheck source=../systemd/lib.sh
. "$(dirname "$0")/../systemd/lib.sh"
need dpkg-deb git ip
[ -e "${PACKAGE-}" ] || { echo "there is no package ${PACKAGE-}: PACKAGE names one" >&2; exit 1; }
ip link set lo up
url=http://127.0.0.1:10298
config=/etc/perfcountd/perfcountd.yaml
own='collectors: {cgroup: {max_cgroups: 99}}'
new=$(dpkg-deb -f "$PACKAGE" Version)
new=${new%-*}

# --- the release before

old=$(sed -n 's/^perfcountd (\([0-9.]*\)-[0-9]*) .*/\1/p' "$root/debian/changelog" | sed -n 2p)
commit=$(git -C "$root" log --format=%H -S"## [$old] - " -- CHANGELOG.md 2>/dev/null | tail -n 1)
if [ -z "$commit" ]; then
    left_out "the history of version $old in git"
    exit 0
fi
build=${PACKAGE_BUILD:?}/previous
PACKAGE_BUILD=$build ARCHITECTURES=native "$root/tests/package/build.sh" "$commit" || exit
previous=$(realpath "$build"/perfcountd_"$old"-*_"$(dpkg --print-architecture)".deb) || exit

# --- scrapes

# scrape: adds a line to the scrapes: the status, the version that answered, and curl's exit status.
scrape() {
    local body status
    body=$(curl -sS --max-time 60 -w '\nstatus %{http_code}\n' "$url/metrics" 2>&1)
    status=$?
    echo "$(sed -n 's/^status //p' <<<"$body")" \
        "$(sed -n 's/^perfcountd_build_info{version="\([^"]*\)".*/\1/p' <<<"$body") $status" >>"$scratch/scrapes"
}
# scrape_begin: five a second, also while earlier ones wait. scrape_end: all of them have ended.
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
# scraped VERSION N: N scrapes were answered by it.
scraped() {
    [ "$(grep -c "^200 $1 0\$" "$scratch/scrapes")" -ge "$2" ]
}

install_package() {
    inside_write /root/perfcountd.deb <"$1"
    inside env DEBIAN_FRONTEND=noninteractive dpkg --force-confdef --force-confold -i /root/perfcountd.deb \
        >"$scratch/dpkg.log" 2>&1 || fail "$(basename "$1") is installed" "$(cat "$scratch/dpkg.log")"
}
# socket_since: when the socket was opened.
socket_since() {
    inside systemctl show -P ActiveEnterTimestampMonotonic perfcountd.socket
}
# names: of the metrics of counters and of perfcountd itself, each with its group.
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
equals "of $(wc -l <"$scratch/scrapes") scrapes, each is answered by one of them" \
    "$(sort "$scratch/scrapes" | uniq -c | grep -vE " 200 ($old|$new) 0$")" ""
equals "the socket stayed open" "$(socket_since)" "$since"
equals "the units are enabled and active" \
    "$(inside systemctl is-enabled perfcountd.service perfcountd.socket | xargs) $(
        inside systemctl is-active perfcountd.service perfcountd.socket | xargs)" "enabled enabled active active"
equals "the configuration is the operator's" "$(inside cat "$config")" "$own"
equals "and in effect" "$(get /api/v1/config | jq '.. | .max_cgroups? // empty')" 99
equals "and so is the operator's drop-in" \
    "$(inside cat "/proc/$(inside systemctl show -P MainPID perfcountd)/cmdline" | tr '\0' ' ')" \
    "/usr/sbin/perfcountd --log.level=warning "
equals "systemd has read the new unit" "$(inside systemctl show -P NeedDaemonReload perfcountd)" no
inside sh -c 'zcat /usr/share/doc/perfcountd/NEWS.Debian.gz' >"$scratch/news"
matches "NEWS.Debian is about $new" "$(head -n 1 "$scratch/news")" "^perfcountd \\($new-"
names >"$scratch/names.$new"
while read -r name group; do
    contains "NEWS.Debian names $name${group:+ of the group $group}, which is gone" "$(cat "$scratch/news")" "$name"
    [ -z "$group" ] || contains "and that group" "$(cat "$scratch/news")" "$group"
done < <(comm -23 "$scratch/names.$old" "$scratch/names.$new")
finish
