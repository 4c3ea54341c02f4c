#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the rights of local users other than the daemon's, over loopback and over a unix socket: they may read, but may
# sample, pause or reload only if the configuration or the socket's group permits it.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl jq setpriv
[ "$(id -u)" -eq 0 ] || skip "root, to run as other users"
chmod 755 "$scratch"

# User and group ids that are not in use.
stranger=54001
own=54002
group=54003
config=$scratch/perfcountd.yaml
socket=$scratch/run/http.sock

# as UID GROUPS COMMAND...: runs the command with these supplementary groups; "" for none.
as() {
    if [ -n "$2" ]; then
        setpriv --reuid="$1" --regid="$1" --groups="$2" --inh-caps=-all "${@:3}"
    else
        setpriv --reuid="$1" --regid="$1" --clear-groups --inh-caps=-all "${@:3}"
    fi
}
# ask UID GROUPS tcp|unix PATH [CURL-OPTIONS...]: prints the status code; the body is in $scratch/body.
ask() {
    local way=("$url$4")
    [ "$3" = tcp ] || way=(--unix-socket "$socket" "http://localhost$4")
    as "$1" "$2" curl -sS --max-time 90 -w '%{http_code}' -o - "${@:5}" "${way[@]}" 2>/dev/null >"$scratch/answer"
    tail -c 3 "$scratch/answer"
    head -c -3 "$scratch/answer" >"$scratch/body"
}
# Requests that start or change something: METHOD PATH.
streams='GET /api/v1/samples?seconds=0.2
GET /api/v1/perf.data?seconds=0.2
GET /api/v1/folded?seconds=0.2
GET /debug/pprof/profile?seconds=0.2'
changes='POST /api/v1/pause?seconds=2
DELETE /api/v1/pause
POST /api/v1/resume
POST /-/reload'

# answers EXPECTED UID GROUPS tcp|unix TITLE: checks the status of each request on standard input.
answers() {
    local method path status
    while read -r method path; do
        status=$(ask "$2" "$3" "$4" "$path" -X "$method")
        equals "$5: $method $path" "$status" "$1"
        [ "$1" = 200 ] || matches "the response says how to become an operator" "$(<"$scratch/body")" \
            'curl --unix-socket.*(web[.]local_operators|sampler[.]allow)|(web[.]local_operators|sampler[.]allow)'
    done
}
is_unchanged() {
    [ "$(get /api/v1/pause | jq -c .paused)" = false ] && ! grep -q 'configuration reloaded\|is paused' "$daemon_log" &&
        [ "$(perf_fds)" -le "$idle" ]
}
reload() {
    local before
    before=$(grep -c 'configuration reloaded' "$daemon_log")
    kill -HUP "$daemon_pid"
    eventually 60 reloaded_since "$before"
}
reloaded_since() {
    [ "$(grep -c 'configuration reloaded' "$daemon_log")" -gt "$1" ]
}
# configure WEB SAMPLER: writes a configuration with these additions to the sections web and sampler.
configure() {
    cat >"$config" <<END
web: {min_interval: 0s$1}
sampler: {enabled: true, event: cpu-clock, frequency: 50$2}
collectors: {cgroup: {enabled: false}} # its descriptors depend on the cgroups of the machine
END
}

# --- default configuration

# A file created in a setgid directory gets the directory's group.
mkdir "$scratch/run"
chgrp $group "$scratch/run"
chmod 2755 "$scratch/run"
configure "" ""
start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 --web.listen-address="unix:$socket"
idle=$(perf_fds)
equals "the socket belongs to the group" "$(stat -c '%a %g' "$socket")" "660 $group"
equals "everybody may read" "$(ask $stranger "" tcp /metrics) $(ask $stranger "" tcp /api/v1/pause)" "200 200"
answers 403 $stranger "" tcp "another user over loopback" <<<"$streams"$'\n'"$changes"
answers 403 0 "" tcp "root over loopback, where users cannot be told apart" <<<"$streams"$'\n'"$changes"
equals "another user may not connect to the unix socket" "$(ask $stranger "" unix /metrics)" 000
chmod 666 "$socket"
equals "another user may read if the socket's mode permits it" "$(ask $stranger "" unix /metrics)" 200
answers 403 $stranger "" unix "another user over the unix socket" <<<"$streams"$'\n'"$changes"
answers 403 $stranger 4,27 unix "a member of other groups over the unix socket" <<<"$changes"
chgrp 27 "$socket"
answers 403 $stranger 27 unix "a member of the group that the socket was given later" <<<"$changes"
holds "none of these requests had an effect" is_unchanged
answers 200 $stranger 4,$group,27 unix "a member of the socket's group" <<<"$streams"$'\n'"$changes"
answers 200 $group "" unix "a user whose primary group is the socket's" <<<"$changes"
answers 200 0 "" unix "root over the unix socket" <<<"$streams"$'\n'"$changes"
equals "root's request from a web page is rejected" \
    "$(ask 0 "" unix /-/reload -X POST -H 'Origin: http://evil.test')" 403
equals "root's request through a proxy is rejected" \
    "$(ask 0 "" unix /-/reload -X POST -H 'X-Forwarded-For: 192.0.2.1')" 403

# --- other configurations

configure "" ", allow: local"
reload
answers 200 $stranger "" tcp "allow: local, another user over loopback" <<<"$streams"
answers 403 $stranger "" tcp "allow: local does not permit operations" <<<"$changes"
short='/api/v1/samples?seconds=0.1'
equals "a request whose Host may name another machine is rejected" \
    "$(ask $stranger "" tcp "$short" -H 'Host: printer')" 403
equals "a request through a proxy is rejected" "$(ask $stranger "" tcp "$short" -H 'Via: 1.1 proxy')" 403
configure ", local_operators: true" ""
reload
answers 200 $stranger "" tcp "local_operators, another user over loopback" <<<"$streams"$'\n'"$changes"
answers 200 $stranger "" unix "local_operators, another user over the unix socket" <<<"$changes"
for host in printer evil.test "$(hostname).evil.test" 127.0.0.1.evil.test; do
    equals "a request whose Host may name another machine is rejected: $host" \
        "$(ask $stranger "" tcp /-/reload -X POST -H "Host: $host:1")" 403
done
for host in localhost a.localhost "$(hostname)" "$(hostname -s)." 192.0.2.1 '[::1]'; do
    equals "a request whose Host names this machine is accepted: $host" \
        "$(ask $stranger "" tcp /-/reload -X POST -H "Host: $host:1")" 200
done
configure ", local_operators: true, hosts: [printer]" ""
reload
equals "a request whose Host is configured is accepted" \
    "$(ask $stranger "" tcp /-/reload -X POST -H "Host: Printer:1")" 200

# A running stream ends when it is no longer allowed.
ask $stranger "" tcp '/api/v1/samples?seconds=80' >/dev/null &
stream=$!
holds "a stream is running" eventually 60 not fds_are "$idle"
configure "" ""
reload
wait $stream
equals "a stream that the configuration no longer allows ends" "$(tail -n 1 "$scratch/body" | jq -r .reason)" reload

configure "" ", allow_remote: true"
reload
answers 200 $stranger "" tcp "allow_remote" <<<"$streams"
equals "allow_remote permits remote clients" "$(ask $stranger "" tcp "$short" -H 'Via: 1.1 proxy')" 200
equals "allow_remote does not permit web pages" "$(ask $stranger "" tcp "$short" -H 'Origin: null')" 403
equals "allow_remote: the log warns once" \
    "$(grep -c "$config:2:.*allow_remote is deprecated.*allow: everybody" "$daemon_log")" 1
equals "allow_remote: check-config accepts the file" \
    "$("$PERFCOUNTD" check-config "$config" 2>"$scratch/warning")" "$config: ok"
matches "allow_remote: check-config warns" \
    "$(<"$scratch/warning")" "^$config:2:[0-9]+: warning: sampler.allow_remote is deprecated"
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0

# --- an ordinary user's daemon

chown $own:$own "$scratch/run"
configure "" ""
wrapper=(setpriv "--reuid=$own" "--regid=$own" --clear-groups --inh-caps=-all)
start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 --web.listen-address="unix:$socket"
wrapper=()
chmod 666 "$socket"
answers 200 $own "" unix "the daemon's user over the unix socket" <<<"$changes"
answers 200 0 "" unix "root over the unix socket of the daemon's user" <<<"$changes"
answers 403 $own "" tcp "the daemon's user over loopback" <<<"$changes"
answers 403 $stranger "" unix "another user over the unix socket" <<<"$changes"
stop_daemon

# Processes of unrelated services run as nobody, so a daemon that runs as nobody does not trust its own user.
chown 65534:65534 "$scratch/run"
wrapper=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 --web.listen-address="unix:$socket"
wrapper=()
answers 403 65534 "" unix "user nobody, of a daemon that runs as nobody" <<<"$changes"
answers 200 0 "" unix "root, of a daemon that runs as nobody" <<<"$changes"
stop_daemon
finish
