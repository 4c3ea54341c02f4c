# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A daemon on the board for long, with all that clients and the board do to it: see soak.py. Sourced after board.sh,
# cgroup.sh and hotplug.sh.
# shellcheck disable=SC2154 # set there

SOAK_SECONDS=${SOAK_SECONDS:-900} # of the board
SOAK_SEED=${SOAK_SEED:-$((RANDOM * 32768 + RANDOM))}

test_soak() {
    holds "soak: a leak would be found" python3 "$vm_dir/soak.py" --check
    cgroup_make keep.slice
    daemon_start "$(unit_environment)" <<'END'
web: {min_interval: 0s, local_operators: true}
collectors:
  cpu:
    groups:
      - {name: core, events: "{cycles,instructions}"}
      - {name: software, events: "context-switches"}
  cgroup:
    include: ["/*.slice"]
    linger: 1s
    groups:
      - {name: core, events: "{cycles:u,instructions:u}"}
sampler: {enabled: true, allow: everybody, event: cpu-clock}
END
    # The first stream reads the kernel's symbols.
    get '/api/v1/samples?max=1&cpu=0' >/dev/null
    vm_run 'cp /etc/perfcountd.yaml /tmp/one.yaml
        sed "s/^  cgroup:/      - {name: extra, events: cpu-migrations}\n&/" /tmp/one.yaml >/tmp/two.yaml'
    echo "    SOAK_SECONDS=$SOAK_SECONDS SOAK_SEED=$SOAK_SEED"
    python3 "$vm_dir/soak.py" "$url" "$control" "$SOAK_SECONDS" "$SOAK_SEED" >"$scratch/soak" 2>&1
    equals "soak: nothing fails, falls or grows" "$?" 0
    sed 's/^/    /' "$scratch/soak"
    daemon_stop
    cgroup_remove
}
