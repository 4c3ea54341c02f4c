# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Checks that groups with more events than the PMU has counters are refused or divided. Then another program takes all
# counters of CPU 3 with pinned events: the daemon's pinned and other groups, of the CPU and of a cgroup, are checked
# meanwhile, and all of them must count again once the counters are free. Source it after board.sh, discovery.sh,
# truth.sh and cgroup.sh.
# shellcheck disable=SC2154 # set there

contention_daemon() {
    daemon_start <<'END'
web: {min_interval: 0s}
collectors:
  cpu:
    cpus: "1,3"
    groups:
      - {name: pinned, events: "{cycles,instructions}:D"}
      - {name: plain, events: "{cycles,instructions}"}
      - {name: software, events: "context-switches"}
  cgroup:
    include: ["/*.slice"]
    groups:
      - {name: pinned, events: "instructions:uD"}
      - {name: plain, events: "instructions:u"}
      - {name: software, events: "context-switches"}
END
}

# hold_counters: takes all seven counters of CPU 3.
hold_counters() {
    # shellcheck disable=SC2016 # the board expands it
    equals "another program takes all seven counters of CPU 3" "$(vm_run 'hold 3 7 >/tmp/hold.log 2>&1 &
        echo $! >/tmp/hold.pid
        while [ ! -s /tmp/hold.log ] && kill -0 $!; do sleep 0.1; done
        cat /tmp/hold.log')" 7
    # shellcheck disable=SC2016 # the board expands it
    equals "no counter is left" "$(vm_run 'hold 3 1 >/tmp/second.log 2>&1 &
        while [ ! -s /tmp/second.log ] && kill -0 $!; do sleep 0.1; done
        kill $!
        cat /tmp/second.log')" 0
}

release_counters() {
    # shellcheck disable=SC2016 # the board expands it
    vm_run 'kill $(cat /tmp/hold.pid)' || die "the counters were not held to the end"
}

# states COLLECTOR: prints its groups of CPU 3, or of the cgroup on the PMU of CPU 3, as "GROUP:STATE ...", sorted by
# name.
states() {
    get "/api/v1/counters?collector=$1" -f | jq -r "[.counters[] | select(.cpu == 3 or (.cgroup == \"/a.slice\" and
        .pmu != \"$little\")) | \"\(.group):\(.state)\"] | unique | join(\" \")"
}

# served: prints the groups of CPU 3, and of the cgroup on its PMU, for which /metrics has counts.
served() {
    get /metrics -f | sed -n '/_group_/d; /cpu="3"/b found; /cgroup=.*"software"/b found; /cgroup=.*_a76/b found; d
        :found
        s/^perf_\([a-z]*\)_.*group="\(.*\)"}.*/\1:\2/p' | sort -u | paste -sd ' '
}

# cause COLLECTOR GROUP: prints why the group is starved, according to the status.
cause() {
    get /api/v1/status -f | jq -r ".starved[] | select(.collector == \"$1\" and .group == \"$2\") | .cause"
}

contention_held() {
    local collector
    equals "held: only software events are served, so no missing count looks like 0" "$(served)" \
        "cgroup:software cpu:software"
    for collector in cpu cgroup; do
        matches "held, $collector: only software events count, neither the pinned nor the plain group" \
            "$(states $collector)" '^pinned:starved plain:starved software:(counting|multiplexed)$'
        contains "held, $collector: the status says why the pinned group does not count" "$(cause $collector pinned)" \
            "it is pinned and found no counter, because something else holds it"
        contains "held, $collector: the status says why the plain group does not count" "$(cause $collector plain)" \
            "other groups or programs hold the counters that it needs"
    done
    equals "held: another CPU is not affected" "$(get '/api/v1/counters?cpu=1' -f |
        jq -c '[.counters[] | select(.state == "starved")]')" "[]"
}

# A pinned group is enabled again at a reading after 1 s, 2 s and so on; that of a cgroup then also needs a task on the
# CPU.
contention_released() {
    local before after group
    release_counters
    holds "released: the CPU's groups count again, including the pinned one" eventually 60 counts_again cpu
    holds "released: the cgroup's groups count again" eventually 60 counts_again cgroup
    before=$(counters a.slice "$big" instructions_user)
    cgroup_spin 3 a.slice 100
    after=$(counters a.slice "$big" instructions_user)
    for group in 0 1; do
        within "released: group $group of the cgroup counts 100 million instructions, within 1 %" \
            "$(($(jq ".[$group].value" <<<"$after") - $(jq ".[$group].value" <<<"$before")))" 100000000 100
    done
}

counts_again() {
    cgroup_spin 3 a.slice 1
    [[ $(states "$1") =~ ^pinned:counting\ plain:counting\ software:(counting|multiplexed)$ ]]
}

# There are six counters and one for cycles only: eight events are one too many, and nine are divided into seven and
# two.
contention_fit() {
    local eight=r08,r08:u,r08:k,r10,r10:u,r12,cycles,r12:u refused plan collector
    plan=$(plan_json <<<"collectors: {cgroup: {enabled: false}, cpu: {groups: [{name: seven, events: '{${eight%,*}}'}]}}")
    equals "seven events: plan says that they always count" \
        "$(jq -c '([.groups[] | select(.group == "seven") | (.states | keys[])] | unique),
            (.pmus[] | select(.cpus == "2-3") | [.counters, .wanted, .multiplexes])' <<<"$plan" | paste -sd ' ')" \
        '["counting"] [7,7,false]'
    local too_many="only 7 of its 8 events can be counted at once"
    plan=$(plan_json <<<"collectors: {cgroup: {enabled: false}, cpu: {groups: [{name: nine, events: '{$eight,r10:k}'}]}}")
    equals "nine events: plan divides them, and says that the groups are multiplexed" \
        "$(jq -c '([.groups[] | select(.group | startswith("nine")) | [.group, (.states | keys[])]] | unique),
            (.pmus[] | select(.cpus == "2-3") | [.counters, .wanted, .multiplexes])' <<<"$plan" | paste -sd ' ')" \
        '[["nine","multiplexed"],["nine-2","multiplexed"]] [7,9,true]'
    daemon_start <<END
web: {min_interval: 0s}
collectors:
  cpu:
    cpus: "3"
    groups:
      - {name: eight, strict: true, events: "{$eight}"}
      - {name: nine, events: "{$eight,r10:k}"}
  cgroup:
    engine: perf
    include: ["/a.slice"]
    groups:
      - {name: eight, strict: true, events: "{$eight}"}
      - {name: nine, events: "{$eight,r10:k}"}
END
    refused=$(get /api/v1/status -f | jq -c '[.failures[] | select(.group == "eight")]')
    for collector in cpu cgroup; do
        equals "eight events in a strict group, $collector: refused with the number of counters" \
            "$(jq "[.[] | select(.collector == \"$collector\" and .pmu == \"$big\" and
                (.message | contains(\"$too_many\")))] | length" <<<"$refused")" 8
        cgroup_spin 3 a.slice 100
        cgroup_spin 3 a.slice 100
        equals "nine events in a weak group, $collector: divided into seven and two, which are multiplexed" \
            "$(get "/api/v1/counters?collector=$collector" -f | jq -c "[.counters[] | select(.pmu == \"$big\" and
                (.group | startswith(\"nine\")))] | group_by(.group) | map([.[0].group, length, (map(.state) | unique[])])")" \
            '[["nine",7,"multiplexed"],["nine-2",2,"multiplexed"]]'
    done
}

# enabled_times COLLECTOR: prints the counts and enabled times of the collector's groups on CPU 3's PMU, for the
# cgroup b.slice or, with the collector cpu, for the CPUs.
enabled_times() {
    get "/api/v1/counters?collector=$1" -f | jq -c "[.counters[] | select(.pmu == \"$big\" and
        (.cgroup // \"/b.slice\") == \"/b.slice\") | [.value, .enabled_ns]] | unique"
}

is_open() {
    [ "$(get /api/v1/cgroups -f | jq -r ".cgroups[] | select(.cgroup == \"$1\") | .state")" = watched ]
}

# Disabled groups stay disabled when one of their tasks calls execve(2): both groups that were enabled before and groups
# that never were, because the cgroup was created during a pause.
contention_exec() {
    local before
    daemon_start <<'END'
web: {min_interval: 0s, local_operators: true}
collectors:
  cpu: {cpus: "3", groups: [{name: core, events: "{cycles,instructions}"}]}
  cgroup: {engine: perf, include: ["/*.slice"], groups: [{name: core, events: "{cycles,instructions}"}]}
END
    vm_run 'wget -q -O /dev/null --post-data= "http://127.0.0.1:10298/api/v1/pause?seconds=3600"'
    vm_run 'mkdir /sys/fs/cgroup/b.slice'
    holds "exec: the cgroup is opened during the pause" eventually 60 is_open /b.slice
    before=$(enabled_times cpu)
    cgroup_spin 3 b.slice 20
    equals "exec: the disabled group of a CPU does not count" "$(enabled_times cpu)" "$before"
    equals "exec: events of a cgroup that were never enabled stay disabled" "$(enabled_times cgroup)" "[[0,0]]"
}

test_contention() {
    cgroup_make a.slice
    contention_fit
    contention_exec
    cgroup_make a.slice # removes b.slice, which would have no counts while the counters are held
    hold_counters
    contention_daemon
    cgroup_spin 3 a.slice 50
    contention_held
    contention_released
    daemon_stop
    cgroup_remove
}
