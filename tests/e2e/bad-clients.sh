#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Clients that send nothing, a byte a second, too much or garbage, over plain HTTP and over TLS: each has its answer or
# is ended, memory and descriptors stay, and clients of another address are served meanwhile.
. "$(dirname "$0")/lib.sh"
. "$here/tls-lib.sh"
need curl openssl /usr/bin/python3

# attack NAME [CA]: against the daemon that runs.
attack() {
    local host=${url#*://} state name what
    /usr/bin/python3 "$here/bad-clients.py" "${host%:*}" "${host##*:}" "$daemon_pid" "${@:2}" \
        >"$scratch/attack" 2>"$scratch/complaints" || fail "$1: bad-clients.py" "$(tail -n 5 "$scratch/complaints")"
    sed 's/^/    /' "$scratch/complaints"
    while read -r state name what; do
        equals "$1: $name ($what)" "$state" ok
    done <"$scratch/attack"
    holds "$1: the daemon lives" running "$daemon_pid"
    grep -E ' (error|warning) ' "$daemon_log" | sed 's/^/    /'
    equals "$1: the log says nothing of each" "$(grep -cE ' (error|warning) ' "$daemon_log")" "$complaints"
}
count_complaints() {
    complaints=$(grep -cE ' (error|warning) ' "$daemon_log")
}

start_daemon
count_complaints
attack plain
stop_daemon
equals "it ends well" "$daemon_status" 0

make_ca ca
make_certificate server ca server DNS:localhost,IP:127.0.0.1
cat >"$scratch/web.yml" <<END
tls_server_config: {cert_file: $pki/server.pem, key_file: $pki/server.key}
END
client=(--cacert "$pki/ca.pem")
start_daemon --web.config.file="$scratch/web.yml"
matches "it speaks TLS" "$url" '^https://'
count_complaints
attack TLS "$pki/ca.pem"
stop_daemon
equals "it ends well after TLS" "$daemon_status" 0
finish
