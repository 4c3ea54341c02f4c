# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Checks which events a daemon of user nobody may count, depending on kernel.perf_event_paranoid and capabilities; its
# message if it may not; and which privileges the listening process of root's daemon keeps. Source it after board.sh.

by_group="let a group run it with CAP_PERFMON and so sample everybody (sudo sh -ec 'chgrp perfcountd \$0; chmod 0750 \$0; \
setcap cap_perfmon=ep \$0' /bin/perfcountd)"
at_3="kernel.perf_event_paranoid is 3, where CAP_PERFMON does not suffice; run perfcountd with sudo, or set it to 2 \
(sudo sysctl kernel.perf_event_paranoid=2) and $by_group"
below_3="run perfcountd with sudo, $by_group, or let every user count (sudo sysctl kernel.perf_event_paranoid=0)"

# Columns: PARANOID CAPABILITY COUNTED SENTENCE. Linux 5.10 and 6.1 do not differ here.
privileges="\
3|none|nothing|$at_3
3|perfmon|nothing|$at_3
3|sys_admin|everything|
2|none|nothing|kernel.perf_event_paranoid is 2; $below_3
2|perfmon|everything|
2|sys_admin|everything|
1|none|nothing|kernel.perf_event_paranoid is 1; $below_3
1|perfmon|everything|
0|none|everything|"

# plan_as CAPABILITY: prints the plan, as JSON, that nobody gets with this capability.
plan_as() {
    vm_run "cat >/tmp/privilege.yaml <<'END'
collectors:
  cpu:
    groups:
      - {name: core, events: \"{cycles,instructions}\"}
      - {name: user, events: \"cycles:u\"}
      - {name: software, events: context-switches}
  cgroup: {enabled: false}
END
    drop $1 perfcountd plan --json --config.file=/tmp/privilege.yaml"
}

# obey_sysctl LEVEL CAPABILITY SENTENCE: checks that the suggested sysctl takes effect. The row for that level says what
# can then be counted. tests/e2e/cli.sh tests the other suggested command.
obey_sysctl() {
    local command
    command=$(grep -o 'sysctl kernel.perf_event_paranoid=[0-9]' <<<"$3")
    vm_run "busybox $command" >/dev/null
    equals "paranoid $1, capability $2: \"$command\" succeeds" \
        "$(vm_run cat /proc/sys/kernel/perf_event_paranoid)" "${command#*=}"
}

test_privilege() {
    local level capability wanted sentence plan counted said
    printf '    %-19s %-12s %s\n' perf_event_paranoid capability counts
    while IFS='|' read -r level capability wanted sentence; do
        vm_run "echo $level >/proc/sys/kernel/perf_event_paranoid"
        plan=$(plan_as "$capability")
        counted=$(jq -r '{"true,false": "nothing", "false,true": "everything"}["\(.groups == []),\(.missing == [])"] //
            "a part"' <<<"$plan")
        said=$(jq -r '[.missing[] | .message] | unique | join(" | ")' <<<"$plan")
        printf '    %-19s %-12s %s\n' "$level" "$capability" "$counted"
        equals "paranoid $level, capability $capability: $wanted is counted" "$counted" "$wanted"
        equals "paranoid $level, capability $capability: the message is as expected" "$said" \
            "${sentence:+permission denied (EACCES): $sentence}"
        [ -z "$sentence" ] || obey_sysctl "$level" "$capability" "$said"
    done <<<"$privileges"
    vm_run "echo 3 >/proc/sys/kernel/perf_event_paranoid"
}

# Tests the defaults of a new Debian installation: kernel.perf_event_paranoid is 3, and no sysctl was changed.
test_opener() {
    local opener
    equals "kernel.perf_event_paranoid is 3" "$(vm_run cat /proc/sys/kernel/perf_event_paranoid)" 3
    daemon_start <<'END'
collectors: {cpu: {groups: [{name: core, events: "{cycles,instructions}"}]}, cgroup: {enabled: false}}
END
    equals "the first scrape has counts of all CPUs" "$(get /metrics | grep -c '^perf_cpu_cycles_total{.*} [1-9]')" 4
    # shellcheck disable=SC2016 # the board expands it
    equals "the listening process has no capability" \
        "$(vm_run 'awk "/^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs):/ { print \$2 }" /proc/$(cat /tmp/daemon.pid)/status' |
            sort | uniq -c | awk '{ print $1, $2 }' | paste -sd,)" "5 0000000000000000,1 1"
    opener=$(get /api/v1/status | jq .opener.pid)
    equals "the opener's system calls are filtered" "$(vm_run "awk '/^Seccomp:/ { print \$2 }' /proc/$opener/status")" 2
    daemon_stop
    equals "the opener ends with the daemon" "$(vm_run "ls -d /proc/$opener 2>/dev/null")" ""

    # A process is not dumpable if its user may not read its program. Before Linux 5.14, its fdinfo then belongs to
    # root; the opener reads fdinfo to find out how many events are open.
    vm_run "echo 2 >/proc/sys/kernel/perf_event_paranoid; chmod 711 /bin/perfcountd"
    daemon_start drop perfmon <<'END'
collectors: {cpu: {groups: [{name: core, events: "{cycles,instructions}"}]}, cgroup: {enabled: false}}
END
    opener=$(get /api/v1/status | jq .opener.pid)
    equals "nobody's opener has only CAP_PERFMON" "$(vm_run "awk '/^CapEff:/ { print \$2 }' /proc/$opener/status")" \
        0000004000000000
    equals "nobody's daemon counts on all CPUs" "$(get /metrics | grep -c '^perf_cpu_cycles_total{.*} [1-9]')" 4
    equals "other processes of the user cannot read the opener's environment" \
        "$(vm_run "drop none cat /proc/$opener/environ 2>/dev/null | wc -c")" 0
    daemon_stop
    vm_run "chmod 755 /bin/perfcountd; echo 3 >/proc/sys/kernel/perf_event_paranoid"
}
