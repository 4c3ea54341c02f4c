#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests passwords with curl: which clients are let in, a changed password file, clients on other machines, and a slow
# hash.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl jq unshare

web=$scratch/web.yml
# password_of_alice HASH [FILE]: replaces alice's password hash in the file.
password_of_alice() {
    sed -i "s|alice: .*|alice: $1|" "${2-$web}"
}
# One hash has the cost that the exporters' manual recommends, the other a low cost.
# shellcheck disable=SC2016 # hashes have dollars
secret='$2y$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u' \
    other='$2y$06$abcdefghijklmnopqrstuu6FttqYLNXdPO90XO7YlC0uHRd1WxOhm'
cat >"$web" <<'END'
basic_auth_users:
  alice: set below
  bob: $2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW
auth_excluded_paths: [/-/healthy, /-/ready]
http_server_config:
  headers: {X-Frame-Options: deny}
END
password_of_alice "$secret"
socket=$scratch/auth.sock
start_daemon --config.file="$light" --web.config.file="$web" --web.listen-address=127.0.0.1:0 \
    --web.listen-address="unix:$socket"
pid=$daemon_pid

# --- clients that are let in

while read -r expected path options; do
    # shellcheck disable=SC2086 # options are words
    equals "$expected: $path $options" "$(status_of "$path" $options)" "$expected"
done <<'END'
401 /metrics
401 /
401 /nothing
401 /metrics -u alice:wrong
401 /metrics -u carol:secret
401 /metrics --oauth2-bearer secret
401 /-/reload -X POST
401 /-/reload -X POST -u alice:wrong
200 /metrics -u alice:secret
200 /metrics -u bob:secret
200 /metrics -u alice:secret --http1.0
200 /api/v1/rates?seconds=0.05 -u bob:secret
200 /-/healthy
200 /-/reload -X POST -u alice:secret
403 /-/reload -X POST -u alice:secret -H Origin:http://localhost
404 /nothing -u alice:secret
405 /metrics -u alice:secret -X POST
END
matches "a 401 response names the scheme" "$(get /metrics -D - -o /dev/null)" 'WWW-Authenticate: Basic realm='
equals "a 401 response below /api/ is JSON" "$(get /api/v1/status | jq -r .status)" 401
for path in /metrics /-/healthy /nothing; do
    for options in "-u alice:secret" ""; do
        # shellcheck disable=SC2086 # options are words
        equals "the configured header is in each response: $path $options" \
            "$(get "$path" $options -D - -o /dev/null | grep -ci '^X-Frame-Options: deny')" 1
    done
done

# --- root and the daemon's own user, on a unix socket

# status_on_socket [CURL-OPTIONS...]: prints the status of a request over the unix socket.
status_on_socket() {
    "${as[@]}" curl -sS -o /dev/null -w '%{http_code}' --unix-socket "$socket" "$@"
}
as=()
equals "the daemon's own user needs no password on the unix socket" "$(status_on_socket http://localhost/metrics)" 200
equals "the daemon's own user may reload" "$(status_on_socket -X POST http://localhost/-/reload)" 200
equals "a request forwarded by a proxy needs the password" \
    "$(status_on_socket http://localhost/metrics -H 'X-Forwarded-For: 192.0.2.1')" 401
equals "a request with a foreign Host needs the password" "$(status_on_socket http://board.example/metrics)" 401
equals "over loopback, root needs the password" "$(status_of /metrics)" 401
holds "top reads from the unix socket" "$PERFCOUNTD" top --url="unix:$socket" --count=1 --interval=100ms
"$PERFCOUNTD" top --url="$url" --count=1 >"$scratch/top" 2>&1
contains "over loopback, top says how to connect" "$(cat "$scratch/top")" 'use its unix socket, as root'
if [ "$(id -u)" = 0 ]; then
    chmod 711 "$scratch"
    as=(setpriv --reuid=12345 --regid=0 --clear-groups)
    equals "a member of the socket's group needs the password" "$(status_on_socket http://localhost/metrics)" 401
    equals "a member of the socket's group is let in with the password" \
        "$(status_on_socket -u bob:secret http://localhost/metrics)" 200
    install -m 755 "$PERFCOUNTD" "$scratch/perfcountd"
    for command in "top --count=1" "stat --last=1m" "record --seconds=1 -o /tmp/never.svg"; do
        # shellcheck disable=SC2086 # words
        "${as[@]}" "$scratch/perfcountd" $command --url="unix:$socket" >"$scratch/said" 2>&1
        contains "$command says how to get access" "$(cat "$scratch/said")" 'run this as root'
    done
else
    left_out "root, to become a member of the socket's group"
fi

# --- clients on another machine: an address other than loopback, in a network namespace

cat >"$scratch/remote.sh" <<'END'
ip link set lo up && ip address add 192.0.2.1/24 dev lo
"$1" --config.file="$4" --web.listen-address=192.0.2.1:10298 ${2:+--web.config.file="$2"} >"$3" 2>&1 &
until curl -s -o /dev/null http://192.0.2.1:10298/ || ! kill -0 $!; do sleep 0.1; done
for options in "" "-u bob:secret" "-u bob:wrong"; do
    curl -s -o /dev/null -w '%{http_code} ' -X POST $options http://192.0.2.1:10298/-/reload
done
kill $!
wait
END
# remote WEB-CONFIG: prints the status codes of a reload without a password, with the right one and with a wrong one.
remote() {
    unshare -rn bash "$scratch/remote.sh" "$PERFCOUNTD" "$1" "$scratch/remote.log" "$light"
}
if unshare -rn true 2>/dev/null; then
    equals "without users, no other machine may reload" "$(remote "")" "403 403 403 "
    equals "with users, a client with the password may reload" "$(remote "$web")" "401 200 401 "
else
    left_out "a network namespace, for a client on another machine"
fi

# --- a hash that takes minutes to check

first=("$daemon_pid" "$daemon_log" "$url")
slow=$scratch/slow.yml
cp "$web" "$slow"
start_daemon --config.file="$light" --web.config.file="$slow"
password_of_alice "${secret/10/20}" "$slow"
kill -HUP "$daemon_pid"
holds "the slow hash is accepted with a warning" eventually 60 log_has 'bcrypt cost of "alice" is 20: '
begin=$SECONDS
yes "$url/-/reload" | head -n 150 | xargs curl -s -X POST -u bob:secret >"$scratch/reloads"
equals "150 reloads succeed" "$(grep -o reloaded "$scratch/reloads" | wc -l)" 150
equals "the warning is logged once" "$(grep -c 'bcrypt cost' "$daemon_log")" 1
# After the first hundred, a message is logged only once a minute.
compares "repeated requests do not flood the log" \
    "$(grep -c 'configuration reloaded' "$daemon_log") <= 102 + ($SECONDS - $begin) / 60"
stop_daemon
equals "the daemon exits cleanly afterwards" "$daemon_status" 0

# --- a password is checked once

daemon_pid=${first[0]} daemon_log=${first[1]} url=${first[2]}
threads() {
    local tasks=("/proc/$pid/task/"*)
    [ "${#tasks[@]}" = "$1" ]
}
holds "the thread that checks passwords ends when it is idle" eventually 60 threads 1
for _ in 1 2 3 4 5; do get /metrics -u alice:secret -o /dev/null; done
holds "a known password is not checked again" threads 1
tries=0
unknown_is_checked() {
    tries=$((tries + 1)) # a wrong password is remembered as well
    get /metrics -u "alice:unknown$tries" -o /dev/null
    threads 2 # for ten seconds
}
holds "an unknown password is checked" eventually 60 unknown_is_checked

# --- the password file changes

password_of_alice "$other"
new_password_holds() {
    [ "$(status_of /metrics -u alice:other)" = 200 ]
}
holds "a changed file takes effect without a reload" eventually 60 new_password_holds
equals "the old password is rejected" "$(status_of /metrics -u alice:secret)" 401
printf 'rate_limit: {interval: 1h, burst: 2}\n' >>"$web"
limit_holds() {
    [ "$(status_of /-/healthy)" = 429 ]
}
holds "the rate limit takes effect" eventually 60 limit_holds
matches "a 429 response says when to retry" "$(get /metrics -u alice:other -D - -o /dev/null)" 'Retry-After: 3[0-9]{3}'
equals "a 429 response has the configured header" \
    "$(get /metrics -D - -o /dev/null | grep -ci '^X-Frame-Options: deny')" 1
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
finish
