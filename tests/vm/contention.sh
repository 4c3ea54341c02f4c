# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Somebody else holds all counters of CPU 3, by pinned events: what the daemon makes of it, in groups of its own that
# are pinned and that are not, of the CPU and of a cgroup; and that all of them count again when the counters are free.
# Sourced after board.sh, truth.sh and cgroup.sh.
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

test_contention() {
    cgroup_make a.slice
    hold_counters
    contention_daemon
    cgroup_spin 3 a.slice 50
    contention_held
    contention_released
    daemon_stop
    cgroup_remove
}
