# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The daemon on a board finds its PMUs, their CPUs and events, and reports those that are not there.
# Sourced after board.sh.
# shellcheck disable=SC2154 # set there

# The PMUs with their CPUs, as "NAME:CPUS ..."; core PMUs alone.
core_pmus() {
    get /api/v1/pmus | jq -r '[.pmus[] | select(.scope == "core") | "\(.name):\(.cpus)"] | sort | join(" ")'
}

# places METRIC: its labels, as "CPU:PMU ...".
places() {
    get /metrics | sed -n "s/^$1{cpu=\"\([0-9]*\)\",pmu=\"\([^\"]*\)\".*/\1:\2/p" | sort -n | paste -sd ' '
}

# place_list PMU CPU...: what `places` gives for one PMU.
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
    holds "promtool has nothing to say" promtool_is_silent
    holds "OpenMetrics is served" openmetrics_ends
}

# The excerpts of this board in README.md and doc/, with the built-in configuration. A loop keeps CPU 3 busy meanwhile.
test_excerpts() {
    # shellcheck disable=SC2016 # the board's
    vm_run 'spin 3 100000 >/dev/null 2>&1 & echo $! >/tmp/excerpts.pid; sleep 1'
    holds "README.md and doc/ show what this board serves" \
        python3 "$root/doc/excerpts.py" --plan "$scratch/plan" board "$url"
    # shellcheck disable=SC2016 # the board's
    vm_run 'kill $(cat /tmp/excerpts.pid)'
}

# The built-in configuration, then events of one PMU only and one that it does not have.
test_two_kinds() {
    local little big pmu
    little=$(place_list armv8_cortex_a55 0 1)
    big=$(place_list armv8_cortex_a76 2 3)
    # Beside a daemon the groups of both would take turns.
    vm_run "echo '{}' >/tmp/excerpts.yaml; perfcountd plan --config.file=/tmp/excerpts.yaml" >"$scratch/plan"
    daemon_start <<<"{}"
    equals "two kinds of core, each with its PMU" "$(core_pmus)" "armv8_cortex_a55:0-1 armv8_cortex_a76:2-3"
    equals "cycles on every CPU, with the PMU that counted" "$(places perf_cpu_cycles_total)" "$little $big"
    equals "so it is with the enabled time" "$(places perf_cpu_group_enabled_seconds_total | tr ' ' '\n' |
        grep -v software | paste -sd ' ')" "$little $big"
    equals "overview is what sysfs lists, and nothing of it is reported as missing" \
        "$(get '/api/v1/rates?group=overview&seconds=0.2' | jq -c '[.rates[].events | keys_unsorted] | unique')" \
        '[["cycles","instructions","stall_frontend","stall_backend"]]'
    equals "the totals of rates are of each PMU and its CPUs, with an ipc of the sums" \
        "$(get '/api/v1/rates?group=overview&seconds=0.5&collector=cpu&totals=pmu' | jq -c '. as $all | [.totals[] |
            . as $total | [.pmu, .cpus, ([$all.rates[] | select(.pmu == $total.pmu) | .events] |
                (map(.instructions) | add) / (map(.cycles) | add) / $total.ratios.ipc * 1000 | round)]]')" \
        '[["armv8_cortex_a55","0-1",1000],["armv8_cortex_a76","2-3",1000]]'
    equals "the status has the idle time of each CPU" \
        "$(get /api/v1/status | jq -c '[.machine.cpu_idle_seconds[] | [.cpu, .seconds > 0]]')" \
        '[[0,true],[1,true],[2,true],[3,true]]'
    equals "no event is unavailable" "$(get /metrics | grep -c "events_unavailable{")" 0
    equals "nothing of the default configuration is multiplexed" "$(get /api/v1/counters | jq -c \
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
    equals "an event of the big PMU is only on its CPUs" "$(places perf_cpu_inst_retired_total)" "$big"
    equals "an event of the little PMU is only on its CPUs" "$(places perf_cpu_cpu_cycles_total)" "$little"
    equals "an event by libpfm4's name is only on its CPUs" "$(places perf_cpu_inst_retired_user_total)" "$big"
    equals "an event by its terms is only on the CPUs of its PMU" "$(places perf_cpu_event_0x08_user_total)" "$big"
    equals "a 64-bit event is counted" "$(places perf_cpu_wide_total)" "$big"
    equals "software events with one PMU's" "$(places perf_cpu_big_cycles_total)" "$big"
    daemon_stop
}

# plan_json < CONFIGURATION
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
    equals "plan: the groups on each PMU" "$(jq -c \
        '[.groups[] | select(.group == "overview") | [.pmu, .cpus, .states]]' <<<"$plan")" \
        '[["armv8_cortex_a55","0-1",{"counting":2}],["armv8_cortex_a76","2-3",{"counting":2}]]'
    equals "plan: the descriptors are those of its groups" \
        "$(jq -c '.file_descriptors == ([.groups[].descriptors] | add)' <<<"$plan")" true
    equals "plan: kernel.perf_event_paranoid" "$(jq .privileges.perf_event_paranoid <<<"$plan")" 3
    equals "plan: what became of the preset" "$(jq -c '[.presets[] | [.preset, .pmu, .events, .left_out, .fits]]' \
        <<<"$plan")" "$(printf '["overview","%s",%s,%s,true]\n' \
        armv8_cortex_a55 "$overview" "$left_out" armv8_cortex_a76 "$overview" "$left_out" | jq -c -s .)"
    plan=$(plan_json <<<'collectors: {cpu: {groups: [{name: cache, events: cache-misses}, {preset: topdown}]}}')
    contains "plan: missing events, and the reason" "$(jq -c .missing <<<"$plan")" 'no such event on this PMU (ENOENT)'
    equals "plan: a preset without events here" "$(jq -c '[.presets[] | [.preset, .events, .fits]] | unique' \
        <<<"$plan")" '[["topdown",[],false]]'
    plan=$(many_groups | plan_json)
    equals "plan: which groups will multiplex" \
        "$(jq -c '[.groups[] | [.group == "pinned", (.states | keys[])]] | unique' <<<"$plan")" \
        '[[false,"multiplexed"],[true,"counting"]]'
    # With -icount shift=1 an instruction takes two nanoseconds, and a cycle is one.
    equals "report: the IPC of each PMU" "$(vm_run perfcountd report | awk '/^## self-test of / { pmu = $4 }
        /^[a-z]/ { on = /^ipc = / }
        on && /^    value:/ { printf "%s %.2f %s,", pmu, $2, $4 }')" \
        "armv8_cortex_a55 0.50 plausible,armv8_cortex_a76 0.50 plausible,"
}

# An event that one kind of core has and the other lacks: the kernel's tables differ for A53 and A72.
test_one_lacks_an_event() {
    local little=armv8_cortex_a53 big=armv8_cortex_a72
    daemon_start <<'END'
collectors:
  cpu:
    groups:
      - {name: prefetch, events: "{cycles,L1-dcache-prefetch-misses}"}
      - {name: tlb, events: "dTLB-load-misses"}
END
    equals "eight cores of two kinds" "$(core_pmus)" "$little:0-3 $big:4-7"
    # shellcheck disable=SC2046 # lists
    {
        equals "cycles on all of them" "$(places perf_cpu_cycles_total)" \
            "$(place_list $little 0 1 2 3) $(place_list $big 4 5 6 7)"
        equals "an event that the big cores do not have is served for the little ones" \
            "$(places perf_cpu_l1_dcache_prefetch_misses_total)" "$(place_list $little 0 1 2 3)"
        equals "an event that the little cores do not have is served for the big ones" \
            "$(places perf_cpu_dtlb_load_misses_total)" "$(place_list $big 4 5 6 7)"
    }
    equals "each is reported for the PMU that lacks it" "$(get /metrics | sed -n \
        's/^perfcountd_events_unavailable{.*event="\([^"]*\)",pmu="\([^"]*\)",reason="ENOENT"} \(.*\)/\1 \2 \3/p' |
        sort | paste -sd ,)" "dtlb_load_misses $little 4,l1_dcache_prefetch_misses $big 4"
    test_exposition
    daemon_stop
}

test_single_pmu() {
    daemon_start <<<"{}"
    equals "one PMU for all" "$(core_pmus)" "armv8_pmuv3:0-1"
    equals "cycles on every CPU" "$(places perf_cpu_cycles_total)" "$(place_list armv8_pmuv3 0 1)"
    test_exposition
    daemon_stop
}
