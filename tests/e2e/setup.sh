#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `perfcountd setup` and its --undo on copies of /etc and /run in a mount namespace, with a script instead of
# systemctl.
# set: quick
# shellcheck disable=SC2016 # hashes have dollars
. "$(dirname "$0")/lib.sh"
need jq unshare

[ "$(id -u)" -eq 0 ] || skip "root, to make a mount namespace"
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
# try ARGUMENTS...: runs `perfcountd setup`. Sets status, and out, the output of both streams.
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
matches "without the service: the message" "$out" '^perfcountd: perfcountd.service is not installed'
equals "without the service: nothing is written" "$(etc_files | diff "$scratch/before" - | grep -v '^---')" ""
printf '[Service]\nExecStart=/opt/perfcountd --log.level=info\n' >"$unit"

# --- files that setup did not write are kept

mkdir -p /etc/perfcountd "$dropin"
echo mine >/etc/perfcountd/web.yml
printf '[Service]\nExecStart=\nExecStart=/opt/other\n' >"$dropin/local.conf"
try --password
matches "another drop-in that sets ExecStart= is an error" \
    "$status $out" "^1 .*$dropin/local.conf sets ExecStart=.*nothing was changed"
rm "$dropin/local.conf"
printf '[Service]\nNice=1\n' >"$dropin/local.conf"
try --password
matches "an invalid web configuration is an error" "$status $out" \
    '^1 .*/etc/perfcountd/web.yml: cannot add a user; nothing was changed: '
equals "an invalid web configuration is unchanged" "$(cat /etc/perfcountd/web.yml)" mine
echo 'basic_auth_users: {bob: $2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW}' >/etc/perfcountd/web.yml
try --password
matches "a web configuration with users is an error" \
    "$status $out" '^1 .*/etc/perfcountd/web.yml already has basic_auth_users.*nothing was changed'
ln -sf /etc/passwd /etc/perfcountd/web.yml
try --password
matches "a web configuration that is a link is an error" \
    "$status $out" '^1 .*/etc/perfcountd/web.yml, .*, is not a regular file.*nothing was changed'
lacks "after these errors there is no group perfcountd" '^perfcountd:' /etc/group
rm /etc/perfcountd/web.yml
try --listen=nowhere
matches "--listen with an invalid address is an error" "$status $out" '^1 perfcountd: --listen: "nowhere" has no port'
etc_files >"$scratch/before"

# --- without systemd nothing is written, since no daemon would be restarted to read it

mv /run/systemd "$scratch/systemd"
cp "$scratch/systemd/system/perfcountd.service" /etc/systemd/system
etc_files >"$scratch/before-container"
try --profiles --password --listen=:61029
matches "without systemd: the message says how to start perfcountd" "$status $out" \
    '^1 perfcountd: systemd is not running here; nothing was changed: start perfcountd with --sampler.enabled --web.listen-address=ADDRESS --web.config.file=FILE, '
equals "without systemd: nothing is changed" "$(etc_files | diff "$scratch/before-container" - | grep -v '^---')" ""
rm /etc/systemd/system/perfcountd.service
mv "$scratch/systemd" /run/systemd

try
equals "without flags, the user becomes an operator: exit status" "$status" 0
try
matches "without flags, a second setup has nothing to do" "$status $out" '^0 nothing to do: .* setup --help'
try --undo

# --- all flags, and undo

try --profiles --password --listen=127.0.0.1:61029
equals "setup: exit status" "$status" 0
password=$(sed -n 's/^ *password: //p' <<<"$out")
matches "setup prints a password" "$password" '^[a-z2-9]{20}$'
equals "no file contains the password" "$(grep -rlF "$password" /etc)" ""
equals "only root and the group may read the web configuration" "$(stat -c '%a %U %G' /etc/perfcountd/web.yml)" \
    "640 root perfcountd"
equals "the drop-in adds flags to the unit's command line" "$(grep '^ExecStart=.' "$dropin/50-setup.conf")" \
    "ExecStart=/opt/perfcountd --log.level=info --sampler.enabled --web.config.file=/etc/perfcountd/web.yml"
equals "the drop-in has the settings of contrib/systemd/sampler.conf" \
    "$(grep -v '^#\|^ExecStart' "$dropin/50-setup.conf")" "$(grep -v '^#\|^Environment\|^$' "$root/contrib/systemd/sampler.conf")"
equals "the socket unit has the new address and the unix socket" \
    "$(grep -v '^#' /etc/systemd/system/perfcountd.socket.d/50-setup.conf | tr '\n' ' ')" \
    "[Socket] ListenStream= ListenStream=127.0.0.1:61029 ListenStream=/run/perfcountd.sock "
matches "the user is in the group perfcountd" "$(grep '^perfcountd:' /etc/group)" ':alice$'
equals "the service is restarted once" "$(restarts)" 1
contains "the message shows the page's address" "$out" "open http://127.0.0.1:61029/ in a browser"
for file in /etc/perfcountd/web.yml "$dropin/50-setup.conf" /etc/systemd/system/perfcountd.socket.d/50-setup.conf; do
    contains "the message says that $file was written" "$out" "wrote $file"
done

client=(-u "perfcountd:$password")
start_daemon --sampler.enabled --web.config.file=/etc/perfcountd/web.yml --config.file="$light"
equals "a client with the password is served" "$(status_of /metrics)" 200
equals "a client with the password may sample" "$(status_of '/api/v1/folded?seconds=0.1')" 200
client=()
equals "a client without the password is rejected" "$(status_of /metrics)" 401
stop_daemon

try --password
equals "a second setup: exit status" "$status" 0
echo "$out" >"$scratch/out"
lacks "a second setup creates another password" "$password" "$scratch/out"
contains "a second setup keeps --profiles" "$(cat "$dropin/50-setup.conf")" --sampler.enabled
try --undo
equals "undo: exit status" "$status" 0
equals "undo restores all files" "$(etc_files | diff "$scratch/before" - | grep -v '^---')" ""
equals "undo restarts the service" "$(restarts)" 1
try --undo
matches "a second undo does nothing" "$status $out" '^0 nothing to undo'

# --- an existing web configuration keeps its settings

printf 'tls_server_config: {cert_file: a.pem, key_file: a.key}' >/etc/perfcountd/web.yml
chmod 604 /etc/perfcountd/web.yml
chown 1:2 /etc/perfcountd/web.yml
etc_files >"$scratch/before"
for again in "" " again"; do
    try --password
    equals "with TLS$again: exit status" "$status" 0
    contains "with TLS$again: the message says what was changed" "$out" "added a user to /etc/perfcountd/web.yml"
    equals "with TLS$again: the file has TLS and one user" \
        "$(grep -o 'tls_server_config: {cert_file: a.pem, key_file: a.key}\|perfcountd: \$2y\$10\$' /etc/perfcountd/web.yml |
            tr '\n' ' ')" 'tls_server_config: {cert_file: a.pem, key_file: a.key} perfcountd: $2y$10$ '
    equals "with TLS$again: the file's mode and owner are unchanged" \
        "$(stat -c '%a %u %g' /etc/perfcountd/web.yml)" "604 1 2"
    contains "with TLS$again: the drop-in names the file" \
        "$(cat "$dropin/50-setup.conf")" "--web.config.file=/etc/perfcountd/web.yml"
    equals "with TLS$again: there is no warning that the password is sent unencrypted" \
        "$(grep -c 'unencrypted' <<<"$out")" 0
done
try --undo
contains "undo says that it removed the user" "$out" "removed the user from /etc/perfcountd/web.yml"
equals "undo restores the web configuration" "$(etc_files | diff "$scratch/before" - | grep -v '^---')" ""
try --password
echo '# mine' >>/etc/perfcountd/web.yml
try --password
matches "setup refuses a web configuration that was changed after the previous setup" \
    "$status $out" '^1 .*web.yml already has basic_auth_users'
try --undo
contains "undo leaves the user in a web configuration that was changed after the previous setup" \
    "$out" "left the user in /etc/perfcountd/web.yml: it has been changed since"

mv /etc/perfcountd/web.yml /etc/own.yml
echo 'rate_limit: {interval: 1s, burst: 9}' >/etc/own.yml
echo 'web: {config_file: /etc/own.yml}' >/etc/perfcountd/perfcountd.yaml
try --password
matches "the user is added to the web configuration that perfcountd.yaml names" \
    "$status $out" '^0 .*added a user to /etc/own.yml'
holds "the drop-in does not replace a web configuration that perfcountd.yaml names" \
    not grep -q web.config.file "$dropin/50-setup.conf"
try --undo
equals "undo restores /etc/own.yml" "$(cat /etc/own.yml)" 'rate_limit: {interval: 1s, burst: 9}'
rm /etc/perfcountd/perfcountd.yaml /etc/own.yml

# --- flags in /etc/default/perfcountd

mkdir -p /etc/default
echo 'rate_limit: {interval: 1s, burst: 9}' >/etc/own.yml
echo 'ARGS="--web.config.file=/etc/own.yml --log.level=info"' >/etc/default/perfcountd
printf '[Service]\nExecStart=/opt/perfcountd $SAMPLER $ARGS\n' >"$unit"
try --profiles --password
matches "the user is added to the web configuration that /etc/default/perfcountd names" \
    "$status $out" '^0 .*added a user to /etc/own.yml'
equals "the flags in /etc/default/perfcountd stay in effect" "$(grep '^ExecStart=.' "$dropin/50-setup.conf")" \
    'ExecStart=/opt/perfcountd $SAMPLER $ARGS --sampler.enabled'
try --undo
equals "undo restores /etc/own.yml" "$(cat /etc/own.yml)" 'rate_limit: {interval: 1s, burst: 9}'
rm /etc/own.yml /etc/default/perfcountd

# --- a drop-in that was changed after setup

try --profiles
echo '# mine' >>"$dropin/50-setup.conf"
try --password
matches "setup does not overwrite a changed drop-in" \
    "$status $out" '^1 .*50-setup.conf already exists.*nothing was changed'
try --undo
contains "undo leaves a changed drop-in" "$out" "left $dropin/50-setup.conf: it has been changed since"
holds "the changed drop-in keeps its contents" grep -q '^# mine' "$dropin/50-setup.conf"
try --profiles
matches "setup after undo does not overwrite a changed drop-in" \
    "$status $out" '^1 .*50-setup.conf already exists'
finish
