# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Groups that have more events than the PMU has counters are refused or divided. Then another user takes all counters of
# CPU 3 by pinned events. Tests pinned and other groups of the daemon, of the CPU and of a cgroup meanwhile, and that all
# of them count again once the counters are free.
# Sourced after board.sh, discovery.sh, truth.sh and cgroup.sh.
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

# hold_counters: all seven of CPU 3.
hold_counters() {
    # shellcheck disable=SC2016 # the board's
    equals "another program gets all seven counters of CPU 3" "$(vm_run 'hold 3 7 >/tmp/hold.log 2>&1 &
        echo $! >/tmp/hold.pid
        while [ ! -s /tmp/hold.log ] && kill -0 $!; do sleep 0.1; done
        cat /tmp/hold.log')" 7
    # shellcheck disable=SC2016 # the board's
    equals "and leaves none" "$(vm_run 'hold 3 1 >/tmp/second.log 2>&1 &
        while [ ! -s /tmp/second.log ] && kill -0 $!; do sleep 0.1; done
        kill $!
        cat /tmp/second.log')" 0
}

release_counters() {
    # shellcheck disable=SC2016 # the board's
    vm_run 'kill $(cat /tmp/hold.pid)' || die "the counters were not held to the end"
}

# states COLLECTOR: of its groups, of CPU 3 or of the cgroup on its PMU, "GROUP:STATE ..." by name.
states() {
    get "/api/v1/counters?collector=$1" -f | jq -r "[.counters[] | select(.cpu == 3 or (.cgroup == \"/a.slice\" and
        .pmu != \"$little\")) | \"\(.group):\(.state)\"] | unique | join(\" \")"
}

# served: the groups whose counts /metrics has, of CPU 3 and of the cgroup on its PMU.
served() {
    get /metrics -f | sed -n '/_group_/d; /cpu="3"/b found; /cgroup=.*"software"/b found; /cgroup=.*_a76/b found; d
        :found
        s/^perf_\([a-z]*\)_.*group="\(.*\)"}.*/\1:\2/p' | sort -u | paste -sd ' '
}

# cause COLLECTOR GROUP: why the status says that it is starved.
cause() {
    get /api/v1/status -f | jq -r ".starved[] | select(.collector == \"$1\" and .group == \"$2\") | .cause"
}

contention_held() {
    local collector
    equals "held: nothing but software events is served, and nothing can be taken for a zero" "$(served)" \
        "cgroup:software cpu:software"
    for collector in cpu cgroup; do
        matches "held, $collector: neither the pinned group nor the plain one counts, and software events do" \
            "$(states $collector)" '^pinned:starved plain:starved software:(counting|multiplexed)$'
        contains "held, $collector: why the pinned group does not count" "$(cause $collector pinned)" \
            "it is pinned and found no counter, because something else holds it"
        contains "held, $collector: why the plain group does not count" "$(cause $collector plain)" \
            "other groups or programs hold the counters that it needs"
    done
    equals "held: another CPU is not concerned" "$(get '/api/v1/counters?cpu=1' -f |
        jq -c '[.counters[] | select(.state == "starved")]')" "[]"
}

# A pinned group is enabled again after 1 s, 2 s and so on, at a reading; a cgroup's then waits for a task on the CPU.
contention_released() {
    local before after group
    release_counters
    holds "released: the CPU's groups count again, the pinned one too" eventually 60 counts_again cpu
    holds "released: so do the cgroup's" eventually 60 counts_again cgroup
    before=$(counters a.slice "$big" instructions_user)
    cgroup_spin 3 a.slice 100
    after=$(counters a.slice "$big" instructions_user)
    for group in 0 1; do
        within "released: group $group of the cgroup gets 100 million instructions, within 1 %" \
            "$(($(jq ".[$group].value" <<<"$after") - $(jq ".[$group].value" <<<"$before")))" 100000000 100
    done
}

counts_again() {
    cgroup_spin 3 a.slice 1
    [[ $(states "$1") =~ ^pinned:counting\ plain:counting\ software:(counting|multiplexed)$ ]]
}

# Six counters, and one for cycles alone: eight events are one too many, and nine are seven and two.
contention_fit() {
    local eight=r08,r08:u,r08:k,r10,r10:u,r12,cycles,r12:u refused plan collector
    plan=$(plan_json <<<"collectors: {cgroup: {enabled: false}, cpu: {groups: [{name: seven, events: '{${eight%,*}}'}]}}")
    equals "seven events: plan says that they count all the time" \
        "$(jq -c '([.groups[] | select(.group == "seven") | (.states | keys[])] | unique),
            (.pmus[] | select(.cpus == "2-3") | [.counters, .wanted, .multiplexes])' <<<"$plan" | paste -sd ' ')" \
        '["counting"] [7,7,false]'
    local too_many="only 7 of its 8 events can be counted at once"
    plan=$(plan_json <<<"collectors: {cgroup: {enabled: false}, cpu: {groups: [{name: nine, events: '{$eight,r10:k}'}]}}")
    equals "nine events: plan divides them, and says that the groups take turns" \
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
        equals "eight events in a strict group, $collector: refused, with the number of counters" \
            "$(jq "[.[] | select(.collector == \"$collector\" and .pmu == \"$big\" and
                (.message | contains(\"$too_many\")))] | length" <<<"$refused")" 8
        cgroup_spin 3 a.slice 100
        cgroup_spin 3 a.slice 100
        equals "nine events in a weak group, $collector: seven and two, and both take turns" \
            "$(get "/api/v1/counters?collector=$collector" -f | jq -c "[.counters[] | select(.pmu == \"$big\" and
                (.group | startswith(\"nine\")))] | group_by(.group) | map([.[0].group, length, (map(.state) | unique[])])")" \
            '[["nine",7,"multiplexed"],["nine-2",2,"multiplexed"]]'
    done
}

# enabled_times COLLECTOR: the enabled times of the groups on the PMU of CPU 3, of the cgroup b.slice or of all CPUs.
enabled_times() {
    get "/api/v1/counters?collector=$1" -f | jq -c "[.counters[] | select(.pmu == \"$big\" and
        (.cgroup // \"/b.slice\") == \"/b.slice\") | [.value, .enabled_ns]] | unique"
}

is_open() {
    [ "$(get /api/v1/cgroups -f | jq -r ".cgroups[] | select(.cgroup == \"$1\") | .state")" = watched ]
}

# Groups that are disabled stay so when a task of theirs runs a program: those that were enabled before, and those that
# never were, because the cgroup was made in a pause.
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
    holds "exec: the cgroup is opened in the pause" eventually 60 is_open /b.slice
    before=$(enabled_times cpu)
    cgroup_spin 3 b.slice 20
    equals "exec: the disabled group of a CPU stands still" "$(enabled_times cpu)" "$before"
    equals "exec enables no event of a cgroup that was never enabled" "$(enabled_times cgroup)" "[[0,0]]"
}

test_contention() {
    cgroup_make a.slice
    contention_fit
    contention_exec
    cgroup_make a.slice # without b.slice, whose counts are known: nothing ran there
    hold_counters
    contention_daemon
    cgroup_spin 3 a.slice 50
    contention_held
    contention_released
    daemon_stop
    cgroup_remove
}
