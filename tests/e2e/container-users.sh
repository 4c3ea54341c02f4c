#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Containers of users: a user names those of that user and of nobody else, whatever is in the user's home; names without
# an opener; and a daemon whose reader has ended. Names are read of the files that rootless podman 4.3 writes.
# shellcheck disable=SC2154 # what the libraries have
. "$(dirname "$0")/lib.sh"
need curl jq unshare
. "$here/cgroup-lib.sh"
. "$here/container-lib.sh"

ann=12345 bob=12346
storage=.local/share/containers/storage/overlay-containers
mkdir -p "$machine/etc"
cat >"$machine/etc/passwd" <<END
root:x:0:0::/root:/bin/sh
nobody:x:65534:65534::/nonexistent:/bin/false
ann:x:$ann:$ann::/home/ann:/bin/sh
bob:x:$bob:$bob::/home/bob:/bin/sh
END
places+=(etc/passwd)

# scope_of USER ID: the cgroup of a container of rootless podman.
scope_of() {
    echo "/user.slice/user-$1.slice/user@$1.service/user.slice/libpod-$2.scope"
}
# stored ID NAME...: containers.json; each ID with its NAME.
stored() {
    jq -n '[$ARGS.positional | _nwise(2) | {id: .[0], names: [.[1]], image: "0", metadata:
        ({"image-name": "example/\(.[1]):1", name: .[1], env: "PASSWORD=secret"} | tojson)}]' --args "$@"
}
# put_home USER NAME [MODE]: containers.json in the home NAME, of the standard input, all of it of the user.
put_home() {
    put "/home/$2/$storage/containers.json" 600
    chown -R "$1:$1" "$machine/home/$2"
    chmod 700 "$machine/home/$2" "$machine/home/$2/.local"
}
name_of() {
    names_of "$1" container
}
is_called() {
    [ "$(name_of "$1")" = "$2" ]
}
# called TITLE CGROUP NAME: within some seconds.
called() {
    if eventually 8 is_called "$2" "$3"; then
        pass "$1"
    else
        fail "$1" "expected: $3" "got:      $(names_of "$2" container unnamed)" "$(tail -n 5 "$daemon_log")"
    fi
}
# The process of the daemon's with that name.
child_named() {
    pgrep -P "$daemon_pid" "$1"
}

of_ann=$(id_of ann) of_bob=$(id_of bob) of_root=$(id_of root) later=$(id_of later)
put_docker "$of_root" grafana
# Ann also claims Bob's container, and root's.
stored "$of_ann" web "$of_bob" claimed "$of_root" claimed "$later" later | put_home $ann ann
stored "$of_bob" db | put_home $bob bob
in_ann=$(scope_of $ann "$of_ann") in_bob=$(scope_of $bob "$of_bob") in_root=/system.slice/docker-$of_root.scope
run_in "$in_ann" "$in_bob" "$in_root" "$(scope_of $ann "$of_root")"

start_machine "$faults_group" 'include: ["/user.slice/**/*.scope", "/system.slice/*.scope"]' 'linger: 0s'
called "a user's container has its name" "$in_ann" web
called "another user's has that of its own user" "$in_bob" db
called "root's has root's" "$in_root" grafana
equals "the image comes along" "$(names_of "$in_ann" image runtime)" "example/web:1 podman"
called "a user's cgroup with the id of root's container has what this user says" "$(scope_of $ann "$of_root")" claimed
equals "and root's does not" "$(name_of "$in_root")" grafana

# A file of somebody else in the place of the user's is none.
rm "$machine/home/bob/$storage/containers.json"
ln -s "/home/ann/$storage/containers.json" "$machine/home/bob/$storage/containers.json"
chown -h $bob "$machine/home/bob/$storage/containers.json"
in_bob=$(scope_of $bob "$later")
run_in "$in_bob"
sleep 3
equals "a link to another user's file gives no name" "$(name_of "$in_bob")" -
matches "and the reason says what to do" "$(names_of "$in_bob" unnamed)" '.{20}'
# The same container of the user whose file it is.
run_in "$(scope_of $ann "$later")"
called "that user's container has it" "$(scope_of $ann "$later")" later

# Without its reader the daemon goes on.
reader=$(child_named perfcountd-name)
holds "there is a reader" [ -n "$reader" ]
kill -KILL "$reader"
holds "the log says that the reader is gone" eventually 5 grep -q \
    "the reader of containers' names is gone: process $reader was ended by signal 9 (Killed)" "$daemon_log"
equals "names stay" "$(name_of "$in_ann")" web
fault "$below$in_ann" 100
compares "and counters go on" "$(count "$in_ann") >= 100"
holds "the reader that ended was waited for" not child_named perfcountd-name
end_machine

# One process opens the files itself, and still does not read them.
start_machine "$faults_group" 'include: ["/user.slice/**/*.scope", "/system.slice/*.scope"]' -- --no-opener
called "--no-opener: root's container has its name" "$in_root" grafana
called "--no-opener: a user's too" "$in_ann" web
equals "--no-opener: the daemon keeps no state file open" \
    "$(find "/proc/$daemon_pid/fd" -lname '*containers*' | wc -l)" 0
holds "--no-opener: there is a reader" child_named perfcountd-name
equals "--no-opener: there is no opener" "$(child_named perfcountd-open)" ""
end_machine
finish
