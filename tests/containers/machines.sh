#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the names of real containers: of systemd-nspawn, registered with a real systemd-machined, and of LXC.
#
# usage: [SUITE=bookworm] machines.sh
machine_kind=containers
# shellcheck source=../systemd/lib.sh
. "$(dirname "$0")/../systemd/lib.sh"

config=/run/perfcountd.yaml
masked=()
# The work is light, so that each container has counts.
# shellcheck disable=SC2016 # the container's shell expands it
work='while :; do for i in 1 2 3 4 5 6 7 8 9 10; do :; done; usleep 20000; done'

# is_named CGROUP CONTAINER RUNTIME SOURCE: checks the name of the container and where it came from.
is_named() {
    holds "$2 has its name" eventually 5 has_field "$1" container "$2"
    equals "$2: the runtime is known" "$(field "$1" runtime)" "$3"
    equals "$2: the source of the name is known" "$(field "$1" named_by)" "$4"
    equals "$2: ?container=NAME finds its counters" \
        "$(get "/api/v1/counters?container=$2&event=task_clock" | jq -r '.counters[].cgroup' | head -n 1)" "$1"
    contains "$2: perf_cgroup_info has the label" "$(get /metrics | grep '^perf_cgroup_info')" "container=\"$2\""
}

# A system with one static program, and the os-release file that nspawn requires.
make_box() {
    inside sh -ec 'mkdir -p /run/box/bin /run/box/usr /run/box/etc /run/box/proc /run/box/sys /run/box/dev /run/box/run
        mkdir -p /run/box/tmp /var/lib/lxc/web
        cp /bin/busybox /run/box/bin/
        ln -s busybox /run/box/bin/sh
        ln -s busybox /run/box/bin/sleep
        ln -s busybox /run/box/bin/usleep
        echo ID=box >/run/box/etc/os-release'
    inside_write /var/lib/lxc/web/config <<END
lxc.rootfs.path = dir:/run/box
lxc.uts.name = web
lxc.net.0.type = none
lxc.execute.cmd = /bin/sleep infinity
lxc.init.cmd = /bin/sleep infinity
END
}

# start_box UNIT NAME [OPTIONS...]: starts a container with nspawn.
start_box() {
    inside systemd-run --quiet --collect --unit="$1" -p Delegate=yes systemd-nspawn --quiet --machine="$2" \
        --directory=/run/box --read-only "${@:3}" /bin/sh -c "$work"
}

test_nspawn() {
    local scope='/machine.slice/machine-my\x2dbox.scope'
    start_box outer my-box
    is_named "$scope" my-box nspawn systemd
    equals "my-box: the scope's description is known" "$(field "$scope" description)" "Container my-box"
    inside machinectl terminate my-box
    holds "a container that has ended lingers" eventually 10 has_field "$scope" state lingering
    equals "a lingering container keeps its last name" "$(field "$scope" container)" my-box
}

# The container stays in the unit that started systemd-nspawn, so only systemd-machined knows its name.
test_kept_unit() {
    local unit=/system.slice/builder.service
    start_box builder build-1 --keep-unit
    is_named "$unit" build-1 nspawn systemd
    inside systemctl stop builder
    holds "a container that has ended lingers" eventually 10 has_field "$unit" state lingering
    inside systemd-run --quiet --unit=builder sleep infinity
    holds "the unit is counted again" eventually 5 has_field "$unit" state watched
    holds "the unit is no longer a container" eventually 5 has_field "$unit" container none
    inside systemctl stop builder
}

test_lxc() {
    inside lxc-start --name web
    is_named /lxc.payload.web web lxc path
    inside lxc-stop --name web --kill
    holds "a container that has ended lingers" eventually 10 has_field /lxc.payload.web state lingering
}

# The units of other runtimes are masked.
for unit in docker.service docker.socket containerd.service lxc.service lxc-net.service lxc-monitord.service; do
    masked+=("--bind-ro=/dev/null:/etc/systemd/system/$unit")
done
boot --tmpfs=/var/lib/lxc "${masked[@]}"
make_box
printf 'web: {min_interval: 0s}\ncollectors: {cpu: {enabled: false}}\n' | inside_write "$config"
start_service -- --config.file="$config"
for test in nspawn kept_unit lxc; do
    echo "-- ${test//_/ }"
    "test_$test"
done
finish
