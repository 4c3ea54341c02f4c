#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Clients that send nothing, a byte a second, too much or garbage, over plain HTTP and over TLS: each gets a response or
# is disconnected, its descriptors are closed, and clients at other addresses are served meanwhile. During a flood of
# each kind, valid requests succeed and no wrong password is accepted. bench/times.py measures how long a scrape takes
# meanwhile.
# set: all
. "$(dirname "$0")/lib.sh"
. "$here/tls-lib.sh"
need curl openssl /usr/bin/python3

# attack NAME [CA]: runs bad-clients.py against the daemon and checks each of its results.
attack() {
    local host=${url#*://} state name what
    /usr/bin/python3 "$here/bad-clients.py" "${host%:*}" "${host##*:}" "$daemon_pid" "${@:2}" \
        >"$scratch/attack" 2>"$scratch/complaints" || fail "$1: bad-clients.py" "$(tail -n 5 "$scratch/complaints")"
    sed 's/^/    /' "$scratch/complaints"
    while read -r state name what; do
        equals "$1: $name ($what)" "$state" ok
    done <"$scratch/attack"
    holds "$1: the daemon is still running" running "$daemon_pid"
    grep -E ' (error|warning) ' "$daemon_log" | sed 's/^/    /'
    equals "$1: the clients cause no error or warning in the log" \
        "$(grep -cE ' (error|warning) ' "$daemon_log")" "$complaints"
}
count_complaints() {
    complaints=$(grep -cE ' (error|warning) ' "$daemon_log")
}

# figure NAME: prints this figure of the last flood.
figure() {
    awk -v name="$1" '$1 == name { print $2 }' "$scratch/figures"
}
# flood TITLE KIND PASSWORD [CA]: runs bench/flood.py against the daemon and checks that valid requests succeed
# meanwhile.
flood() {
    local title=$1 host=${url#*://}
    /usr/bin/python3 "$root/bench/flood.py" "${host%:*}" "${host##*:}" "$2" "$3" 1 0.5 "${@:4}" \
        >"$scratch/figures" 2>"$scratch/complaints" ||
        fail "$title: flood.py" "$(tail -n 5 "$scratch/complaints")"
    compares "$title: the four addresses open many connections" "$(figure opened) >= 400"
    equals "$title: no valid request failed" "$(figure failed)" 0
    compares "$title: some valid requests were made" "$(figure new_n) > 0 && $(figure kept_n) > 0"
    holds "$title: the daemon is still running" running "$daemon_pid"
}

start_daemon --config.file="$light" # so that cgroups of other tests cause no warning
count_complaints
attack plain
flood "the catalogue of events" events ""
flood "silence" silent ""
flood "a byte a second" drip ""
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0

# shellcheck disable=SC2016 # hashes have dollars; the cost is what the exporters' manual recommends
cat >"$scratch/web.yml" <<'END'
basic_auth_users:
  alice: $2y$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u
auth_excluded_paths: [/-/healthy, /-/ready]
END
start_daemon --web.config.file="$scratch/web.yml"
flood "no password" refused secret
flood "wrong passwords" wrong secret
# Wrong passwords are checked at such a low priority that a busy machine may not have responded to any of them.
equals "wrong passwords get no response other than 401 and 503" "$(figure answers_200) $(figure answers_other)" "0 0"
lacks "no password is in the log" '127[.]0[.]1[.][0-9]+-[0-9]|secret' "$daemon_log"
flood "silent clients where a password is required" silent secret
stop_daemon
equals "the daemon exits cleanly with a password" "$daemon_status" 0

make_ca ca
make_certificate server ca server DNS:localhost,IP:127.0.0.1
tls="tls_server_config: {cert_file: $pki/server.pem, key_file: $pki/server.key}"
echo "$tls" >"$scratch/tls.yml"
client=(--cacert "$pki/ca.pem")
start_daemon --config.file="$light" --web.config.file="$scratch/tls.yml"
matches "the daemon listens with TLS" "$url" '^https://'
count_complaints
attack TLS "$pki/ca.pem"
stop_daemon
equals "the daemon exits cleanly after TLS" "$daemon_status" 0

echo "$tls" >>"$scratch/web.yml"
start_daemon --web.config.file="$scratch/web.yml"
flood "silence instead of a handshake" silent secret "$pki/ca.pem"
flood "a handshake at a byte a second" drip secret "$pki/ca.pem"
stop_daemon
equals "the daemon exits cleanly after TLS and a password" "$daemon_status" 0
finish
