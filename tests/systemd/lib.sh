# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables that the scripts use
# Boots a container with systemd, using systemd-nspawn, and runs perfcountd in it as a service. The container ends with
# the script. It shares the host's loopback network, so curl on the host reaches the daemon. Changes to its file system
# are kept in memory. SUITE is its Debian release (default: bookworm); `machine_kind` is the kind of tree that
# tests/tree.sh makes (default: machine).
#
# Sets: leader (the host's PID of the container's init), machine (the directory of the container's root cgroup).

# shellcheck source=../e2e/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

[ "$(id -u)" -eq 0 ] || skip "root, to boot a machine"
tree=$("$root/tests/tree.sh" "${machine_kind:-machine}" "${SUITE:-bookworm}") || exit 1
need curl jq cc nsenter systemd-nspawn
cc -O2 -static -o "$scratch/cgroup-load" "$here/cgroup-load.c" || exit 1
cc -O1 -fno-omit-frame-pointer -static -o "$scratch/hot" "$here/hot.c" || exit 1
# The program that takes the daemon's place in the service, if it was built.
impostor=$(dirname "$PERFCOUNTD")/tests/impostor/impostor
nspawn=0
leader=0
machine=
own_cgroups=() # nspawn creates the container's cgroups in these

# On a host with cgroup v1, systemd has a v1 hierarchy of its own besides v2, and nspawn uses both.
make_cgroups() {
    local mount
    while read -r mount; do
        mkdir "$mount/perfcountd-machine-$$" && own_cgroups+=("$mount/perfcountd-machine-$$")
    done < <(awk '$3 == "cgroup2" || ($3 == "cgroup" && $4 ~ /(^|,)name=systemd(,|$)/) { print $2 }' /proc/mounts)
}

cleanup_machine() {
    local cgroup
    if running $nspawn; then
        kill -TERM $nspawn # shuts the container down
        eventually 60 not running $nspawn || kill -KILL $nspawn
    fi
    for cgroup in "${own_cgroups[@]}"; do
        [ ! -e "$cgroup/cgroup.kill" ] || echo 1 >"$cgroup/cgroup.kill"
    done
    for cgroup in "${own_cgroups[@]}"; do # including those of v1, which has no cgroup.kill
        eventually 60 remove_below "$cgroup" || echo "$cgroup could not be removed" >&2
    done
    cleanup
}
remove_below() {
    find "$1" -depth -type d -delete
    [ ! -d "$1" ]
}
trap cleanup_machine EXIT

# Prints an upper bound on the page faults of the loads that the BPF engine did not attribute, given that a fault takes
# at least a microsecond. Some virtual machines do not report all task switches.
unknown_faults() {
    get /api/v1/status | jq '.cgroups.unknown_seconds // 0 | . * 1e6 | ceil'
}

# Prints nspawn's messages, and skips the script, since the container does not boot.
no_machine() {
    tail -n 15 "$scratch/boot.log" | tr -d '\033\r'
    skip "a systemd-nspawn container that boots"
}

# Finds the process with PID 1 in the container.
find_leader() {
    local pid
    running $nspawn || return 0
    for pid in $(pgrep -P "$nspawn"); do
        if awk '$1 == "NSpid:" { exit !($NF == 1 && NF > 2) }' "/proc/$pid/status"; then
            leader=$pid
            return
        fi
    done
    return 1
}

booted() {
    not running $nspawn || [[ $(inside systemctl is-system-running) =~ ^(running|degraded)$ ]]
}

# boot NSPAWN-OPTIONS...: boots the container. --read-only lets other tests use the same tree; --volatile mounts a
# writable overlay on top of it.
boot() {
    local cgroup impostor_bind=()
    [ ! -x "$impostor" ] || impostor_bind=(--bind-ro="$impostor:/usr/local/bin/impostor")
    make_cgroups
    (
        for cgroup in "${own_cgroups[@]}"; do
            echo "$BASHPID" >"$cgroup/cgroup.procs"
        done
        SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec setpriv --pdeathsig KILL \
            systemd-nspawn --register=no --keep-unit --boot --directory="$tree" --read-only --volatile=overlay \
            --machine="perfcountd-$$" --capability=all --system-call-filter="perf_event_open bpf" \
            --link-journal=no --resolv-conf=off --timezone=off \
            --bind-ro="$PERFCOUNTD:/usr/local/bin/perfcountd" \
            --bind-ro="$scratch/cgroup-load:/usr/local/bin/cgroup-load" \
            --bind-ro="$scratch/hot:/usr/local/bin/hot" "${impostor_bind[@]}" "$@"
    ) >"$scratch/boot.log" 2>&1 </dev/null &
    nspawn=$!
    eventually 60 find_leader || no_machine "no init process"
    running $nspawn || no_machine "it ended"
    eventually 60 booted || no_machine "it stays $(inside systemctl is-system-running)"
    running $nspawn || no_machine "it ended while it booted"
    machine=/proc/$leader/root/sys/fs/cgroup
    [ -e "$machine/cgroup.controllers" ] || no_machine "it has no cgroup v2"
    inside mkfifo /run/go
}

# inside COMMAND...: runs the command in the container's namespaces, but not in its cgroups.
inside() {
    nsenter --target "$leader" --all -- "$@"
}

# inside_write FILE: writes standard input to a file in the container.
inside_write() {
    # shellcheck disable=SC2016 # the container's shell expands it
    inside sh -c 'cat >"$1"' sh "$1"
}

log_of_service() {
    inside journalctl --no-pager -o cat "_SYSTEMD_INVOCATION_ID=$(inside systemctl show -P InvocationID perfcountd)"
}

listens() {
    url=$(log_of_service | sed -n 's|.*listening on \(http://[^ "]*\)/.*|\1|p' | head -n 1)
    [ -n "$url" ]
}

# start_service SYSTEMD-RUN-OPTIONS... [-- FLAGS...]: starts perfcountd.service and waits until it listens. Sets url.
start_service() {
    local options=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    if ! inside systemd-run --quiet --unit=perfcountd -p Type=notify "${options[@]}" /usr/local/bin/perfcountd \
        --web.listen-address=127.0.0.1:0 "${@:2}" || ! eventually 60 listens; then
        fail "perfcountd.service starts" "$(log_of_service)"
        finish
    fi
}

stop_service() {
    inside systemctl stop perfcountd
}

# field CGROUP FIELD: prints a field of the cgroup in /api/v1/cgroups, or "none" if the field or the cgroup is missing.
field() {
    get /api/v1/cgroups | jq -r --arg cgroup "$1" --arg field "$2" \
        '[.cgroups[] | select(.cgroup == $cgroup)[$field]] | first // "none"'
}
has_field() {
    [ "$(field "$1" "$2")" = "$3" ]
}

# A unit runs this command first, so that its load waits for when_watched(). The command itself causes almost no page
# faults.
wait_for_go="/bin/sh -c 'read x </run/go'"
# when_watched CGROUP COMMAND...: runs the command, which starts a process in this cgroup that waits for /run/go, and
# lets that process continue once the cgroup is watched.
when_watched() {
    local pid
    "${@:2}" &
    pid=$!
    holds "$1 is watched" eventually 60 has_field "$1" state watched
    inside sh -c 'echo >/run/go'
    wait $pid
}
