#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A user's container store is on a file system that does not answer. Containers of other users still get their names,
# the daemon serves and exits, and once the file system answers, the user's containers get their names as well.
# set: quick
# packages: libfuse3-dev
# shellcheck disable=SC2154 # variables of the libraries
. "$(dirname "$0")/lib.sh"
need curl jq cc pkg-config sha256sum unshare
. "$here/cgroup-lib.sh"
. "$here/container-lib.sh"
[ -c /dev/fuse ] || skip "FUSE"
# shellcheck disable=SC2046 # words
cc -O2 -o "$scratch/hang-fs" "$here/hang-fs.c" $(pkg-config --cflags --libs fuse3) || exit 1

add_users
store=.local/share/containers/storage/overlay-containers/containers.json
mkdir -p "$machine/var/lib/docker/containers" "$scratch/homes"

# put_containers USER NAME ID...: writes a store with these containers, each called NAME, in the home directory of NAME.
put_containers() {
    local file=$scratch/homes/$2/$store
    mkdir -p "$(dirname "$file")"
    jq -n '[$ARGS.positional[1:][] as $id | {id: $id, names: [$ARGS.positional[0]], image: "0",
        metadata: ({name: $ARGS.positional[0]} | tojson)}]' --args "${@:2}" >"$file"
    chown -R "$1:$1" "$scratch/homes/$2"
}
for operation in getattr open read flush; do
    for name in ann bob; do
        ids+=("$(id_of $name $operation)")
    done
done
put_containers $ann ann "${ids[@]}"
put_containers $bob bob "${ids[@]}"

mkfifo "$scratch/commands"
exec {commands}<>"$scratch/commands"
"$scratch/hang-fs" "$scratch/homes" "$machine/home" <"$scratch/commands" >"$scratch/events" {commands}>&- &
children+=("$!")
unmount() {
    umount -l "$machine/home"
}
at_end+=(unmount)
event() {
    grep -qx "$1" "$scratch/events"
}
# order COMMAND: sends a command to the file system, and waits until it is in effect.
order() {
    echo "$1" >&"$commands"
    holds "the file system: $1" eventually 60 event "$1"
}
holds "the homes are mounted" eventually 60 event mounted

# held: prints the PIDs of the daemon's processes that are blocked by a file system (state D).
held() {
    local pid
    while read -r pid; do
        awk '$3 == "D" { print $1 }' "/proc/$pid/stat" 2>/dev/null
    done <"$parent/cgroup.procs"
}
is_held() {
    [ -n "$(held)" ]
}
is_silent() {
    [[ $(names_of "$1" unnamed) == *"does not answer"* ]]
}

for operation in getattr open read flush; do
    echo "-- $operation"
    in_ann=$(scope_of $ann "$(id_of ann $operation)") in_bob=$(scope_of $bob "$(id_of bob $operation)")
    id=$(id_of docker $operation)
    : >"$scratch/events"
    order "hang $operation /ann/$store"
    run_in "$in_ann"
    start_machine "$faults_group" 'include: ["/user.slice/**/*.scope", "/system.slice/*.scope"]' 'linger: 0s'
    holds "a process waits for the file" eventually 60 event "waits $operation /ann/$store"
    holds "a process of the daemon is blocked and cannot be killed" eventually 60 is_held
    run_in "$in_bob"
    put_docker "$id" "docker-$operation"
    run_in "/system.slice/docker-$id.scope"
    called "another user's container has its name" "$in_bob" bob
    called "root's container has its name" "/system.slice/docker-$id.scope" "docker-$operation"
    holds "the user's container has the reason why it has no name" eventually 60 is_silent "$in_ann"
    equals "metrics are served" "$(status_of /metrics)" 200
    compares "at most four processes are blocked" "$(held | wc -l) <= 4"
    if [ $operation = read ]; then
        order answer
        called "once the file system answers, the user's container has its name" "$in_ann" ann
        holds "no process is blocked any more" eventually 60 not is_held
        end_machine
    else
        end_machine
        order answer
    fi
    holds "no process of the daemon is left" eventually 60 not grep -q . "$parent/cgroup.procs"
    end_in "$in_ann" "$in_bob" "/system.slice/docker-$id.scope"
done
finish
