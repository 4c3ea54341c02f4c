#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# perfcountd runs as a service under a real systemd, and counts its services, scopes and slices.
#
# usage: units.sh [TEST...]      default: all tests
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

pages=100000 # page faults; starting a unit causes far less than 1 % of these
config=/run/perfcountd.yaml

# count CGROUP: prints the cgroup's minor faults, or "none" if the series does not exist.
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
# caused TITLE COUNT PAGES: checks that the count is at most 1 % above PAGES, and below it only by unattributed faults.
caused() {
    compares "$1" "\"$2\" != \"none\" && ${2/none/0} >= $3 - $(unknown_faults) && ${2/none/0} <= $3 * 1.01"
}
# info CGROUP: prints the cgroup's perf_cgroup_info series without the label `cgroup`.
info() {
    get /metrics | grep -F "perf_cgroup_info{cgroup=\"$1\"," | sed 's/^[^,]*,//'
}
# write_config INCLUDE: writes a configuration with this value of collectors.cgroup.include.
write_config() {
    printf 'web: {min_interval: 0s}\ncollectors:\n  cpu: {enabled: false}\n  cgroup:\n    include: %s\n' "$1" |
        inside_write "$config"
}
# run_job NAME [SYSTEMD-RUN-OPTIONS...]: runs a service in jobs.slice that causes the page faults and then exits.
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

# install_load_unit: installs load@.service, which waits until it is watched, causes the page faults while it starts,
# and then keeps running.
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

# --- the defaults, without a configuration

test_defaults() {
    local unit cgroup before after
    unit=load@$(inside systemd-escape 'a-b c').service
    cgroup=/system.slice/$unit
    start_service
    equals "the service is up" "$(inside systemctl is-active perfcountd)" active
    matches "systemctl status shows what is counted" "$(inside systemctl show -P StatusText perfcountd)" \
        '^counting [0-9]+ groups'
    equals "system.slice is counted" "$(state_of /system.slice)" watched
    eventually 60 all_are_watched # a service that runs only at boot may just have ended
    equals "every service below system.slice is counted" "$(services_watched)" "$(services_there)"
    equals "perf_cgroup_info of perfcountd.service has the labels unit and slice" \
        "$(info /system.slice/perfcountd.service)" \
        'unit="perfcountd.service",slice="system.slice"} 1'
    equals "perf_cgroup_info of system.slice has the label slice" "$(info /system.slice)" 'slice="system.slice"} 1'

    before=$(count /system.slice)
    start_load "$unit"
    after=$(count /system.slice)
    caused "a service that is started later is counted" "$(count "$cgroup")" "$pages"
    compares "system.slice includes the new service's counts" \
        "$after - $before >= $pages - $(unknown_faults) && $after - $before < 1.03 * $pages"
    # The exposition doubles backslashes.
    equals "the unit label has the unescaped name" "$(info "${cgroup//\\/\\\\}")" \
        'unit="load@a-b c.service",slice="system.slice"} 1'
    equals "?cgroup=GLOB selects the new service" \
        "$(get "/api/v1/counters?cgroup=/system.slice/load@*&event=minor_faults" |
        jq -r '.counters[].cgroup')" "$cgroup"
    equals "the new service is watched" "$(state_of "$cgroup")" watched
    inside systemctl stop "$unit"
    holds "the cgroup of a stopped service lingers" eventually 60 is_in_state "$cgroup" lingering
    start_load "$unit"
    caused "a service that is started again continues its total" "$(count "$cgroup")" $((2 * pages))
    inside systemctl stop "$unit"
    # systemd prefixes the name of a unit's cgroup with "_" if it could be that of a cgroup attribute file.
    inside systemd-run --quiet --unit=cgroup.odd sleep infinity
    holds "a unit whose cgroup name differs is counted" \
        eventually 60 is_in_state /system.slice/_cgroup.odd.service watched
    equals "a cgroup whose name differs has the unit's labels" "$(info /system.slice/_cgroup.odd.service)" \
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
    equals "perf_cgroup_info has the scope's name" "$(info /system.slice/work.scope)" \
        'unit="work.scope",slice="system.slice"} 1'
    when_watched /a.slice/a-b.slice/deep.scope inside systemd-run --quiet --scope --slice=a-b.slice --unit=deep sh -c \
        "read x </run/go; cgroup-load /sys/fs/cgroup/a.slice/a-b.slice/deep.scope faults $pages"
    caused "a scope in a nested slice is counted" "$(count /a.slice/a-b.slice/deep.scope)" "$pages"
    equals "perf_cgroup_info has the inner slice" "$(info /a.slice/a-b.slice/deep.scope)" \
        'unit="deep.scope",slice="a-b.slice"} 1'
    equals "init.scope is watched" "$(state_of /init.scope)" watched
    equals "only scopes are counted" "$(get /api/v1/counters?collector=cgroup | jq -r '.counters[].cgroup' |
        grep -vc '[.]scope$')" 0
    stop_service
}

# --- descriptions

# described CGROUP: prints the cgroup's description.
described() {
    get /api/v1/cgroups | jq -r --arg cgroup "$1" '.cgroups[] | select(.cgroup == $cgroup) | .description // "none"'
}
# descriptions: prints the descriptions of all watched units, except those of user managers.
descriptions() {
    get /api/v1/cgroups | jq -r '.cgroups[] | select(.state == "watched" and .description)
        | select(.cgroup | test("/user@[0-9]+[.]service/") | not)
        | "\(.cgroup | split("/") | last): \(.description)"' | sort
}
# descriptions_there: prints the descriptions that systemctl shows for units whose files have one.
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
    # The container has no PAM to create the runtime directory of the user manager.
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
    compares "systemctl shows descriptions of units" "$(descriptions_there | wc -l) >= 10"
    eventually 60 all_are_described # a service that runs only at boot may just have ended
    equals "cgroups have the descriptions that systemctl shows" "$(descriptions)" "$(descriptions_there)"
    equals "specifiers in a drop-in are expanded" "$(described "/system.slice/$unit")" 'a-b c of "load"    <b> %'
    equals "a transient unit's description is shown" "$(described /system.slice/transient.service)" "A transient unit"
    equals "a unit without a description has none" "$(described /a.slice)" none
    equals "the description of a user manager's unit is shown" \
        "$(described /user.slice/user-0.slice/user@0.service/app.slice)" "User Application Slice"
    equals "a unit that only its user may read is shown without a description" \
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
    holds "the cgroup of a job that has ended lingers" eventually 60 is_in_state /jobs.slice/job-0.service lingering
    equals "the cgroup of the job is removed" "$(ls -d "$machine/jobs.slice/job-0.service" 2>/dev/null)" ""
    caused "the job's total equals its load" "$(count /jobs.slice/job-0.service)" "$pages"
    for ((i = 1; i < jobs; i++)); do
        run_job "job-$i"
        [ "$(count "/jobs.slice/job-$i.service")" != none ] || missing=$((missing + 1))
    done
    equals "each of $jobs jobs has a series, although they do not wait until they are watched" "$missing" 0
    caused "the slice includes the counts of all jobs" $(($(count /jobs.slice) - before)) $((jobs * pages))
    after=$(count /jobs.slice)
    compares "the sum of the jobs does not exceed their slice" "$(sum_of_jobs) <= $((after - before))"
    holds "the daemon keeps no removed cgroup alive: nr_dying_descendants has not increased" \
        eventually 60 no_more_dying "$dying"
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
    compares "perfcountd does not run as root" "$(inside ps -o uid= -p "$pid") >= 61184"
    equals "the listening process has no capabilities" "$(capabilities "$pid")" "CapEff: 0000000000000000 "
    equals "the opener has only CAP_PERFMON" "$(capabilities "$(inside pgrep -P "$pid")")" "CapEff: 0000004000000000 "
    eventually 60 all_are_watched
    equals "every service is counted" "$(services_watched)" "$(services_there)"
    start_load load@user.service
    caused "a service's counts are right" "$(count /system.slice/load@user.service)" "$pages"
    inside systemctl stop load@user.service
    stop_service
    equals "the service stops without a failure" "$(inside systemctl is-failed perfcountd)" inactive

    [ "$paranoid" -gt 0 ] || return
    start_service -p DynamicUser=yes
    equals "without CAP_PERFMON, the daemon answers requests" "$(status_of /metrics)" 200
    equals "without CAP_PERFMON, nothing is counted" "$(count /system.slice)" none
    holds "the log names CAP_PERFMON" eventually 60 has_logged CAP_PERFMON
    stop_service
}

# --- the history survives a restart of the service

# steps: prints the times of the recorded steps, with null for a gap.
steps() {
    get /api/v1/history | jq -c '[.times, .seconds] | transpose | map(if .[1] > 0 then .[0] else null end)'
}
has_steps() {
    [ "$(steps | jq length)" -ge "$1" ]
}
goes_on_after() {
    [ "$(steps | jq --argjson time "$1" 'index($time) as $i | .[$i + 1:] | map(values) | length')" -ge 1 ]
}

# listens_again URL: succeeds once the new process listens; URL is the previous process's. Sets url.
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
    holds "the history has three steps" eventually 60 has_steps 3
    first=$(steps | jq '.[0]')
    last=$(steps | jq 'map(values) | last')
    inside systemctl restart perfcountd
    eventually 60 listens_again "$url" || fail "the service is restarted" "$(log_of_service)"
    holds "the restarted service continues the history" eventually 60 goes_on_after "$last"
    equals "the steps from before the restart are kept" "$(steps | jq '.[0]')" "$first"
    equals "the history has a gap at the restart" "$(steps | jq --argjson time "$last" '.[index($time) + 1]')" null
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
