#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `perfcountd setup` and its --undo, on copies of /etc and /run that only this script sees. systemctl is simulated.
# set: quick
# shellcheck disable=SC2016 # hashes have dollars
. "$(dirname "$0")/lib.sh"
need jq unshare

[ "$(id -u)" -eq 0 ] || skip "root, to have an /etc of its own"
if [ -z "${SETUP_INSIDE-}" ]; then
    unshare --mount true 2>/dev/null || skip "the right to make a mount namespace"
    SETUP_INSIDE=yes unshare --mount --propagation private "$0" "$@"
    exit
fi

mkdir "$scratch/etc" "$scratch/bin"
tar -C /etc --exclude=./perfcountd -c . 2>/dev/null | tar -C "$scratch/etc" -x
mount --bind "$scratch/etc" /etc
mount -t tmpfs none /run
mkdir -p /run/systemd/system
rm -rf /etc/systemd/system/perfcountd.* /etc/perfcountd
sed -i '/^perfcountd:/d' /etc/group /etc/gshadow
grep -q '^alice:' /etc/passwd || echo 'alice:x:61028:100::/:/bin/sh' >>/etc/passwd
printf '#!/bin/sh\necho "$*" >>%s/systemctl.log\n' "$scratch" >"$scratch/bin/systemctl"
chmod 755 "$scratch/bin/systemctl"
PATH=$scratch/bin:$PATH
unit=/run/systemd/system/perfcountd.service
dropin=/etc/systemd/system/perfcountd.service.d
etc_files() {
    (cd /etc && find . -type f ! -name '*-' -exec sha256sum {} + | sort -k 2; find . -type d | sort)
}
# try ARGUMENTS...: sets status and out, of both streams.
try() {
    status=0
    : >"$scratch/systemctl.log"
    out=$(SUDO_USER=alice "$PERFCOUNTD" setup "$@" 2>&1) || status=$?
}
restarts() {
    grep -c '^restart' "$scratch/systemctl.log"
}

etc_files >"$scratch/before"
try --profiles
equals "without the service: exit status" "$status" 1
matches "it says so" "$out" '^perfcountd: perfcountd.service is not installed'
equals "and nothing is there" "$(etc_files | diff "$scratch/before" - | grep -v '^---')" ""
printf '[Service]\nExecStart=/opt/perfcountd --log.level=info\n' >"$unit"

# --- what is somebody else's stays

mkdir -p /etc/perfcountd "$dropin"
echo mine >/etc/perfcountd/web.yml
printf '[Service]\nExecStart=\nExecStart=/opt/other\n' >"$dropin/local.conf"
try --password
matches "a drop-in with a command line is in the way" "$status $out" "^1 .*$dropin/local.conf sets ExecStart=.*nothing was changed"
rm "$dropin/local.conf"
printf '[Service]\nNice=1\n' >"$dropin/local.conf"
try --password
matches "and so is a web configuration that is none" "$status $out" \
    '^1 .*/etc/perfcountd/web.yml: cannot add a user, and nothing was changed: '
equals "which is as it was" "$(cat /etc/perfcountd/web.yml)" mine
echo 'basic_auth_users: {bob: $2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW}' >/etc/perfcountd/web.yml
try --password
matches "and one with users" "$status $out" '^1 .*/etc/perfcountd/web.yml has basic_auth_users already.*nothing was changed'
ln -sf /etc/passwd /etc/perfcountd/web.yml
try --password
matches "and a link" "$status $out" '^1 .*/etc/perfcountd/web.yml, .*, is not a regular file.*nothing was changed'
lacks "no group was made" '^perfcountd:' /etc/group
rm /etc/perfcountd/web.yml
try --listen=nowhere
matches "an address that is none" "$status $out" '^1 perfcountd: --listen: "nowhere" has no port'
etc_files >"$scratch/before"

# --- a daemon that no systemd restarts would never read what is written

mv /run/systemd "$scratch/systemd"
cp "$scratch/systemd/system/perfcountd.service" /etc/systemd/system
etc_files >"$scratch/before-container"
try --profiles --password --listen=:61029
matches "without systemd: it says what to start" "$status $out" \
    '^1 perfcountd: systemd does not run here, and nothing was changed: start perfcountd with --sampler.enabled --web.listen-address=ADDRESS --web.config.file=FILE, '
equals "and nothing was changed" "$(etc_files | diff "$scratch/before-container" - | grep -v '^---')" ""
rm /etc/systemd/system/perfcountd.service
mv "$scratch/systemd" /run/systemd

try
equals "without flags, the user becomes an operator: exit status" "$status" 0
try
matches "and a second time it says that there is nothing to do" "$status $out" '^0 nothing to do: .* setup --help'
try --undo

# --- everything, and back

try --profiles --password --listen=127.0.0.1:61029
equals "setup: exit status" "$status" 0
password=$(sed -n 's/^ *password: //p' <<<"$out")
matches "it prints a password" "$password" '^[a-z2-9]{20}$'
equals "which no file has" "$(grep -rlF "$password" /etc)" ""
equals "the web configuration is not for everybody" "$(stat -c '%a %U %G' /etc/perfcountd/web.yml)" \
    "640 root perfcountd"
equals "the unit's command line has flags more" "$(grep '^ExecStart=.' "$dropin/50-setup.conf")" \
    "ExecStart=/opt/perfcountd --log.level=info --sampler.enabled --web.config.file=/etc/perfcountd/web.yml"
equals "and the rights are those of contrib/systemd/sampler.conf" \
    "$(grep -v '^#\|^ExecStart' "$dropin/50-setup.conf")" "$(grep -v '^#\|^Environment\|^$' "$root/contrib/systemd/sampler.conf")"
equals "the socket is elsewhere, and the operators' is there" \
    "$(grep -v '^#' /etc/systemd/system/perfcountd.socket.d/50-setup.conf | tr '\n' ' ')" \
    "[Socket] ListenStream= ListenStream=127.0.0.1:61029 ListenStream=/run/perfcountd.sock "
matches "the user is an operator" "$(grep '^perfcountd:' /etc/group)" ':alice$'
equals "the service is restarted once" "$(restarts)" 1
contains "its page is named" "$out" "open http://127.0.0.1:61029/ in a browser"
for file in /etc/perfcountd/web.yml "$dropin/50-setup.conf" /etc/systemd/system/perfcountd.socket.d/50-setup.conf; do
    contains "it says what it wrote" "$out" "wrote $file"
done

client=(-u "perfcountd:$password")
start_daemon --sampler.enabled --web.config.file=/etc/perfcountd/web.yml --config.file="$light"
equals "a client with the password is served" "$(status_of /metrics)" 200
equals "and has samples" "$(status_of '/api/v1/folded?seconds=0.1')" 200
client=()
equals "one without it is refused" "$(status_of /metrics)" 401
stop_daemon

try --password
equals "again: exit status" "$status" 0
echo "$out" >"$scratch/out"
lacks "with another password" "$password" "$scratch/out"
contains "and profiles as before" "$(cat "$dropin/50-setup.conf")" --sampler.enabled
try --undo
equals "undo: exit status" "$status" 0
equals "everything is as before" "$(etc_files | diff "$scratch/before" - | grep -v '^---')" ""
equals "the service is restarted" "$(restarts)" 1
try --undo
matches "a second undo does nothing" "$status $out" '^0 nothing to undo'

# --- a web configuration that is in use keeps what it has

printf 'tls_server_config: {cert_file: a.pem, key_file: a.key}' >/etc/perfcountd/web.yml
chmod 604 /etc/perfcountd/web.yml
chown 1:2 /etc/perfcountd/web.yml
etc_files >"$scratch/before"
for again in "" " again"; do
    try --password
    equals "with TLS$again: exit status" "$status" 0
    contains "it says what it changed" "$out" "added a user to /etc/perfcountd/web.yml"
    equals "TLS stays, and there is one user" \
        "$(grep -o 'tls_server_config: {cert_file: a.pem, key_file: a.key}\|perfcountd: \$2y\$10\$' /etc/perfcountd/web.yml |
            tr '\n' ' ')" 'tls_server_config: {cert_file: a.pem, key_file: a.key} perfcountd: $2y$10$ '
    equals "the owner and the mode too" "$(stat -c '%a %u %g' /etc/perfcountd/web.yml)" "604 1 2"
    contains "the unit names it" "$(cat "$dropin/50-setup.conf")" "--web.config.file=/etc/perfcountd/web.yml"
    equals "the password is safe on the network" "$(grep -c 'goes over the network' <<<"$out")" 0
done
try --undo
contains "undo says so" "$out" "removed the user from /etc/perfcountd/web.yml"
equals "everything is as before it" "$(etc_files | diff "$scratch/before" - | grep -v '^---')" ""
try --password
echo '# mine' >>/etc/perfcountd/web.yml
try --password
matches "what was changed since is not changed again" "$status $out" '^1 .*web.yml has basic_auth_users already'
try --undo
contains "nor undone" "$out" "left the user in /etc/perfcountd/web.yml: it was changed since"

mv /etc/perfcountd/web.yml /etc/own.yml
echo 'rate_limit: {interval: 1s, burst: 9}' >/etc/own.yml
echo 'web: {config_file: /etc/own.yml}' >/etc/perfcountd/perfcountd.yaml
try --password
matches "of the configuration" "$status $out" '^0 .*added a user to /etc/own.yml'
holds "TLS of a file that another one replaces is not lost" not grep -q web.config.file "$dropin/50-setup.conf"
try --undo
equals "undone" "$(cat /etc/own.yml)" 'rate_limit: {interval: 1s, burst: 9}'
rm /etc/perfcountd/perfcountd.yaml /etc/own.yml

# --- flags of /etc/default/perfcountd

mkdir -p /etc/default
echo 'rate_limit: {interval: 1s, burst: 9}' >/etc/own.yml
echo 'ARGS="--web.config.file=/etc/own.yml --log.level=info"' >/etc/default/perfcountd
printf '[Service]\nExecStart=/opt/perfcountd $SAMPLER $ARGS\n' >"$unit"
try --profiles --password
matches "a web configuration that they name gets the user" "$status $out" '^0 .*added a user to /etc/own.yml'
equals "and they stay in use" "$(grep '^ExecStart=.' "$dropin/50-setup.conf")" \
    'ExecStart=/opt/perfcountd $SAMPLER $ARGS --sampler.enabled'
try --undo
equals "undone" "$(cat /etc/own.yml)" 'rate_limit: {interval: 1s, burst: 9}'
rm /etc/own.yml /etc/default/perfcountd

# --- a file that was changed since

try --profiles
echo '# mine' >>"$dropin/50-setup.conf"
try --password
matches "another setup does not overwrite it" "$status $out" '^1 .*50-setup.conf exists already.*nothing was changed'
try --undo
contains "undo leaves it" "$out" "left $dropin/50-setup.conf: it was changed since"
holds "it is there" grep -q '^# mine' "$dropin/50-setup.conf"
try --profiles
matches "and a new setup does not overwrite it" "$status $out" '^1 .*50-setup.conf exists already'
finish
