#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# State files of Docker, podman and containerd contain environment variables, arguments and labels, which may be
# secrets. Only a few names from them may reach the daemon: a secret in each file must not appear in the memory of the
# daemon's processes, in the log or in any reply, and the reader has no means to pass it on. Also tests containers of
# unprivileged users, names without an opener, and a daemon whose reader was killed.
# set: all
# shellcheck disable=SC2154 # variables of the libraries
. "$(dirname "$0")/lib.sh"
need curl jq cc pgrep promtool sha256sum unshare /usr/bin/python3
. "$here/cgroup-lib.sh"
. "$here/container-lib.sh"

# Two random texts in state files. The canary stands for a secret, which must not reach the daemon. The beacon is part
# of names, which do reach it, and shows that the search finds a text in the daemon's memory.
random_text() {
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}
canary=canary$(random_text) beacon=beacon$(random_text)
tasks=/run/containerd/io.containerd.runtime.v2.task

# stored ID NAME METADATA: prints the entry of a container in containers/storage. METADATA is JSON.
stored() {
    jq -n --arg id "$1" --arg name "$2" --argjson metadata "$3" --arg secret "$canary" '{id: $id, names: [$name],
        image: $id, layer: $id, created: "2024-01-01T00:00:00Z", flags: {MountLabel: $secret, ($secret): ""},
        metadata: ($metadata + {"image-name": "example/app:1", "image-id": $id, "created-at": 1,
            mountlabel: $secret} | tojson), "big-data-names": [$secret]}'
}

# put_storage PODMAN CRIO POD N: writes a containers.json with a podman container, a CRI-O container and its pod, which
# have these ids.
put_storage() {
    {
        stored "$1" "podman-$4-$beacon" '{"name": "first"}'
        stored "$2" "k8s_crio_pod_shop_uid_0" '{"pod-name": "k8s_pod_shop_uid_0", "pod-id": "'"$3"'",
            "name": "k8s_crio_pod_shop_uid_0", "metadata-name": "crio-'"$4-$beacon"'"}'
        stored "$3" "k8s_pod_shop_uid_0" '{"pod-name": "k8s_pod_shop_uid_0", "pod-id": "'"$3"'",
            "name": "k8s_pod_shop_uid_0", "metadata-name": "pod"}'
    } | jq -s . | put /var/lib/containers/storage/overlay-containers/containers.json 600
}

crio=/kubepods.slice/kubepods-pod$(uid_of crio | tr - _).slice

# new_containers N: creates a container of each kind with the beacon in its name. Sets cgroups, their paths.
new_containers() {
    local id
    cgroups=()
    id=$(id_of docker "$1")
    put_docker "$id" "docker-$1-$beacon" \
        '{"com.docker.compose.project": "shop", "com.docker.compose.service": "db"}'
    cgroups+=("/system.slice/docker-$id.scope")
    id=$(id_of podman "$1")
    put_storage "$id" "$(id_of crio "$1")" "$(id_of crio-pod "$1")" "$1"
    cgroups+=("/machine.slice/libpod-$id.scope" "$crio/crio-$(id_of crio "$1").scope")
    id=$(id_of bundle "$1")
    put_bundle $tasks/k8s.io "$id" '{"io.kubernetes.cri.container-type": "container",
        "io.kubernetes.cri.sandbox-name": "pod", "io.kubernetes.cri.sandbox-namespace": "shop",
        "io.kubernetes.cri.container-name": "bundle-'"$1-$beacon"'"}'
    cgroups+=("/kubepods/besteffort/pod$(uid_of "bundle $1")/$id")
    id=$(id_of nerdctl "$1")
    put_bundle $tasks/default "$id" '{"nerdctl/name": "nerdctl-'"$1-$beacon"'", "nerdctl/namespace": "default"}'
    cgroups+=("/system.slice/nerdctl-$id.scope")
    run_in "${cgroups[@]}"
}
has_beacon() {
    [[ $(names_of "$1" container) == *"$beacon"* ]]
}

# in_memory TEXT PID...: prints how often the text occurs in the memory of each process.
in_memory() {
    /usr/bin/python3 "$here/memory-has.py" "${@:2}" <<<"$1"
}

check_memory() {
    local counts
    counts=$(in_memory "$canary" "$daemon_pid" "$opener" "$reader")
    equals "round $1: the secret is not in the memory of the daemon, the opener or the reader" "$counts" "0 0 0"
    compares "round $1: the search finds a name in the memory" "$(in_memory "$beacon" "$daemon_pid") > 0"
}

# check_replies: requests each path of the API. Neither the replies nor the log may contain the secret.
check_replies() {
    local path
    for path in /metrics /api/v1/counters /api/v1/cgroups /api/v1/status /api/v1/config /api/v1/pmus /api/v1/metrics \
        '/api/v1/rates?seconds=0.1' '/api/v1/cgroups?container=*' '/api/v1/samples?seconds=0.1' / /nothing; do
        get "$path" >>"$scratch/replies"
    done
    cp "$daemon_log" "$scratch/log"
    echo "$canary" >"$scratch/canary"
    contains "the replies contain names" "$(grep -o -m 1 "$beacon" "$scratch/replies" | head -n 1)" "$beacon"
    equals "neither the replies nor the log contain the secret" \
        "$(cat "$scratch/replies" "$scratch/log" | grep -cF -f "$scratch/canary")" 0
    equals "the daemon has no state file open" \
        "$(find "/proc/$daemon_pid/fd" "/proc/$opener/fd" -mindepth 1 -printf '%l\n' | grep -c '\.json')" 0
}

# status_field PID FIELD: prints a field of /proc/PID/status.
status_field() {
    awk -v field="$2:" '$1 == field { $1 = ""; print substr($0, 2) }' "/proc/$1/status"
}

# check_reader PID: checks that the reader, which has read the secret, has no means to pass it on.
check_reader() {
    local set
    for set in CapInh CapPrm CapEff CapBnd CapAmb; do
        equals "the reader: $set" "$(status_field "$1" $set)" 0000000000000000
    done
    equals "the reader has no supplementary groups" "$(status_field "$1" Groups | xargs)" ""
    compares "the reader is not root" "$(awk '$1 == "Uid:" { print $2 * $3 * $4 * $5 }' "/proc/$1/status") > 0"
    equals "the reader cannot gain privileges" "$(status_field "$1" NoNewPrivs)" 1
    equals "the reader's system calls are filtered" "$(status_field "$1" Seccomp)" 2
    equals "the reader has no file open" "$(find "/proc/$1/fd" -mindepth 1 ! -name 2 -printf '%l\n' |
        grep -vE '^(socket:|/dev/null$)')" ""
    equals "the reader has four sockets" "$(find "/proc/$1/fd" -mindepth 1 -lname 'socket:*' | wc -l)" 4
    equals "the reader has no network socket" "$(find "/proc/$1/fd" -mindepth 1 -printf '%l\n' |
        sed -n 's/^socket:\[\(.*\)\]$/\1/p' | grep -cvxFf <(awk '{ print $7 }' /proc/net/unix))" 0
}

# Matches a container whose name is missing because of the state file or the runtime, not because it is still being
# looked up.
explained='^- (the state file of its runtime (has an unsupported format|is too large)|its runtime has given it no name).*; '

# check_bad_files NAME: checks that malformed state files do not stop the reader, and that the reason is reported.
# tests/unit/test-state-formats.c has more such files.
check_bad_files() {
    local id half
    half=$(id_of "half written")
    echo '{"Name": "/half", "Config": {"Image": "example' | put "/var/lib/docker/containers/$half/config.v2.json" 600
    run_in "/system.slice/docker-$half.scope"
    eventually 60 is_explained "$half"
    matches "half written: there is no name, but the reason and a remedy" \
        "$(names_of "/system.slice/docker-$half.scope" container unnamed)" "$explained"
    id=$(id_of large)
    mkdir -p "$machine/var/lib/docker/containers/$id"
    truncate -s 100M "$machine/var/lib/docker/containers/$id/config.v2.json"
    run_in "/system.slice/docker-$id.scope"
    eventually 60 is_explained "$id"
    matches "100 MB: the file is not read, and the reason is reported" \
        "$(names_of "/system.slice/docker-$id.scope" container unnamed)" "too large to read; remove"
    put_docker "$half" "whole-$beacon"
    holds "half written: the name is found once the file is complete" eventually 60 has_beacon \
        "/system.slice/docker-$half.scope"
    equals "the same reader is still running" "$(child_named "$1")" "$reader"
}
# Labels contain whatever the user who started the container chose.
check_hostile_labels() {
    local i id cgroup texts=('<img src=x onerror=alert(1)>' $'new\nline\r\t' 'quote"s' 'back\slash' $'\e[31mred'
        $'bidi\xe2\x80\xaegnp.exe' '{{ template }}' "$(printf 'ü%.0s' $(seq 2048))" '' ' ' $'\xc2\x85\xef\xbb\xbf')
    for i in "${!texts[@]}"; do
        id=$(id_of labels "$i")
        put_docker "$id" "labels-$i-$beacon" "$(jq -n --arg text "${texts[i]}" \
            '{"com.docker.compose.project": $text, "com.docker.compose.service": $text}')"
        run_in "/docker/$id"
    done
    # A state file with invalid UTF-8 and a duplicate key.
    id=$(id_of labels bytes)
    printf '{"Name": "/bytes", "Name": "/twice-%s", "Config": {"Image": "\xff\xfe", "Labels": {"x": "\xc0"}}}' \
        "$beacon" | put "/var/lib/docker/containers/$id/config.v2.json" 600
    run_in "/docker/$id"
    for i in "${!texts[@]}"; do
        cgroup=/docker/$(id_of labels "$i")
        holds "a container with the label $(printf '%.40q' "${texts[i]}") has its name" \
            eventually 60 has_beacon "$cgroup"
    done
    get /api/v1/cgroups >"$scratch/cgroups"
    holds "no name contains a control character" jq -e '[.cgroups[] | .container, .compose_project, .compose_service |
        values | test("[\\p{Cc}\\x{feff}]")] | (length > 20) and (any | not)' "$scratch/cgroups"
    get /metrics >"$scratch/text"
    get /metrics -H 'Accept: application/openmetrics-text; version=1.0.0' >"$scratch/openmetrics"
    strictly_parsed "$scratch/text" "$scratch/openmetrics"
}

# A user can give a cgroup any name, even that of a root container's scope.
check_another_user() {
    local id
    id=$(id_of docker 0)
    run_in "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-$id.scope"
    eventually 60 not has_names "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-$id.scope" none
    read_names
    equals "a user's cgroup with the id of a root container has no name" \
        "$(names_of "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-$id.scope" container image)" "- -"
}
is_explained() {
    [[ $(names_of "/system.slice/docker-$1.scope" container unnamed) =~ $explained ]]
}

# check_places: doc/names.md must list every place where the opener looks for state files.
check_places() {
    local place places
    places=$(grep -oE '"(/var|/run|~|&)/[^"%]*"' "$root/cgroups/state-files.c" | tr -d '"' |
        sed 's|^&|/run/user/UID|' | sort -u)
    compares "the opener looks for state files in several places" "$(wc -l <<<"$places") > 10"
    for place in $places; do
        holds "doc/names.md has $place" grep -qF "\`$place\`" "$root/doc/names.md"
    done
}

reader_name=perfcountd-name # the kernel cuts process names to 15 characters
mkdir -p "$machine/var/lib/docker/containers" "$machine/var/lib/containers/storage/overlay-containers" \
    "$machine$tasks/k8s.io" "$machine$tasks/default"
chmod 710 "$machine/var/lib/docker"
chmod 700 "$machine$tasks" "$machine/var/lib/containers"
new_containers 0
start_machine 'groups: [{name: f, events: minor-faults}]' 'linger: 0s' -- --log.level=debug
opener=$(child_named perfcountd-open)
reader=$(child_named $reader_name)
if [ -z "$opener" ] || [ -z "$reader" ]; then
    fail "an opener and a reader are started" "$(cat "$daemon_log")"
    finish
fi
for round in 0 1 2 3; do
    [ "$round" -eq 0 ] || new_containers "$round"
    for cgroup in "${cgroups[@]}"; do
        holds "round $round: ${cgroup:0:24}... has its name" eventually 60 has_beacon "$cgroup"
    done
    check_memory "$round"
done
id=$(id_of docker 3)
equals "compose names come from the two labels" \
    "$(names_of "/system.slice/docker-$id.scope" compose_project compose_service image)" "shop db example/app:1"
equals "the search finds the secret in the memory of this script" \
    "$(in_memory "$canary" $$ | awk '{ print ($1 > 0) }')" 1
equals "names of CRI-O containers come from CRI-O's metadata" \
    "$(names_of "$crio/crio-$(id_of crio 3).scope" namespace pod runtime)" \
    "shop pod cri-o"
run_in "$crio/crio-$(id_of crio-pod 3).scope"
holds "CRI-O's pause container is left out" eventually 60 has_names "$crio/crio-$(id_of crio-pod 3).scope" none
check_replies
check_reader "$reader"
check_bad_files $reader_name
check_hostile_labels
check_another_user
check_places
equals "at the end, the secret is in no process's memory" "$(in_memory "$canary" "$daemon_pid" "$opener" "$reader")" \
    "0 0 0"
end_machine

# --- containers of users: a user's files name only this user's containers, whatever the user's home contains

add_users
storage=.local/share/containers/storage/overlay-containers

# users_storage ID NAME...: prints a containers.json with these pairs of id and name.
users_storage() {
    jq -n '[$ARGS.positional | _nwise(2) | {id: .[0], names: [.[1]], image: "0", metadata:
        ({"image-name": "example/\(.[1]):1", name: .[1], env: "PASSWORD=secret"} | tojson)}]' --args "$@"
}
# put_home USER NAME: writes standard input to containers.json in the home directory NAME, which then belongs to the
# user.
put_home() {
    put "/home/$2/$storage/containers.json" 600
    chown -R "$1:$1" "$machine/home/$2"
    chmod 700 "$machine/home/$2" "$machine/home/$2/.local"
}
of_ann=$(id_of ann) of_bob=$(id_of bob) of_root=$(id_of root) later=$(id_of later)
put_docker "$of_root" grafana
# Ann's file also claims Bob's container and root's.
users_storage "$of_ann" web "$of_bob" claimed "$of_root" claimed "$later" later | put_home $ann ann
users_storage "$of_bob" db | put_home $bob bob
in_ann=$(scope_of $ann "$of_ann") in_bob=$(scope_of $bob "$of_bob") in_root=/system.slice/docker-$of_root.scope
run_in "$in_ann" "$in_bob" "$in_root" "$(scope_of $ann "$of_root")"

start_machine "$faults_group" 'include: ["/user.slice/**/*.scope", "/system.slice/*.scope"]' 'linger: 0s'
called "a user's container has its name" "$in_ann" web
called "another user's container has its own user's name" "$in_bob" db
called "root's container has root's name" "$in_root" grafana
equals "the image and the runtime are known" "$(names_of "$in_ann" image runtime)" "example/web:1 podman"
called "a user's cgroup with the id of root's container has the name from this user's file" \
    "$(scope_of $ann "$of_root")" claimed
equals "root's container still has its name" "$(names_of "$in_root" container)" grafana

# Bob replaces the file with a link to Ann's. The daemon must not read Ann's file on Bob's behalf.
rm "$machine/home/bob/$storage/containers.json"
ln -s "/home/ann/$storage/containers.json" "$machine/home/bob/$storage/containers.json"
chown -h $bob "$machine/home/bob/$storage/containers.json"
in_bob=$(scope_of $bob "$later")
run_in "$in_bob"
read_names
equals "a link to another user's file gives no name" "$(names_of "$in_bob" container)" -
matches "a link to another user's file: the reason is reported" "$(names_of "$in_bob" unnamed)" '.{20}'
# The container with the same id gets its name once it belongs to Ann, who owns the file.
run_in "$(scope_of $ann "$later")"
called "the container has its name if it belongs to that user" "$(scope_of $ann "$later")" later

# The daemon keeps counting after its reader is killed.
reader=$(child_named $reader_name)
holds "a reader is running" [ -n "$reader" ]
equals "the status names the reader" "$(get /api/v1/status | jq -c .reader)" '{"state":"running","pid":'"$reader"'}'
kill -KILL "$reader"
holds "the log says that the reader is gone" eventually 60 grep -q \
    "the reader of container names is gone: process $reader was killed by signal 9 (Killed)" "$daemon_log"
equals "the status says that the reader is lost" "$(get /api/v1/status | jq -c .reader)" '{"state":"lost","pid":null}'
equals "names from the lost reader are kept" "$(names_of "$in_ann" container)" web
fault "$below$in_ann" 100
compares "counting continues" "$(count "$in_ann") >= 100"
holds "the reader does not remain as a zombie" not child_named $reader_name
end_machine

# Without an opener the daemon opens the state files itself, but it still passes them to the reader.
start_machine "$faults_group" 'include: ["/user.slice/**/*.scope", "/system.slice/*.scope"]' -- --no-opener
called "--no-opener: root's container is shown by name" "$in_root" grafana
called "--no-opener: a user's container is shown by name" "$in_ann" web
equals "--no-opener: the daemon keeps no state file open" \
    "$(find "/proc/$daemon_pid/fd" -lname '*containers*' | wc -l)" 0
holds "--no-opener: a reader is running" child_named $reader_name
equals "--no-opener: there is no opener" "$(child_named perfcountd-open)" ""
end_machine
finish
