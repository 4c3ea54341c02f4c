#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command line: its output on both streams, and its exit status.
. "$(dirname "$0")/lib.sh"
need jq setpriv

# try ARGUMENTS...: sets status, and leaves its output in $scratch/out and $scratch/err.
try() {
    status=0
    timeout 30 "$PERFCOUNTD" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || status=$?
    out=$(tr -d '\0' <"$scratch/out")
    err=$(tr -d '\0' <"$scratch/err")
}
# refuses TITLE REGEX ARGUMENTS...: exit status 2, nothing on stdout, one line on stderr that matches.
refuses() {
    try "${@:3}"
    equals "$1: exit status" "$status" 2
    equals "$1: nothing on standard output" "$out" ""
    equals "$1: one line" "$(wc -l <"$scratch/err")" 1
    matches "$1: says why" "$err" "$2"
}

# --- help and version

try --help
equals "--help: exit status" "$status" 0
for word in check-config list-events list-metrics list-presets plan stat top help version --config.file \
    --web.listen-address --web.telemetry-path --web.config.file --log.level --log.format --per-cpu --cgroup --sort \
    --limit --output --url --help --version; do
    holds "--help has $word" grep -q -e "$word" "$scratch/out"
done
equals "--help: nothing on standard error" "$err" ""
while read -r flag; do
    holds "the manual has -$flag" grep -qE "^\\.It Fl ${flag//./\\.}( |$)" "$root/doc/perfcountd.8"
done < <(awk '$1 ~ /^--/ { sub(/=.*/, "", $1); print substr($1, 2) }' "$scratch/out")
compares "--help fits a terminal: longest line" "$(wc -L <"$scratch/out") <= 120"
try --version
equals "--version: exit status" "$status" 0
matches "--version" "$out" '^perfcountd [0-9]+\.[0-9]+\.[0-9]+'
for command in run check-config list-events list-metrics plan stat; do
    try "$command" --help
    equals "$command --help: exit status" "$status" 0
    matches "it says what the command does" "$out" "^perfcountd $command: [a-z].*usage: perfcountd $command \[FLAGS\]"
    text=$out
    try help "$command"
    equals "help $command: exit status" "$status" 0
    equals "it says the same" "$out" "$text"
done
holds "help of a command has its flags" grep -q -e '^  --interval=' "$scratch/out"
lacks "and not those of others" '^  --no-opener' "$scratch/out"
lacks "nor other commands" '^  plan ' "$scratch/out"
try help
equals "help: exit status" "$status" 0
equals "help is --help" "$out" "$("$PERFCOUNTD" --help)"
try version
equals "version: exit status" "$status" 0
equals "version is --version" "$out" "$("$PERFCOUNTD" --version)"

# --- bad usage

refuses "an unknown flag" '--web.listen-adress.*did you mean.*web.listen-address' --web.listen-adress=:1
refuses "an unknown command" 'chek-config.*check-config' chek-config
refuses "help of an unknown command" 'unknown command "stta"; did you mean "stat"' help stta
refuses "an argument too many behind help" 'extra' help stat extra
refuses "an argument behind version" 'extra' version extra
refuses "a flag without its value" '--log.level' --log.level
refuses "a bad log level" 'loud' --log.level=loud
refuses "a bad log format" 'xml' --log.format=xml
refuses "a bad address" '70000' --web.listen-address=:70000
refuses "a configuration without a name" '--config.file: .*name of a file' --config.file=
refuses "an address without a port" 'localhost' --web.listen-address=localhost
refuses "a telemetry path without a slash" 'metrics' --web.telemetry-path=metrics
refuses "a value for --help" 'help' --help=yes
refuses "a flag of another command" '--json' --json
refuses "an argument too many" 'extra' list-events extra
refuses "a command behind the flags" '"plan".*before the flags' --log.level=info plan
refuses "a bad interval" 'soon' stat --interval=soon
refuses "a bad count" '-1' stat --count=-1
refuses "a bad limit" '--limit: .*1 to 10000.*"none"' stat --limit=none
refuses "a bad pattern" '--cgroup: ' stat --cgroup='a/b'
refuses "a bad pattern of a name" '--cgroup=container: ' stat --cgroup='container=[a'
refuses "a command to run without --" '"sleep".*behind "--"' stat sleep 1
refuses "an interval while a command runs" '--interval cannot be used with a command' stat --interval=1s -- true
refuses "CPUs of cgroups" '--per-cpu cannot be used with --sort' stat --per-cpu --sort=ipc
refuses "a command for another command" 'unexpected argument "true"' plan -- true

# --- check-config

good=$scratch/good.yaml
bad=$scratch/bad.yaml
echo 'collectors: {cpu: {groups: [{name: x, events: "{context-switches,minor-faults}"}]}}' >"$good"
try check-config "$good"
equals "a good file: exit status" "$status" 0
equals "a good file" "$out" "$good: ok"
try check-config --config.file="$good"
equals "the file of --config.file=" "$out" "$good: ok"
try check-config --config.file "$good"
equals "the file of --config.file" "$out" "$good: ok"
echo '{"collectors": {"cpu": {"groups": [{"name": "x", "events": ["minor-faults"]}]}}}' >"$good"
try check-config "$good"
equals "JSON is YAML" "$status" 0

# LINE:COLUMN | what the message has | the file, \n for a new line
while IFS='|' read -r place message text; do
    printf '%b' "$text" >"$bad"
    refuses "bad: $text" "^$bad:$place: .*$message" check-config "$bad"
    refuses "bad, to run: $text" "$bad:$place: .*$message" --config.file="$bad" --web.listen-address=127.0.0.1:0
done <<'END'
1:1|wbe.*web|wbe: {}\n
2:3|lisen.*listen|web:\n  lisen: [":1"]\n
1:[0-9]+|enabled|collectors: {self: {enabled: maybe}}\n
1:[0-9]+|min_interval|web: {min_interval: soon}\n
1:[0-9]+|telemetry_path|web: {telemetry_path: metrics}\n
1:[0-9]+|70000|web: {listen: [":70000"]}\n
1:[0-9]+|cpus|collectors: {cpu: {cpus: "0-x"}}\n
1:[0-9]+|cycles|collectors: {cpu: {groups: [{name: x, events: "{cycels}"}]}}\n
1:[0-9]+|name|collectors: {cpu: {groups: [{events: "{cycles}"}]}}\n
2:[0-9]+|x|collectors: {cpu: {groups: [{name: x, events: "{cycles}"},\n  {name: x, events: "{cycles}"}]}}\n
1:[0-9]+|name:|collectors: {cpu: {groups: [{name: x, events: "{cycles,cycles:p}"}]}}\n
1:[0-9]+|}|collectors: {cpu: {groups: [{name: x, events: "{cycles,instructions"}]}}\n
[0-9]+:[0-9]+||web: {listen: [":1"\n
[0-9]+:[0-9]+|UTF-8|web: {telemetry_path: "/\xff\xfe"}\n
1:[0-9]+|web|web: 3\n
2:[0-9]+|web|web: {}\nweb: {}\n
END

printf 'wbe: {}\nweb: {lisen: []}\n%s\n' \
    'collectors: {cpu: {enabled: maybe, groups: [{name: x, events: "{cycels}"}]}}' >"$bad"
status=0
"$PERFCOUNTD" check-config "$bad" 2>"$scratch/err" || status=$?
equals "several errors: exit status" "$status" 2
equals "several errors, each in its line" "$(cut -d: -f2,3 "$scratch/err" | tr '\n' ' ')" "1:1 2:7 3:29 3:65 "
refuses "to run, the first of them" "$bad:1:1: .*wbe" --config.file="$bad" --web.listen-address=127.0.0.1:0
if [ -r /sys/kernel/tracing/events/sched/sched_switch/id ]; then
    echo 'collectors: {cpu: {groups: [{name: x, events: "sched:sched_swich"}]}}' >"$bad"
    try check-config "$bad"
    equals "a misspelt tracepoint: exit status" "$status" 0
    equals "a misspelt tracepoint: plan knows more" "$out" \
        "$bad: ok; \"perfcountd plan\" says what this machine can count"
    matches "a misspelt tracepoint: warning" "$("$PERFCOUNTD" check-config "$bad" 2>&1 >"$scratch/out")" \
        "^$bad:1:48: warning: .*sched_swich.*did you mean \"sched_switch\""
else
    left_out "tracefs cannot be read: a misspelt tracepoint"
fi

echo 'sampler: {event: cycels}' >"$bad"
refuses "an event that nothing has, to be sampled" "^$bad: sampler.event: .*cycels.*cycles" check-config "$bad"

head -c 100M /dev/zero | tr '\0' '#' >"$bad"
refuses "a file of 100 MB" "$bad.*(large|big|MiB|MB|bytes)" check-config "$bad"
refuses "a directory" "$scratch" check-config "$scratch"
refuses "a file that is not there" "$scratch/missing.yaml.*[Nn]o such file" check-config "$scratch/missing.yaml"
refuses "a file that is not there, to run" "$scratch/missing.yaml.*[Nn]o such file" \
    --config.file="$scratch/missing.yaml"
printf 'web: {}\n' >"$bad"
chmod 0 "$bad"
if [ "$(id -u)" -ne 0 ]; then
    refuses "a file that may not be read" "$bad.*[Pp]ermission" check-config "$bad"
else
    chmod 755 "$scratch"
    if setpriv --reuid=65534 --clear-groups test -x "$PERFCOUNTD"; then
        status=0
        setpriv --reuid=65534 --clear-groups "$PERFCOUNTD" check-config "$bad" >/dev/null 2>"$scratch/err" || status=$?
        equals "a file that may not be read: exit status" "$status" 2
        matches "a file that may not be read: says why" "$(cat "$scratch/err")" "$bad.*[Pp]ermission"
    else
        left_out "nobody may run $PERFCOUNTD: a file that may not be read"
    fi
fi
# --- check-config, the web configuration

web=$scratch/web.yml
hash=\$2y\$10\$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234
echo 'collectors: {cpu: {groups: [{name: x, events: "{context-switches,minor-faults}"}]}}' >"$good"
printf 'basic_auth_users:\n  alice: %s\n' "$hash" >"$web"
try check-config --config.file="$good" --web.config.file="$web"
equals "a good web configuration: exit status" "$status" 0
equals "a good web configuration" "$out" "$good: ok"$'\n'"$web: ok"
equals "without a warning" "$err" ""
printf 'basic_auth_users:\n  alice: %s\n' "${hash/10/18}" >"$web"
try check-config --config.file="$good" --web.config.file="$web"
equals "a password that takes long to check: exit status" "$status" 0
matches "is warned of" "$err" "^$web: warning: .*alice.* is 18: .* 256 times as long"
equals "it is good all the same" "$out" "$good: ok"$'\n'"$web: ok"
echo 'http_server_config: {http2: true}' >"$web"
try check-config --config.file="$good" --web.config.file="$web"
equals "HTTP/2 that is allowed: exit status" "$status" 0
matches "is warned of" "$err" "^$web: warning: http_server_config.http2: .* HTTP/1.1 only.* write \"http2: false\""
start_daemon --web.config.file="$web"
equals "and by the log of what runs, once" "$(grep -c 'http_server_config.http2: .* HTTP/1.1 only' "$daemon_log")" 1
stop_daemon
echo 'http_server_config: {http2: false}' >"$web"
try check-config --config.file="$good" --web.config.file="$web"
equals "HTTP/2 that is not allowed: no warning" "$err" ""
printf 'basic_auth_users:\n  alice: %s\n' "$hash" >"$web"
try check-config "$good" --web.config.file "$web"
equals "the flag with its value apart, behind the file" "$status" 2
for fixture in "$root"/tests/web-config/*.good.yml; do
    try check-config --web.config.file="$fixture"
    # The certificates that they name are not there.
    [ "$status" -eq 0 ] || matches "$fixture" "$err" 'No such file|no such file|certificate|key'
done
mkdir -p "$scratch/sub"
printf 'basic_auth_users:\n  alice: hunter2\n' >"$scratch/sub/web.yml"
printf 'web: {config_file: web.yml}\n' >"$scratch/sub/main.yaml"
refuses "a password in place of a hash" "^$scratch/sub/web.yml:2:10: .*bcrypt.*htpasswd" \
    check-config "$scratch/sub/main.yaml"
lacks "the password is not shown" hunter2 "$scratch/err"
refuses "so it is to run" "$scratch/sub/web.yml:2:10: " --config.file="$scratch/sub/main.yaml" \
    --web.listen-address=127.0.0.1:0
lacks "nor is it then" hunter2 "$scratch/err"
try check-config --config.file="$scratch/sub/main.yaml" --web.config.file="$web"
equals "the flag replaces the key" "$status" 0
try check-config --config.file="$scratch/sub/main.yaml" --web.config.file=
equals "an empty one takes it away" "$status" 0
try plan --config.file="$scratch/sub/main.yaml"
equals "a command that only prints does not read it" "$status" 0
refuses "a web configuration that is not there" "^$scratch/missing.yml: .*no such file" \
    check-config --web.config.file="$scratch/missing.yml"
refuses "a directory" "^$scratch: .*directory" check-config --web.config.file="$scratch"
head -c 2M /dev/zero | tr '\0' '#' >"$bad"
refuses "a web configuration of 2 MB" "^$bad: .*MiB" check-config --web.config.file="$bad"
printf 'tls_server_config:\n  cert_file: x.crt\n' >"$bad"
refuses "a certificate without its key" "^$bad:2:14: .*key_file" check-config --web.config.file="$bad"
printf 'tls_server_config: {}\nbasic_auth_user: {}\n' >"$bad"
refuses "an unknown key" "^$bad:2:1: .*basic_auth_user.*basic_auth_users" check-config --web.config.file="$bad"

: >"$scratch/empty.yaml"
try check-config "$scratch/empty.yaml"
equals "an empty file is the defaults" "$status" 0

# --- what the machine offers

try list-events
equals "list-events: exit status" "$status" 0
holds "list-events has software events" grep -q context-switches "$scratch/out"
try list-events --json
equals "list-events --json: exit status" "$status" 0
holds "each has a name, a PMU, CPUs and a description" \
    jq -e '[.. | objects | select(.name? == "context-switches")] | length == 1 and
        (.[0] | has("pmu") and has("cpus") and has("description"))' "$scratch/out"
if [ "$(id -u)" -eq 0 ]; then
    holds "there are tracepoints" grep -q 'sched:sched_switch' "$scratch/out"
    equals "and nothing to say of them" "$err" ""
fi
try list-metrics
equals "list-metrics: exit status" "$status" 0
holds "list-metrics has formulas" grep -q '^    instructions / cycles$' "$scratch/out"
try list-metrics --json
holds "each metric has a unit, a help and formulas with their source" jq -e '.metrics | length > 20 and
    all(.[]; .unit and .help and all(.formulas[]; .formula and .source and (.events | length > 0)))' "$scratch/out"
equals "their names are those of the plan" "$(jq -c '[.metrics[].name] | unique' "$scratch/out")" \
    "$("$PERFCOUNTD" plan --json | jq -c '[.metrics | (.available + .absent)[] | .metrics[].name] | unique')"
try plan --config.file="$good"
equals "plan: exit status" "$status" 0
holds "plan names the group" grep -qw x "$scratch/out"
try plan --json
equals "plan --json: exit status" "$status" 0
holds "plan --json is JSON" jq -e . "$scratch/out"
try stat --interval=100ms
equals "stat: exit status" "$status" 0
holds "stat shows rates" grep -q context.switches "$scratch/out"
equals "stat lists apart from them the events that plan finds missing" \
    "$(sed -n 's/^not counted: //p' "$scratch/err")" \
    "$("$PERFCOUNTD" plan | sed -n '/^not counted:$/,$ s/^  //p')"
try stat --interval 100ms --count 2 --json
equals "stat --json: exit status" "$status" 0
equals "stat --json: a document for each reading" "$(jq -s length "$scratch/out")" 2
holds "stat --json has rates" jq -e '.rates | length > 0' "$scratch/out"

# plan_of_others PROGRAM: what users without privileges have of it.
plan_of_others() {
    status=0
    setpriv --reuid=65534 --clear-groups --inh-caps=-all "$1" plan >"$scratch/out" 2>"$scratch/err" || status=$?
}

# The command that the sentence suggests, as root runs it, lets others count.
obey_setcap() {
    local program=$scratch/program/perfcountd command
    mkdir -p "${program%/*}"
    cp "$PERFCOUNTD" "$program"
    plan_of_others "$program"
    equals "others may count nothing: exit status" "$status" 1
    command=$(grep -om 1 'sudo setcap [^)]*' "$scratch/out")
    equals "the command that helps" "$command" "sudo setcap cap_perfmon=ep $program"
    ${command#sudo } || fail "it can be run" "$command"
    plan_of_others "$program"
    equals "and then they may: exit status" "$status" 0
    lacks "with nothing that is not permitted" EACCES "$scratch/out"
}

chmod 755 "$scratch"
cannot='setpriv --reuid=65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all'
if [ "$(id -u)" -eq 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] &&
    $cannot test -x "$PERFCOUNTD"; then
    status=0
    $cannot "$PERFCOUNTD" stat --interval=50ms >"$scratch/out" 2>"$scratch/err" || status=$?
    equals "stat that may count nothing: exit status" "$status" 1
    equals "it prints no table" "$(cat "$scratch/out")" ""
    matches "it says why" "$(cat "$scratch/err")" 'not counted: cpu .*\(EACCES\).*no group can be opened here'
    $cannot "$PERFCOUNTD" list-events >"$scratch/out" 2>"$scratch/err" || status=$?
    lacks "list-events for others: no tracepoint" 'sched:sched_switch' "$scratch/out"
    matches "it says that there may be more" "$(cat "$scratch/err")" \
        '^perfcountd: tracepoints are not listed, since /sys/.*available_events.*Permission denied; run .* with sudo$'
    equals "and so does JSON" "perfcountd: $($cannot "$PERFCOUNTD" list-events --json 2>/dev/null | jq -r '.[-1] |
        select(.kind == "note") | .description')" "$(cat "$scratch/err")"
    for format in "" --json; do
        status=0
        # shellcheck disable=SC2086 # no flag, or one
        $cannot "$PERFCOUNTD" plan $format >"$scratch/out" 2>"$scratch/err" || status=$?
        equals "plan${format:+ $format} with nothing to count: exit status" "$status" 1
        matches "it says why" "$(cat "$scratch/out")" 'EACCES'
    done
    if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] && command -v setcap >/dev/null; then
        obey_setcap
    else
        left_out "setcap is not installed, or kernel.perf_event_paranoid is above 2: the command that plan suggests"
    fi
else
    left_out "without privileges everything is counted here, or the binary cannot be run: nothing to count"
fi

for command in --help list-events list-metrics plan 'stat --interval=50ms' "check-config $bad"; do
    # shellcheck disable=SC2086 # a list
    try $command
    cat "$scratch/out" "$scratch/err" >"$scratch/both"
    lacks "no blanks at the ends of lines: $command" ' $' "$scratch/both"
    lacks "no colour without a terminal: $command" $'\e' "$scratch/both"
done

# --- completion

# shellcheck source=../../contrib/completion/perfcountd
. "$root/contrib/completion/perfcountd"
# completes WORD...: what the last word, of those behind the program, may become.
completes() {
    COMP_WORDS=("$PERFCOUNTD" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _perfcountd
    (IFS=' ' && echo "${COMPREPLY[*]}")
}
equals "a command is completed" "$(completes pl)" "plan"
equals "commands that begin alike" "$(completes s)" "stat"
equals "a flag, which goes on with its value" "$(completes --config)" "--config.file="
equals "a flag without a value" "$(completes plan --js)" "--json"
equals "behind a command there is no other" "$(completes plan st)" ""
equals "behind help, a command" "$(completes help pl)" "plan"
equals "a value behind =" "$(completes --log.level = w)" "warning"
equals "all of them" "$(completes --log.format =)" "auto text json journal"
equals "a value apart" "$(completes --log.format j)" "json journal"
equals "a file" "$(completes --config.file = "$scratch/goo")" "$scratch/good.yaml"
equals "a file to write" "$(completes stat --output = "$scratch/goo")" "$scratch/good.yaml"
equals "a file to check" "$(completes check-config "$scratch/goo")" "$scratch/good.yaml"
equals "or a flag there" "$(completes check-config --web.c)" "--web.config.file="

# --- flags of run

try list-events --log.level=warn
equals "warn is warning, as the exporters have it" "$status" 0
start_daemon --log.format=json --log.level info
holds "every line of the log is JSON" jq -es 'length > 0' "$daemon_log"
matches "one says at the start what is counted" "$(jq -r 'select(.kind == "counting") | .message' "$daemon_log")" \
    '^(counting: cpu [0-9].*: |nothing can be counted)'
stop_daemon
start_daemon run --web.telemetry-path /m
equals "the word run, and a flag with its value apart" "$(status_of /m)" 200
stop_daemon
printf 'web: {listen: ["127.0.0.1:0"], telemetry_path: /file}\n' >"$good"
launch_daemon --config.file="$good"
eventually 10 listening_or_dead
url=$(sed -n 's|.*listening on \(http://[^ "]*\)/.*|\1|p' "$daemon_log" | head -n 1)
equals "the path of the file" "$(status_of /file)" 200
stop_daemon
start_daemon --config.file="$good" --web.telemetry-path=/flag
equals "a flag replaces that of the file" "$(status_of /flag)" 200
stop_daemon
finish
