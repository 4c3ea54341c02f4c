#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the command line: both output streams and the exit status.
# set: quick
. "$(dirname "$0")/lib.sh"
need jq setpriv

# try ARGUMENTS...: runs perfcountd. Sets status, and leaves the output in $scratch/out and $scratch/err.
try() {
    status=0
    timeout 60 "$PERFCOUNTD" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || status=$?
    out=$(tr -d '\0' <"$scratch/out")
    err=$(tr -d '\0' <"$scratch/err")
}
# refuses TITLE REGEX ARGUMENTS...: checks for exit status 2, no output, and one line on standard error that matches.
refuses() {
    try "${@:3}"
    equals "$1: exit status" "$status" 2
    equals "$1: nothing on standard output" "$out" ""
    equals "$1: one line on standard error" "$(wc -l <"$scratch/err")" 1
    matches "$1: the message" "$err" "$2"
}

# --- help and version

try --help
equals "--help: exit status" "$status" 0
for word in check-config list-events list-metrics list-presets plan record report stat top help version --config.file \
    --web.listen-address --web.telemetry-path --web.config.file --log.level --log.format --help --version; do
    holds "--help has $word" grep -q -e "^  $word" "$scratch/out"
done
equals "--help: nothing on standard error" "$err" ""
mapfile -t commands < <(sed -n '/^commands:/,/^$/ s/^  \([a-z][a-z-]*\).*/\1/p' "$scratch/out")
compares "--help lists the commands" "${#commands[@]} >= 11"
for command in "" "${commands[@]}"; do
    # shellcheck disable=SC2086 # no word, or one
    try $command --help
    equals "$command --help fits an 80x40 terminal" \
        "$(awk 'length > 80' "$scratch/out") $(($(wc -l <"$scratch/out") > 40))" " 0"
    matches "$command --help has an example" "$out" $'\n'"example: (sudo )?perfcountd ${command/help/stat}"
    while read -r flag; do
        holds "the manual documents -$flag" grep -qE "^\\.It Fl ${flag//./\\.}( |$)" "$root/doc/perfcountd.8"
    done < <(awk '$1 ~ /^--/ { sub(/=.*/, "", $1); print substr($1, 2) }' "$scratch/out")
done
try --version
equals "--version: exit status" "$status" 0
matches "--version" "$out" '^perfcountd [0-9]+\.[0-9]+\.[0-9]+'
for command in run check-config list-events list-metrics plan record report setup stat top; do
    try "$command" --help
    equals "$command --help: exit status" "$status" 0
    matches "$command --help says what the command does" \
        "$out" "^perfcountd $command: [a-z].*usage: perfcountd $command \[FLAGS\]"
    text=$out
    equals "$command --help lists each flag once" \
        "$(sed -n 's/^  \(--[a-z.-]*\).*/\1/p' "$scratch/out" | sort | uniq -d)" ""
    try help "$command"
    equals "help $command prints the same as $command --help" "$status $out" "0 $text"
done
holds "the help of a command lists its flags" grep -q -e '^  --interval=' "$scratch/out"
lacks "the help of a command lists no other flags or commands" '^  --no-opener|^  plan ' "$scratch/out"
for word in help version; do
    try $word
    equals "$word is --$word" "$status $out" "0 $("$PERFCOUNTD" --$word)"
done

try stat --help
equals "the help of stat lists only its own flags" \
    "$(sed -n 's/^  \(--[a-z.-]*\).*/\1/p' "$scratch/out" | tr '\n' ' ')" \
    "--config.file --json --interval --count --last --event --all-cpus --per-cpu --cgroup --sort --order --limit --output --url --help "
try list-presets --help
equals "the help of list-presets lists only its few flags" \
    "$(sed -n 's/^  \(--[a-z.-]*\).*/\1/p' "$scratch/out" | tr '\n' ' ')" "--json --help "

# --- bad usage

# PATTERN | ARGUMENTS
while IFS='|' read -r pattern arguments; do
    # shellcheck disable=SC2086 # words
    refuses "perfcountd $arguments" "$pattern" $arguments
done <<'END'
--web.listen-adress.*did you mean.*web.listen-address|--web.listen-adress=:1
chek-config.*check-config|chek-config
unknown command "stta"; did you mean "stat"[?] [(]see "perfcountd --help"[)]$|stta
unknown flag "--pasword"; did you mean "--password"[?] [(]see "perfcountd setup --help"[)]$|setup --pasword
unknown flag "--pasword" [(]see "perfcountd stat --help"[)]$|stat --pasword
unknown command "stta"; did you mean "stat"|help stta
extra|help stat extra
extra|version extra
extra|list-events extra
--log.level|--log.level
loud|--log.level=loud
70000|--web.listen-address=:70000
localhost|--web.listen-address=localhost
help|--help=yes
--json|--json
"plan".*before the flags|--log.level=info plan
soon|stat --interval=soon
--limit: .*1 to 10000.*"none"|stat --limit=none
--cgroup=container: |stat --cgroup=container=[a
"sleep".*after "--"|stat sleep 1
no command after "--"|stat --
no command after "--"|record -o x.svg --
--last cannot be used with --frequency|record -o x.svg --last=1m --frequency=9
--interval cannot be used with a command|stat --interval=1s -- true
--order cannot be used without --sort|stat --order=asc
--order: expected "asc" or "desc", found "up"|stat --sort=ipc --order=up
--per-cpu cannot be used with --sort|stat --per-cpu --sort=ipc
--last: .*1s to 7d.*"0s"|stat --last=0s
--last cannot be used with a command|stat --last=10m -- true
--last cannot be used with --interval|stat --last=10m --interval=1s
--last cannot be used with --config.file|stat --config.file=x --last=10m
--last cannot be used with --event|stat --last=10m -e cycles
--last cannot be used with --all-cpus|stat --last=10m -a
--event: there is no event "cylces".*cycles|stat -e cylces -- true
--event: .*missing at the end|stat -e cycles, -- true
--all-cpus cannot be used with "record"|record -a -o x.svg
--last cannot be used with "top"|top --last=10m
--url cannot be used without --last|stat --url=unix:/x
https is not supported|stat --last=10m --url=https://x
unexpected argument "true"|plan -- true
END

# --- check-config

good=$scratch/good.yaml
bad=$scratch/bad.yaml
echo 'collectors: {cpu: {groups: [{name: x, events: "{context-switches,minor-faults}"}]}}' >"$good"
try check-config "$good"
equals "a valid file: exit status" "$status" 0
equals "a valid file: the message" "$out" "$good: ok"
try check-config --config.file "$good"
equals "--config.file names the file to check" "$out" "$good: ok"

# Configuration errors are tested in tests/unit/test-config.c.
printf 'wbe: {}\nweb: {lisen: []}\n%s\n' \
    'collectors: {cpu: {enabled: maybe, groups: [{name: x, events: "{cycels}"}]}}' >"$bad"
status=0
"$PERFCOUNTD" check-config "$bad" 2>"$scratch/err" || status=$?
equals "several errors: exit status" "$status" 2
equals "several errors: each has a position" "$(cut -d: -f2,3 "$scratch/err" | tr '\n' ' ')" "1:1 2:7 3:29 3:65 "
refuses "the daemon refuses to start, with the first error" \
    "$bad:1:1: .*wbe" --config.file="$bad" --web.listen-address=127.0.0.1:0
echo 'collectors: {cpu: {groups: ["core{cs,1:1:hp}"]}}' >"$bad"
try check-config "$bad"
equals "modifiers without effect: exit status" "$status" 0
equals "modifiers without effect: warning" "$("$PERFCOUNTD" check-config "$bad" 2>&1 >"$scratch/out")" \
    "$bad:1:38: warning: the modifiers h, G and H of \"1:1:hp\" have no effect: task-clock counts time whatever the CPU does"
if [ -r /sys/kernel/tracing/events/sched/sched_switch/id ]; then
    echo 'collectors: {cpu: {groups: [{name: x, events: "sched:sched_swich"}]}}' >"$bad"
    try check-config "$bad"
    equals "a misspelt tracepoint: exit status" "$status" 0
    equals "a misspelt tracepoint: the message refers to plan" "$out" \
        "$bad: ok; \"perfcountd plan\" says what this machine can count"
    matches "a misspelt tracepoint: warning" "$("$PERFCOUNTD" check-config "$bad" 2>&1 >"$scratch/out")" \
        "^$bad:1:48: warning: .*sched_swich.*did you mean \"sched_switch\""
else
    left_out "tracefs, for a misspelt tracepoint"
fi

echo 'sampler: {hindsight: {enabled: true}}' >"$bad"
try check-config "$bad"
equals "hindsight without the sampler: exit status" "$status" 0
matches "hindsight without the sampler: warning" "$("$PERFCOUNTD" check-config "$bad" 2>&1 >"$scratch/out")" \
    "^$bad: warning: sampler.hindsight keeps no samples unless sampler.enabled is true"

echo 'sampler: {event: cycels}' >"$bad"
refuses "an unknown sampler event is rejected" "^$bad: sampler.event: .*cycels.*cycles" check-config "$bad"

refuses "check-config: a missing file" "$scratch/missing.yaml.*[Nn]o such file" check-config "$scratch/missing.yaml"
refuses "the daemon: a missing file" "$scratch/missing.yaml.*[Nn]o such file" \
    --config.file="$scratch/missing.yaml"
printf 'web: {}\n' >"$bad"
chmod 0 "$bad"
chmod 755 "$scratch"
if [ "$(id -u)" -ne 0 ] || setpriv --reuid=65534 --clear-groups test -x "$PERFCOUNTD"; then
    as=(setpriv --reuid=65534 --clear-groups)
    [ "$(id -u)" -eq 0 ] || as=()
    status=0
    "${as[@]}" "$PERFCOUNTD" check-config "$bad" >/dev/null 2>"$scratch/err" || status=$?
    equals "an unreadable file: exit status" "$status" 2
    matches "an unreadable file: the message" "$(cat "$scratch/err")" "$bad.*[Pp]ermission"
else
    left_out "a perfcountd binary that other users may run"
fi

# --- check-config, the web configuration

web=$scratch/web.yml
hash=\$2y\$10\$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234
echo 'collectors: {cpu: {groups: [{name: x, events: "{context-switches,minor-faults}"}]}}' >"$good"
printf 'basic_auth_users:\n  alice: %s\n' "$hash" >"$web"
try check-config --config.file="$good" --web.config.file="$web"
equals "a valid web configuration causes no warning" "$status $out$err" "0 $good: ok"$'\n'"$web: ok"
printf 'basic_auth_users:\n  alice: %s\n' "${hash/10/18}" >"$web"
try check-config --config.file="$good" --web.config.file="$web"
equals "a password that is slow to check is valid" "$status $out" "0 $good: ok"$'\n'"$web: ok"
matches "a password that is slow to check causes a warning" \
    "$err" "^$web: warning: .*alice.* is 18: .* 256 times as long"
echo 'http_server_config: {http2: true}' >"$web"
try check-config --config.file="$good" --web.config.file="$web"
matches "enabling HTTP/2 causes a warning" "$status $err" \
    "^0 $web: warning: http_server_config.http2: .* HTTP/1.1 only.* write \"http2: false\""
start_daemon --web.config.file="$web"
equals "the daemon logs the warning once" "$(grep -c 'http_server_config.http2: .* HTTP/1.1 only' "$daemon_log")" 1
stop_daemon
printf 'basic_auth_users:\n  alice: %s\n' "$hash" >"$web"
printf 'tls_server_config: {cert_file: x.crt, key_file: x.key}\n' >"$bad"
refuses "a missing certificate is rejected" "^$bad: cannot read cert_file \"$scratch/x.crt\": No such file" \
    check-config --web.config.file="$bad"
mkdir -p "$scratch/sub"
printf 'basic_auth_users:\n  alice: hunter2\n' >"$scratch/sub/web.yml"
printf 'web: {config_file: web.yml}\n' >"$scratch/sub/main.yaml"
refuses "a password in place of a hash is rejected" "^$scratch/sub/web.yml:2:10: .*bcrypt.*htpasswd" \
    check-config "$scratch/sub/main.yaml"
lacks "check-config does not print the password" hunter2 "$scratch/err"
refuses "the daemon rejects a password in place of a hash" \
    "$scratch/sub/web.yml:2:10: " --config.file="$scratch/sub/main.yaml" \
    --web.listen-address=127.0.0.1:0
lacks "the daemon does not print the password" hunter2 "$scratch/err"
try check-config --config.file="$scratch/sub/main.yaml" --web.config.file="$web"
equals "--web.config.file replaces the key" "$status" 0
try check-config --config.file="$scratch/sub/main.yaml" --web.config.file=
equals "an empty --web.config.file disables the key" "$status" 0
try plan --config.file="$scratch/sub/main.yaml"
equals "a command that only prints does not read the web configuration" "$status" 0
refuses "a missing web configuration is rejected" "^$scratch/missing.yml: .*no such file" \
    check-config --web.config.file="$scratch/missing.yml"
: >"$scratch/empty.yaml"
try check-config "$scratch/empty.yaml"
equals "an empty file selects the defaults" "$status" 0

# --- what the machine supports

try list-events
equals "list-events: exit status" "$status" 0
holds "list-events has software events" grep -q context-switches "$scratch/out"
try list-events --json
holds "each event has a name, a PMU, CPUs and a description" \
    jq -e '[.. | objects | select(.name? == "context-switches")] | length == 1 and
        (.[0] | has("pmu") and has("cpus") and has("description"))' "$scratch/out"
if [ "$(id -u)" -eq 0 ]; then
    holds "root sees tracepoints" grep -q 'sched:sched_switch' "$scratch/out"
    equals "root sees no message about tracepoints" "$err" ""
fi
try list-metrics
equals "list-metrics: exit status" "$status" 0
holds "list-metrics has formulas" grep -q '^    instructions / cycles$' "$scratch/out"
try list-metrics --json
holds "each metric has a unit, a help text and formulas with their source" jq -e '.metrics | length > 20 and
    all(.[]; .unit and .help and all(.formulas[]; .formula and .source and (.events | length > 0)))' "$scratch/out"
equals "list-metrics and plan have the same metrics" "$(jq -c '[.metrics[].name] | unique' "$scratch/out")" \
    "$("$PERFCOUNTD" plan --json | jq -c '[.metrics | (.available + .absent)[] | .metrics[].name] | unique')"
try plan --config.file="$good"
equals "plan: exit status" "$status" 0
holds "plan lists the group" grep -qw x "$scratch/out"
try plan --json
equals "plan --json: exit status" "$status" 0
holds "plan --json is JSON" jq -e . "$scratch/out"
try stat --interval=100ms
equals "stat: exit status" "$status" 0
holds "stat shows rates" grep -q context.switches "$scratch/out"
equals "stat and plan list the same events as not counted" \
    "$(sed -n 's/^not counted: //p' "$scratch/err")" \
    "$("$PERFCOUNTD" plan | sed -n '/^not counted:/,$ s/^  //p')"
try stat --interval 100ms --count 2 --json
equals "stat --json: exit status" "$status" 0
equals "stat --json prints a document for each reading" "$(jq -s length "$scratch/out")" 2
holds "stat --json has rates" jq -e '.rates | length > 0' "$scratch/out"

# --- report

try report --config.file="$good"
equals "report: exit status" "$status" 0
equals "report has its sections in order" \
    "$(sed -n 's/^## //p' "$scratch/out" | grep -v '^self-test of ' | tr '\n' ,)" \
    "perfcountd report 1,CPUs,PMUs,plan,end,"
holds "report includes the output of plan" grep -qw context_switches "$scratch/out"
holds "report tests software events" grep -qE '^    (context-switches: [0-9]+|cpu-clock: .*\(E[A-Z]+\))' "$scratch/out"
try report --config.file="$scratch/missing.yaml"
equals "report with an unreadable configuration: exit status" "$status" 0
matches "report with an unreadable configuration: the message" \
    "$out $err" "nothing is counted; standard error may say why.*missing.yaml.*[Nn]o such file"
try report --output="$scratch/report.txt"
equals "report --output: exit status, nothing on standard output" "$status $out" "0 "
equals "the file is complete" "$(tail -n 1 "$scratch/report.txt")" "## end"
for command in "" "${commands[@]}"; do
    arguments=$command
    case $command in
    check-config) arguments+=" $good" ;;
    stat) arguments+=" --interval=50ms" ;;
    top) arguments+=" --interval=50ms --count=1" ;;
    "" | record | run | setup) arguments="$command --help" ;; # record prints nothing on standard output
    esac
    for format in "" --json; do
        [ -z "$format" ] || [[ $arguments =~ ^(list-.*|plan|stat.*)$ ]] || continue
        status=0
        # shellcheck disable=SC2086 # words
        timeout 60 "$PERFCOUNTD" $arguments $format >/dev/full 2>"$scratch/err" </dev/null || status=$?
        equals "$arguments $format to a full disk: exit status" "$status" 1
        equals "$arguments $format to a full disk: one sentence says why" "$(grep -v '^not counted: ' "$scratch/err")" \
            "perfcountd: cannot write standard output: No space left on device"
    done
done
for file in /dev/full "$scratch/missing/report.txt"; do
    try report --output="$file"
    equals "report to $file: exit status" "$status" 1
    matches "report to $file: the message" "$err" '^perfcountd: .*cannot write .*(No space left|No such file)'
done

# Everything whose name a report must not contain is called "planted" here: the host, the user, the home directory, the
# program, and the directories of the program and the configuration.
report_names_nobody() {
    local home=$scratch/planted/home
    mkdir -p "$home"
    cp "$PERFCOUNTD" "$home/planted"
    printf 'collectors: {cpu: {groups: [{name: x, events: "%s"}, {name: y, events: "%s"}, {name: z, events: cs}]}}\n' \
        "uprobe/path=$home/planted,offset=0x1000/" "uprobe/path=$home/missing,offset=0x1000/" >"$home/planted.yaml"
    # shellcheck disable=SC2016 # the inner shell expands them
    USER=planted LOGNAME=planted HOME=$home unshare --uts sh -c 'hostname planted && cd "$0" && exec "$@"' "$home" \
        "$home/planted" report --config.file="$home/planted.yaml" >"$scratch/out" 2>"$scratch/err"
    equals "report with planted names: standard error" "$(cat "$scratch/err")" ""
    holds "report with planted names is complete" grep -qx '## end' "$scratch/out"
    holds "report with planted names has the group" grep -qE '^cpu +z ' "$scratch/out"
    lacks "the report contains no host, user, program or path name" 'planted' "$scratch/out"
    lacks "the report does not contain the path of the test's directory" "$scratch" "$scratch/out"
}
if [ "$(id -u)" -eq 0 ] && unshare --uts true 2>/dev/null; then
    report_names_nobody
else
    left_out "root, to set a host name in a namespace"
fi

# plan_of_others PROGRAM [GROUP]: runs plan as a user without privileges. setpriv itself would ignore the mode of the
# file, since it keeps root's capabilities until its execve(2); it therefore runs a shell, which runs the program.
plan_of_others() {
    status=0
    # shellcheck disable=SC2016 # the inner shell expands them
    setpriv --reuid=65534 --regid="${2-65534}" --clear-groups --inh-caps=-all sh -c 'exec "$0" plan' "$1" \
        >"$scratch/out" 2>"$scratch/err" || status=$?
}

# The suggested command, run as root, lets only members of a group count. The group is a number, since a machine without
# the package has no group perfcountd.
obey_setcap() {
    local program=$scratch/program/perfcountd command group=61027
    mkdir -p "${program%/*}"
    cp "$PERFCOUNTD" "$program"
    plan_of_others "$program"
    equals "other users may count nothing: exit status" "$status" 1
    command=$(grep -om 1 'sudo sh [^)]*' "$scratch/out")
    equals "plan suggests a command" "$command" \
        "sudo sh -ec 'chgrp perfcountd \$0; chmod 0750 \$0; setcap cap_perfmon=ep \$0' $program"
    command=${command#sudo }
    holds "the suggested command succeeds" bash -c "${command/chgrp perfcountd/chgrp $group}"
    plan_of_others "$program"
    equals "other users may not execute perfcountd: exit status" "$status" 126
    plan_of_others "$program" $group
    equals "members of the group may count: exit status" "$status" 0
    lacks "members of the group lack no permission" EACCES "$scratch/out"
}

chmod 755 "$scratch"
cannot='setpriv --reuid=65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all'
if [ "$(id -u)" -eq 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] &&
    $cannot test -x "$PERFCOUNTD"; then
    status=0
    $cannot "$PERFCOUNTD" stat --interval=50ms >"$scratch/out" 2>"$scratch/err" || status=$?
    equals "stat without permission: exit status" "$status" 1
    equals "stat without permission prints no table" "$(cat "$scratch/out")" ""
    matches "stat without permission: the message" \
        "$(cat "$scratch/err")" 'not counted: cpu .*\(EACCES\).*no group can be opened here'
    $cannot "$PERFCOUNTD" list-events >"$scratch/out" 2>"$scratch/err" || status=$?
    lacks "list-events shows other users no tracepoints" 'sched:sched_switch' "$scratch/out"
    matches "list-events says that there may be more events" "$(cat "$scratch/err")" \
        '^perfcountd: tracepoints are not listed, since /sys/.*available_events.*Permission denied; run .* with sudo$'
    equals "list-events --json says that there may be more events" \
        "perfcountd: $($cannot "$PERFCOUNTD" list-events --json 2>/dev/null | jq -r '.[-1] |
        select(.kind == "note") | .description')" "$(cat "$scratch/err")"
    for format in "" --json; do
        status=0
        # shellcheck disable=SC2086 # no flag, or one
        $cannot "$PERFCOUNTD" plan $format >"$scratch/out" 2>"$scratch/err" || status=$?
        equals "plan${format:+ $format} with nothing to count: exit status" "$status" 1
        matches "plan${format:+ $format} with nothing to count: the reason" "$(cat "$scratch/out")" 'EACCES'
    done
    if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] && command -v setcap >/dev/null; then
        obey_setcap
    else
        left_out "setcap, or kernel.perf_event_paranoid of 2 or less"
    fi
else
    left_out "a user who may count nothing"
fi

for command in --help list-events list-metrics plan report 'stat --interval=50ms' "check-config $bad"; do
    # shellcheck disable=SC2086 # words
    try $command
    cat "$scratch/out" "$scratch/err" >"$scratch/both"
    lacks "no trailing blanks: $command" ' $' "$scratch/both"
    lacks "no colour without a terminal: $command" $'\e' "$scratch/both"
done

# --- colour, on a terminal

if command -v script >/dev/null; then
    # coloured [NAME=VALUE...]: prints how many lines with colour stat prints on a terminal.
    coloured() {
        env -u NO_COLOR TERM=xterm "$@" script -qec "$PERFCOUNTD stat --interval=50ms" /dev/null </dev/null |
            grep -c $'\e\['
    }
    compares "stat prints colour on a terminal" "$(coloured) > 0"
    equals "stat prints no colour with NO_COLOR" "$(coloured NO_COLOR=1)" 0
    equals "stat prints no colour on a dumb terminal" "$(coloured TERM=dumb)" 0
else
    left_out "script, for a terminal"
fi

# --- completion

# shellcheck source=../../contrib/completion/perfcountd
. "$root/contrib/completion/perfcountd"
# completes WORD...: prints the completions of the last word of a command line.
completes() {
    COMP_WORDS=("$PERFCOUNTD" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _perfcountd
    (IFS=' ' && echo "${COMPREPLY[*]}")
}
while IFS='|' read -r words expected; do
    # shellcheck disable=SC2086 # words
    equals "perfcountd $words<Tab>" "$(completes $words)" "$expected"
done <<END
pl|plan
rec|record
rep|report
record --freq|--frequency=
record -o $scratch/goo|$scratch/good.yaml
--config|--config.file=
plan --js|--json
plan --int|
stat --int|--interval=
plan st|
help pl|plan
--log.format =|auto text json journal
--config.file = $scratch/goo|$scratch/good.yaml
check-config $scratch/goo|$scratch/good.yaml
END

# --- flags of run

try list-events --log.level=warn
equals "--log.level=warn means warning, as in the exporters" "$status" 0
start_daemon --log.format=json --log.level info
holds "every line of the log is JSON" jq -es 'length > 0' "$daemon_log"
matches "one line at the start says what is counted" "$(jq -r 'select(.kind == "counting") | .message' "$daemon_log")" \
    '^(counting: cpu [0-9].*: |nothing can be counted)'
stop_daemon
start_daemon run --web.telemetry-path /m
equals "the run command accepts a flag and its value as two words" "$(status_of /m)" 200
stop_daemon
printf 'web: {listen: ["127.0.0.1:0"], telemetry_path: /file}\n' >"$good"
launch_daemon --config.file="$good"
eventually 60 listening_or_dead
url=$(sed -n 's|.*listening on \(http://[^ "]*\)/.*|\1|p' "$daemon_log" | head -n 1)
equals "the configured telemetry path is used" "$(status_of /file)" 200
stop_daemon
missing=$scratch/missing.yaml
printf 'collectors: {cgroup: {enabled: false}, cpu: {groups: [%s]}}\n' \
    '{name: a, events: "cs,sched:no_such"}, {name: b, events: "cpu-migrations,sched:no_such"}' >"$missing"
start_daemon --config.file="$missing"
hint=$(grep -o '[0-9]* events are not counted, see .*"' "$daemon_log")
stop_daemon
matches "the log shows the plan command for the daemon's configuration" "$hint" \
    ", see \"perfcountd plan --config.file=$missing\""
try plan --config.file="$missing"
equals "plan reports the same number of events that are not counted" \
    "$(sed -n 's/^not counted: \([0-9]* events\) .*/\1/p' "$scratch/out") are not counted" "${hint%%,*}"
start_daemon --config.file="$good" --web.telemetry-path=/flag
equals "a flag overrides the file" "$(status_of /flag)" 200
stop_daemon
finish
