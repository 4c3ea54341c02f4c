#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The packages in a machine with systemd: published, installed by apt, tested by their own tests, upgraded, removed and
# purged.
#
# usage: PACKAGE=perfcountd_VERSION_ARCHITECTURE.deb [SUITE=bookworm] install.sh
#
# The other packages are beside it.

# A loopback of its own: the service listens where it does by default.
if [ -z "${PERFCOUNTD_OWN_LOOPBACK-}" ] && [ "$(id -u)" -eq 0 ]; then
    PERFCOUNTD_OWN_LOOPBACK=yes exec unshare --net "$0" "$@"
fi
# shellcheck source=../systemd/lib.sh
. "$(dirname "$0")/../systemd/lib.sh"
need dpkg-deb gpg ip reprepro
[ -e "${PACKAGE-}" ] || { echo "there is no package ${PACKAGE-}: PACKAGE names one" >&2; exit 1; }
ip link set lo up
url=http://127.0.0.1:10298
conffile=/etc/perfcountd/perfcountd.yaml
defaults=/etc/default/perfcountd
version=$(dpkg-deb -f "$PACKAGE" Version)
suite=${SUITE:-bookworm}
export GNUPGHOME=$scratch/gpg

# later N: the package's version, rebuilt for the N-th time.
later() {
    echo "${version%"~"*}.$1~${version##*"~"}"
}
# version_of_package VERSION COMMENT: the package as VERSION, with another line in its configuration.
version_of_package() {
    local directory=$scratch/$1
    dpkg-deb -R "$PACKAGE" "$directory" || exit
    sed -i "s/^Version: .*/Version: $1/" "$directory/DEBIAN/control"
    echo "# $2" >>"$directory$conffile"
    dpkg-deb -b "$directory" "$scratch/$1.deb" >/dev/null || exit
}
# publish FILES...: into the repository, of which the machine gets a copy.
publish() {
    "$root/contrib/apt/publish" --key="$key" "$scratch/repository" "$@" >"$scratch/publish.log" 2>&1 ||
        { fail "the packages are published" "$(cat "$scratch/publish.log")"; finish; }
    inside rm -rf /tmp/repository
    inside mkdir -m 755 /tmp/repository
    tar -C "$scratch/repository" -c . | inside tar -C /tmp/repository --no-same-owner -x
}
apt_get() {
    inside env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@" >"$scratch/apt.log" 2>&1
}
# apt NAME...: from the repository.
apt() {
    if ! apt_get update || ! apt_get install "$@"; then
        fail "apt installs $*" "$(cat "$scratch/apt.log")"
    fi
}
# install_package FILE: into the machine; the questions about conffiles get dpkg's own answer.
install_package() {
    inside_write /root/perfcountd.deb <"$1"
    inside env DEBIAN_FRONTEND=noninteractive dpkg --force-confdef --force-confold -i /root/perfcountd.deb \
        >"$scratch/dpkg.log" 2>&1 || fail "$(basename "$1") is installed" "$(cat "$scratch/dpkg.log")"
    inside rm /root/perfcountd.deb
}
# Everything on the machine but what systemd, dpkg and the kernel keep for themselves.
files() {
    inside find / \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/tmp \
        -o -path /var/log -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/lib/systemd/catalog \
        -o -path /root \) -prune -o -print | sort
}
state_of_unit() {
    echo "$(inside systemctl is-enabled "$1") $(inside systemctl is-active "$1")"
}
main_pid() {
    inside systemctl show -P MainPID perfcountd
}
serves() {
    [ "$(status_of /-/ready 2>/dev/null)" = 200 ]
}
# samples: the status of a request for them, of root's.
samples() {
    curl -s -o /dev/null -w '%{http_code}' --unix-socket "/proc/$leader/root/run/perfcountd.sock" \
        'http://localhost/api/v1/folded?seconds=0.1'
}
# mode_of FILE: with its owner.
mode_of() {
    inside stat -c '%a %U:%G' "$1"
}

boot
version_of_package "$(later 1)" upgraded
version_of_package "$(later 2)" "upgraded again"

echo "-- contrib/apt/publish"
mkdir -m 700 "$GNUPGHOME"
for key in other@perfcountd.invalid apt@perfcountd.invalid; do
    gpg --batch --quiet --passphrase '' --quick-generate-key "$key" >"$scratch/gpg.log" 2>&1 || cat "$scratch/gpg.log"
done
packages=("$(dirname "$PACKAGE")"/perfcountd*_*.deb)
publish "${packages[@]}"
for package in "${packages[@]}"; do
    architecture=$(dpkg-deb -f "$package" Architecture)
    contains "$(basename "$package") is in the index" \
        "$(cat "$scratch/repository/dists/$suite/main/binary-${architecture/all/amd64}/Packages")" \
        "$(printf 'SHA256: %s' "$(sha256sum "$package" | cut -d' ' -f1)")"
done
matches "a package of no Debian is refused" "$("$root/contrib/apt/publish" --key="$key" "$scratch/repository" \
    "$PACKAGE" "$scratch/none.deb" 2>&1)" 'publish: .*none.deb is not a package'
matches "and so is a key that is not there" "$("$root/contrib/apt/publish" --key=nobody "$scratch/repository" "$PACKAGE" \
    2>&1)" '^publish: gpg has no secret key nobody$'
gpg --batch --armor --export other@perfcountd.invalid | inside_write /etc/apt/perfcountd.asc
inside_write /etc/apt/sources.list \
    <<<"deb [signed-by=/etc/apt/perfcountd.asc] file:///tmp/repository $suite main"
inside find /etc/apt/sources.list.d -type f -delete
holds "another key's repository is refused" not apt_get update -o APT::Update::Error-Mode=any
matches "because of its signature" "$(cat "$scratch/apt.log")" "NO_PUBKEY|Missing key"
inside cat /tmp/repository/perfcountd.asc | inside_write /etc/apt/perfcountd.asc
files >"$scratch/before"
compares "the machine has files" "$(wc -l <"$scratch/before") > 1000"

echo "-- install"
apt prometheus-perfcountd-exporter
equals "the service is enabled and active" "$(state_of_unit perfcountd.service)" "enabled active"
equals "and so is its socket" "$(state_of_unit perfcountd.socket)" "enabled active"
holds "it serves at the default port" eventually 10 serves
equals "its unix socket is for root and the group" "$(mode_of /run/perfcountd.sock)" "660 root:perfcountd"
equals "by it root operates" "$(curl -s --unix-socket "/proc/$leader/root/run/perfcountd.sock" -X POST \
    http://localhost/-/reload)" reloaded
equals "it runs the package's binary" "$(inside readlink "/proc/$(main_pid)/exe")" /usr/bin/perfcountd
equals "the path of earlier drop-ins leads there" "$(inside readlink -f /usr/sbin/perfcountd)" /usr/bin/perfcountd
matches "it says the package's version" "$(get /metrics | grep '^perfcountd_build_info')" \
    "version=\"${version%-*}\""
equals "every file of the package is root's" "$(inside sh -c 'dpkg -L perfcountd | xargs stat -c "%U:%G" | sort -u')" \
    root:root
# shellcheck disable=SC2016 # dpkg-query expands it
equals "the configuration and the flags are conffiles" \
    "$(inside dpkg-query -W -f '${Conffiles}' perfcountd | awk '{ print $1 }' | grep . | sort | xargs)" \
    "$defaults $conffile"
equals "everyone may read it" "$(mode_of "$conffile")" "644 root:root"
equals "and it is a good one" "$(inside /usr/bin/perfcountd check-config "$conffile")" "$conffile: ok"
equals "the service runs with it" \
    "$(get /api/v1/status | jq -r '.. | .config_file? // empty' | head -n 1)" "$conffile"
for page in man5/perfcountd.yaml.5 man7/perfcountd-http.7 man7/perfcountd-metrics.7 man8/perfcountd.8; do
    holds "the manual $page is there" inside test -e "/usr/share/man/$page.gz"
done

echo "-- the package's own tests, debian/tests"
# The machine has what debian/tests/control asks for: it is their own, they are root, and their packages are there.
mapfile -t tests < <(sed -n 's/^Tests: *//p' "$root/debian/tests/control" | tr -s ', ' '\n' | sort)
equals "every test in debian/tests is named there" "${tests[*]}" \
    "$(cd "$root/debian/tests" && find . -type f ! -name control -printf '%P\n' | sort | xargs)"
for name in "${tests[@]}"; do
    inside_write "/root/$name" <"$root/debian/tests/$name"
    inside chmod 755 "/root/$name"
    # Without /usr/local, where the machine has a daemon that is not the package's.
    holds "debian/tests/$name passes" inside env PATH=/usr/sbin:/usr/bin:/sbin:/bin "/root/$name"
    inside rm "/root/$name"
done

echo "-- perfcountd-sampler"
equals "without it nobody samples" "$(samples)" 403
pid=$(main_pid)
apt perfcountd-sampler
compares "with it the service has restarted" "$(main_pid) > 0 && $(main_pid) != $pid"
equals "and root samples" "$(samples)" 200
has_ptrace() {
    local opener
    opener=$(inside pgrep -P "$(main_pid)" -f perfcountd-opener) &&
        ((0x$(inside sed -n 's/^CapEff:\t//p' "/proc/$opener/status") & 1 << 19))
}
holds "with the rights that names need" has_ptrace
inside /usr/bin/perfcountd setup --profiles >"$scratch/setup.log" 2>&1
equals "setup --profiles may come on top" "$? $(samples)" "0 200"
inside /usr/bin/perfcountd setup --undo >"$scratch/setup.log" 2>&1
equals "and its undo leaves what the package does" "$? $(samples)" "0 200"
apt_get purge perfcountd-sampler || fail "apt purges perfcountd-sampler" "$(cat "$scratch/apt.log")"
equals "removed, nobody samples" "$(samples)" 403
holds "nor has it the rights" not has_ptrace
inside systemctl stop perfcountd.socket
apt perfcountd-sampler
equals "where the service is stopped it stays so" "$(inside systemctl is-active perfcountd.service)" inactive
apt_get purge perfcountd-sampler
inside systemctl start perfcountd.service

echo "-- reinstall and upgrade"
pid=$(main_pid)
publish "$scratch/$(later 1).deb"
apt perfcountd
equals "an upgrade brings a new configuration where nobody changed it" "$(inside tail -n 1 "$conffile")" "# upgraded"
compares "and restarts the service" "$(main_pid) > 0 && $(main_pid) != $pid"
equals "which is enabled and active" "$(state_of_unit perfcountd.service)" "enabled active"
equals "with its socket" "$(state_of_unit perfcountd.socket)" "enabled active"
holds "and serves" eventually 10 serves
inside sed -i 's/^ARGS=.*/ARGS=--log.level=warning/' "$defaults"
inside sed -i 's/max_cgroups: auto/max_cgroups: 99/' "$conffile"
inside cat "$conffile" >"$scratch/local.yaml"
install_package "$scratch/$(later 1).deb"
equals "a change survives the same version" "$(inside cat "$conffile")" "$(cat "$scratch/local.yaml")"
install_package "$scratch/$(later 2).deb"
equals "and a new one" "$(inside cat "$conffile")" "$(cat "$scratch/local.yaml")"
holds "whose own configuration is put beside it" inside test -e "$conffile.dpkg-dist"
holds "it serves" eventually 10 serves
contains "with the changed flags" "$(inside cat "/proc/$(main_pid)/cmdline" | tr '\0' ' ')" --log.level=warning
equals "by the changed configuration" "$(get /api/v1/config | jq '.. | .max_cgroups? // empty')" 99
inside systemctl disable --now perfcountd.service perfcountd.socket 2>/dev/null
install_package "$scratch/$(later 2).deb"
equals "a service that was disabled stays disabled" \
    "$(inside systemctl is-enabled perfcountd.service perfcountd.socket | tr '\n' ' ')" "disabled disabled "
inside systemctl enable --now perfcountd.service 2>/dev/null

echo "-- remove and purge"
inside dpkg --remove perfcountd >"$scratch/dpkg.log" 2>&1
equals "the service is gone" "$(inside systemctl is-active perfcountd.service)" inactive
equals "nothing listens" "$(status_of /-/ready 2>/dev/null)" 000
holds "the binary is gone" inside test ! -e /usr/bin/perfcountd -a ! -L /usr/sbin/perfcountd
equals "the configuration stays" "$(inside cat "$conffile")" "$(cat "$scratch/local.yaml")"
install_package "$PACKAGE"
equals "it comes back enabled and active" "$(state_of_unit perfcountd.service)" "enabled active"
equals "with the configuration that stayed" "$(inside cat "$conffile")" "$(cat "$scratch/local.yaml")"
inside dpkg --purge perfcountd >"$scratch/dpkg.log" 2>&1
equals "purge says nothing that is wrong" "$(grep -i -e warning -e error "$scratch/dpkg.log")" ""
files >"$scratch/after"
equals "purge leaves nothing" "$(diff "$scratch/before" "$scratch/after")" ""
equals "also not in /run" "$(inside find /run -name '*perfcountd*' ! -path '/run/systemd/propagate/*')" ""
equals "systemd does not know it" "$(inside systemctl list-unit-files --no-legend 'perfcountd*')" ""
finish
