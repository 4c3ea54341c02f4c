# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of the other libraries, and variables that the scripts use
# Simulates a machine with container runtimes, in the layouts that these publish: real cgroups with real processes,
# below the test's parent cgroup, which the daemon sees as the root of the hierarchy; and the runtimes' links and state
# files, in directories that the daemon's mount namespace mounts over the real ones. Source it after cgroup-lib.sh.
#
# Sets: machine (its directory; $machine/var/log is the daemon's /var/log, and so on).

machine=$scratch/machine
places=(var/log var/lib run home)
for place in "${places[@]}"; do
    mkdir -p "$machine/$place"
done
mkdir -p "$machine/var/log/containers" "$machine/var/log/pods"
config=$scratch/containers.yaml
chmod 711 "$scratch" # root's daemon changes to another user

# start_machine CONFIG-LINES... [-- FLAGS...]: starts a daemon on that machine. The lines are keys of collectors.cgroup;
# if none sets include, its default applies.
start_machine() {
    local lines=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        lines+=("$1")
        shift
    done
    cgroup_config "$config" "${lines[@]}"
    # shellcheck disable=SC2016 # the inner shells expand it
    wrapper=(unshare --mount --propagation private bash -c '
        set -e
        echo 0 >"$1/cgroup.procs"
        umount -R /sys/fs/cgroup
        for place in $3; do
            mount --bind "$2/$place" "/$place"
        done
        shift 3
        exec unshare --cgroup bash -c "mount -t cgroup2 none /sys/fs/cgroup; exec \"\$@\"" x "$@"
        ' x "$parent" "$machine" "${places[*]}")
    start_daemon --config.file="$config" "${@:2}"
    wrapper=()
}

# add_users: machines that start afterwards have the users ann and bob. Sets ann and bob, their user ids.
add_users() {
    ann=12345 bob=12346
    mkdir -p "$machine/etc"
    cat >"$machine/etc/passwd" <<END
root:x:0:0::/root:/bin/sh
nobody:x:65534:65534::/nonexistent:/bin/false
ann:x:$ann:$ann::/home/ann:/bin/sh
bob:x:$bob:$bob::/home/bob:/bin/sh
END
    places+=(etc/passwd)
}

# scope_of USER ID: prints the cgroup of a rootless podman container.
scope_of() {
    echo "/user.slice/user-$1.slice/user@$1.service/user.slice/libpod-$2.scope"
}

# end_machine: stops the daemon, which must exit with 0, under the sanitizers as well.
end_machine() {
    stop_daemon
    [ "$daemon_status" -eq 0 ] || fail "the daemon exits cleanly" "exit status $daemon_status" "$(cat "$daemon_log")"
}

# id_of WORDS...: prints 64 hexadecimal digits, which are the same for the same words.
id_of() {
    local digits
    digits=$(printf '%s' "$*" | sha256sum)
    echo "${digits%% *}"
}

# uid_of POD: prints an id for the pod in the form of a UUID.
uid_of() {
    local id
    id=$(id_of "$1")
    echo "${id:0:8}-${id:8:4}-${id:12:4}-${id:16:4}-${id:20:12}"
}

# run_in CGROUP...: creates each cgroup with a process in it.
run_in() {
    local cgroup
    for cgroup; do
        mkdir -p "$parent$cgroup"
        # shellcheck disable=SC2016 # the inner shell expands it
        sh -c 'echo 0 >"$1/cgroup.procs" && exec sleep 600' x "$parent$cgroup" </dev/null >/dev/null 2>&1 &
        children+=($!)
        disown
        eventually 60 is_populated "$cgroup" || fail "a process runs in $cgroup"
    done
}
is_populated() {
    grep -q . "$parent$1/cgroup.procs"
}

# end_in CGROUP...: kills the processes of each cgroup, and removes it.
end_in() {
    local cgroup
    for cgroup; do
        echo 1 >"$parent$cgroup/cgroup.kill"
        remove "$below$cgroup"
    done
}

# link_log POD NAMESPACE CONTAINER ID: creates a log link as the kubelet does. The log itself may be missing.
link_log() {
    ln -s "/var/log/pods/$2_$1_$(uid_of "$1")/$3/0.log" "$machine/var/log/containers/$1_$2_$3-$4.log"
}

# put PATH MODE: writes standard input to a file of the machine, atomically, as the runtimes do.
put() {
    local file=$machine$1
    mkdir -p "$(dirname "$file")"
    (umask 077 && cat >"$file.new")
    chmod "$2" "$file.new"
    mv "$file.new" "$file"
}

# put_bundle PLACE ID ANNOTATIONS: writes the config.json of an OCI bundle; PLACE is the directory of the runtime's
# namespace.
put_bundle() {
    jq -n --argjson annotations "$3" --arg secret "${canary-none}" '{ociVersion: "1.0.2",
        process: {args: ["/app", $secret], env: ["PATH=/bin", "PASSWORD=" + $secret], cwd: "/"},
        root: {path: "rootfs"}, annotations: ($annotations + {"example.org/secret": $secret}), linux: {}}' |
        put "$1/$2/config.json" 600
}

# put_docker ID NAME [LABELS]: writes a config.v2.json as Docker 20.10 does; LABELS are JSON.
put_docker() {
    jq -n --arg id "$1" --arg name "/$2" --argjson labels "${3-{\}}" --arg secret "${canary-none}" '{
        StreamConfig: {}, State: {Running: true, Pid: 1}, ID: $id, Created: "2024-01-01T00:00:00Z", Managed: false,
        Path: "/app", Args: ["--token", $secret],
        Config: {Hostname: $id[:12], Env: ["PATH=/bin", "PASSWORD=" + $secret], Cmd: ["--token", $secret],
            Image: "example/app:1", Volumes: {($secret): {}}, Entrypoint: ["/app"],
            Labels: ($labels + {($secret): "", "org.example.secret": $secret})},
        Image: "sha256:0", NetworkSettings: {Bridge: ""}, LogPath: "", Name: $name, Driver: "overlay2",
        MountPoints: {"/run/secrets": {Source: $secret}}, RestartCount: 0}' |
        put "/var/lib/docker/containers/$1/config.v2.json" 600
}

# names_of CGROUP FIELD...: prints fields of /api/v1/cgroups on one line, with "-" for a missing one.
names_of() {
    get /api/v1/cgroups | jq -r --arg cgroup "$1" '[.cgroups[] | select(.cgroup == $cgroup)] as $found |
        if $found == [] then "none" else [$ARGS.positional[] as $field | $found[0][$field] // "-"] | join(" ") end' \
        --args "${@:2}"
}

# has_names CGROUP "NAMESPACE POD CONTAINER": succeeds if the cgroup has these names.
has_names() {
    [ "$(names_of "$1" namespace pod container)" = "$2" ]
}

# is_named TITLE CGROUP "NAMESPACE POD CONTAINER": checks that the cgroup gets these names.
is_named() {
    if eventually 60 has_names "$2" "$3"; then
        pass "$1"
    else
        fail "$1" "expected: $3" "got:      $(names_of "$2" namespace pod container unnamed)" \
            "$(get /api/v1/cgroups | jq -c '[.cgroups[].cgroup]')"
    fi
}

# called TITLE CGROUP NAME: checks that the container gets this name.
called() {
    if eventually 60 is_called "$2" "$3"; then
        pass "$1"
    else
        fail "$1" "expected: $3" "got:      $(names_of "$2" container unnamed)" "$(tail -n 5 "$daemon_log")"
    fi
}
is_called() {
    [ "$(names_of "$1" container)" = "$2" ]
}
# read_names: waits until the daemon has read all names, by adding a container and waiting for its name.
read_names() {
    local id
    n_read=$((${n_read-0} + 1))
    id=$(id_of read "$n_read")
    put_docker "$id" "read-$n_read"
    run_in "/system.slice/docker-$id.scope"
    called "names are read" "/system.slice/docker-$id.scope" "read-$n_read"
}

# info_of CGROUP: prints the labels of its perf_cgroup_info, without the braces.
info_of() {
    get /metrics | sed -n "s|^perf_cgroup_info{\(cgroup=\"$1\".*\)} 1\$|\1|p"
}

# strictly_parsed TEXT OPENMETRICS: checks that strict parsers accept the expositions in the files TEXT and OPENMETRICS.
strictly_parsed() {
    equals "promtool reports no problem" "$(promtool check metrics <"$1" 2>&1)" ""
    holds "the exposition is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null "$1"
    holds "a strict parser accepts OpenMetrics, no name is too long, and each cgroup has one perf_cgroup_info series" \
        /usr/bin/python3 -c '
import collections, sys
from prometheus_client.openmetrics import parser
names = collections.Counter()
with open(sys.argv[1], encoding="utf-8", newline="") as file:
    for family in parser.text_fd_to_metric_families(file):
        for sample in family.samples:
            if sample.name == "perf_cgroup_info":
                names[sample.labels.pop("cgroup")] += 1
                if any(len(value.encode()) > 512 or not value for value in sample.labels.values()):
                    sys.exit("%r" % sample.labels)
if not names or max(names.values()) > 1:
    sys.exit("%r" % names.most_common(3))' "$2"
}
