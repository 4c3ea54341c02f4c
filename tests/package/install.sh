#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Publishes the packages. In a container with systemd, installs them with apt, runs their debian/tests, and upgrades,
# removes and purges them.
#
# usage: PACKAGE=perfcountd_VERSION_ARCHITECTURE.deb [SUITE=bookworm] install.sh
#
# The other packages are in the same directory as PACKAGE.

# Runs in a network namespace, so that the service can use its default port.
if [ -z "${PERFCOUNTD_OWN_LOOPBACK-}" ] && [ "$(id -u)" -eq 0 ]; then
    # The namespace has no network, so the system is made first.
    "$(dirname "$0")/../tree.sh" machine "${SUITE:-bookworm}" >/dev/null || exit
    PERFCOUNTD_OWN_LOOPBACK=yes exec unshare --net "$0" "$@"
fi
# shellcheck source=../systemd/lib.sh
. "$(dirname "$0")/../systemd/lib.sh"
need dpkg-deb gpg ip reprepro
[ -e "${PACKAGE-}" ] || { echo "no such package: '${PACKAGE-}'; set PACKAGE to the path of one" >&2; exit 1; }
ip link set lo up
url=http://127.0.0.1:10298
conffile=/etc/perfcountd/perfcountd.yaml
defaults=/etc/default/perfcountd
version=$(dpkg-deb -f "$PACKAGE" Version)
suite=${SUITE:-bookworm}
export GNUPGHOME=$scratch/gpg

# later N: prints the version that the package would have after the N-th rebuild.
later() {
    echo "${version%"~"*}.$1~${version##*"~"}"
}
# version_of_package VERSION COMMENT: makes a copy of the package with this version, and appends the comment to its
# configuration.
version_of_package() {
    local directory=$scratch/$1
    dpkg-deb -R "$PACKAGE" "$directory" || exit
    sed -i "s/^Version: .*/Version: $1/" "$directory/DEBIAN/control"
    echo "# $2" >>"$directory$conffile"
    dpkg-deb -b "$directory" "$scratch/$1.deb" >/dev/null || exit
}
# publish FILES...: adds the packages to the repository, and copies the repository into the container.
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
# apt NAME...: installs packages from the repository.
apt() {
    if ! apt_get update || ! apt_get install "$@"; then
        fail "apt installs $*" "$(cat "$scratch/apt.log")"
    fi
}
# install_package FILE: installs the package in the container; dpkg keeps changed conffiles without asking.
install_package() {
    inside_write /root/perfcountd.deb <"$1"
    inside env DEBIAN_FRONTEND=noninteractive dpkg --force-confdef --force-confold -i /root/perfcountd.deb \
        >"$scratch/dpkg.log" 2>&1 || fail "$(basename "$1") is installed" "$(cat "$scratch/dpkg.log")"
    inside rm /root/perfcountd.deb
}
# Prints all files of the container except those that systemd, dpkg, apt and the kernel manage.
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
# samples: prints the response status of root's request for samples.
samples() {
    curl -s -o /dev/null -w '%{http_code}' --unix-socket "/proc/$leader/root/run/perfcountd.sock" \
        'http://localhost/api/v1/folded?seconds=0.1'
}
# mode_of FILE: prints the file's mode, owner and group.
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
matches "publish rejects a file that is not a package" \
    "$("$root/contrib/apt/publish" --key="$key" "$scratch/repository" \
    "$PACKAGE" "$scratch/none.deb" 2>&1)" 'publish: .*none.deb is not a package'
matches "publish rejects a key that does not exist" \
    "$("$root/contrib/apt/publish" --key=nobody "$scratch/repository" "$PACKAGE" \
    2>&1)" '^publish: gpg has no secret key nobody$'
gpg --batch --armor --export other@perfcountd.invalid | inside_write /etc/apt/perfcountd.asc
inside_write /etc/apt/sources.list \
    <<<"deb [signed-by=/etc/apt/perfcountd.asc] file:///tmp/repository $suite main"
inside find /etc/apt/sources.list.d -type f -delete
holds "apt rejects a repository that is signed with another key" not apt_get update -o APT::Update::Error-Mode=any
matches "apt's error is about the signature" "$(cat "$scratch/apt.log")" "NO_PUBKEY|Missing key"
inside cat /tmp/repository/perfcountd.asc | inside_write /etc/apt/perfcountd.asc
files >"$scratch/before"
compares "the list of the container's files is not empty" "$(wc -l <"$scratch/before") > 1000"

echo "-- install"
apt prometheus-perfcountd-exporter
equals "the service is enabled and active" "$(state_of_unit perfcountd.service)" "enabled active"
equals "the socket is enabled and active" "$(state_of_unit perfcountd.socket)" "enabled active"
holds "the service answers on the default port" eventually 10 serves
equals "only root and the group perfcountd may use the unix socket" \
    "$(mode_of /run/perfcountd.sock)" "660 root:perfcountd"
equals "root may reload over the unix socket" \
    "$(curl -s --unix-socket "/proc/$leader/root/run/perfcountd.sock" -X POST \
    http://localhost/-/reload)" reloaded
equals "the service runs the package's binary" "$(inside readlink "/proc/$(main_pid)/exe")" /usr/bin/perfcountd
equals "/usr/sbin/perfcountd, which earlier drop-ins use, is a link to the binary" \
    "$(inside readlink -f /usr/sbin/perfcountd)" /usr/bin/perfcountd
matches "perfcountd_build_info has the package's version" "$(get /metrics | grep '^perfcountd_build_info')" \
    "version=\"${version%-*}\""
equals "root owns every file of the package" \
    "$(inside sh -c 'dpkg -L perfcountd | xargs stat -c "%U:%G" | sort -u')" \
    root:root
# shellcheck disable=SC2016 # dpkg-query expands it
equals "the configuration and /etc/default/perfcountd are conffiles" \
    "$(inside dpkg-query -W -f '${Conffiles}' perfcountd | awk '{ print $1 }' | grep . | sort | xargs)" \
    "$defaults $conffile"
equals "everyone may read the configuration" "$(mode_of "$conffile")" "644 root:root"
equals "check-config accepts the configuration" "$(inside /usr/bin/perfcountd check-config "$conffile")" "$conffile: ok"
equals "the service uses the configuration" \
    "$(get /api/v1/status | jq -r '.. | .config_file? // empty' | head -n 1)" "$conffile"
for page in man5/perfcountd.yaml.5 man7/perfcountd-http.7 man7/perfcountd-metrics.7 man8/perfcountd.8; do
    holds "the manual page $page is installed" inside test -e "/usr/share/man/$page.gz"
done

echo "-- the package's own tests in debian/tests"
# The container fulfils the requirements in debian/tests/control: the tests have it to themselves, run as root, and find
# the packages installed.
mapfile -t tests < <(sed -n 's/^Tests: *//p' "$root/debian/tests/control" | tr -s ', ' '\n' | sort)
equals "debian/tests/control names every test" "${tests[*]}" \
    "$(cd "$root/debian/tests" && find . -type f ! -name control -printf '%P\n' | sort | xargs)"
for name in "${tests[@]}"; do
    inside_write "/root/$name" <"$root/debian/tests/$name"
    inside chmod 755 "/root/$name"
    # PATH excludes /usr/local, since boot() mounts another daemon there.
    holds "debian/tests/$name passes" inside env PATH=/usr/sbin:/usr/bin:/sbin:/bin "/root/$name"
    inside rm "/root/$name"
done

echo "-- perfcountd-sampler"
equals "without perfcountd-sampler, samples are refused" "$(samples)" 403
pid=$(main_pid)
apt perfcountd-sampler
compares "installing perfcountd-sampler restarts the service" "$(main_pid) > 0 && $(main_pid) != $pid"
equals "with perfcountd-sampler, root may sample" "$(samples)" 200
has_ptrace() {
    local opener
    opener=$(inside pgrep -P "$(main_pid)" -f perfcountd-opener) &&
        ((0x$(inside sed -n 's/^CapEff:\t//p' "/proc/$opener/status") & 1 << 19))
}
holds "with perfcountd-sampler, the opener has CAP_SYS_PTRACE" has_ptrace
inside /usr/bin/perfcountd setup --profiles >"$scratch/setup.log" 2>&1
equals "setup --profiles succeeds with perfcountd-sampler, and samples work" "$? $(samples)" "0 200"
inside /usr/bin/perfcountd setup --undo >"$scratch/setup.log" 2>&1
equals "setup --undo does not undo perfcountd-sampler" "$? $(samples)" "0 200"
apt_get purge perfcountd-sampler || fail "apt purges perfcountd-sampler" "$(cat "$scratch/apt.log")"
equals "after perfcountd-sampler has been purged, samples are refused" "$(samples)" 403
holds "after perfcountd-sampler has been purged, the opener lacks CAP_SYS_PTRACE" not has_ptrace
inside systemctl stop perfcountd.socket
apt perfcountd-sampler
equals "installing perfcountd-sampler does not start a stopped service" \
    "$(inside systemctl is-active perfcountd.service)" inactive
apt_get purge perfcountd-sampler
inside systemctl start perfcountd.service

echo "-- reinstall and upgrade"
pid=$(main_pid)
publish "$scratch/$(later 1).deb"
apt perfcountd
equals "an upgrade replaces an unchanged configuration" "$(inside tail -n 1 "$conffile")" "# upgraded"
compares "an upgrade restarts the service" "$(main_pid) > 0 && $(main_pid) != $pid"
equals "after an upgrade, the service is enabled and active" "$(state_of_unit perfcountd.service)" "enabled active"
equals "after an upgrade, the socket is enabled and active" "$(state_of_unit perfcountd.socket)" "enabled active"
holds "after an upgrade, the service answers" eventually 10 serves
inside sed -i 's/^ARGS=.*/ARGS=--log.level=warning/' "$defaults"
inside sed -i 's/max_cgroups: auto/max_cgroups: 99/' "$conffile"
inside cat "$conffile" >"$scratch/local.yaml"
install_package "$scratch/$(later 1).deb"
equals "reinstalling the same version keeps a changed configuration" \
    "$(inside cat "$conffile")" "$(cat "$scratch/local.yaml")"
install_package "$scratch/$(later 2).deb"
equals "installing a new version keeps a changed configuration" \
    "$(inside cat "$conffile")" "$(cat "$scratch/local.yaml")"
holds "the new version's configuration is stored as .dpkg-dist" inside test -e "$conffile.dpkg-dist"
holds "the upgraded service answers" eventually 10 serves
contains "the upgraded service runs with the changed flags" \
    "$(inside cat "/proc/$(main_pid)/cmdline" | tr '\0' ' ')" --log.level=warning
equals "the upgraded service uses the changed configuration" \
    "$(get /api/v1/config | jq '.. | .max_cgroups? // empty')" 99
inside systemctl disable --now perfcountd.service perfcountd.socket 2>/dev/null
install_package "$scratch/$(later 2).deb"
equals "an upgrade does not enable a disabled service" \
    "$(inside systemctl is-enabled perfcountd.service perfcountd.socket | tr '\n' ' ')" "disabled disabled "
inside systemctl enable --now perfcountd.service 2>/dev/null

echo "-- remove and purge"
inside dpkg --remove perfcountd >"$scratch/dpkg.log" 2>&1
equals "after removal, the service is inactive" "$(inside systemctl is-active perfcountd.service)" inactive
equals "after removal, nothing listens" "$(status_of /-/ready 2>/dev/null)" 000
holds "removal deletes the binary" inside test ! -e /usr/bin/perfcountd -a ! -L /usr/sbin/perfcountd
equals "removal keeps the configuration" "$(inside cat "$conffile")" "$(cat "$scratch/local.yaml")"
install_package "$PACKAGE"
equals "after the package has been reinstalled, the service is enabled and active" \
    "$(state_of_unit perfcountd.service)" "enabled active"
equals "the reinstalled package uses the kept configuration" \
    "$(inside cat "$conffile")" "$(cat "$scratch/local.yaml")"
inside dpkg --purge perfcountd >"$scratch/dpkg.log" 2>&1
equals "purge prints no warnings or errors" "$(grep -i -e warning -e error "$scratch/dpkg.log")" ""
files >"$scratch/after"
equals "purge leaves no files" "$(diff "$scratch/before" "$scratch/after")" ""
equals "purge leaves no files in /run" "$(inside find /run -name '*perfcountd*' ! -path '/run/systemd/propagate/*')" ""
equals "purge leaves no units in systemd" "$(inside systemctl list-unit-files --no-legend 'perfcountd*')" ""
finish
