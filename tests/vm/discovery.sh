# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Checks that the daemon on a board finds the PMUs with their CPUs and events, and reports missing events. Source it
# after board.sh.
# shellcheck disable=SC2154 # set there

# core_pmus: prints the core PMUs with their CPUs as "NAME:CPUS ...".
core_pmus() {
    get /api/v1/pmus | jq -r '[.pmus[] | select(.scope == "core") | "\(.name):\(.cpus)"] | sort | join(" ")'
}

# places METRIC: prints its labels as "CPU:PMU ...".
places() {
    get /metrics | sed -n "s/^$1{cpu=\"\([0-9]*\)\",pmu=\"\([^\"]*\)\".*/\1:\2/p" | sort -n | paste -sd ' '
}

# place_list PMU CPU...: prints what `places` prints for one PMU.
place_list() {
    printf "%s:$1\n" "${@:2}" | paste -sd ' '
}

promtool_is_silent() {
    local output
    output=$(get /metrics -f | "$promtool" check metrics 2>&1) && [ -z "$output" ] && return
    echo "$output"
    return 1
}

openmetrics_ends() {
    [ "$(get /metrics -f -H 'Accept: application/openmetrics-text;version=1.0.0' | tail -n 1)" = "# EOF" ]
}

test_exposition() {
    promtool=$(command -v promtool || command -v "$VM_CACHE/tools/usr/bin/promtool") ||
        die "there is no promtool: run fetch.sh first"
    holds "promtool reports no problem" promtool_is_silent
    holds "OpenMetrics is served" openmetrics_ends
}

# Checks the excerpts from this board in README.md and doc/, with the default configuration, while a loop keeps CPU 3
# busy.
test_excerpts() {
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'spin 3 100000 >/dev/null 2>&1 & echo $! >/tmp/excerpts.pid; sleep 1'
    holds "README.md and doc/ show what this board prints" \
        python3 "$root/doc/excerpts.py" --plan "$scratch/plan" board "$url"
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'kill $(cat /tmp/excerpts.pid)'
}

# Tests the default configuration, then events that only one PMU has, and one that neither has.
test_two_kinds() {
    local little big pmu
    little=$(place_list armv8_cortex_a55 0 1)
    big=$(place_list armv8_cortex_a76 2 3)
    # plan runs before the daemon: otherwise the groups of both would be multiplexed.
    vm_run "echo '{}' >/tmp/excerpts.yaml; perfcountd plan --config.file=/tmp/excerpts.yaml" >"$scratch/plan"
    daemon_start <<<"{}"
    equals "there are two kinds of core, each with its PMU" "$(core_pmus)" "armv8_cortex_a55:0-1 armv8_cortex_a76:2-3"
    equals "cycles are counted on every CPU with the right PMU" "$(places perf_cpu_cycles_total)" "$little $big"
    equals "the enabled time is counted on every CPU with the right PMU" \
        "$(places perf_cpu_group_enabled_seconds_total | tr ' ' '\n' |
        grep -v software | paste -sd ' ')" "$little $big"
    equals "overview has the events that sysfs lists, and none is reported as missing" \
        "$(get '/api/v1/rates?group=overview&seconds=0.2' | jq -c '[.rates[].events | keys_unsorted] | unique')" \
        '[["cycles","instructions","stall_frontend","stall_backend"]]'
    equals "totals=pmu has each PMU, its CPUs, and the ipc computed from the sums" \
        "$(get '/api/v1/rates?group=overview&seconds=0.5&collector=cpu&totals=pmu' | jq -c '. as $all | [.totals[] |
            . as $total | [.pmu, .cpus, ([$all.rates[] | select(.pmu == $total.pmu) | .events] |
                (map(.instructions) | add) / (map(.cycles) | add) / $total.ratios.ipc * 1000 | round)]]')" \
        '[["armv8_cortex_a55","0-1",1000],["armv8_cortex_a76","2-3",1000]]'
    equals "the status has the idle time of each CPU" \
        "$(get /api/v1/status | jq -c '[.machine.cpu_idle_seconds[] | [.cpu, .seconds > 0]]')" \
        '[[0,true],[1,true],[2,true],[3,true]]'
    equals "no event is unavailable" "$(get /metrics | grep -c "events_unavailable{")" 0
    equals "no group of the default configuration is multiplexed" "$(get /api/v1/counters | jq -c \
        '[.counters[] | [.state, .enabled_ns == .running_ns]] | unique')" '[["counting",true]]'
    test_exposition
    test_excerpts

    daemon_start <<'END'
collectors:
  cpu:
    groups:
      - {name: big, events: "armv8_cortex_a76/inst_retired/"}
      - {name: little, events: "armv8_cortex_a55/cpu_cycles/"}
      - {name: pfm, events: "ARM_CORTEX_A76::INST_RETIRED:u"}
      - {name: raw, events: "armv8_cortex_a76/event=0x08/u"}
      - {name: wide, events: "armv8_cortex_a76/event=0x08,long=1,name=wide/"}
      - {name: software, events: "{context-switches,armv8_cortex_a76/cpu_cycles,name=big_cycles/}"}
      - {name: cache, events: "{cycles,cache-misses}"}
END
    for pmu in armv8_cortex_a55 armv8_cortex_a76; do
        contains "missing events are reported for $pmu" "$(get /metrics | grep events_unavailable)" \
            "group=\"cache\",event=\"cache_misses\",pmu=\"$pmu\",reason=\"ENOENT\"} 2"
    done
    equals "an event of the big PMU is counted only on that PMU's CPUs" \
        "$(places perf_cpu_inst_retired_total)" "$big"
    equals "an event of the little PMU is counted only on that PMU's CPUs" \
        "$(places perf_cpu_cpu_cycles_total)" "$little"
    equals "an event with a libpfm4 name is counted only on its PMU's CPUs" \
        "$(places perf_cpu_inst_retired_user_total)" "$big"
    equals "an event with explicit terms is counted only on its PMU's CPUs" \
        "$(places perf_cpu_event_0x08_user_total)" "$big"
    equals "a 64-bit event is counted" "$(places perf_cpu_wide_total)" "$big"
    equals "a group may have software events and events of one PMU" "$(places perf_cpu_big_cycles_total)" "$big"
    daemon_stop
}

# plan_json <CONFIGURATION: prints the board's plan as JSON.
plan_json() {
    vm_run "cat >/tmp/plan.yaml <<'END'
$(cat)
END
    perfcountd plan --json --config.file=/tmp/plan.yaml"
}

test_plan() {
    local plan overview='["cycles","instructions","stall_frontend","stall_backend"]'
    local left_out='["l2d_cache_refill","ll_cache_miss_rd","br_mis_pred_retired"]'
    plan=$(plan_json <<<"{}")
    equals "plan lists the groups on each PMU" "$(jq -c \
        '[.groups[] | select(.group == "overview") | [.pmu, .cpus, .states]]' <<<"$plan")" \
        '[["armv8_cortex_a55","0-1",{"counting":2}],["armv8_cortex_a76","2-3",{"counting":2}]]'
    equals "plan: the number of descriptors is the sum over the groups" \
        "$(jq -c '.file_descriptors == ([.groups[].descriptors] | add)' <<<"$plan")" true
    equals "plan shows kernel.perf_event_paranoid" "$(jq .privileges.perf_event_paranoid <<<"$plan")" 3
    equals "plan lists the events that the preset selects, and those that it leaves out" \
        "$(jq -c '[.presets[] | [.preset, .pmu, .events, .left_out, .fits]]' \
        <<<"$plan")" "$(printf '["overview","%s",%s,%s,true]\n' \
        armv8_cortex_a55 "$overview" "$left_out" armv8_cortex_a76 "$overview" "$left_out" | jq -c -s .)"
    plan=$(plan_json <<<'collectors: {cpu: {groups: [{name: cache, events: cache-misses}, {preset: topdown}]}}')
    contains "plan gives the reason for missing events" "$(jq -c .missing <<<"$plan")" \
        'no such event on this PMU (ENOENT)'
    equals "plan: a preset without events on this machine is empty" \
        "$(jq -c '[.presets[] | [.preset, .events, .fits]] | unique' \
        <<<"$plan")" '[["topdown",[],false]]'
    plan=$(many_groups | plan_json)
    equals "plan marks the groups that will be multiplexed" \
        "$(jq -c '[.groups[] | [.group == "pinned", (.states | keys[])]] | unique' <<<"$plan")" \
        '[[false,"multiplexed"],[true,"counting"]]'
    # With -icount shift=1, an instruction takes two nanoseconds and a cycle takes one.
    equals "report: the IPC of each PMU is plausible" \
        "$(vm_run perfcountd report | awk '/^## self-test of / { pmu = $4 }
        /^[a-z]/ { on = /^ipc = / }
        on && /^    value:/ { printf "%s %.2f %s,", pmu, $2, $4 }')" \
        "armv8_cortex_a55 0.50 plausible,armv8_cortex_a76 0.50 plausible,"
}

# Tests events that only one kind of core has: the kernel's event tables for the A53 and the A72 differ.
test_one_lacks_an_event() {
    local little=armv8_cortex_a53 big=armv8_cortex_a72
    daemon_start <<'END'
collectors:
  cpu:
    groups:
      - {name: prefetch, events: "{cycles,L1-dcache-prefetch-misses}"}
      - {name: tlb, events: "dTLB-load-misses"}
END
    equals "there are eight cores of two kinds" "$(core_pmus)" "$little:0-3 $big:4-7"
    # shellcheck disable=SC2046 # words
    {
        equals "cycles are counted on all eight cores" "$(places perf_cpu_cycles_total)" \
            "$(place_list $little 0 1 2 3) $(place_list $big 4 5 6 7)"
        equals "an event that the big cores lack is served for the little ones" \
            "$(places perf_cpu_l1_dcache_prefetch_misses_total)" "$(place_list $little 0 1 2 3)"
        equals "an event that the little cores lack is served for the big ones" \
            "$(places perf_cpu_dtlb_load_misses_total)" "$(place_list $big 4 5 6 7)"
    }
    equals "each missing event is reported for the PMU that lacks it" "$(get /metrics | sed -n \
        's/^perfcountd_events_unavailable{.*event="\([^"]*\)",pmu="\([^"]*\)",reason="ENOENT"} \(.*\)/\1 \2 \3/p' |
        sort | paste -sd ,)" "dtlb_load_misses $little 4,l1_dcache_prefetch_misses $big 4"
    test_exposition
    daemon_stop
}

test_single_pmu() {
    daemon_start <<<"{}"
    equals "there is one PMU for all CPUs" "$(core_pmus)" "armv8_pmuv3:0-1"
    equals "cycles are counted on every CPU" "$(places perf_cpu_cycles_total)" "$(place_list armv8_pmuv3 0 1)"
    test_exposition
    daemon_stop
}
