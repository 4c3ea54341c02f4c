# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a daemon of user nobody may count, by kernel.perf_event_paranoid and capability, and what it says where it may
# not.
# Sourced after board.sh.

at_3="kernel.perf_event_paranoid is 3, where CAP_PERFMON does not suffice; grant CAP_SYS_ADMIN, or set it to 2 and \
grant CAP_PERFMON"

# PARANOID CAPABILITY COUNTED SENTENCE: both kernels, 5.10 and 6.1, are the same here.
privileges="\
3|none|nothing|$at_3
3|perfmon|nothing|$at_3
3|sys_admin|everything|
2|none|nothing|kernel.perf_event_paranoid is 2; grant CAP_PERFMON or set it to 0
2|perfmon|everything|
2|sys_admin|everything|
1|none|nothing|kernel.perf_event_paranoid is 1; grant CAP_PERFMON or set it to 0
1|perfmon|everything|
0|none|everything|"

# plan_as CAPABILITY: as JSON.
plan_as() {
    vm_run "cat >/tmp/privilege.yaml <<'END'
collectors:
  cpu:
    groups:
      - {name: core, events: \"{cycles,instructions}\"}
      - {name: user, events: \"cycles:u\"}
      - {name: software, events: context-switches}
END
    drop $1 perfcountd plan --json --config.file=/tmp/privilege.yaml"
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
        equals "paranoid $level, capability $capability: the sentence" "$said" \
            "${sentence:+permission denied (EACCES): $sentence}"
    done <<<"$privileges"
    vm_run "echo 3 >/proc/sys/kernel/perf_event_paranoid"
}
