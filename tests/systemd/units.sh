#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real services, scopes and slices of a real systemd, counted by perfcountd that is itself a service there.
#
# usage: units.sh [TEST...]      all of them without an argument
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

pages=100000 # what a unit's own start faults is far below 1 % of it
config=/run/perfcountd.yaml

# count CGROUP: its minor faults, "none" where there is no such series.
count() {
    get "/api/v1/counters?collector=cgroup&event=minor_faults" |
        jq -r --arg cgroup "$1" '[.counters[] | select(.cgroup == $cgroup) | .value] | add // "none"'
}
state_of() {
    field "$1" state
}
is_in_state() {
    has_field "$1" state "$2"
}
# caused TITLE COUNT PAGES: within 1 %, and never less than what is not unknown.
caused() {
    compares "$1" "\"$2\" != \"none\" && ${2/none/0} >= $3 - $(unknown_faults) && ${2/none/0} <= $3 * 1.01"
}
# info CGROUP: its series of perf_cgroup_info, without the path.
info() {
    get /metrics | grep -F "perf_cgroup_info{cgroup=\"$1\"," | sed 's/^[^,]*,//'
}
# write_config INCLUDE: what is written below collectors.cgroup.include.
write_config() {
    printf 'web: {min_interval: 0s}\ncollectors:\n  cpu: {enabled: false}\n  cgroup:\n    include: %s\n' "$1" |
        inside_write "$config"
}
# run_job NAME [SYSTEMD-RUN-OPTIONS...]: a service in jobs.slice that faults the pages and is gone.
run_job() {
    inside systemd-run --quiet --wait --collect --slice=jobs.slice --unit="$1" "${@:2}" /usr/local/bin/cgroup-load "/sys/fs/cgroup/jobs.slice/$1.service" faults "$pages"
}
sum_of_jobs() {
    get '/api/v1/counters?cgroup=/jobs.slice/*&event=minor_faults' | jq '[.counters[].value] | add'
}
dying() {
    awk '$1 == "nr_dying_descendants" { print $2 }' "$machine/cgroup.stat"
}
no_more_dying() {
    [ "$(dying)" -le "$1" ]
}
services_there() {
    (shopt -s nullglob && cd "$machine" &&
        printf '/%s\n' system.slice/*.service system.slice/*.slice/*.service | sort)
}
all_are_watched() {
    [ "$(services_watched)" = "$(services_there)" ]
}
services_watched() {
    get /api/v1/cgroups | jq -r '.cgroups[] | select(.state == "watched") | .cgroup' |
        grep '^/system.slice/.*[.]service$' | sort
}

has_logged() {
    log_of_service | grep -q "$1"
}

# install_load_unit: load@NAME.service waits until it is watched, faults the pages before it counts as started, and
# stays.
install_load_unit() {
    inside_write /run/systemd/system/load@.service <<END
[Service]
Type=exec
Slice=system.slice
ExecStartPre=$wait_for_go
ExecStartPre=/usr/local/bin/cgroup-load /sys/fs/cgroup/system.slice/%n faults $pages
ExecStart=/bin/sleep infinity
END
    inside systemctl daemon-reload
}

# start_load UNIT
start_load() {
    when_watched "/system.slice/$1" inside systemctl start "$1"
}

# --- as it comes, without a configuration

test_defaults() {
    local unit cgroup before after
    unit=load@$(inside systemd-escape 'a-b c').service
    cgroup=/system.slice/$unit
    start_service
    equals "the service is up" "$(inside systemctl is-active perfcountd)" active
    matches "systemctl status has a line of it" "$(inside systemctl show -P StatusText perfcountd)" \
        '^counting [0-9]+ groups'
    equals "system.slice is counted" "$(state_of /system.slice)" watched
    eventually 60 all_are_watched # the last of those that run once at boot may just have ended
    equals "and every service below it" "$(services_watched)" "$(services_there)"
    equals "perfcountd.service by its name" "$(info /system.slice/perfcountd.service)" \
        'unit="perfcountd.service",slice="system.slice"} 1'
    equals "a slice by its own" "$(info /system.slice)" 'slice="system.slice"} 1'

    before=$(count /system.slice)
    start_load "$unit"
    after=$(count /system.slice)
    caused "a service that was started later has its own counts" "$(count "$cgroup")" "$pages"
    compares "system.slice has it, too" \
        "$after - $before >= $pages - $(unknown_faults) && $after - $before < 1.03 * $pages"
    # In the text backslashes are doubled.
    equals "an escaped unit's name is written as it was before" "$(info "${cgroup//\\/\\\\}")" \
        'unit="load@a-b c.service",slice="system.slice"} 1'
    equals "?cgroup=GLOB finds it" "$(get "/api/v1/counters?cgroup=/system.slice/load@*&event=minor_faults" |
        jq -r '.counters[].cgroup')" "$cgroup"
    equals "it is watched" "$(state_of "$cgroup")" watched
    inside systemctl stop "$unit"
    holds "stopped, it lingers" eventually 60 is_in_state "$cgroup" lingering
    start_load "$unit"
    caused "started again, it goes on from its total" "$(count "$cgroup")" $((2 * pages))
    inside systemctl stop "$unit"
    # systemd puts a "_" before what could be taken for a file of the kernel's.
    inside systemd-run --quiet --unit=cgroup.odd sleep infinity
    holds "a unit whose cgroup has another name is counted" \
        eventually 60 is_in_state /system.slice/_cgroup.odd.service watched
    equals "and has its own labels" "$(info /system.slice/_cgroup.odd.service)" \
        'unit="cgroup.odd.service",slice="system.slice"} 1'
    inside systemctl stop cgroup.odd
    stop_service
}

# --- scopes

test_scopes() {
    write_config '["/**/*.scope"]'
    start_service -- --config.file="$config"
    when_watched /system.slice/work.scope inside systemd-run --quiet --scope --unit=work sh -c \
        "read x </run/go; cgroup-load /sys/fs/cgroup/system.slice/work.scope faults $pages"
    caused "a scope is counted" "$(count /system.slice/work.scope)" "$pages"
    equals "by its name" "$(info /system.slice/work.scope)" \
        'unit="work.scope",slice="system.slice"} 1'
    when_watched /a.slice/a-b.slice/deep.scope inside systemd-run --quiet --scope --slice=a-b.slice --unit=deep sh -c \
        "read x </run/go; cgroup-load /sys/fs/cgroup/a.slice/a-b.slice/deep.scope faults $pages"
    caused "also in slices of slices" "$(count /a.slice/a-b.slice/deep.scope)" "$pages"
    equals "with the inner slice" "$(info /a.slice/a-b.slice/deep.scope)" \
        'unit="deep.scope",slice="a-b.slice"} 1'
    equals "init.scope is one as well" "$(state_of /init.scope)" watched
    equals "nothing else is counted" "$(get /api/v1/counters?collector=cgroup | jq -r '.counters[].cgroup' |
        grep -vc '[.]scope$')" 0
    stop_service
}

# --- descriptions

# described CGROUP: its description.
described() {
    get /api/v1/cgroups | jq -r --arg cgroup "$1" '.cgroups[] | select(.cgroup == $cgroup) | .description // "none"'
}
# descriptions: of all units of the system's manager that are watched.
descriptions() {
    get /api/v1/cgroups | jq -r '.cgroups[] | select(.state == "watched" and .description)
        | select(.cgroup | test("/user@[0-9]+[.]service/") | not)
        | "\(.cgroup | split("/") | last): \(.description)"' | sort
}
# descriptions_there: prints the descriptions that systemctl shows. Units without one in a file get it from systemd.
descriptions_there() {
    local units
    mapfile -t units < <(cd "$machine" && find . -path '*/user@*/*' -prune -o -type d -regex \
        '.*[.]\(service\|slice\|scope\|mount\|socket\|swap\)' -printf '%f\n' | sed 's/^_//')
    inside systemctl show -p Id -p Description -p FragmentPath -p DropInPaths -- "${units[@]}" |
        awk -v RS= -F '\n' '{ delete value
            for (i = 1; i <= NF; i++) { at = index($i, "="); value[substr($i, 1, at - 1)] = substr($i, at + 1) }
            if (value["FragmentPath"] value["DropInPaths"] != "" && value["Id"] != value["Description"])
                print value["Id"] ": " value["Description"] }' | sort
}
all_are_described() {
    [ "$(descriptions)" = "$(descriptions_there)" ]
}

test_descriptions() {
    local unit
    unit=load@$(inside systemd-escape 'a-b c').service
    inside mkdir -p /run/systemd/system/load@.service.d
    printf '[Unit]\nDescription=%%I of "%%p" \\\n  <b> %%%%\n' |
        inside_write /run/systemd/system/load@.service.d/description.conf
    # There is no PAM in the machine, which would make the manager's directory.
    inside mkdir -p /run/systemd/system/user@.service.d /run/user/0
    printf '[Service]\nPAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%%i\n' |
        inside_write /run/systemd/system/user@.service.d/pam.conf
    inside systemctl daemon-reload
    inside systemctl start --no-block "$unit"
    inside systemctl start user@0.service
    inside env XDG_RUNTIME_DIR=/run/user/0 systemd-run --quiet --user --slice=app.slice --unit=mine sleep infinity
    inside systemd-run --quiet --unit=transient --description='A transient unit' sleep infinity
    inside systemd-run --quiet --slice=a-b.slice --unit=plain sleep infinity
    write_config '["/**"]'
    start_service -- --config.file="$config"
    compares "units have descriptions" "$(descriptions_there | wc -l) >= 10"
    eventually 60 all_are_described # the last of those that run once at boot may just have ended
    equals "those that systemctl shows" "$(descriptions)" "$(descriptions_there)"
    equals "specifiers of a drop-in are resolved" "$(described "/system.slice/$unit")" 'a-b c of "load"    <b> %'
    equals "a transient unit has its own" "$(described /system.slice/transient.service)" "A transient unit"
    equals "what has none has none" "$(described /a.slice)" none
    equals "the units of a user's manager have theirs" \
        "$(described /user.slice/user-0.slice/user@0.service/app.slice)" "User Application Slice"
    equals "but not those that only the user may read" \
        "$(described /user.slice/user-0.slice/user@0.service/app.slice/mine.service)" none
    inside rm -r /run/systemd/system/load@.service.d /run/systemd/system/user@.service.d
    inside systemctl daemon-reload
    inside systemctl stop "$unit" user@0.service transient plain a-b.slice
    stop_service
}

# --- units that come and go

test_short_lived() {
    local i dying jobs=10 before after missing=0
    inside systemctl start jobs.slice
    write_config '["/*.slice", "/jobs.slice/*.service"]'
    start_service -- --config.file="$config"
    dying=$(dying)
    before=$(count /jobs.slice)
    when_watched /jobs.slice/job-0.service run_job job-0 -p ExecStartPre="$wait_for_go"
    holds "a job that is done lingers" eventually 60 is_in_state /jobs.slice/job-0.service lingering
    equals "its cgroup is gone" "$(ls -d "$machine/jobs.slice/job-0.service" 2>/dev/null)" ""
    caused "its total is its load" "$(count /jobs.slice/job-0.service)" "$pages"
    for ((i = 1; i < jobs; i++)); do
        run_job "job-$i"
        [ "$(count "/jobs.slice/job-$i.service")" != none ] || missing=$((missing + 1))
    done
    equals "each of $jobs jobs that start at once has a series" "$missing" 0
    caused "the slice has the counts of all of them" $(($(count /jobs.slice) - before)) $((jobs * pages))
    after=$(count /jobs.slice)
    compares "and the jobs by themselves no more" "$(sum_of_jobs) <= $((after - before))"
    holds "nothing pins them: nr_dying_descendants is unchanged" eventually 60 no_more_dying "$dying"
    inside systemctl stop jobs.slice
    stop_service
}

# --- without root

capabilities() {
    inside grep CapEff "/proc/$1/status" | tr -s '[:space:]' ' '
}

test_dynamic_user() {
    local paranoid pid
    paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
    if [ "$paranoid" -gt 2 ]; then
        left_out "a kernel that heeds CAP_PERFMON"
        return
    fi
    start_service -p DynamicUser=yes -p AmbientCapabilities=CAP_PERFMON
    pid=$(inside systemctl show -P MainPID perfcountd)
    compares "perfcountd is not root" "$(inside ps -o uid= -p "$pid") >= 61184"
    equals "the listening process has no capability" "$(capabilities "$pid")" "CapEff: 0000000000000000 "
    equals "and its opener one, CAP_PERFMON" "$(capabilities "$(inside pgrep -P "$pid")")" "CapEff: 0000004000000000 "
    eventually 60 all_are_watched
    equals "every service is counted" "$(services_watched)" "$(services_there)"
    start_load load@user.service
    caused "and right" "$(count /system.slice/load@user.service)" "$pages"
    inside systemctl stop load@user.service
    stop_service
    equals "it ends well" "$(inside systemctl is-failed perfcountd)" inactive

    [ "$paranoid" -gt 0 ] || return
    start_service -p DynamicUser=yes
    equals "without the capability it serves, too" "$(status_of /metrics)" 200
    equals "with nothing counted" "$(count /system.slice)" none
    holds "and says which it needs" eventually 60 has_logged CAP_PERFMON
    stop_service
}

# --- what is recorded outlives the process

# steps: the times of what is recorded, and null for a gap.
steps() {
    get /api/v1/history | jq -c '[.times, .seconds] | transpose | map(if .[1] > 0 then .[0] else null end)'
}
has_steps() {
    [ "$(steps | jq length)" -ge "$1" ]
}
goes_on_after() {
    [ "$(steps | jq --argjson time "$1" 'index($time) as $i | .[$i + 1:] | map(values) | length')" -ge 1 ]
}

# listens_again URL: of the process before. Sets url.
listens_again() {
    url=$(log_of_service | sed -n 's|.*listening on \(http://[^ "]*\)/.*|\1|p' | tail -n 1)
    [ "$url" != "$1" ]
}

test_history() {
    local first last
    write_config '["/*.slice"]'
    echo 'history: {interval: 1s}' | inside sh -c "cat >>$config"
    start_service -p DynamicUser=yes -p AmbientCapabilities=CAP_PERFMON -p FileDescriptorStoreMax=1 -- \
        --config.file="$config"
    holds "a second after the other is recorded" eventually 60 has_steps 3
    first=$(steps | jq '.[0]')
    last=$(steps | jq 'map(values) | last')
    inside systemctl restart perfcountd
    eventually 60 listens_again "$url" || fail "the service is started again" "$(log_of_service)"
    holds "it goes on recording" eventually 60 goes_on_after "$last"
    equals "behind what was recorded before" "$(steps | jq '.[0]')" "$first"
    equals "and a gap" "$(steps | jq --argjson time "$last" '.[index($time) + 1]')" null
    stop_service
}

boot
install_load_unit
tests=(defaults scopes descriptions short_lived dynamic_user history)
for test in "${@:-${tests[@]}}"; do
    echo "-- ${test//_/ }"
    "test_$test"
done
finish
