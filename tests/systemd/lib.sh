# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # what is for the scripts
# A machine with systemd of the test's own, booted by systemd-nspawn and ended with the script, and perfcountd as a
# service in it. It shares the loopback network, so that curl out here reaches it. Its changes go to memory. SUITE is
# its Debian, bookworm where it is not set; `machine_kind` is what tests/tree.sh makes, a machine where it is not set.
#
# Sets: leader (its init's process), machine (the directory of its cgroups).

# shellcheck source=../e2e/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

[ "$(id -u)" -eq 0 ] || skip "root, to boot a machine"
tree=$("$root/tests/tree.sh" "${machine_kind:-machine}" "${SUITE:-bookworm}") || exit 1
need curl jq cc nsenter systemd-nspawn
cc -O2 -static -o "$scratch/cgroup-load" "$here/cgroup-load.c" || exit 1
cc -O1 -fno-omit-frame-pointer -static -o "$scratch/hot" "$here/hot.c" || exit 1
# The program that takes the daemon's place in the service, where it was built.
impostor=$(dirname "$PERFCOUNTD")/tests/impostor/impostor
nspawn=0
leader=0
machine=
own_cgroups=() # where nspawn makes the machine's

# Also where the host is of v1: there systemd keeps a hierarchy of its own beside v2, and nspawn looks at both.
make_cgroups() {
    local mount
    while read -r mount; do
        mkdir "$mount/perfcountd-machine-$$" && own_cgroups+=("$mount/perfcountd-machine-$$")
    done < <(awk '$3 == "cgroup2" || ($3 == "cgroup" && $4 ~ /(^|,)name=systemd(,|$)/) { print $2 }' /proc/mounts)
}

cleanup_machine() {
    local cgroup
    if running $nspawn; then
        kill -TERM $nspawn # it shuts the machine down
        eventually 60 not running $nspawn || kill -KILL $nspawn
    fi
    for cgroup in "${own_cgroups[@]}"; do
        [ ! -e "$cgroup/cgroup.kill" ] || echo 1 >"$cgroup/cgroup.kill"
    done
    for cgroup in "${own_cgroups[@]}"; do # of v1, too, where there is no cgroup.kill
        eventually 60 remove_below "$cgroup" || echo "$cgroup is still there" >&2
    done
    cleanup
}
remove_below() {
    find "$1" -depth -type d -delete
    [ ! -d "$1" ]
}
trap cleanup_machine EXIT

# How many faults of loads may be unknown to the engine bpf: one takes a microsecond at least. Some virtual machines do
# not report all switches between tasks.
unknown_faults() {
    get /api/v1/status | jq '.cgroups.unknown_seconds // 0 | . * 1e6 | ceil'
}

# A machine that will not boot is a skip, with nspawn's own words.
no_machine() {
    tail -n 15 "$scratch/boot.log" | tr -d '\033\r'
    skip "a machine of systemd-nspawn that boots"
}

# The process that is 1 in there.
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

# boot NSPAWN-OPTIONS...: --read-only lets others use the tree as well; --volatile makes a writable machine of it.
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
    eventually 60 find_leader || no_machine "there is no init"
    running $nspawn || no_machine "it ended"
    eventually 60 booted || no_machine "it stays $(inside systemctl is-system-running)"
    running $nspawn || no_machine "it ended while it booted"
    machine=/proc/$leader/root/sys/fs/cgroup
    [ -e "$machine/cgroup.controllers" ] || no_machine "it has no cgroup v2"
    inside mkfifo /run/go
}

# inside COMMAND...: in the machine's namespaces, in no cgroup of it.
inside() {
    nsenter --target "$leader" --all -- "$@"
}

# inside_write FILE: from the standard input.
inside_write() {
    # shellcheck disable=SC2016 # the shell in there expands it
    inside sh -c 'cat >"$1"' sh "$1"
}

log_of_service() {
    inside journalctl --no-pager -o cat "_SYSTEMD_INVOCATION_ID=$(inside systemctl show -P InvocationID perfcountd)"
}

listens() {
    url=$(log_of_service | sed -n 's|.*listening on \(http://[^ "]*\)/.*|\1|p' | head -n 1)
    [ -n "$url" ]
}

# start_service SYSTEMD-RUN-OPTIONS... [-- FLAGS...]: perfcountd.service, until it says that it is ready. Sets url.
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

# field CGROUP FIELD: of /api/v1/cgroups, "none" where it is not there.
field() {
    get /api/v1/cgroups | jq -r --arg cgroup "$1" --arg field "$2" \
        '[.cgroups[] | select(.cgroup == $cgroup)[$field]] | first // "none"'
}
has_field() {
    [ "$(field "$1" "$2")" = "$3" ]
}

# A unit runs this first, so that its load begins when when_watched says so. It has next to no faults of its own.
wait_for_go="/bin/sh -c 'read x </run/go'"
# when_watched CGROUP COMMAND...: the command has something in this cgroup that waits for /run/go.
when_watched() {
    local pid
    "${@:2}" &
    pid=$!
    holds "$1 is watched" eventually 60 has_field "$1" state watched
    inside sh -c 'echo >/run/go'
    wait $pid
}
