#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `perfcountd top` in a terminal (tmux): its keys and what the screen then shows, with its own counters and those
# of a daemon, and cgroups with hostile names. The terminal is restored however top ends. Plain text output is tested as
# well.
# set: all
. "$(dirname "$0")/lib.sh"
need curl jq /usr/bin/python3 setpriv tmux unshare
# shellcheck source=cgroup-lib.sh
. "$here/cgroup-lib.sh"

export LC_ALL=C.UTF-8
config=$scratch/config.yaml
cat >"$config" <<END
web: {min_interval: 0s}
collectors:
  cpu: {groups: [{name: software, events: "{context-switches,cpu-migrations,minor-faults,major-faults}"},
                 {name: cycles, events: "{cycles}"}]}
  cgroup:
    include: ["$below/**"]
    groups: [{name: tasks, events: "{task-clock,context-switches,minor-faults,major-faults}"}]
END
flags=(--config.file="$config" --interval=200ms)

# --- a terminal: a shell in tmux, so that its state after top can be checked

server=(tmux -L "perfcountd-top-$$" -f /dev/null)
end_server() {
    "${server[@]}" kill-server 2>/dev/null
}
at_end+=(end_server)
# The server keeps running without a session; otherwise, a new session might find it exiting.
"${server[@]}" start-server \; set-option -g exit-empty off

screen() {
    "${server[@]}" capture-pane -p -t top
}
keys() {
    "${server[@]}" send-keys -t top "$@"
}
has() {
    screen | grep -qE -e "$1"
}
# seen TITLE COMMAND...: checks that the command succeeds eventually, and shows the screen if it does not.
seen() {
    if eventually 60 "${@:2}"; then
        pass "$1"
    else
        fail "$1" "not so: ${*:2}" "$(screen)"
    fi
}
# shows TITLE REGEX: checks that a line of the screen matches. lost TITLE REGEX: checks that no line does.
shows() {
    seen "$1" has "$2"
}
lost() {
    seen "$1" not has "$2"
}
# terminal: prints whether the alternate screen, the cursor and the application keypad are on, and the terminal modes.
terminal() {
    "${server[@]}" display-message -p -t top '#{alternate_on} #{cursor_flag} #{keypad_flag}'
    stty -F "$("${server[@]}" display-message -p -t top '#{pane_tty}')" -g
}
open_terminal() {
    "${server[@]}" new-session -d -s top -x "$1" -y "$2" env PS1='ready ' sh -i
    eventually 60 has '^ready'
}
close_terminal() {
    "${server[@]}" kill-session -t top
}
top_pid() {
    pgrep -P "$("${server[@]}" display-message -p -t top '#{pane_pid}')" -x perfcountd
}
is_there() {
    [ -n "$(top_pid)" ]
}
# wakes: prints how often top has woken, which it does for each frame.
wakes() {
    awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$(top_pid)/status"
}
has_woken() {
    [ "$(wakes)" -ge "$1" ]
}
# pass_frames NUMBER: waits for this many frames.
pass_frames() {
    eventually 60 has_woken $(($(wakes) + $1))
}
# run_top FLAGS...: types the command that runs top into the terminal. Afterwards, the shell prints top's exit status.
run_top() {
    keys -l "clear; $(printf '%q ' "$PERFCOUNTD" top "$@"); echo status=\$?"
    keys Enter
    seen "top starts" is_there
}
# column TITLE: prints the numbers in the column with this title, top to bottom.
column() {
    screen | awk -v title="$1" '
        /^CGROUP/ { for (i = 1; i <= NF; i++) if ($i == title) behind = NF - i; found = 1; next }
        found && NF > behind && !/^q quit/ { text = $(NF - behind); sub(/~/, "", text); print text }'
}
amount() {
    column "$1" | tr k K | numfmt --from=si
}
# is_sorted TITLE OPTIONS-OF-SORT...: succeeds if there are at least three numbers, in this order.
is_sorted() {
    local numbers
    numbers=$(amount "$1")
    [ "$(wc -l <<<"$numbers")" -ge 3 ] && sort -s -c "${@:2}" <<<"$numbers"
}

# --- cgroups with loads, and hostile names

mkdir "$parent"/{busy,faults,calm,"a-name-that-is-long-$(printf %060d 7)"}.service
mkdir "$parent"/$'esc\e[2J\e]0;owned\a' "$parent"/$'bad\xff\xfe' "$parent/日本語" \
    "$parent"/$'mark\xcc\x81\xe2\x80\xae'
# load_forever CGROUP KIND AMOUNT PAUSE: runs the load repeatedly until the script ends.
load_forever() {
    while [ -d "$parent/$1" ]; do
        "$load" "$parent/$1" "$2" "$3" 2>/dev/null
        sleep "$4"
    done &
    children+=($!)
    disown
}
load_forever busy.service spin 500 0.01
load_forever faults.service faults 2000 0.05
load_forever calm.service faults 10 0.1

test_own_counters() {
    local before after
    open_terminal 80 24
    before=$(terminal)
    run_top "${flags[@]}"
    shows "the source is named" 'own counters'
    shows "cgroups are rows" "busy.service"
    shows "the columns have titles" '^CGROUP .*%CPU'
    shows "events that are not counted are mentioned, with the key that explains them" 'not counted \(n: why\)'
    shows "the last line lists keys" '^q quit'
    compares "no line is wider than the terminal" "$(screen | wc -L) <= 80"
    shows "a column without values is hidden" '%CPU +FAULTS/s'
    seen "rows are sorted by CPU time" is_sorted %CPU -gr
    keys r
    shows "r reverses the order" 'reversed'
    seen "rows are sorted the other way" is_sorted %CPU -g
    keys r F
    seen "F sorts by faults" is_sorted FAULTS/s -gr
    keys '>'
    shows "> sorts by the next column" 'by SWITCH/s'
    keys '<' '<'
    shows "< sorts by the previous column, and skips hidden ones" 'by %CPU'
    keys N
    shows "N sorts by name" 'by name'
    mkdir "$parent/0-comes"
    shows "a new cgroup has a row" '0-comes '
    keys n
    shows "n lists what is not counted" 'collector cpu, group cycles: cycles'
    keys Escape
    shows "Escape returns to the table" '^CGROUP'
    keys h
    shows "h lists the keys" '^r  +reverse the order'
    keys Down Down
    lost "a page scrolls down" '^Tab c'
    keys Home
    shows "Home scrolls to the beginning of the page" '^Tab c'
    keys q
    shows "q exits with status 0" '^status=0'
    after=$(terminal)
    equals "the terminal is restored" "$after" "$before"
    close_terminal
}

test_filter_and_views() {
    open_terminal 80 24
    run_top "${flags[@]}"
    shows "there are rows" 'busy.service'
    keys / f a u l t
    shows "the filter is shown while it is typed" 'filter: fault_'
    shows "matching rows are shown" 'faults.service'
    lost "other rows are hidden" 'busy.service'
    keys Enter
    shows "Enter keeps the filter" 'filter: fault( |$)'
    keys Escape
    shows "Escape shows all rows" 'busy.service'
    keys /
    keys -l '*.service'
    keys Enter
    shows "a glob filters rows" '^4 of [0-9]+ cgroups'
    keys Escape c
    shows "c switches to CPUs" '^cpu 0 '
    lost "the cgroups' rows are hidden" 'busy.service'
    keys Tab
    shows "Tab switches back" 'busy.service'
    keys +
    shows "+ makes the interval longer" 'every 500ms'
    keys - -
    shows "- makes the interval shorter" 'every 100ms'
    keys p
    shows "p shows the PMU of each row" 'PMU .*%CPU'
    shows "the PMU is a column" 'busy.service.* software '
    keys Space
    shows "Space freezes" 'FROZEN'
    local first
    first=$(screen)
    pass_frames 5
    equals "the screen does not change" "$(screen)" "$first"
    keys f
    lost "f resumes" 'FROZEN'
    keys C-c
    eventually 60 not is_there
    keys -l 'echo status=$?'
    keys Enter
    shows "Ctrl-C ends top by SIGINT" '^status=130'
    close_terminal
}

test_hostile_names() {
    open_terminal 80 24
    "${server[@]}" pipe-pane -t top "cat >$scratch/hostile"
    run_top "${flags[@]}" --sort=name
    shows "an escape sequence is shown as text" 'esc�\[2J�\]0;owned�'
    shows "invalid UTF-8 is replaced" 'bad(\?\?|��)'
    shows "wide characters are shown" '日本語'
    shows "combining characters and direction marks are replaced" 'mark\?\?'
    equals "the terminal title is unchanged" "$("${server[@]}" display-message -p -t top '#{pane_title}' |
        grep -c owned)" 0
    keys q
    shows "q exits" '^status=0'
    lacks "no escape sequence in a name was written" $'\e]0;owned' "$scratch/hostile"
    close_terminal
}

# Tests that both a daemon and top itself find the name of a Docker container. tests/unit/test-top-rows.c tests hostile
# and duplicate names.
test_containers() {
    local config id enter
    # shellcheck source=container-lib.sh
    . "$here/container-lib.sh"
    id=$(id_of db)
    put_docker "$id" shop-db-1 '{"com.docker.compose.project": "shop", "com.docker.compose.service": "db"}'
    run_in "/system.slice/docker-$id.scope"
    start_machine
    enter=(nsenter --mount="/proc/$daemon_pid/ns/mnt" --cgroup="/proc/$daemon_pid/ns/cgroup" "$PERFCOUNTD")
    holds "top shows the name that the daemon knows" eventually 60 grep_top '^shop/db +.* shop-db-1 ' --url="$url"
    holds "top finds the name itself" \
        eventually 60 grep_top "^shop/db +.* shop-db-1 +${id:0:12} +example/app:1 " --config.file="$config"
    # stat reads names while it counts, and they may come too late on a busy machine.
    holds "stat finds the name itself" eventually 60 grep_stat " shop/db +/system.slice/docker-$id.scope$"
    end_machine
}
# grep_stat REGEX: succeeds if stat, in the daemon's namespaces, prints a matching row for the project's containers.
grep_stat() {
    "${enter[@]}" stat --config.file="$config" --cgroup=compose_project=shop --interval=0.2s >"$scratch/out" 2>&1
    grep -qE "$1" "$scratch/out"
}
# grep_top REGEX FLAGS...: succeeds if a frame of top, in the daemon's namespaces, has a matching line.
grep_top() {
    COLUMNS=200 "${enter[@]}" top --count=1 --interval=200ms "${@:2}" >"$scratch/out" 2>&1 </dev/null
    grep -qE "$1" "$scratch/out"
}

test_sizes() {
    open_terminal 40 12
    run_top "${flags[@]}"
    shows "a narrow terminal has a name and numbers" '^CGROUP +%CPU'
    lost "some columns are hidden" 'SWITCH/s'
    compares "no line is wider than the terminal" "$(screen | wc -L) <= 40"
    shows "a long name is shortened in the middle" '^[/a-z-]+\.\.[0-9a-z.]+'
    keys S
    shows "the sort column is always shown" 'by SWITCH/s'
    keys End
    "${server[@]}" resize-window -t top -x 200 -y 50
    shows "after the terminal is enlarged, the new width is used" 'COUNTED%'
    shows "a long name is shown completely" '0000007.service '
    shows "a line of keys is at the bottom" '^q quit'
    equals "the line of keys is the last line" "$(screen | tail -n 1 | cut -c1-6)" 'q quit'
    "${server[@]}" resize-window -t top -x 20 -y 3
    pass_frames 3
    "${server[@]}" resize-window -t top -x 80 -y 24
    shows "after the terminal has been tiny, the table is shown again" '^CGROUP .*FAULTS/s'
    keys q
    shows "q exits" '^status=0'
    close_terminal
}

# ends TITLE STATUS COMMAND...: checks that the command ends top when given its process id, and that the terminal is
# restored.
ends() {
    local before after
    open_terminal 80 24
    before=$(terminal)
    run_top "${flags[@]}"
    shows "there are rows" 'busy.service'
    "${@:3}" "$(top_pid)"
    shows "$1: exit status $2" "^status=$2"
    after=$(terminal)
    equals "$1: the terminal is restored" "$after" "$before"
    lost "$1: the screen is restored" '^CGROUP'
    close_terminal
}

test_ends() {
    ends "SIGTERM" 143 kill -TERM
    ends "SIGHUP" 129 kill -HUP
    ends "SIGSEGV" 139 kill -SEGV
}

test_stops() {
    local before
    open_terminal 80 24
    keys -l 'clear; set -m; echo jobs=$-' # the shell's option m is job control
    keys Enter
    shows "the shell has job control" '^jobs=.*m'
    before=$(terminal)
    run_top "${flags[@]}"
    shows "there are rows" 'busy.service'
    keys C-z
    shows "Ctrl-Z stops top" 'Stopped'
    equals "while top is stopped, the terminal is restored" "$(terminal)" "$before"
    keys -l 'fg'
    keys Enter
    shows "fg resumes top" '^CGROUP'
    kill -STOP "$(top_pid)"
    eventually 60 has 'Stopped'
    # A shell without line editing does not reset the terminal modes, so Enter does not end a line; Ctrl-J does.
    keys -l 'fg'
    keys C-j
    lost "fg resumes top after SIGSTOP" 'Stopped'
    keys q
    holds "q exits" eventually 60 not is_there
    equals "when top ends, the terminal is restored" "$(terminal)" "$before"
    close_terminal
}

bytes_written() {
    stat -c %s "$scratch/bytes"
}

# Redrawing the whole screen flickers, so the test limits how many bytes top writes.
test_flicker() {
    local start frozen
    open_terminal 80 24
    run_top "${flags[@]}"
    shows "there are rows" 'busy.service'
    "${server[@]}" pipe-pane -t top "cat >$scratch/bytes"
    start=$(wakes)
    pass_frames 15
    compares "a frame takes less than a third of the bytes of a full screen" \
        "$(bytes_written) > 100 && 3 * $(bytes_written) < ($(wakes) - $start) * 80 * 24"
    equals "the screen is never cleared" "$(grep -acE $'\e\\[[23]?J' "$scratch/bytes")" 0
    keys f
    shows "f freezes the screen" 'FROZEN'
    pass_frames 3
    frozen=$(bytes_written)
    pass_frames 5
    equals "nothing is written for an unchanged frame" "$(bytes_written)" "$frozen"
    keys q
    shows "q exits" '^status=0'
    close_terminal
}

test_daemon() {
    local socket=$scratch/top.sock address
    start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 --web.listen-address="unix:$socket"
    open_terminal 100 24
    run_top --url="unix:$socket" --interval=200ms
    shows "the daemon's socket is shown as the source" "unix:$socket"
    shows "the daemon's cgroups are shown" 'busy.service'
    seen "rows are sorted" is_sorted %CPU -gr
    shows "events that are not counted are mentioned" 'not counted'
    curl -sS --unix-socket "$socket" -X POST 'http://localhost/api/v1/pause?seconds=60' >"$scratch/pause"
    seen "a pause of the daemon is shown" has PAUSED
    holds "unknown values are -" eventually 60 has 'busy.service +-'
    curl -sS --unix-socket "$socket" -X DELETE 'http://localhost/api/v1/pause' >"$scratch/pause"
    seen "the end of the pause is shown" not has PAUSED
    stop_daemon
    shows "the end of the daemon is reported" 'trying again'
    shows "the rows stay" 'busy.service'
    start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 --web.listen-address="unix:$socket"
    lost "a new daemon is found" 'trying again'
    keys q
    shows "q exits" '^status=0'
    run_top --url="$url" --interval=200ms --cgroup='*.service' --sort=page-faults
    address=${url#http://}
    shows "with an http URL, the host is shown" "^$address"
    shows "--cgroup filters" '^4 of'
    shows "--sort accepts an event" 'by FAULTS/s'
    keys q
    shows "q exits" '^status=0'
    close_terminal
    stop_daemon
}

# The test has its own /run, and runs top without privileges.
test_default_socket() {
    # shellcheck disable=SC2016 # the inner shell expands it
    wrapper=(unshare --mount --propagation private sh -c 'mount -t tmpfs none /run && exec "$@"' sh)
    start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 \
        --web.listen-address=unix:/run/perfcountd.sock
    wrapper=()
    chmod 666 "/proc/$daemon_pid/root/run/perfcountd.sock"
    local enter=(nsenter --mount="/proc/$daemon_pid/ns/mnt" setpriv --reuid=65534 --clear-groups)
    if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 1 ]; then
        left_out "kernel.perf_event_paranoid of 1 or more"
    elif ! "${enter[@]}" test -x "$PERFCOUNTD"; then
        left_out "a perfcountd binary that other users may run"
    else
        "${enter[@]}" "$PERFCOUNTD" top --count=1 --interval=200ms >"$scratch/out" 2>&1
        contains "for a user who may not count, top reads from the daemon" "$(cat "$scratch/out")" \
            unix:/run/perfcountd.sock
        contains "the daemon's rows are shown" "$(cat "$scratch/out")" busy.service
        stop_daemon
        "${enter[@]:2}" "$PERFCOUNTD" top --count=1 >"$scratch/out" 2>&1
        equals "without a daemon: exit status" $? 1
        contains "without a daemon: the message has a remedy" "$(cat "$scratch/out")" 'sudo perfcountd top'
    fi
}

test_plain_text() {
    local status
    COLUMNS=100 "$PERFCOUNTD" top "${flags[@]}" --count=2 --sort=name >"$scratch/out" 2>"$scratch/err" </dev/null
    equals "--count: exit status" $? 0
    equals "--count=2 prints two frames" "$(grep -c '^CGROUP' "$scratch/out")" 2
    equals "there is no message" "$(cat "$scratch/err")" ""
    lacks "there is no escape sequence" $'\e' "$scratch/out"
    compares "lines are at most COLUMNS wide" "$(wc -L <"$scratch/out") <= 100"
    COLUMNS=100 "$PERFCOUNTD" top "${flags[@]}" --count=1 --sort=name --order=desc >"$scratch/out" 2>"$scratch/err"
    equals "--order: exit status" $? 0
    contains "--order=desc reverses the order" "$(cat "$scratch/out")" ", reversed"
    lacks "no keys are mentioned" 'n: why' "$scratch/out"
    "$PERFCOUNTD" top "${flags[@]}" --count=1 --sort=ipc >"$scratch/out" 2>"$scratch/err"
    matches "like stat, top rejects a sort key without values" "$? $(cat "$scratch/err")" \
        '^2 perfcountd: --sort: no row has "ipc".*; sort by "cpu" instead$'
    while IFS='|' read -r expected message arguments; do
        # shellcheck disable=SC2086 # words
        "$PERFCOUNTD" top $arguments >"$scratch/out" 2>"$scratch/err" </dev/null
        status=$?
        equals "top $arguments: exit status" "$status" "$expected"
        matches "top $arguments: the message" "$(cat "$scratch/err")" "$message"
        equals "top $arguments: one line on standard error" "$(wc -l <"$scratch/err")" 1
    done <<END
2|must be a terminal.*--count=1|
2|no column "speed".*ipc|--sort=speed --count=1
2|--cgroup: ".*has no "]"|--cgroup=a[ --count=1
2|--order: expected "asc" or "desc", found "up"|--sort=ipc --order=up
2|--order cannot be used without --sort|--order=asc
2|https.*ssh -L|--url=https://board:10298 --count=1
1|No such file|--url=unix:$scratch/none.sock --count=1
1|refused|--url=http://127.0.0.1:1 --count=1
1|cannot find the address|--url=http://no-such-host.invalid:1 --count=1
END
}

# With a daemon that does not know totals=cgroup, values of a cgroup on one PMU are shown, those on two PMUs are
# unknown.
test_older_daemon() {
    local port=$scratch/port
    /usr/bin/python3 - "$port" <<'END' &
import http.server, json, os, sys
def row(cgroup, pmu):
    return {"collector": "cgroup", "cgroup": cgroup, "pmu": pmu, "group": "g", "events": {}, "ratios": {"ipc": 1.25}}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        refused = "totals=" in self.path
        rates = {"rates": [row("/one", "big"), row("/two", "big"), row("/two", "little")]}
        body = json.dumps({"error": "unknown parameter"} if refused else rates if "rates" in self.path else {}).encode()
        self.send_response(400 if refused else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
END
    local older=$!
    holds "an older daemon listens" eventually 60 test -s "$port"
    "$PERFCOUNTD" top --count=2 --interval=200ms --url="http://127.0.0.1:$(cat "$port")" >"$scratch/older"
    kill "$older"
    equals "rows of an older daemon are shown" \
        "$(grep -c '^/one  *1.25$' "$scratch/older") $(grep -c '^/two  *-$' "$scratch/older")" "2 2"
}

test_unknown_terminals() {
    open_terminal 80 24
    # ncurses leaks memory for an unknown terminal type.
    keys -l "clear; export ASAN_OPTIONS=detect_leaks=0"
    keys -l "; TERM=no-such-type $(printf '%q' "$PERFCOUNTD") top; echo status=\$?"
    keys Enter
    shows "an unknown terminal type is reported" 'TERM is "no-such-type"'
    shows "exit status 2" '^status=2'
    keys -l "clear; TERM=dumb $(printf '%q' "$PERFCOUNTD") top; echo status=\$?"
    keys Enter
    shows "a terminal that cannot move the cursor is reported" 'TERM is "dumb"'
    shows "exit status 2" '^status=2'
    close_terminal
}

tests=(own_counters filter_and_views hostile_names containers sizes ends stops flicker daemon default_socket
    plain_text older_daemon unknown_terminals)
for test in "${@:-${tests[@]}}"; do
    echo "-- ${test//_/ }"
    "test_$test"
done
finish
