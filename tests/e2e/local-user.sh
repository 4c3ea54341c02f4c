#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The rights of users of the machine other than the daemon's, by loopback and by a unix socket: they read, and they
# neither sample nor pause nor reload until the configuration or the socket's group says so.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl jq setpriv
[ "$(id -u)" -eq 0 ] || skip "root, to play other users"
chmod 755 "$scratch"

# Numbers that no account has.
stranger=54001
own=54002
group=54003
config=$scratch/perfcountd.yaml
socket=$scratch/run/http.sock

# as UID GROUPS COMMAND...: with these supplementary groups; "" for none.
as() {
    if [ -n "$2" ]; then
        setpriv --reuid="$1" --regid="$1" --groups="$2" --inh-caps=-all "${@:3}"
    else
        setpriv --reuid="$1" --regid="$1" --clear-groups --inh-caps=-all "${@:3}"
    fi
}
# ask UID GROUPS tcp|unix PATH [CURL-OPTIONS...]: the status code; the body is in $scratch/body.
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

# answers EXPECTED UID GROUPS tcp|unix TITLE: of each line of the standard input.
answers() {
    local method path status
    while read -r method path; do
        status=$(ask "$2" "$3" "$4" "$path" -X "$method")
        equals "$5: $method $path" "$status" "$1"
        [ "$1" = 200 ] || matches "with what to do" "$(<"$scratch/body")" \
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
# configure WEB SAMPLER: what is added to both.
configure() {
    cat >"$config" <<END
web: {min_interval: 0s$1}
sampler: {enabled: true, event: cpu-clock, frequency: 50$2}
END
}

# --- as it comes

# A file takes the group of a directory of this mode.
mkdir "$scratch/run"
chgrp $group "$scratch/run"
chmod 2755 "$scratch/run"
configure "" ""
start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 --web.listen-address="unix:$socket"
idle=$(perf_fds)
equals "the socket is the group's" "$(stat -c '%a %g' "$socket")" "660 $group"
equals "everybody reads" "$(ask $stranger "" tcp /metrics) $(ask $stranger "" tcp /api/v1/pause)" "200 200"
answers 403 $stranger "" tcp "a stranger by loopback" <<<"$streams"$'\n'"$changes"
answers 403 0 "" tcp "root by loopback, which may be anybody" <<<"$streams"$'\n'"$changes"
equals "the unix socket is not for a stranger" "$(ask $stranger "" unix /metrics)" 000
chmod 666 "$socket"
equals "where its mode lets a stranger in, it reads" "$(ask $stranger "" unix /metrics)" 200
answers 403 $stranger "" unix "a stranger by the unix socket" <<<"$streams"$'\n'"$changes"
answers 403 $stranger 4,27 unix "and one of other groups" <<<"$changes"
chgrp 27 "$socket"
answers 403 $stranger 27 unix "the group counts that it had when it was bound" <<<"$changes"
holds "nothing has happened" is_unchanged
answers 200 $stranger 4,$group,27 unix "a member of that group" <<<"$streams"$'\n'"$changes"
answers 200 $group "" unix "one whose first group it is" <<<"$changes"
answers 200 0 "" unix "root by the unix socket" <<<"$streams"$'\n'"$changes"
equals "but not for a page" "$(ask 0 "" unix /-/reload -X POST -H 'Origin: http://evil.test')" 403
equals "nor for a proxy's client" "$(ask 0 "" unix /-/reload -X POST -H 'X-Forwarded-For: 192.0.2.1')" 403

# --- as configured

configure "" ", allow: local"
reload
answers 200 $stranger "" tcp "allow: local, a stranger by loopback" <<<"$streams"
answers 403 $stranger "" tcp "which lets it operate nothing" <<<"$changes"
short='/api/v1/samples?seconds=0.1'
equals "not by a name that may be another's" "$(ask $stranger "" tcp "$short" -H 'Host: printer')" 403
equals "nor through a proxy" "$(ask $stranger "" tcp "$short" -H 'Via: 1.1 proxy')" 403
configure ", local_operators: true" ""
reload
answers 200 $stranger "" tcp "local_operators, a stranger by loopback" <<<"$streams"$'\n'"$changes"
answers 200 $stranger "" unix "and by the unix socket" <<<"$changes"
for host in printer evil.test "$(hostname).evil.test" 127.0.0.1.evil.test; do
    equals "not by a name that may be another's: $host" \
        "$(ask $stranger "" tcp /-/reload -X POST -H "Host: $host:1")" 403
done
for host in localhost a.localhost "$(hostname)" "$(hostname -s)." 192.0.2.1 '[::1]'; do
    equals "but by this machine's: $host" "$(ask $stranger "" tcp /-/reload -X POST -H "Host: $host:1")" 200
done
configure ", local_operators: true, hosts: [printer]" ""
reload
equals "and by one that is configured" "$(ask $stranger "" tcp /-/reload -X POST -H "Host: Printer:1")" 200

# A stream that is not allowed any more ends.
ask $stranger "" tcp '/api/v1/samples?seconds=80' >/dev/null &
stream=$!
holds "a stream runs" eventually 60 not fds_are "$idle"
configure "" ""
reload
wait $stream
equals "a stream that the configuration no longer allows ends" "$(tail -n 1 "$scratch/body" | jq -r .reason)" reload

configure "" ", allow_remote: true"
reload
answers 200 $stranger "" tcp "allow_remote" <<<"$streams"
equals "is for everybody" "$(ask $stranger "" tcp "$short" -H 'Via: 1.1 proxy')" 200
equals "but pages" "$(ask $stranger "" tcp "$short" -H 'Origin: null')" 403
equals "the log warns, once" "$(grep -c "$config:2:.*allow_remote is deprecated.*allow: everybody" "$daemon_log")" 1
equals "check-config takes it" "$("$PERFCOUNTD" check-config "$config" 2>"$scratch/warning")" "$config: ok"
matches "and warns as well" "$(<"$scratch/warning")" "^$config:2:[0-9]+: warning: sampler.allow_remote is deprecated"
stop_daemon
equals "it ends well" "$daemon_status" 0

# --- a daemon that is somebody's own

chown $own:$own "$scratch/run"
configure "" ""
wrapper=(setpriv "--reuid=$own" "--regid=$own" --clear-groups --inh-caps=-all)
start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 --web.listen-address="unix:$socket"
wrapper=()
chmod 666 "$socket"
answers 200 $own "" unix "the daemon's user by the unix socket" <<<"$changes"
answers 200 0 "" unix "root by it" <<<"$changes"
answers 403 $own "" tcp "the daemon's user by loopback" <<<"$changes"
answers 403 $stranger "" unix "a stranger by the unix socket" <<<"$changes"
stop_daemon

# Nobody's are the processes of strangers.
chown 65534:65534 "$scratch/run"
wrapper=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 --web.listen-address="unix:$socket"
wrapper=()
answers 403 65534 "" unix "nobody, of nobody's daemon" <<<"$changes"
answers 200 0 "" unix "root" <<<"$changes"
stop_daemon
finish
