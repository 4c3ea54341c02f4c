#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the names of pods and containers on a simulated Kubernetes node: cgroups (both cgroup drivers of the kubelet,
# the three QoS classes, containerd, CRI-O and k3s), log links and container bundles in the published layouts; then
# hostile links, and 1,000 pods that replace each other. No kubelet runs here.
# set: all
#
# usage: kubernetes.sh [TEST...]     default: all tests
# shellcheck disable=SC2086 # the paths of the test's own cgroups have no blanks
. "$(dirname "$0")/lib.sh"
need curl jq cc pgrep promtool sha256sum /usr/bin/python3
. "$here/cgroup-lib.sh"
. "$here/container-lib.sh"

group='groups: [{name: f, events: minor-faults}]'
containerd=/run/containerd/io.containerd.runtime.v2.task/k8s.io
k3s=/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io

# --- the layouts, https://github.com/kubernetes/kubernetes/blob/v1.28.0/pkg/kubelet/cm/cgroup_manager_linux.go

# pod_cgroup DRIVER CLASS POD: prints the cgroup of a pod.
pod_cgroup() {
    local class=${2/guaranteed/} uid slice=
    uid=$(uid_of "$3")
    if [ "$1" = cgroupfs ]; then
        echo "/kubepods${class:+/$class}/pod$uid"
    else
        [ -z "$class" ] || slice=/kubepods-$class.slice
        echo "/kubepods.slice$slice/kubepods${class:+-$class}-pod${uid//-/_}.slice"
    fi
}

# container_cgroup DRIVER CLASS POD RUNTIME ID: prints the cgroup of a container. RUNTIME is the prefix of its scope.
container_cgroup() {
    case $1 in
    cgroupfs) echo "$(pod_cgroup "$1" "$2" "$3")/$5" ;;
    *) echo "$(pod_cgroup "$1" "$2" "$3")/$4-$5.scope" ;;
    esac
}

# annotations_of TYPE POD NAMESPACE [CONTAINER]: prints the annotations that containerd's CRI plugin sets.
annotations_of() {
    jq -n --arg type "$1" --arg pod "$2" --arg namespace "$3" --arg container "${4-}" \
        '{"io.kubernetes.cri.container-type": $type, "io.kubernetes.cri.sandbox-name": $pod,
          "io.kubernetes.cri.sandbox-namespace": $namespace} + if $container == "" then {} else
         {"io.kubernetes.cri.container-name": $container, "io.kubernetes.cri.image-name": "registry.example/app:1"} end'
}

# run_pod DRIVER CLASS POD NAMESPACE [BUNDLES]: runs a pod with the container `app` and its pause container. If BUNDLES
# is given, the bundles are written under that directory.
run_pod() {
    local app pause
    app=$(id_of "$3" app) pause=$(id_of "$3" pause)
    if [ -n "${5-}" ]; then
        put_bundle "$5" "$pause" "$(annotations_of sandbox "$3" "$4")"
        put_bundle "$5" "$app" "$(annotations_of container "$3" "$4" app)"
    fi
    run_in "$(container_cgroup "$1" "$2" "$3" cri-containerd "$pause")"
    run_in "$(container_cgroup "$1" "$2" "$3" cri-containerd "$app")"
    link_log "$3" "$4" app "$app"
}
# cgroup_of DRIVER CLASS POD [CONTAINER]: prints the cgroup of a container.
cgroup_of() {
    container_cgroup "$1" "$2" "$3" cri-containerd "$(id_of "$3" "${4-app}")"
}

test_layouts() {
    local driver class pod pause app id
    for driver in systemd cgroupfs; do
        for class in guaranteed burstable besteffort; do
            run_pod $driver $class "$driver-$class-0" shop $containerd
        done
    done
    mkdir -p "$machine$k3s"
    start_machine "$group" "linger: 0s"
    for driver in systemd cgroupfs; do
        for class in guaranteed burstable besteffort; do
            pod=$driver-$class-0 pause=$(cgroup_of $driver $class $driver-$class-0 pause)
            is_named "$driver, $class: the names of a container are found" \
                "$(cgroup_of $driver $class $pod)" "shop $pod app"
            holds "the pause container is left out" eventually 60 has_names "$pause" none
        done
    done
    app=$(cgroup_of systemd burstable systemd-burstable-0)
    equals "the image and the runtime come from the bundle" "$(names_of "$app" image runtime)" \
        "registry.example/app:1 containerd"
    equals "the source of the names is reported" "$(names_of "$app" named_by unnamed)" "kubernetes -"
    id=$(id_of systemd-burstable-0 app)
    for label in 'namespace="shop"' 'pod="systemd-burstable-0"' 'container="app"' "container_id=\"$id\""; do
        contains "perf_cgroup_info has $label" "$(info_of "$app")" "$label"
    done
    get /metrics >"$scratch/text"
    lacks "no label is empty" 'perf_cgroup_info\{.*=""' "$scratch/text"

    # Pods that start while the daemon runs.
    run_pod cgroupfs burstable late-k3s-0 jobs $k3s
    is_named "the names of a k3s pod that started later are found" \
        "$(cgroup_of cgroupfs burstable late-k3s-0)" "jobs late-k3s-0 app"
    id=$(id_of crio-0 app)
    run_in "$(container_cgroup systemd burstable crio-0 crio "$id")"
    link_log crio-0 shop app "$id"
    is_named "CRI-O: the names are found if there is only the link, and it appears after the cgroup" \
        "$(container_cgroup systemd burstable crio-0 crio "$id")" \
        "shop crio-0 app"
    check_restart
    check_by_name
    end_machine
    remove_pods
}

# A restarted container has another id.
check_restart() {
    local before after
    before=$(cgroup_of systemd guaranteed systemd-guaranteed-0)
    after=$(container_cgroup systemd guaranteed systemd-guaranteed-0 cri-containerd "$(id_of again)")
    end_in "$before"
    run_in "$after"
    link_log systemd-guaranteed-0 shop app "$(id_of again)"
    is_named "a restarted container's new cgroup has the names" "$after" "shop systemd-guaranteed-0 app"
    holds "the old cgroup is gone" eventually 60 has_names "$before" none
    rm "$machine/var/log/containers/systemd-guaranteed-0_shop_app-"*
    fault "$below$after" 100
    compares "a container is counted after its link is removed" "$(count "$after") >= 100"
}

# The API parameters that select by name.
check_by_name() {
    local cgroup
    cgroup=$(cgroup_of cgroupfs burstable late-k3s-0)
    equals "?namespace=GLOB selects cgroups" \
        "$(get '/api/v1/counters?namespace=job?' | jq -r '[.counters[].cgroup] | unique | .[]')" \
        "$cgroup"
    equals "?pod= is repeatable" "$(get '/api/v1/counters?pod=late-k3s-0&pod=crio-*&event=minor_faults' |
        jq '.counters | length')" 2
    equals "values of one key are alternatives, but all keys must match" \
        "$(get '/api/v1/counters?namespace=shop&pod=late-k3s-0' | jq '.counters | length')" 0
}

# remove_pods: removes all cgroups except the test's own parent.
remove_pods() {
    local directory
    for directory in "$parent"/{kubepods*,system.slice}; do
        [ ! -d "$directory" ] || remove_cgroups "$directory" || fail "$directory can be removed"
    done
    find "$machine/var/log/containers" "$machine/run" -mindepth 1 -delete
}

# --- files of other users

# tests/unit/test-kubernetes.c tests invalid link names.
test_hostile() {
    local id name cgroup directory=$machine/var/log/containers n_links=10000
    rm -rf "$directory"
    mkdir -p "$machine/var/lib/docker/containers"
    chmod 710 "$machine/var/lib/docker"
    start_machine "$group" "linger: 0s"
    mkdir "$directory"
    id=$(id_of none)
    run_in "$(container_cgroup cgroupfs besteffort none cri-containerd "$id")"
    ln -s /nowhere "$directory/<img src=x onerror=alert(1)>_shop_app-$id.log"
    /usr/bin/python3 - "$directory" $n_links <<'PY'
import os, sys
for i in range(int(sys.argv[2])):
    os.symlink("/nowhere", "%s/pod-%d_many_app-%064x.log" % (sys.argv[1], i, i))
PY
    id=$(printf %064x 9999)
    cgroup=$(container_cgroup cgroupfs besteffort many cri-containerd "$id")
    run_in "$cgroup"
    is_named "the last of $n_links links is found" "$cgroup" "many pod-9999 app"
    id=$(id_of long)
    name=$(printf 'p%.0s' $(seq 170))
    run_in "$(container_cgroup cgroupfs besteffort long cri-containerd "$id")"
    ln -s /nowhere "$directory/${name}_shop_app-$id.log"
    is_named "the names of a pod with a long name are found" \
        "$(container_cgroup cgroupfs besteffort long cri-containerd "$id")" \
        "shop $name app"

    cgroup=$(container_cgroup cgroupfs besteffort none cri-containerd "$(id_of none)")
    equals "an invalid link gives no name" "$(names_of "$cgroup" namespace pod container)" "- - -"
    matches "an invalid link: the reason is reported" \
        "$(names_of "$cgroup" unnamed)" 'no link in /var/log/containers has its id'
    get /metrics >"$scratch/text"
    get /metrics -H 'Accept: application/openmetrics-text; version=1.0.0' >"$scratch/openmetrics"
    strictly_parsed "$scratch/text" "$scratch/openmetrics"
    check_strangers_directory "$directory"
    end_machine
    remove_pods
}

# Names from a directory that everybody can write to are ignored.
check_strangers_directory() {
    local cgroup
    cgroup=$(container_cgroup cgroupfs besteffort many cri-containerd "$(printf %064x 9999)")
    rm -rf "$1"
    holds "without the directory, the names from its links are gone" eventually 60 has_names "$cgroup" "- - -"
    mkdir -m 1777 "$1"
    ln -s /nowhere "$1/root_shop_app-$(printf %064x 9999).log"
    read_names
    equals "links in a directory that others can write to are ignored" \
        "$(names_of "$cgroup" namespace pod container)" "- - -"
    matches "a directory that others can write to: the reason is reported, with the remedy" \
        "$(names_of "$cgroup" unnamed)" 'writ'
    rm -rf "$1"
    mkdir "$1"
    ln -s /nowhere "$1/pod_shop_app-$(printf %064x 9999).log"
    is_named "links in root's directory are read, even if it is created later" "$cgroup" "shop pod app"
}

# --- 1,000 pods that replace each other

# figures: prints the numbers of descriptors, watches, cgroup series and known cgroups.
figures() {
    echo "$(open_files "$daemon_pid") descriptors, $(inotify_watches "$daemon_pid") watches," \
        "$(get /metrics | grep -c '^perf_cgroup_') series, $(get /api/v1/cgroups | jq '.cgroups | length') cgroups"
}
settles_at() {
    [ "$(figures)" = "$1" ]
}
test_churn() {
    local before
    mkdir -p "$machine/var/log/containers" "$parent/kubepods/burstable"
    start_machine "$group" "linger: 1s" "max_cgroups: 400"
    eventually 60 all_threads_sleep
    before=$(figures)
    /usr/bin/python3 "$here/kubernetes-churn.py" "$parent" "$machine/var/log/containers" "$url" >"$scratch/churn" ||
        fail "kubernetes-churn.py" "$(cat "$scratch/churn")"
    equals "1,000 pods ran, and each got its own name" "$(cat "$scratch/churn")" \
        "1000 pods, 1000 had their name, 0 another's"
    holds "no descriptor, watch or series of the pods is left" eventually 60 settles_at "$before"
    end_machine
    remove_pods
}

tests=(layouts hostile churn)
for test in "${@:-${tests[@]}}"; do
    echo "-- $test"
    "test_$test"
done
finish
