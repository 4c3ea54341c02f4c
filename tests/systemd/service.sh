#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the installed perfcountd.service and perfcountd.socket in a container with systemd.
#
# usage: service.sh [TEST...]      default: all tests
#
# PACKAGE is the path of a .deb to install; without it, `make install` in the binary's directory is tested.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need make openssl python3
# shellcheck source=../e2e/tls-lib.sh
. "$here/tls-lib.sh"
make_ca ca
make_certificate localhost ca server DNS:localhost

config=/etc/perfcountd/perfcountd.yaml
drop_ins=/run/systemd/system
score_max=2.0

# --- the installed files

install_built() {
    make -C "$(dirname "$PERFCOUNTD")" install DESTDIR="$scratch/installed" >"$scratch/install.log" 2>&1 ||
        { cat "$scratch/install.log"; exit 1; }
    # /lib is a link in the container and must stay one.
    tar -C "$scratch/installed" -c . | inside tar -C / --keep-directory-symlink --no-same-owner -x || exit 1
    inside systemd-sysusers
    inside systemctl daemon-reload
    inside journalctl --update-catalog
}

install_package() {
    inside sh -c 'cat >/run/perfcountd.deb' <"$PACKAGE"
    # Nothing is started on installation, since the test sets the address first.
    inside sh -c 'printf "#!/bin/sh\nexit 101\n" >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d'
    inside dpkg -i /run/perfcountd.deb >"$scratch/install.log" 2>&1 || { cat "$scratch/install.log"; exit 1; }
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# drop_in UNIT NAME: writes standard input to a drop-in below /run, which disappears with the container.
drop_in() {
    inside mkdir -p "$drop_ins/$1.d"
    inside_write "$drop_ins/$1.d/$2.conf"
    inside systemctl daemon-reload
}
no_drop_in() {
    inside rm "$drop_ins/$1.d/$2.conf"
    inside systemctl daemon-reload
}

write_config() {
    inside mkdir -p "$(dirname "$config")"
    inside_write "$config"
}
good_config='web: {min_interval: 0s}
collectors: {cgroup: {include: ["/system.slice/*.service"]}}'

# --- the state of the service

main_pid() {
    inside systemctl show -P MainPID perfcountd
}
status_text() {
    inside systemctl show -P StatusText perfcountd
}
is_active() {
    [ "$(inside systemctl is-active "${1-perfcountd}")" = active ]
}
# entries KIND FIELD: prints this field of all journal entries of this kind. They are not filtered by unit, since
# journald does not know the unit of a process that ended before its first message was processed.
entries() {
    inside journalctl --sync
    inside journalctl --no-pager -o json "PERFCOUNTD_KIND=$1" |
        jq -r --arg field "$2" '.[$field]'
}
has_entry() {
    [ -n "$(entries "$1" MESSAGE)" ]
}
# status_field PID FIELD: prints a field of /proc/PID/status in the container.
status_field() {
    # shellcheck disable=SC2016 # awk expands it
    inside awk -v field="$2:" '$1 == field { print $2 }' "/proc/$1/status"
}
# operate PATH [CURL-OPTIONS...]: sends a request as root over the service's unix socket, and prints the body.
operate() {
    curl -sS --globoff --max-time 90 --unix-socket "/proc/$leader/root/run/perfcountd.sock" "${@:2}" \
        "http://localhost$1"
}
# as USER GROUPS METHOD PATH: sends a request over the unix socket as this user of the container, with these
# supplementary groups, and prints the status code, or "none" if the user may not connect. The container has no curl.
as() {
    # shellcheck disable=SC2016 # perl expands it
    inside setpriv --reuid="$1" --regid="$1" --groups="$2" perl -MIO::Socket::UNIX -e '
        my $socket = IO::Socket::UNIX->new(Peer => "/run/perfcountd.sock") or print("none"), exit;
        print $socket "$ARGV[0] $ARGV[1] HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        print((split " ", <$socket>)[1])' "$3" "$4"
}
start() {
    if ! inside systemctl start perfcountd; then
        fail "perfcountd.service starts" "$(inside systemctl status --no-pager perfcountd)"
        finish
    fi
}

# --- the installed service

test_start() {
    local pid
    write_config <<<"$good_config"
    start
    pid=$(main_pid)
    equals "the service is active once it is ready" "$(inside systemctl is-active perfcountd)" active
    equals "the service answers requests" "$(status_of /-/ready)" 200
    equals "the sandboxed service can read the idle time of each CPU" \
        "$(get /api/v1/status | jq '.machine.cpu_idle_seconds | length')" "$(inside nproc --all)"
    matches "systemctl status shows what is counted" \
        "$(status_text)" '^counting [0-9]+ groups on [0-9]+ CPUs and [0-9]+ cgroups'
    equals "the process runs as the user perfcountd" "$(inside ps -o user= -p "$pid")" perfcountd
    equals "the process has NoNewPrivs" "$(status_field "$pid" NoNewPrivs)" 1
    equals "the process has a system call filter" "$(status_field "$pid" Seccomp)" 2
    equals "the process is in a private network namespace" \
        "$(inside nsenter --target "$pid" --net ls /sys/class/net 2>/dev/null |
        wc -w; inside readlink "/proc/$pid/ns/net" | grep -cx "$(inside readlink /proc/1/ns/net)")" \
        "$(inside ls /sys/class/net | wc -w)"$'\n0'
    equals "LimitNOFILE is 524288" "$(inside systemctl show -P LimitNOFILE perfcountd)" 524288
    equals "the journal entry about missing events has its MESSAGE_ID" \
        "$(entries events-unavailable MESSAGE_ID | sort -u)" 0982c9f38683418b9c0e27eea3f6f746
    equals "the journal entry about missing events names the collector" \
        "$(entries events-unavailable PERFCOUNTD_COLLECTOR | head -n 1)" cpu
    matches "the journal catalog explains the entry about missing events" \
        "$(inside journalctl --no-pager -x PERFCOUNTD_KIND=events-unavailable)" \
        'Subject: Some events cannot be counted here'
}

# restart_with TEXT: writes the text to /etc/default/perfcountd, and restarts the service.
restart_with() {
    echo "$1" | inside sh -c 'mkdir -p /etc/default && cat >/etc/default/perfcountd'
    inside systemctl restart perfcountd
}
command_line() {
    inside cat "/proc/$(main_pid)/cmdline" | tr '\0' ' '
}
test_arguments() {
    restart_with '# ARGS="--web.telemetry-path=/none"
ARGS="--web.telemetry-path=/counts  --log.level=warning"'
    equals "the service is started with the flags in /etc/default/perfcountd" "$(command_line | sed 's/^[^ ]* //')" \
        "--web.telemetry-path=/counts --log.level=warning "
    equals "flags in /etc/default/perfcountd take effect" "$(status_of /counts) $(status_of /metrics)" "200 404"
    drop_in perfcountd.service sampler <"$root/contrib/systemd/sampler.conf"
    inside rm /etc/default/perfcountd
    inside systemctl restart perfcountd
    equals "without /etc/default/perfcountd, the service has only the drop-in's flag" \
        "$(command_line | sed 's/^[^ ]* //')" "--sampler.enabled "
    equals "the drop-in enables the sampler" \
        "$(operate '/api/v1/folded?seconds=0.1' -o /dev/null -w '%{http_code}')" 200
    no_drop_in perfcountd.service sampler
    restart_with ''
    equals "with an empty /etc/default/perfcountd, the service has no flags" "$(command_line | grep -c ' -')" 0
    equals "without the drop-in, a request for samples is rejected" \
        "$(operate '/api/v1/folded?seconds=0.1' -o /dev/null -w '%{http_code}')" 403
    equals "the journal has no message about unset variables" \
        "$(inside journalctl --no-pager -o cat -u perfcountd | grep -c 'unset environment variable')" 0
}

test_tracepoints() {
    if ! inside test -d /sys/kernel/tracing/events/sched; then
        left_out "tracefs"
        return
    fi
    write_config <<<'collectors: {cpu: {groups: [{name: t, events: "sched:sched_switch"}]}}'
    inside systemctl reload perfcountd
    contains "a tracepoint that a reload adds cannot be counted, and the status says why" \
        "$(get /api/v1/status | jq -r '.failures[].message')" "did not have this event when perfcountd started"
    inside systemctl restart perfcountd
    holds "after a restart, the tracepoint is found in tracefs and counted" eventually 60 counts_tracepoint
    write_config <<<"$good_config"
    inside systemctl restart perfcountd
    holds "the service answers after the restart" eventually 60 serves
}
serves() {
    get /-/ready >/dev/null 2>&1
}
counts_tracepoint() {
    [ "$(get '/api/v1/counters?event=sched_sched_switch' | jq '[.counters[].value // 0] | add // 0')" -gt 0 ]
}

counting=$((1 << 39 | 1 << 38 | 1 << 2)) # CAP_BPF, CAP_PERFMON, CAP_DAC_READ_SEARCH
# CAP_SYS_ADMIN, if CAP_PERFMON does not suffice
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 3 ] || counting=$((counting | 1 << 21))
has_bits() {
    (((0x$1 & $2) == $2))
}
has_only() {
    (((0x$1 & ~$2) == 0))
}

# The privileges of the opener and of the listening process.
test_privileges() {
    local pid opener
    pid=$(main_pid)
    opener=$(inside pgrep -P "$pid" | head -n 1)
    holds "an opener is running" test -n "$opener"
    for field in CapInh CapPrm CapEff CapBnd CapAmb; do
        equals "the listening process has no capabilities in $field" "$(status_field "$pid" "$field")" 0000000000000000
    done
    holds "the opener has CAP_PERFMON" has_bits "$(status_field "$opener" CapEff)" $((1 << 38))
    for field in CapInh CapPrm CapEff CapBnd CapAmb; do
        holds "the opener has only the capabilities for counting in $field" \
            has_only "$(status_field "$opener" "$field")" "$counting"
    done
    equals "the opener has NoNewPrivs" "$(status_field "$opener" NoNewPrivs)" 1
    equals "the opener runs as the user perfcountd" "$(inside ps -o user= -p "$opener")" perfcountd
}

test_reload() {
    local pid
    pid=$(main_pid)
    write_config <<<"${good_config/service/slice}"
    inside mount --bind /dev/null /bin/kill
    holds "systemctl reload succeeds on a system without procps" inside systemctl reload perfcountd
    inside umount /bin/kill
    holds "a good configuration is logged" eventually 60 has_entry reloaded
    printf 'collectors: {cgroup: {max_cgroups: many}}\n' | write_config
    holds "systemctl reload with a bad configuration succeeds" inside systemctl reload perfcountd
    holds "the failed reload is in the journal" eventually 60 has_entry reload-failed
    equals "the entry about the failed reload has its MESSAGE_ID" \
        "$(entries reload-failed MESSAGE_ID | tail -n 1)" 8533ddab6c9748c38c1d3a244cba5765
    equals "the entry about the failed reload has priority 3" "$(entries reload-failed PRIORITY | tail -n 1)" 3
    equals "the entry about the failed reload names the file" \
        "$(entries reload-failed PERFCOUNTD_CONFIG_FILE | tail -n 1)" "$config"
    matches "systemctl status says that the reload failed" "$(status_text)" '^reload failed.*max_cgroups.*many'
    equals "after a failed reload, the same process is still active" \
        "$(inside systemctl is-active perfcountd) $(main_pid)" \
        "active $pid"
    equals "after a failed reload, the service still answers" "$(status_of /metrics)" 200
    write_config <<<"$good_config"
    inside systemctl reload perfcountd
    holds "after a successful reload, systemctl status shows what is counted" eventually 60 status_is_good
}
status_is_good() {
    [[ $(status_text) = counting* ]]
}

status_is_refused() {
    [[ $(status_text) = "cannot listen"*RestrictAddressFamilies* ]]
}

test_operators() {
    local group reload=/-/reload
    group=$(inside getent group perfcountd | cut -d: -f3)
    equals "the unix socket belongs to root and the group perfcountd" \
        "$(inside stat -c '%a %U:%G' /run/perfcountd.sock)" \
        "660 root:perfcountd"
    equals "root may reload over the unix socket" "$(operate "$reload" -X POST)" reloaded
    equals "a member of the group may reload over the unix socket" "$(as games "$group" POST "$reload")" 200
    equals "the daemon's user may reload over the unix socket" "$(as perfcountd "$group" POST "$reload")" 200
    equals "other users cannot connect to the unix socket" "$(as games 60 POST "$reload")" none
    equals "nobody may reload over loopback" "$(status_of "$reload" -X POST)" 403
    matches "the message about a rejected reload has the remedy" \
        "$(get "$reload" -X POST)" 'curl --unix-socket.*web.local_operators'
}

test_pause() {
    operate '/api/v1/pause?seconds=60' -X POST >"$scratch/pause"
    equals "a POST pauses counting" "$(jq .paused "$scratch/pause")" true
    matches "systemctl status says that counting is paused" "$(status_text)" '^paused for'
    equals "the pause is in the journal" "$(entries paused MESSAGE_ID | tail -n 1)" cdc2e8d759ce4478ba80796977e56bf4
    operate /api/v1/pause -X DELETE >/dev/null
    matches "after the pause, systemctl status shows what is counted" "$(status_text)" '^counting'
}

watchdog_time() {
    inside systemctl show -P WatchdogTimestampMonotonic perfcountd
}
is_notified_after() {
    [ "$(watchdog_time)" != "$1" ]
}
test_watchdog() {
    local pid last
    drop_in perfcountd.service watchdog <<<$'[Service]\nWatchdogSec=1s\nRestartSec=100ms'
    inside systemctl restart perfcountd
    pid=$(main_pid)
    for last in 1 2 3; do
        last=$(watchdog_time)
        holds "the daemon notifies the watchdog again" eventually 60 is_notified_after "$last"
    done
    equals "with WatchdogSec=1s, the service is not restarted" "$(inside systemctl show -P NRestarts perfcountd)" 0
    inside kill -STOP "$pid"
    holds "if the process is suspended (SIGSTOP), it is killed and the service is restarted" \
        eventually 60 is_another "$pid"
    holds "the restarted service is active" eventually 60 is_active
    equals "the restarted service still listens on its sockets" "$(status_of /-/ready)" 200
    equals "the watchdog has killed the suspended process" \
        "$(inside journalctl --no-pager -o cat -u perfcountd | grep -c 'Watchdog timeout')" 1
    no_drop_in perfcountd.service watchdog
}

# ProtectProc= hides the service's processes from each other, but metrics of each process are still served.
test_processes() {
    local opener
    start
    opener=$(opener_pid)
    holds "an opener is running" test -n "$opener"
    [ -n "$opener" ] || return
    equals "the opener's virtual memory is served" \
        "$(metric 'perfcountd_process_virtual_memory_bytes{process="opener"}')" \
        "$(awk '{ print $23 }' "/proc/$(outside "$opener")/stat")"
    write_config <<<"$good_config"$'\nsampler: {enabled: true, event: cpu-clock}'
    inside systemctl restart perfcountd
    operate '/api/v1/samples?seconds=1' >/dev/null
    holds "the symboliser's virtual memory is served" eventually 60 symboliser_is_known
    write_config <<<"$good_config"
    inside systemctl restart perfcountd
}
symboliser_is_known() {
    [ "$(metric 'perfcountd_process_virtual_memory_bytes{process="symboliser"}')" = \
        "$(awk '{ print $23 }' "/proc/$(outside "$(inside pgrep -P "$(main_pid)" -f symbolise)")/stat")" ]
}
metric() {
    get /metrics | awk -v series="$1" '$1 == series { print $2 }'
}
opener_pid() {
    local pid
    pid=$(main_pid)
    [ "$pid" = 0 ] || inside pgrep -P "$pid" -f perfcountd-opener
}
# outside PID: prints the host's PID of a process in the container.
outside() {
    grep -lE "^NSpid:.*[[:space:]]$1\$" /proc/[0-9]*/status 2>/dev/null | while IFS=/ read -r _ _ pid _; do
        [ "$(readlink "/proc/$pid/ns/pid")" != "$(readlink "/proc/$leader/ns/pid")" ] || echo "$pid"
    done
}

test_opener_end() {
    local pid opener restarts
    inside systemctl reset-failed perfcountd 2>/dev/null
    start
    pid=$(main_pid)
    opener=$(opener_pid)
    holds "an opener is running" test -n "$opener"
    [ -n "$opener" ] || return
    restarts=$(restarts)
    scrape_begin
    inside kill -KILL "$opener"
    holds "if its opener ends, the service is restarted" eventually 60 is_another "$pid"
    scrape_end
    equals "the service is restarted once" "$(restarts)" $((restarts + 1))
    equals "the restarted service's opener is running" "$(get /api/v1/status | jq -r .opener.state)" running
    matches "the journal says why the service ended" \
        "$(inside journalctl --no-pager -o cat -u perfcountd PERFCOUNTD_KIND=opener-lost)" \
        "process $opener was killed by signal 9 \(Killed\); perfcountd exits with status 1"
    equals "the process has ended with exit status 1" \
        "$(inside journalctl --no-pager -o cat -u perfcountd | grep -c 'Main process exited, code=exited, status=1')" 1
    ends_at_last
}
restarts() {
    inside systemctl show -P NRestarts perfcountd
}
# scrape_begin: starts clients that scrape continuously, with a new connection for each scrape. scrape_end: stops them,
# and checks that each scrape was answered, even while the service was restarting.
scrape_begin() {
    local i
    : >"$scratch/scraping"
    for i in 1 2 3; do
        while [ -e "$scratch/scraping" ]; do
            curl -sS --compressed --max-time 60 -o /dev/null -w '%{http_code}\n' "$url/metrics" 2>&1
        done >"$scratch/scrapes.$i" &
        scrapers[i]=$!
        children+=("$!")
    done
    for i in 1 2 3; do
        holds "client $i scrapes" eventually 60 has_scrapes "$i" 10
    done
}
scrape_end() {
    local i
    for i in 1 2 3; do
        holds "client $i still scrapes after the restart" \
            eventually 60 has_scrapes "$i" $(($(wc -l <"$scratch/scrapes.$i") + 10))
    done
    rm "$scratch/scraping"
    for i in 1 2 3; do
        wait "${scrapers[i]}"
        equals "client $i lost no scrape" "$(sort "$scratch/scrapes.$i" | uniq -c | grep -v ' 200$')" ""
    done
}
scrapers=()
has_scrapes() {
    [ "$(wc -l <"$scratch/scrapes.$1")" -ge "$2" ]
}
# If the opener is killed after each start, systemd gives up after StartLimitBurst= starts.
ends_at_last() {
    drop_in perfcountd.service limit \
        <<<$'[Unit]\nStartLimitIntervalSec=60s\nStartLimitBurst=3\n[Service]\nRestartSec=100ms'
    inside systemctl reset-failed perfcountd
    inside systemctl restart perfcountd
    holds "if every opener is killed, the service ends up in the failed state" eventually 60 has_failed
    equals "the journal says that the start limit was reached" "$(inside journalctl --no-pager -o cat -u perfcountd |
        grep -c 'Start request repeated too quickly')" 1
    no_drop_in perfcountd.service limit
    inside systemctl reset-failed perfcountd
    inside systemctl restart perfcountd.socket
    start
}
has_failed() {
    local opener
    opener=$(opener_pid)
    [ -z "$opener" ] || inside kill -KILL "$opener" 2>/dev/null
    [ "$(inside systemctl is-active perfcountd)" = failed ]
}
is_another() {
    local pid
    pid=$(main_pid)
    [ "$pid" != 0 ] && [ "$pid" != "$1" ] && is_active
}

# systemd refuses to start a socket while its service runs, so a restart of either unit must restart both.
test_restart() {
    local unit pid
    start
    for unit in perfcountd.socket perfcountd.service; do
        pid=$(main_pid)
        inside systemctl restart "$unit"
        holds "after a restart of $unit, a new daemon runs" eventually 60 is_another "$pid"
        equals "after a restart of $unit, the daemon serves on its socket" \
            "$(inside systemctl is-active perfcountd.socket) $(status_of /metrics)" \
            "active 200"
    done
}

# Socket activation with two TCP addresses and a unix socket: the service is started by the first request.
test_activation() {
    local second path=/run/perfcountd-test.sock
    inside systemctl stop perfcountd.socket
    equals "with the socket stopped, a scrape is not answered" "$(status_of /metrics 2>/dev/null)" 000
    second=$(free_port)
    drop_in perfcountd.socket 20-more <<<$'[Socket]\n'"ListenStream=127.0.0.1:$second"$'\n'"ListenStream=$path"
    write_config <<<"${good_config/\{min_interval/{listen: [\":1\"], min_interval}"
    inside systemctl start perfcountd.socket
    equals "starting the socket does not start the service" "$(inside systemctl is-active perfcountd)" inactive
    equals "the first request is served" "$(status_of /metrics)" 200
    equals "the first request starts the service" "$(inside systemctl is-active perfcountd)" active
    equals "the second address is served" \
        "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$second/metrics")" 200
    equals "the unix socket is served" \
        "$(curl -s -o /dev/null -w '%{http_code}' --unix-socket "/proc/$leader/root$path" http://x/metrics)" 200
    equals "root may reload over this unix socket" "$(curl -s -o /dev/null -w '%{http_code}' -X POST \
        --unix-socket "/proc/$leader/root$path" http://x/-/reload)" 200
    inside systemctl reload perfcountd
    equals "the log says once that web.listen is ignored" "$(entries addresses-ignored MESSAGE_ID)" \
        93d5513b2874491db9311f7e29609d12
    equals "after a reload, the first address is still served" "$(status_of /metrics)" 200
    write_config <<<"$good_config"
    no_drop_in perfcountd.socket 20-more
}

# As the manual says, without the socket unit the service listens on web.listen, provided that it has network access.
test_own_address() {
    inside systemctl stop perfcountd perfcountd.socket
    inside systemctl mask --runtime --quiet perfcountd.socket
    drop_in perfcountd.service network <<<$'[Service]\nPrivateNetwork=no\nRestrictAddressFamilies=AF_INET AF_INET6'
    write_config <<<"web: {listen: [\"127.0.0.1:$port\"]}"
    start
    equals "without the socket unit, the daemon listens on web.listen" "$(status_of /metrics)" 200
    inside systemctl stop perfcountd
    no_drop_in perfcountd.service network
    inside systemctl start perfcountd 2>/dev/null
    equals "without network access, the service does not start" "$(inside systemctl is-active perfcountd)" "$(
        inside systemctl is-active perfcountd | grep -E 'failed|activating')"
    equals "the journal says that the daemon cannot listen" \
        "$(entries listen-failed MESSAGE_ID | sort -u)" 5d8270c44ac14504a7cc112a1ca15064
    matches "the journal says how to let the daemon listen" "$(entries listen-failed MESSAGE)" 'RestrictAddressFamilies'
    holds "systemctl status says how to let the daemon listen" eventually 60 status_is_refused
    inside systemctl stop perfcountd
    inside systemctl reset-failed perfcountd 2>/dev/null
    inside systemctl unmask --runtime --quiet perfcountd.socket
    write_config <<<"$good_config"
}

# samples: writes samples of three seconds to $scratch/samples. Another user's program is already running.
samples() {
    write_config <<<"$good_config"$'\nsampler: {enabled: true, event: cpu-clock, frequency: 500}'
    inside systemctl restart perfcountd
    equals "a request for samples over loopback is rejected" "$(status_of '/api/v1/samples?seconds=1')" 403
    operate "/api/v1/folded?seconds=1" >/dev/null # returns once the symbol tables are loaded
    operate "/api/v1/samples?seconds=3" >"$scratch/samples"
}
count_samples() {
    jq -r "select(.type == \"sample\" and ($1)) | .symbol" "$scratch/samples" | wc -l
}
note() {
    jq -r 'select(.type == "header") | .notes | join(" ")' "$scratch/samples"
}
test_sampler() {
    local pid opener
    inside systemd-run --quiet --unit=hot -p User=games /usr/local/bin/hot 600
    samples
    compares "the unmodified unit can sample" "$(count_samples true) > 0"
    contains "a note says why kernel symbols are missing" "$(note)" "/proc/kallsyms"
    equals "the stream ends after the requested time" "$(tail -n 1 "$scratch/samples" | jq -r .reason)" seconds

    drop_in perfcountd.service sampler <"$root/contrib/systemd/sampler.conf"
    samples
    pid=$(main_pid)
    opener=$(inside pgrep -P "$pid" -f perfcountd-opener)
    compares "with sampler.conf, samples have the name of another user's program" \
        "$(count_samples '.comm == "hot"') > 0"
    compares "with sampler.conf, samples have that program's symbols" \
        "$(count_samples '.comm == "hot" and (.symbol | test("^hot_"))') > \
        $(count_samples '.comm == "hot"') * 0.5"
    if kernel_is_shown; then
        compares "with sampler.conf, samples have kernel symbols" \
            "$(count_samples '.module == "[kernel.kallsyms]" and .symbol != "[unknown]"') > 0"
        equals "with sampler.conf, no note says that symbols are missing" "$(note)" ""
    fi
    equals "pid= selects the program's samples" \
        "$(operate "/api/v1/samples?max=20&seconds=10&pid=$(inside systemctl show -P MainPID hot)" |
            jq -r 'select(.type == "sample") | .comm' | sort -u)" hot
    for field in CapInh CapPrm CapEff CapBnd CapAmb; do
        equals "the listening process has no capabilities in $field" "$(status_field "$pid" "$field")" 0000000000000000
    done
    holds "the opener has CAP_SYS_PTRACE, CAP_SYSLOG and CAP_CHECKPOINT_RESTORE" \
        has_bits "$(status_field "$opener" CapEff)" $((1 << 19 | 1 << 34 | 1 << 40))
    holds "the opener has only the capabilities for counting and sampling" has_only "$(status_field "$opener" CapBnd)" \
        $((counting | 1 << 19 | 1 << 34 | 1 << 40))
    equals "the listening process cannot see process 1" \
        "$(inside nsenter --target "$pid" --mount setpriv --reuid="$(status_field "$pid" Uid)" \
            --regid="$(status_field "$pid" Gid)" --clear-groups \
            --bounding-set=-all cat /proc/1/status 2>/dev/null | wc -l)" 0
    no_drop_in perfcountd.service sampler
    inside systemctl stop hot
    write_config <<<"$good_config"
    inside systemctl restart perfcountd
}
kernel_is_shown() {
    grep -q -m 1 '^0*[1-9a-f][0-9a-f]* T _text$' /proc/kallsyms
}

# The units in contrib/fleet/profiles are installed as described in doc/fleet.md, but the timer fires after a second.
arrived() {
    jq -e . "$scratch/ingest/request" >/dev/null 2>&1
}
test_push_profile() {
    local directory=$root/contrib/fleet/profiles
    mkdir "$scratch/ingest"
    "$root/tests/contrib/ingest.py" "$scratch/ingest" &
    children+=($!)
    eventually 60 test -s "$scratch/ingest/port"
    write_config <<<"$good_config"$'\nsampler: {enabled: true}'
    inside systemctl restart perfcountd
    inside_write /usr/local/bin/push-profile <"$directory/push-profile"
    inside chmod 755 /usr/local/bin/push-profile
    for unit in service timer; do
        inside_write "/etc/systemd/system/perfcountd-profiles.$unit" <"$directory/perfcountd-profiles.$unit"
    done
    sed "s|^PYROSCOPE_URL=.*|PYROSCOPE_URL=http://127.0.0.1:$(cat "$scratch/ingest/port")|
        s|^#PROFILE_QUERY=.*|PROFILE_QUERY=seconds=1\&event=cpu-clock|; s|^#\(PROFILE_LABELS=\)|\1|" \
        "$directory/perfcountd-profiles.env" | inside_write /etc/default/perfcountd-profiles
    drop_in perfcountd-profiles.timer now \
        <<<$'[Timer]\nOnBootSec=\nOnUnitActiveSec=\nOnActiveSec=1s\nRandomizedDelaySec=0\nAccuracySec=1s'
    equals "systemd-analyze verify accepts perfcountd-profiles" "$(inside systemd-analyze --no-pager --man=no verify \
        perfcountd-profiles.service perfcountd-profiles.timer 2>&1)" ""
    inside systemctl start perfcountd-profiles.timer
    holds "the timer sends a profile" eventually 60 arrived
    equals "the profile is labelled with the board's name" "$(jq -r .query.name "$scratch/ingest/request")" \
        "perfcountd{instance=$(inside uname -n),site=field,model=opi5}"
    : >"$scratch/ingest/refuse"
    holds "the service fails if the server refuses the profile" not inside systemctl start perfcountd-profiles.service
    matches "the journal says why the profile was refused" \
        "$(inside journalctl --no-pager -o cat -u perfcountd-profiles)" 'error: 500'
    inside systemctl stop perfcountd-profiles.timer
    inside systemctl reset-failed perfcountd-profiles.service
    no_drop_in perfcountd-profiles.timer now
    write_config <<<"$good_config"
    inside systemctl restart perfcountd
}

# An impostor (tests/impostor/) takes the daemon's place in the unit, and passes its descriptors to an accomplice, a
# process of another user.
test_impostor() {
    holds "tests/impostor/impostor was built" inside test -x /usr/local/bin/impostor
    # The impostor exits by itself, and its exit status is the service's.
    drop_in perfcountd.service impostor <<'END'
[Service]
Type=oneshot
Restart=no
WatchdogSec=0
Environment=IMPOSTOR_ACCOMPLICE=/run/accomplice/socket
ExecStart=
ExecStart=/usr/local/bin/impostor
END
    impostor_as_service "an impostor in the unit" "$good_config"
    if inside test -e /sys/kernel/btf/vmlinux; then
        attempted "cgroup counts cannot be overwritten" \
            "counts of cgroups \(bpf\): mmap of the page: got EPERM"
        attempted "BPF records contain no kernel address" \
            "BPF engine's records: a kernel address: got done"
    else
        left_out "BTF, for the BPF engine"
    fi
    drop_in perfcountd.service sampler <"$root/contrib/systemd/sampler.conf"
    impostor_as_service "an impostor in the unit, with sampler.conf, tracepoints and samples" "$impostor_config"
    attempted "a clock event can be opened for sampling" "samples of cpu-clock \(sampler\): ENABLE: got done"
    if inside test -e /sys/kernel/tracing/events/sched; then
        attempted "tracepoints are sealed" "sched:sched_switch \(tracepoint\): SET_FILTER of texts: got EEXIST"
    fi
    no_drop_in perfcountd.service sampler
    no_drop_in perfcountd.service impostor
    inside systemctl reset-failed perfcountd 2>/dev/null
    write_config <<<"$good_config"
}
impostor_config='collectors:
  cpu:
    groups:
      - {name: software, events: "{context-switches,minor-faults}"}
      - {name: switches, events: "sched:sched_switch"}
sampler: {enabled: true, event: cpu-clock, tracepoints: ["sched:sched_process_fork"]}'
# impostor_as_service TITLE CONFIGURATION: runs the impostor as the service, and leaves its output in $scratch/attempts.
impostor_as_service() {
    write_config <<<"$2"
    inside systemctl stop perfcountd accomplice 2>/dev/null
    inside systemd-run --quiet --unit=accomplice -p User=games -p RuntimeDirectory=accomplice \
        /usr/local/bin/impostor --accomplice /run/accomplice/socket
    holds "the accomplice listens" eventually 60 inside test -S /run/accomplice/socket
    inside systemctl start perfcountd
    inside journalctl --sync
    log_of_service >"$scratch/attempts"
    equals "$1: $(grep 'attempts had' "$scratch/attempts")" \
        "$(inside systemctl show -P ExecMainStatus perfcountd)$(grep '^FAIL ' "$scratch/attempts")" 0
    attempted "the accomplice tried the descriptors" "\(counter\): read: got done"
}
# attempted TITLE REGEX: checks that the last impostor made an attempt whose line matches this, and did not skip it.
attempted() {
    holds "$1" grep -qE "^ok   .*($2)" "$scratch/attempts"
}

test_stop() {
    start
    stop_service
    equals "the service stops without a failure" "$(inside systemctl is-failed perfcountd)" inactive
    equals "the stopped service leaves no /run/perfcountd" "$(inside ls -d /run/perfcountd 2>/dev/null)" ""
    equals "the next scrape starts the service again" "$(status_of /metrics)" 200
    inside systemctl stop perfcountd.socket
    equals "stopping the socket stops the service" "$(inside systemctl is-failed perfcountd)" inactive
    equals "with the socket stopped, nothing listens" "$(status_of /metrics 2>/dev/null)" 000
    equals "stopping the socket unit removes the unix socket" "$(inside ls /run/perfcountd.sock 2>/dev/null)" ""
}

# set_up FLAGS...: runs `perfcountd setup` as if alice used sudo. Sets out and password.
set_up() {
    out=$(inside env SUDO_USER=alice perfcountd setup "$@" 2>&1)
    equals "setup $*: exit status" $? 0
    password=$(sed -n 's/^ *password: //p' <<<"$out")
}
# record_by COMMAND...: runs `perfcountd record` through the command, and prints its exit status and output.
record_by() {
    local said
    said=$(inside "$@" perfcountd record --url=unix:/run/perfcountd.sock --seconds=1 -o /tmp/a.svg 2>&1)
    echo "$? $said"
    inside rm -f /tmp/a.svg
}

test_setup() {
    local before=$url alice=(setpriv --reuid=alice --regid=alice --init-groups) out password files there
    there=$(free_port)
    files='find /etc -newer /run/before -type f ! -name "*-" ! -name "[gu]*" ! -name "sub[gu]id"'
    write_config <<<"$good_config
history: {interval: 1s}"
    inside useradd --no-create-home alice
    inside systemd-run --quiet --unit=hot -p User=games /usr/local/bin/hot 600
    inside touch /run/before

    set_up --profiles --listen="127.0.0.1:$there"
    url=http://127.0.0.1:$there
    holds "setup --listen: the daemon listens on the address" eventually 60 serves
    equals "setup --listen: no password is required" "$(status_of /metrics)" 200
    matches "setup --profiles: a member of the group may record" \
        "$(record_by "${alice[@]}")" '^0 .*[1-9][0-9]* samples in 1.0 s'

    set_up --password
    client=(-u "perfcountd:$password")
    holds "setup --password: a client with the password is served" eventually 60 serves
    contains "setup --password: a scrape with the password has counters" "$(get /metrics)" perf_cgroup_info
    client=()
    equals "setup --password: a scrape without the password is rejected" "$(status_of /metrics)" 401
    holds "setup --password: root may use stat --last without the password" \
        eventually 60 inside perfcountd stat --last=1m
    matches "setup --password: root may record without the password" \
        "$(record_by env)" '^0 .*[1-9][0-9]* samples in 1.0 s'
    matches "setup --password: a member of the group is told what to do" \
        "$(record_by "${alice[@]}")" '^1 .*run this as root'
    equals "setup has created four files" "$(inside sh -c "$files" | wc -l)" 4
    inside perfcountd setup --undo >"$scratch/undo"
    url=$before
    holds "setup --undo: the daemon listens on its previous address" eventually 60 serves
    equals "setup --undo: no password is required" "$(status_of /metrics)" 200
    equals "setup --undo: no files are left" "$(inside sh -c "$files")" ""
    equals "setup --undo: alice is no longer in the group" "$(inside id -nG alice)" alice

    # Setup with a web configuration that already has TLS.
    inside_write /etc/perfcountd/key.pem <"$pki/localhost.key"
    inside_write /etc/perfcountd/cert.pem <"$pki/localhost.pem"
    inside chgrp perfcountd /etc/perfcountd/key.pem
    inside chmod 640 /etc/perfcountd/key.pem
    inside_write /etc/perfcountd/web.yml <<<'tls_server_config: {cert_file: cert.pem, key_file: key.pem}'
    inside touch /run/before
    set_up --password
    url=https://localhost:${before##*:} client=(--cacert "$pki/ca.pem" -u "perfcountd:$password")
    holds "setup --password keeps TLS, and a client with the password is served" eventually 60 serves
    client=(--cacert "$pki/ca.pem")
    equals "setup --password with TLS: a scrape without the password is rejected" "$(status_of /metrics)" 401
    holds "setup --password with TLS: root may use stat --last without the password" \
        eventually 60 inside perfcountd stat --last=1m
    inside perfcountd setup --undo >"$scratch/undo"
    client=()
    equals "setup --undo restores the web configuration" "$(inside cat /etc/perfcountd/web.yml)" \
        'tls_server_config: {cert_file: cert.pem, key_file: key.pem}'
    url=$before
    holds "setup --undo: the web configuration is no longer used" eventually 60 serves
    inside rm /etc/perfcountd/web.yml /etc/perfcountd/key.pem /etc/perfcountd/cert.pem
    inside systemctl stop hot
    write_config <<<"$good_config"
    inside systemctl restart perfcountd
}

test_security() {
    local line score
    line=$(inside systemd-analyze --no-pager security perfcountd.service | tail -n 1)
    echo "systemd-analyze security: $line"
    score=${line##*: }
    compares "systemd-analyze security is at most $score_max" "${score%% *} <= $score_max"
    equals "systemd-analyze verify accepts the units" \
        "$(inside systemd-analyze --no-pager --man=no verify perfcountd.service perfcountd.socket 2>&1)" ""
}

boot
if [ -n "${PACKAGE-}" ]; then
    install_package
else
    install_built
fi
port=$(free_port)
url=http://127.0.0.1:$port
# Port 10298 may be in use on the host, whose loopback interface the container shares.
drop_in perfcountd.socket 10-port \
    <<<$'[Socket]\nListenStream=\n'"ListenStream=127.0.0.1:$port"$'\nListenStream=/run/perfcountd.sock'
tests=(start arguments tracepoints privileges operators reload pause watchdog restart activation own_address processes
    opener_end sampler push_profile setup impostor stop security)
for test in "${@:-${tests[@]}}"; do
    echo "-- ${test//_/ }"
    "test_$test"
done
finish
