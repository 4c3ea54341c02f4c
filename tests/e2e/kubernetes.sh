#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names of pods and containers on a node of Kubernetes: its cgroups (both drivers of the kubelet, the three classes of
# service, containerd, CRI-O and k3s), its links to logs and its containers' bundles, made by the published layouts;
# then hostile links, and 1,000 pods that replace each other. No kubelet runs here.
#
# usage: kubernetes.sh [TEST...]     all of them without an argument
# shellcheck disable=SC2086 # the paths of the test's own cgroups have no blanks
. "$(dirname "$0")/lib.sh"
need curl jq cc promtool sha256sum /usr/bin/python3
. "$here/cgroup-lib.sh"
. "$here/container-lib.sh"

group='groups: [{name: f, events: minor-faults}]'
containerd=/run/containerd/io.containerd.runtime.v2.task/k8s.io
k3s=/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io

# --- the layouts, https://github.com/kubernetes/kubernetes/blob/v1.28.0/pkg/kubelet/cm/cgroup_manager_linux.go

# pod_cgroup DRIVER CLASS POD: the cgroup of a pod.
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

# container_cgroup DRIVER CLASS POD RUNTIME ID: RUNTIME is the prefix of its scopes.
container_cgroup() {
    case $1 in
    cgroupfs) echo "$(pod_cgroup "$1" "$2" "$3")/$5" ;;
    *) echo "$(pod_cgroup "$1" "$2" "$3")/$4-$5.scope" ;;
    esac
}

# annotations_of TYPE POD NAMESPACE [CONTAINER]: those of containerd's CRI plugin.
annotations_of() {
    jq -n --arg type "$1" --arg pod "$2" --arg namespace "$3" --arg container "${4-}" \
        '{"io.kubernetes.cri.container-type": $type, "io.kubernetes.cri.sandbox-name": $pod,
          "io.kubernetes.cri.sandbox-namespace": $namespace} + if $container == "" then {} else
         {"io.kubernetes.cri.container-name": $container, "io.kubernetes.cri.image-name": "registry.example/app:1"} end'
}

# run_pod DRIVER CLASS POD NAMESPACE [BUNDLES]: with the container `app` and its pause container; the bundles go below
# the directory that is named, if any.
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
# cgroup_of DRIVER CLASS POD [CONTAINER]
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
            is_named "$driver, $class: a container has its names" "$(cgroup_of $driver $class $pod)" "shop $pod app"
            holds "and the pause container is left out" eventually 8 has_names "$pause" none
        done
    done
    app=$(cgroup_of systemd burstable systemd-burstable-0)
    equals "the image and the runtime are of the bundle" "$(names_of "$app" image runtime)" \
        "registry.example/app:1 containerd"
    equals "the source of its names is named" "$(names_of "$app" named_by unnamed)" "kubernetes -"
    id=$(id_of systemd-burstable-0 app)
    for label in 'namespace="shop"' 'pod="systemd-burstable-0"' 'container="app"' "container_id=\"$id\""; do
        contains "perf_cgroup_info has $label" "$(info_of "$app")" "$label"
    done
    get /metrics >"$scratch/text"
    lacks "no label is empty" 'perf_cgroup_info\{.*=""' "$scratch/text"

    # While it runs.
    run_pod cgroupfs burstable late-k3s-0 jobs $k3s
    is_named "k3s, started later" "$(cgroup_of cgroupfs burstable late-k3s-0)" "jobs late-k3s-0 app"
    id=$(id_of crio-0 app)
    run_in "$(container_cgroup systemd burstable crio-0 crio "$id")"
    link_log crio-0 shop app "$id"
    is_named "CRI-O, with the link alone, after the cgroup" "$(container_cgroup systemd burstable crio-0 crio "$id")" \
        "shop crio-0 app"
    check_restart
    check_by_name
    end_machine
    remove_pods
}

# A container that is started again in its pod has another id.
check_restart() {
    local before after
    before=$(cgroup_of systemd guaranteed systemd-guaranteed-0)
    after=$(container_cgroup systemd guaranteed systemd-guaranteed-0 cri-containerd "$(id_of again)")
    end_in "$before"
    run_in "$after"
    link_log systemd-guaranteed-0 shop app "$(id_of again)"
    is_named "started again, its new cgroup has the names" "$after" "shop systemd-guaranteed-0 app"
    holds "and the old one has gone" eventually 5 has_names "$before" none
    rm "$machine/var/log/containers/systemd-guaranteed-0_shop_app-"*
    fault "$below$after" 100
    compares "its counters go on without the link" "$(count "$after") >= 100"
}

# The API's parameters, with what Prometheus and a person would ask for.
check_by_name() {
    local cgroup
    cgroup=$(cgroup_of cgroupfs burstable late-k3s-0)
    equals "?namespace=GLOB" "$(get '/api/v1/counters?namespace=job?' | jq -r '[.counters[].cgroup] | unique | .[]')" \
        "$cgroup"
    equals "?pod= is repeatable" "$(get '/api/v1/counters?pod=late-k3s-0&pod=crio-*&event=minor_faults' |
        jq '.counters | length')" 2
    equals "alternatives of one key, and of all keys" \
        "$(get '/api/v1/counters?namespace=shop&pod=late-k3s-0' | jq '.counters | length')" 0
}

# remove_pods: all cgroups but that of the test itself.
remove_pods() {
    local directory
    for directory in "$parent"/kubepods*; do
        [ ! -d "$directory" ] || remove_cgroups "$directory" || fail "$directory can be removed"
    done
    find "$machine/var/log/containers" "$machine/run" -mindepth 1 -delete
}

# --- what strangers write

# Each is what a link's name begins with; the container it would be for has a cgroup. Names of pods are those of DNS.
hostile=('<img src=x onerror=alert(1)>' $'new\nline' 'quote"s' 'back\slash' $'\e[31mred' $'bidi\xe2\x80\xaegnp.exe'
    $'\xff\xfe' '{{ template }}' '%s%n' "'; DROP TABLE" $'\xc2\x85' 'UPPER')

test_hostile() {
    local i id name cgroup directory=$machine/var/log/containers n_links=10000
    rm -rf "$directory"
    start_machine "$group" "linger: 0s"
    mkdir "$directory"
    for i in "${!hostile[@]}"; do
        id=$(id_of hostile "$i")
        run_in "$(container_cgroup cgroupfs besteffort hostile cri-containerd "$id")"
        ln -s /nowhere "$directory/${hostile[i]}_shop_app-$id.log" || fail "${hostile[i]} can be the name of a link"
    done
    # Names without an id, with parts that are missing or empty, directories in their place.
    id=$(id_of none)
    run_in "$(container_cgroup cgroupfs besteffort none cri-containerd "$id")"
    for name in "$id.log" "-$id.log" "__-$id.log" "pod_shop-$id.log" "pod_shop_-$id.log" "pod__app-$id.log" \
        "pod_shop_app-${id^^}.log" "pod_shop_app-${id:1}.log" "pod_shop_app-${id}0.log" "pod_shop_app-$id.txt" \
        "pod_shop_app-$id"; do
        ln -s /nowhere "$directory/$name"
    done
    /usr/bin/python3 - "$directory" $n_links <<'PY'
import os, sys
for i in range(int(sys.argv[2])):
    os.symlink("/nowhere", "%s/pod-%d_many_app-%064x.log" % (sys.argv[1], i, i))
PY
    id=$(printf %064x 9999)
    cgroup=$(container_cgroup cgroupfs besteffort many cri-containerd "$id")
    run_in "$cgroup"
    is_named "the last of $n_links links" "$cgroup" "many pod-9999 app"
    id=$(id_of long)
    name=$(printf 'p%.0s' $(seq 170))
    run_in "$(container_cgroup cgroupfs besteffort long cri-containerd "$id")"
    ln -s /nowhere "$directory/${name}_shop_app-$id.log"
    is_named "a pod with a long name" "$(container_cgroup cgroupfs besteffort long cri-containerd "$id")" \
        "shop $name app"

    for i in "${!hostile[@]}"; do
        equals "$(printf 'the link %.60q names nothing' "${hostile[i]}")" "$(names_of "$(container_cgroup cgroupfs \
            besteffort hostile cri-containerd "$(id_of hostile "$i")")" namespace pod container)" "- - -"
    done
    cgroup=$(container_cgroup cgroupfs besteffort none cri-containerd "$(id_of none)")
    equals "nor do those without one of the parts" "$(names_of "$cgroup" namespace pod container)" "- - -"
    matches "and the reason is there" "$(names_of "$cgroup" unnamed)" 'no link in /var/log/containers has its id'
    get /metrics >"$scratch/text"
    get /metrics -H 'Accept: application/openmetrics-text; version=1.0.0' >"$scratch/openmetrics"
    strictly_parsed "$scratch/text" "$scratch/openmetrics"
    check_strangers_directory "$directory"
    end_machine
    remove_pods
}

# A directory that everybody can write to is not believed.
check_strangers_directory() {
    local cgroup
    cgroup=$(container_cgroup cgroupfs besteffort many cri-containerd "$(printf %064x 9999)")
    rm -rf "$1"
    holds "without the directory the names of links are gone" eventually 20 has_names "$cgroup" "- - -"
    mkdir -m 1777 "$1"
    ln -s /nowhere "$1/root_shop_app-$(printf %064x 9999).log"
    sleep 1
    equals "links in a directory that others can write to are not believed" \
        "$(names_of "$cgroup" namespace pod container)" "- - -"
    matches "which is said, with the remedy" "$(names_of "$cgroup" unnamed)" 'writ'
    rm -rf "$1"
    mkdir "$1"
    ln -s /nowhere "$1/pod_shop_app-$(printf %064x 9999).log"
    is_named "a directory of root's is, also later" "$cgroup" "shop pod app"
}

# --- 1,000 pods that replace each other

anonymous() {
    awk '$1 == "Anonymous:" { sum += $2 } END { print sum }' "/proc/$daemon_pid/smaps_rollup"
}
# figures: descriptors, watches, series that are not the daemon's own, cgroups that are known.
figures() {
    echo "$(open_files "$daemon_pid") descriptors, $(inotify_watches "$daemon_pid") watches," \
        "$(get /metrics | grep -c '^perf_cgroup_') series, $(get /api/v1/cgroups | jq '.cgroups | length') cgroups"
}
settles_at() {
    [ "$(figures)" = "$1" ]
}
churn() {
    /usr/bin/python3 "$here/kubernetes-churn.py" --parent "$parent" --logs "$machine/var/log/containers" \
        --url "$url" "$@"
}

test_churn() {
    local before warm memory=0
    mkdir -p "$machine/var/log/containers"
    start_machine "$group" "linger: 1s" "max_cgroups: 400"
    # More at once than later, and so more that linger, so that the daemon has the memory for them.
    for warm in 1 2; do
        churn --pods 600 --at-once 250 --name warm-$warm >/dev/null
        memory=$(($(anonymous) > memory ? $(anonymous) : memory))
    done
    eventually 20 nothing_is_left
    before=$(figures)
    churn --pods 1000 --at-once 100 --name pod >"$scratch/churn"
    cat "$scratch/churn"
    compares "1,000 pods came and went, most with their names while they were there" \
        "$(jq .pods "$scratch/churn") == 1000 && $(jq .named "$scratch/churn") >= 950"
    equals "none had a name of another" "$(jq .wrong "$scratch/churn")" 0
    eventually 15 settles_at "$before"
    equals "nothing of them is left" "$(figures)" "$before"
    compares "nor memory, in KiB" "$(anonymous) <= $memory + 1024"
    end_machine
    remove_pods
}
nothing_is_left() {
    [ "$(get /api/v1/cgroups | jq '.cgroups | length')" = 0 ]
}

tests=(layouts hostile churn)
for test in "${@:-${tests[@]}}"; do
    echo "-- $test"
    "test_$test"
done
finish
