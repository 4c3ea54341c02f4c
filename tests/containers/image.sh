#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the image of contrib/container/Containerfile with podman, from a Debian base image made by mmdebstrap, and
# starts it with podman and docker, using the commands in doc/install.md. It must count the machine's cgroups and show
# the names of containers.
#
# usage: image.sh

# Runs in a network namespace, so that docker never sees this machine's network.
if [ -z "${PERFCOUNTD_OWN_LOOPBACK-}" ] && [ "$(id -u)" -eq 0 ]; then
    # The namespace has no network, so the systems are made first.
    "$(dirname "$0")/../tree.sh" containers >/dev/null || exit
    "$(dirname "$0")/../tree.sh" image >/dev/null || exit
    PERFCOUNTD_OWN_LOOPBACK=yes exec unshare --net "$0" "$@"
fi
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../tree-lib.sh
. "$root/tests/tree-lib.sh"
need ip
ip link set lo up
base=registry.invalid/debian:bookworm
source=/var/lib/containers/source
url=http://127.0.0.1:10298

# build_image: builds the image from the files of this tree that git does not ignore.
build_image() {
    debian=$("$root/tests/tree.sh" image) || exit
    copy_sources "$scratch/source"
    tar -C "$debian" -c . | podman import --quiet - "$base" &&
        inside mkdir "$source" && tar -C "$scratch/source" -c . | inside tar -C "$source" -x &&
        podman build --isolation=chroot --network=host --build-arg=IMAGE="$base" --tag=perfcountd \
            --file="$source/contrib/container/Containerfile" "$source" &&
        podman save --quiet --format=docker-archive --output=/run/perfcountd.tar localhost/perfcountd:latest &&
        docker load --quiet --input=/run/perfcountd.tar && docker tag localhost/perfcountd:latest perfcountd
}

# command_of WORDS: prints the command in doc/install.md that begins with these words, without sudo.
command_of() {
    sed -n "/^    \(sudo \)\?$1/,/[^\\\\]\$/ { s/^ *//; s/^sudo //; s/\\\\\$//; p }" "$root/doc/install.md" | tr '\n' ' '
}

# run_image ENGINE: starts the image with the command from doc/install.md, except that the container has no network, so
# no port is published.
run_image() {
    local words
    read -ra words <<<"$(command_of "$1 run" | sed 's/-p 10298:10298/--network=none/')"
    contains "doc/install.md has a command for $1" "${words[*]}" --network=none
    inside "${words[@]}" >"$scratch/run.log" 2>&1 || fail "$1 runs the image" "$(cat "$scratch/run.log")"
    pid=$(inside "$1" inspect --format '{{.State.Pid}}' perfcountd)
    holds "$1: the container serves" eventually 10 get /-/ready
}
# get PATH: sends a request in the container's network namespace, and prints the response.
get() {
    inside nsenter --target "$pid" --net curl -sS --globoff --fail --max-time 90 "$url$1"
}
# space KIND PID: prints which namespace of this kind the process is in; PID is in the machine.
space() {
    inside readlink "/proc/$2/ns/$1"
}

# has_counts NAME: succeeds if the container's task clock is above 0; it is 0 if the cgroup has only just been found.
has_counts() {
    get "/api/v1/counters?container=$1&event=task_clock" | jq -e '([.counters[].value] | add // 0) > 0'
}

# counts ENGINE NAME CGROUP: checks that this container and the machine's units are counted.
counts() {
    holds "$1: perfcountd shows another container's name" eventually 10 has_field "$3" container "$2"
    holds "$1: perfcountd counts the other container" eventually 10 has_counts "$2"
    equals "$1: perfcountd counts the machine's services" "$(get /api/v1/cgroups |
        jq -r '.cgroups[] | select(.unit == "dbus.service") | .state')" watched
    equals "$1: cgroups are counted with BPF" "$(get /api/v1/status | jq -r .cgroups.engine)" bpf
    for kind in pid net cgroup mnt; do
        holds "$1: the container has its own $kind namespace" test "$(space $kind "$pid")" != "$(space $kind 1)"
    done
    # shellcheck disable=SC2016 # awk expands it
    equals "$1: the root file system and the cgroup hierarchy are read-only" \
        "$(inside awk '$2 == "/" || $2 ~ "^/sys/fs/cgroup" { print $4 }' "/proc/$pid/mounts" |
        grep -cv '^ro\(,\|$\)')" 0
    equals "$1: the listening process has no capabilities" \
        "$(inside sed -n 's/^CapEff:\t//p' "/proc/$pid/status")" 0000000000000000
    equals "$1: the listening process runs as a user of its own" \
        "$(inside sed -n 's/^Uid:\t\([0-9]*\).*/\1/p' "/proc/$pid/status")" 10298
    holds "$1: the container can be stopped" inside "$1" stop --time=30 perfcountd
    equals "$1: the container's exit status is 0" "$(inside "$1" inspect --format '{{.State.ExitCode}}' perfcountd)" 0
}

boot_with_runtimes
inside sh -c "printf '[engine]\nruntime = \"%s\"\n' $root_runtime >>/etc/containers/containers.conf"
if ! build_image >"$scratch/build.log" 2>&1; then
    fail "podman builds the image" "$(tail -n 40 "$scratch/build.log")"
    finish
fi
size=$(podman image inspect --format '{{.Size}}' localhost/perfcountd:latest)
echo "the image has $((size / 1000000)) MB"
compares "the image is smaller than doc/install.md says" \
    "$size < $(sed -n 's/.*in less than \([0-9]*\) MB.*/\1/p' "$root/doc/install.md") * 1000000"
start podman cellar >/dev/null
start docker harbour >/dev/null
inside sh -ec "$(command_of jq)"
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 3 ]; then
    run_image podman
    counts podman cellar "$(cgroup_of podman cellar)"
else
    left_out "a kernel that heeds CAP_PERFMON"
fi
run_image docker
counts docker harbour "$(cgroup_of docker harbour)"
finish
