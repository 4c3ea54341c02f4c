# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # the scripts use these variables
# Boots a machine with systemd that runs perfcountd.service as installed, and podman (for root and for a user), docker
# and containerd, each with its own client.
#
# Sets: image, secret (which each container has in its environment).

machine_kind=containers
# shellcheck source=../systemd/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../systemd/lib.sh"
# shellcheck source=../e2e/prometheus-lib.sh
. "$here/prometheus-lib.sh"

config=/run/perfcountd.yaml
image=registry.invalid/shop/busybox:1.36
secret=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
# The work is light, so that each container always has some task_clock. The process exits at once on SIGTERM.
# shellcheck disable=SC2016 # the container's shell expands it
work='trap exit TERM; while :; do for i in 1 2 3 4 5 6 7 8 9 10; do :; done; usleep 20000; done'
# crun raises root's limit of locked memory, which needs a capability that some machines lack.
root_runtime=runc

podman() {
    inside podman --runtime "$root_runtime" "$@"
}
# Runs podman as a unit of alice's user manager, like a command in her terminal.
rootless() {
    inside setpriv --reuid=alice --regid=alice --init-groups env XDG_RUNTIME_DIR=/run/user/1000 HOME=/home/alice \
        systemd-run --user --quiet --pipe --wait podman "$@"
}
docker() {
    inside docker "$@"
}
ctr() {
    inside ctr --namespace "${in_namespace:-default}" "$@"
}

# start RUNTIME NAME [OPTIONS...]: starts a container. CPU shares are not set, since the hierarchy has no controllers.
start() {
    if [ "$1" = ctr ]; then
        ctr run --detach --cpu-shares 0 --env "SECRET=$secret" "${@:3}" "$image" "$2" sh -c "$work"
    else
        "$1" run --detach --name "$2" --network none --env "SECRET=$secret" "${@:3}" "$image" sh -c "$work"
    fi
}

# end_task NAME: ends a containerd task.
end_task() {
    ctr task kill --signal KILL "$1"
    eventually 5 ctr task delete "$1"
}

restart() {
    if [ "$1" = ctr ]; then
        end_task "$2"
        ctr task start --detach "$2"
    else
        "$1" restart --time 0 "$2"
    fi
}

remove() {
    if [ "$1" = ctr ]; then
        end_task "$2"
        ctr container delete "$2"
    else
        "$1" rm --force "$2"
    fi
}

# cgroup_of RUNTIME NAME: prints the cgroup of the container's first process. crun makes another cgroup inside the
# scope, which has the same counts.
cgroup_of() {
    local pid
    if [ "$1" = ctr ]; then
        pid=$(ctr task ls | awk -v name="$2" '$1 == name { print $2 }')
    else
        pid=$("$1" inspect --format '{{.State.Pid}}' "$2")
    fi
    inside cat "/proc/$pid/cgroup" | sed -n 's/^0:://p' | sed 's|[.]scope/.*|.scope|'
}

# Imports an image with one static program into each store.
import_images() {
    inside sh -ec 'mkdir -p /run/image/bin
        cp /bin/busybox /run/image/bin/
        ln -s busybox /run/image/bin/sh
        ln -s busybox /run/image/bin/usleep
        tar -C /run/image -cf /run/image.tar .' &&
        podman import --quiet /run/image.tar "$image" &&
        rootless import --quiet /run/image.tar "$image" &&
        docker import /run/image.tar "$image" &&
        docker save --output=/run/saved.tar "$image" &&
        ctr images import /run/saved.tar
}

# A user namespace may mount a proc of its own only if a complete proc is visible.
prepare_runtimes() {
    inside sh -ec 'useradd --create-home --uid 1000 alice
        mkdir -p /run/whole-proc /run/whole-sys
        mount -t proc proc /run/whole-proc
        mount -t sysfs sysfs /run/whole-sys
        systemctl start user@1000.service' &&
        inside_write /etc/containers/containers.conf <<<$'[containers]\ndefault_sysctls = []\npids_limit = 0'
}

# boot_with_runtimes: boots the machine; docker and containerd are started by the units of their packages. Their storage
# is in memory.
boot_with_runtimes() {
    local store stores=()
    for store in /var/lib/containers /var/lib/docker /var/lib/containerd /home:mode=755; do
        stores+=("--tmpfs=$store")
    done
    echo '{"bridge": "none", "iptables": false, "ip6tables": false, "ip-forward": false}' >"$scratch/daemon.json"
    boot --system-call-filter='bpf add_key keyctl request_key' "${stores[@]}" \
        --bind-ro="$scratch/daemon.json:/etc/docker/daemon.json"
    if ! prepare_runtimes >"$scratch/runtimes.log" 2>&1 || ! import_images >>"$scratch/runtimes.log" 2>&1; then
        fail "the runtimes import an image" "$(cat "$scratch/runtimes.log")"
        finish
    fi
}

# install_units: installs the units like `make install`, except for the path of the binary.
install_units() {
    sed "s|^ExecStart=.*|ExecStart=/usr/local/bin/perfcountd --config.file=$config|" \
        "$root/systemd/perfcountd.service.in" | inside_write /run/systemd/system/perfcountd.service
    inside_write /run/systemd/system/perfcountd.socket <"$root/systemd/perfcountd.socket"
    inside systemd-sysusers - <"$(echo "$root"/systemd/sysusers.d/*)"
    inside systemctl daemon-reload
}

# restart_units: restarts the service and waits until it serves.
restart_units() {
    inside systemctl daemon-reload
    inside systemctl restart perfcountd.socket perfcountd.service
    url=http://127.0.0.1:10298
    if ! eventually 10 curl -sf "$url/-/ready"; then
        fail "perfcountd.service starts" "$(inside journalctl --no-pager -o cat -u perfcountd)"
        finish
    fi
}
