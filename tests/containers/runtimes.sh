#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the names of containers of real runtimes: podman (for root and for a user), docker and containerd. Containers
# are started, renamed, restarted and removed, and a real Prometheus joins their counters with their names.
#
# usage: [SUITE=bookworm] runtimes.sh

# Runs in a network namespace, so that docker never sees this machine's network.
if [ -z "${PERFCOUNTD_OWN_LOOPBACK-}" ] && [ "$(id -u)" -eq 0 ]; then
    # The namespace has no network, so the system is made first.
    "$(dirname "$0")/../tree.sh" containers "${SUITE:-bookworm}" >/dev/null || exit
    PERFCOUNTD_OWN_LOOPBACK=yes exec unshare --net "$0" "$@"
fi
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
need ip prometheus
ip link set lo up

declare -A names=([podman]=cellar [rootless]=attic [docker]=harbour [ctr]=shed) cgroups=() clocks=()
declare -A said=([podman]=podman [rootless]=podman [docker]=docker [ctr]=containerd)
runtimes="podman rootless docker ctr"
can_rename="podman rootless docker" # containerd's containers have only an id

# --- helpers

# infos CGROUP: prints the container's name in each of the cgroup's perf_cgroup_info series.
infos() {
    get /metrics | grep -F "perf_cgroup_info{cgroup=\"$1\"," | sed 's/.*[,{]container="\([^"]*\)".*/\1/'
}
has_info() {
    [ "$(infos "$1")" = "$2" ]
}
# task_clock CGROUP: prints the cgroup's task clock in seconds, or 0.
task_clock() {
    get /metrics | grep -F "perf_cgroup_task_clock_seconds_total{cgroup=\"$1\"," |
        awk '{ sum += $NF } END { print sum + 0 }'
}
# rows: prints the names in the result of a PromQL query that returns each container with CPU time.
rows() {
    query "sum by (container) (rate(perf_cgroup_task_clock_seconds_total[20s]) * on (instance, cgroup)
        group_left (container) perf_cgroup_info{container!=\"\"}) > 0" |
        jq -r '[.[]?.metric.container] | sort | join(" ")'
}
expected_rows() {
    printf '%s\n' "${names[@]}" | sort | xargs
}
has_rows() {
    [ "$(rows)" = "$(expected_rows)" ]
}

# --- a user's containers need a drop-in, as the manual says

test_drop_in() {
    local cgroup
    start rootless attic >"$scratch/run.log" 2>&1 ||
        fail "podman runs a user's container" "$(cat "$scratch/run.log")"
    cgroups[rootless]=$(cgroup_of rootless attic)
    cgroup=${cgroups[rootless]}
    matches "a user's container is in the cgroup of the user's manager" "$cgroup" \
        '^/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-[0-9a-f]{64}.scope$'
    holds "a user's container is counted with the default include" eventually 5 has_field "$cgroup" state watched
    equals "a user's container has no name, since the service cannot see homes" "$(field "$cgroup" container)" none
    contains "/api/v1/cgroups says why a user's container has no name, with the remedy" \
        "$(field "$cgroup" unnamed)" ProtectHome=read-only
    inside mkdir -p /run/systemd/system/perfcountd.service.d
    inside_write /run/systemd/system/perfcountd.service.d/user-containers.conf \
        <"$root/contrib/systemd/user-containers.conf"
    restart_units
    holds "with the drop-in, a user's container has a name" eventually 5 has_field "$cgroup" container attic
}

# --- start

test_start() {
    local runtime cgroup
    start podman cellar >/dev/null
    start docker harbour --label com.docker.compose.project=shop --label com.docker.compose.service=db >/dev/null
    start ctr shed >/dev/null
    for runtime in $runtimes; do
        cgroups[$runtime]=$(cgroup_of "$runtime" "${names[$runtime]}")
        cgroup=${cgroups[$runtime]}
        echo "-- $runtime: $cgroup"
        holds "$runtime: the container's name is shown" eventually 60 has_info "$cgroup" "${names[$runtime]}"
        equals "$runtime: the container's runtime is shown" "$(field "$cgroup" runtime)" "${said[$runtime]}"
        [ "$runtime" = ctr ] || equals "$runtime: the container's image is shown" "$(field "$cgroup" image)" "$image"
        holds "$runtime: the container is counted" eventually 60 has_counts "$cgroup"
        equals "$runtime: ?container=NAME finds the container" \
            "$(get "/api/v1/counters?container=${names[$runtime]}&event=task_clock" | jq -r '.counters[].cgroup')" \
            "$cgroup"
    done
    equals "compose labels take precedence as the name" "$(field "${cgroups[docker]}" name)" shop/db
    equals "root's container was named by podman" "$(field "${cgroups[podman]}" named_by)" podman
    equals "containerd's container was named by its path" "$(field "${cgroups[ctr]}" named_by)" path
    equals "each container is counted once" "$(get '/api/v1/cgroups' |
        jq '[.cgroups[] | select(.container and .state == "watched")] | length')" 4
}
has_counts() {
    awk -v clock="$(task_clock "$1")" 'BEGIN { exit !(clock > 0) }'
}

# --- perfcountd itself in a container, as doc/install.md shows

# Makes an image that contains only symbolic links, since the machine's /usr is mounted into it.
import_links() {
    # shellcheck disable=SC2016 # the inner shell expands it
    inside sh -ec 'mkdir -p /run/links && cd /run/links && mkdir usr run proc sys dev tmp etc var
        for name in bin sbin lib lib64; do ln -s usr/$name $name; done
        tar -cf /run/links.tar .' &&
        podman import --quiet /run/links.tar registry.invalid/links:1
}

# in_container FLAGS... -- ARGUMENTS...: runs perfcountd in a container. Sets told to its output.
in_container() {
    local flags=()
    while [ "$1" != -- ]; do
        flags+=("$1")
        shift
    done
    told=$(podman run --rm --network host -v /usr:/usr:ro "${flags[@]}" registry.invalid/links:1 \
        /usr/local/bin/perfcountd "${@:2}" 2>&1)
}

# names_cellar FLAGS...: succeeds if plan in a container shows cellar's name. On a busy machine, names may be found too
# late for one run.
names_cellar() {
    in_container "${spaces[@]}" "${files[@]}" "$@" -- plan
    [[ $told =~ cellar\ +podman\ +[^\ ]*$id ]]
}

test_in_container() {
    local spaces=(--pid=host --cgroupns=host) files=(-v /var/lib/containers:/var/lib/containers:ro) id told
    import_links >"$scratch/links.log" 2>&1 || fail "podman imports the image" "$(cat "$scratch/links.log")"
    id=$(podman inspect --format '{{.Id}}' cellar)
    in_container "${spaces[@]}" -- plan
    contains "with podman's defaults, perfcountd says which capabilities to add" "$told" --cap-add=PERFMON,BPF
    eventually 60 names_cellar --cap-add=SYS_ADMIN
    matches "with CAP_SYS_ADMIN perfcountd counts containers and shows their names" "$told" "cellar +podman +[^ ]*$id"
    eventually 60 names_cellar --cap-add=PERFMON,BPF --security-opt seccomp=unconfined
    matches "with CAP_PERFMON and without a seccomp filter, perfcountd counts containers and shows their names" \
        "$told" "cellar +podman +[^ ]*$id"

    in_container "${spaces[@]}" --cap-add=SYS_ADMIN -- record --cgroup=container=cellar --seconds=1 -o /tmp/a.svg
    matches "without the state files, names are unknown" "$told" 'matches no cgroup.* no known name: '
    in_container "${files[@]}" --cap-add=SYS_ADMIN -- record --cgroup=container=cellar --seconds=1 -o /tmp/a.svg
    contains "without --cgroupns=host no other container is visible" "$told" 'with --cgroupns=host'
    in_container --cap-add=SYS_ADMIN -v /run:/files -- record --event=cpu-clock --seconds=2 -o /files/a.folded
    contains "without --pid=host programs have no names" \
        "$told" 'outside this pid namespace: start the container with --pid=host'
    holds "programs outside the PID namespace are not shown as idle" \
        inside grep -q '^.outside_this_pid_namespace.;' /run/a.folded
}

test_join() {
    cat >"$scratch/prometheus.yml" <<END
global: {scrape_interval: 2s, scrape_timeout: 2s}
scrape_configs:
  - job_name: perfcountd
    static_configs: [{targets: ["${url#http://}"]}]
END
    start_prometheus "$scratch/prometheus.yml"
    eventually 15 has_rows
    equals "Prometheus computes a rate for each container name" "$(rows)" "$(expected_rows)"
}

# --- rename, restart, remove

# alice_claims ID NAME: adds an entry to alice's podman file which claims that the container is hers and has this name.
alice_claims() {
    # shellcheck disable=SC2016 # the inner shell expands it
    inside setpriv --reuid=alice --regid=alice --init-groups sh -ec '
        cd /home/alice/.local/share/containers/storage/*-containers
        jq --arg id "$1" --arg name "$2" ". + [.[0] + {id: \$id, names: [\$name]}]" containers.json >new
        mv new containers.json' sh "$@"
}

test_rename() {
    local runtime nameless
    nameless=$(new_id)
    start ctr "$nameless"
    alice_claims "$nameless" impostor-3
    alice_claims "$(podman inspect --format '{{.Id}}' cellar)" impostor-1
    alice_claims "$(docker inspect --format '{{.Id}}' harbour)" impostor-2
    for runtime in $runtimes; do
        clocks[$runtime]=$(task_clock "${cgroups[$runtime]}")
    done
    for runtime in $can_rename; do
        "$runtime" rename "${names[$runtime]}" "new-${names[$runtime]}"
        names[$runtime]=new-${names[$runtime]}
    done
    for runtime in $can_rename; do
        holds "$runtime: a renamed container has only its new name" \
            eventually 17 has_info "${cgroups[$runtime]}" "${names[$runtime]}"
    done
    for runtime in $runtimes; do
        compares "$runtime: the counter of a renamed container continues" \
            "$(task_clock "${cgroups[$runtime]}") >= ${clocks[$runtime]}"
    done
    equals "a user's file still claims root's containers" "$(inside sh -c \
        'jq -r ".[].names[0]" /home/alice/.local/share/containers/storage/*-containers/containers.json' |
        sort | xargs)" "impostor-1 impostor-2 impostor-3 new-attic"
    equals "none of root's containers has a claimed name" \
        "$(get /api/v1/cgroups | jq '[.cgroups[] | select(.container // "" | startswith("impostor"))] | length')" 0
    equals "root's nameless container does not get the name that a user's file claims for it" \
        "$(field "/default/$nameless" container)" none
    end_task "$nameless"
    eventually 10 has_rows
    equals "Prometheus has only the new names" "$(rows)" "$(expected_rows)"
    equals "no counter was reset" \
        "$(value 'sum(resets(perf_cgroup_task_clock_seconds_total{cgroup=~".*(libpod|docker)-.*"}[1m]))')" 0
}

test_restart() {
    local runtime cgroup
    for runtime in $runtimes; do
        cgroup=${cgroups[$runtime]}
        clocks[$runtime]=$(task_clock "$cgroup")
        restart "$runtime" "${names[$runtime]}" >/dev/null 2>&1
        equals "$runtime: a restarted container is in the same cgroup" \
            "$(cgroup_of "$runtime" "${names[$runtime]}")" "$cgroup"
        holds "$runtime: a restarted container is counted again" eventually 5 has_field "$cgroup" state watched
        holds "$runtime: a restarted container's name is shown" eventually 5 has_info "$cgroup" "${names[$runtime]}"
        compares "$runtime: the counter of a restarted container continues from its total" \
            "$(task_clock "$cgroup") >= ${clocks[$runtime]}"
    done
}

test_remove() {
    local runtime cgroup
    start podman fleeting --rm >/dev/null
    cgroup=$(cgroup_of podman fleeting)
    holds "the name of a container started with --rm is shown" eventually 5 has_info "$cgroup" fleeting
    podman kill fleeting >/dev/null
    cgroups[podman_rm]=$cgroup
    names[podman_rm]=fleeting
    for runtime in $runtimes; do
        remove "$runtime" "${names[$runtime]}" >/dev/null 2>&1
    done
    for runtime in "${!cgroups[@]}"; do
        cgroup=${cgroups[$runtime]}
        holds "$runtime: a removed container lingers" eventually 5 has_field "$cgroup" state lingering
        equals "$runtime: a removed container keeps its last name" "$(infos "$cgroup")" "${names[$runtime]}"
    done
}

# --- include

# write_config LINE: writes a configuration with this value of collectors.cgroup.
write_config() {
    printf 'web: {min_interval: 0s}\ncollectors:\n  cpu: {enabled: false}\n  cgroup: %s\n' "$1" |
        inside_write "$config"
}
watches_exactly() {
    [ "$(get /api/v1/cgroups | jq -r '[.cgroups[] | select(.state == "watched") | .cgroup] | sort | join(" ")')" = \
        "$(printf '%s\n' "$@" | sort | xargs)" ]
}

test_include() {
    local cgroup
    write_config '{include: ["container=new-*"], exclude: ["/user.slice/**"]}'
    inside systemctl reload perfcountd
    holds "include: container=GLOB selects containers, but not their children" eventually 5 \
        watches_exactly "${cgroups[podman]}" "${cgroups[docker]}"
    start docker new-quay >/dev/null
    cgroup=$(cgroup_of docker new-quay)
    holds "a new container is counted as soon as its name is known" eventually 5 has_field "$cgroup" state watched
    equals "the new container's name is shown" "$(infos "$cgroup")" new-quay
    remove docker new-quay >/dev/null 2>&1
    write_config '{}'
    inside systemctl reload perfcountd
    holds "with the default include, other containers are counted again" eventually 5 \
        has_field "${cgroups[ctr]}" state watched
}

# --- pods, and a runtime that is killed

test_pod() {
    local cgroup pod
    pod=$(podman pod create --name wing --network none 2>"$scratch/pod.log") ||
        fail "podman makes a pod" "$(cat "$scratch/pod.log")"
    podman run --detach --pod wing --name room "$image" sh -c "$work" >/dev/null
    cgroup=$(cgroup_of podman room)
    holds "podman: the name of a container in a pod is shown" eventually 5 has_info "$cgroup" room
    equals "podman: the pod's pause container is not counted" "$(get /api/v1/cgroups |
        jq -r --arg id "$(podman inspect --format '{{.Id}}' "${pod:0:12}-infra")" \
            '[.cgroups[] | select(.container_id == $id and .state == "watched")] | length')" 0
    podman pod rm --force wing >/dev/null 2>&1
}

# Uses real containerd bundles, with the annotations of nerdctl and of Kubernetes' CRI plugin.
test_annotations() {
    local id cgroup pod=/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_1111_2222.slice
    local cri=io.kubernetes.cri kube
    kube=(--annotation "$cri.sandbox-name=shop-0" --annotation "$cri.sandbox-namespace=town")
    id=$(new_id)
    start ctr "$id" --annotation nerdctl/name=pantry
    holds "containerd: the name of a nerdctl container is shown" eventually 5 has_info "/default/$id" pantry
    equals "containerd: the name comes from the container's bundle" "$(field "/default/$id" named_by)" containerd
    end_task "$id"
    ctr --namespace k8s.io images import /run/saved.tar >/dev/null
    id=$(new_id)
    cgroup=$pod/cri-containerd-$id.scope
    in_namespace=k8s.io start ctr "$id" --cgroup "$cgroup" "${kube[@]}" \
        --annotation "$cri.container-type=container" --annotation "$cri.container-name=till"
    holds "containerd: the name of a container in a pod is shown" eventually 5 has_field "$cgroup" name town/shop-0/till
    id=$(new_id)
    in_namespace=k8s.io start ctr "$id" --cgroup "$pod/cri-containerd-$id.scope" "${kube[@]}" \
        --annotation "$cri.container-type=sandbox"
    holds "the pod's sandbox has a process" inside grep -q . "/sys/fs/cgroup$pod/cri-containerd-$id.scope/cgroup.procs"
    holds "the pod's sandbox is not counted" eventually 5 has_field "$pod/cri-containerd-$id.scope" state none
    in_namespace=k8s.io end_task "$id"
}
new_id() {
    od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

# dockerd is killed and started again later, with another cgroup driver. Automatic restart is disabled: systemd would
# restart dockerd after two seconds, and a new dockerd ends existing containers.
test_docker_killed() {
    local cgroup=${cgroups[docker]} id
    inside mkdir -p /run/systemd/system/docker.service.d
    inside_write /run/systemd/system/docker.service.d/cgroupfs.conf <<'END'
[Service]
Restart=no
ExecStart=
ExecStart=/usr/sbin/dockerd -H fd:// --exec-opt native.cgroupdriver=cgroupfs
END
    inside systemctl daemon-reload
    inside systemctl kill --signal KILL docker.service
    holds "dockerd is killed" eventually 5 not inside systemctl is-active docker.service
    equals "the container of the killed dockerd keeps running" "$(field "$cgroup" state)" watched
    equals "the container of the killed dockerd keeps its name" "$(infos "$cgroup")" "${names[docker]}"
    holds "dockerd is started again" inside systemctl start docker.service
    holds "dockerd ends the container, which lingers" eventually 15 has_field "$cgroup" state lingering
    start docker quay >"$scratch/run.log" 2>&1 || fail "docker runs a container" "$(cat "$scratch/run.log")"
    id=$(docker inspect --format '{{.Id}}' quay)
    equals "the cgroup driver is cgroupfs" "$(cgroup_of docker quay)" "/docker/$id"
    holds "docker: with the cgroupfs driver, the container's name is shown" eventually 5 has_info "/docker/$id" quay
    remove docker quay >/dev/null
}

# --- plan

# plan_has NAME SOURCE CGROUP: succeeds if plan shows this row. On a busy machine, names may be found too late for one
# run.
plan_has() {
    inside /usr/local/bin/perfcountd plan --config.file="$config" 2>&1 | grep -qE "$1 +$2 +$3"
}
test_plan() {
    holds "plan shows the source of a docker container's name" \
        eventually 10 plan_has shop/db docker "${cgroups[docker]}"
    holds "plan shows the source of a podman container's name" \
        eventually 10 plan_has "${names[podman]}" podman "${cgroups[podman]}"
}

test_secret() {
    local path
    for path in /metrics /api/v1/cgroups /api/v1/status /api/v1/counters; do
        get "$path"
    done >"$scratch/replies"
    inside journalctl --no-pager -u perfcountd >"$scratch/journal"
    lacks "no response and no log line has a container's environment variable" "$secret" \
        "$scratch/replies" "$scratch/journal"
}

boot_with_runtimes
write_config '{}'
install_units
restart_units
for test in drop_in start in_container join rename plan restart include pod annotations docker_killed remove secret; do
    "test_$test"
done
equals "Prometheus logged no warning" "$(grep -v 'level=info' "$scratch/prometheus.log")" ""
finish
