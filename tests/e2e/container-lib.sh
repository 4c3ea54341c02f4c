# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # what the other libraries have, and what is for the scripts
# A machine with container runtimes, made by the layouts that they publish: real cgroups with real processes below the
# test's parent, which is the root of the hierarchy for the daemon, and the links and state files of the runtimes in
# directories that are bound in the places of the real ones, in a mount namespace of the daemon's. Read after
# cgroup-lib.sh.
#
# Sets: machine (its directory; $machine/var/log is the daemon's /var/log, and so on).

machine=$scratch/machine
places=(var/log var/lib run home)
for place in "${places[@]}"; do
    mkdir -p "$machine/$place"
done
mkdir -p "$machine/var/log/containers" "$machine/var/log/pods"
config=$scratch/containers.yaml
chmod 711 "$scratch" # for whom root's daemon becomes

# start_machine CONFIG-LINES... [-- FLAGS...]: a daemon in it; the lines go below collectors.cgroup. The default of
# include holds, without an empty line in between.
start_machine() {
    local lines=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        lines+=("$1")
        shift
    done
    cgroup_config "$config" "${lines[@]}"
    # shellcheck disable=SC2016 # the inner shells'
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

# add_users: the machines that start from now on have the users ann and bob. Sets ann and bob, their numbers.
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

# end_machine: each daemon ends without complaint, also of its sanitizers.
end_machine() {
    stop_daemon
    [ "$daemon_status" -eq 0 ] || fail "the daemon ends well" "exit status $daemon_status" "$(cat "$daemon_log")"
}

# id_of WORDS...: the same 64 hexadecimal digits for the same words.
id_of() {
    local digits
    digits=$(printf '%s' "$*" | sha256sum)
    echo "${digits%% *}"
}

# uid_of POD: in the form of a UUID.
uid_of() {
    local id
    id=$(id_of "$1")
    echo "${id:0:8}-${id:8:4}-${id:12:4}-${id:16:4}-${id:20:12}"
}

# run_in CGROUP...: makes each, with a process in it.
run_in() {
    local cgroup
    for cgroup; do
        mkdir -p "$parent$cgroup"
        # shellcheck disable=SC2016 # the inner shell's
        sh -c 'echo 0 >"$1/cgroup.procs" && exec sleep 600' x "$parent$cgroup" </dev/null >/dev/null 2>&1 &
        children+=($!)
        disown
        eventually 60 is_populated "$cgroup" || fail "a process runs in $cgroup"
    done
}
is_populated() {
    grep -q . "$parent$1/cgroup.procs"
}

# end_in CGROUP...: ends what runs in each, and removes it.
end_in() {
    local cgroup
    for cgroup; do
        echo 1 >"$parent$cgroup/cgroup.kill"
        remove "$below$cgroup"
    done
}

# link_log POD NAMESPACE CONTAINER ID: as the kubelet makes it; there is a log only where somebody has made it.
link_log() {
    ln -s "/var/log/pods/$2_$1_$(uid_of "$1")/$3/0.log" "$machine/var/log/containers/$1_$2_$3-$4.log"
}

# put PATH MODE: a file of the machine, of the standard input, all at once, as runtimes write theirs.
put() {
    local file=$machine$1
    mkdir -p "$(dirname "$file")"
    (umask 077 && cat >"$file.new")
    chmod "$2" "$file.new"
    mv "$file.new" "$file"
}

# put_bundle PLACE ID ANNOTATIONS: the config.json of an OCI bundle; PLACE is the directory of the runtime's namespace.
put_bundle() {
    jq -n --argjson annotations "$3" --arg secret "${canary-none}" '{ociVersion: "1.0.2",
        process: {args: ["/app", $secret], env: ["PATH=/bin", "PASSWORD=" + $secret], cwd: "/"},
        root: {path: "rootfs"}, annotations: ($annotations + {"example.org/secret": $secret}), linux: {}}' |
        put "$1/$2/config.json" 600
}

# put_docker ID NAME [LABELS]: config.v2.json as Docker 20.10 has it; LABELS are JSON.
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

# names_of CGROUP FIELD...: of /api/v1/cgroups on one line, "-" for what is not there.
names_of() {
    get /api/v1/cgroups | jq -r --arg cgroup "$1" '[.cgroups[] | select(.cgroup == $cgroup)] as $found |
        if $found == [] then "none" else [$ARGS.positional[] as $field | $found[0][$field] // "-"] | join(" ") end' \
        --args "${@:2}"
}

# has_names CGROUP "NAMESPACE POD CONTAINER"
has_names() {
    [ "$(names_of "$1" namespace pod container)" = "$2" ]
}

# is_named TITLE CGROUP "NAMESPACE POD CONTAINER": after a while.
is_named() {
    if eventually 60 has_names "$2" "$3"; then
        pass "$1"
    else
        fail "$1" "expected: $3" "got:      $(names_of "$2" namespace pod container unnamed)" \
            "$(get /api/v1/cgroups | jq -c '[.cgroups[].cgroup]')"
    fi
}

# called TITLE CGROUP NAME: the container has that name, after a while.
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
# read_names: what was there to be read of names has been, since a container that came later has its own.
read_names() {
    local id
    n_read=$((${n_read-0} + 1))
    id=$(id_of read "$n_read")
    put_docker "$id" "read-$n_read"
    run_in "/system.slice/docker-$id.scope"
    called "names are read" "/system.slice/docker-$id.scope" "read-$n_read"
}

# info_of CGROUP: the labels of its perf_cgroup_info, without the braces.
info_of() {
    get /metrics | sed -n "s|^perf_cgroup_info{\(cgroup=\"$1\".*\)} 1\$|\1|p"
}

# strictly_parsed TEXT OPENMETRICS: files with a page of metrics; the strictest readers take them.
strictly_parsed() {
    equals "promtool has nothing to say" "$(promtool check metrics <"$1" 2>&1)" ""
    holds "the exposition is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null "$1"
    holds "a strict parser takes OpenMetrics, no name is too long, no two series of a cgroup's names are there" \
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
