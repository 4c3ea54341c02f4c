#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares the daemon with README.md and doc/*.md: it prints what they show about cgroups, answers the requests that
# they show, and accepts their configurations. The manual has every page and command. Excerpts from a board are compared
# by a test on a board.
# set: quick
. "$(dirname "$0")/lib.sh"
need curl jq openssl python3
# shellcheck source=cgroup-lib.sh
. "$here/cgroup-lib.sh"

# made_cgroup PATH: creates a cgroup that the documents name, and removes it at the end unless it existed before.
made_cgroup() {
    [ -d "$hierarchy$1" ] && return
    mkdir "$hierarchy$1" || skip "the right to make $hierarchy$1"
    at_end=("rmdir $hierarchy$1" "${at_end[@]}")
}

# configurations FILE: writes each code block that begins with a configuration key into a file of its own.
configurations() {
    awk -v to="$scratch/config-$(basename "$1")" '
        /^    (collectors|sampler|web):/ && !in_block { in_block = 1; n++ }
        !/^    / && !/^$/ { in_block = 0 }
        in_block { print substr($0, 5) >(to "-" n ".yaml") }' "$1"
}

made_cgroup /system.slice
made_cgroup /system.slice/demo.service
made_cgroup /mine.slice
for cgroup in /system.slice/demo.service /mine.slice; do
    # shellcheck disable=SC2016 # the inner shell expands it
    sh -c 'echo $$ >"$1/cgroup.procs"; while :; do :; done' - "$hierarchy$cgroup" &
    children+=($!)
done
printf '{}\n' >"$scratch/default.yaml"
start_daemon --config.file="$scratch/default.yaml"
holds "the excerpts have the current names, labels and keys" "$root/doc/excerpts.py" cgroup "$url"

# Sorting by a metric that is not available is an error: without a hardware PMU, no row has ipc.
pmus=$(get /api/v1/pmus | jq '[.pmus[] | select(.scope == "core" and (.absent | not))] | length')
while read -r path; do
    expected=200
    [[ $path != *sort=ipc* || $pmus -gt 0 ]] || expected=400
    equals "$path is answered" "$(status_of "${path//cpu=[0-9]/cpu=0}")" "$expected"
done < <(grep -hoE "localhost:10298/[^' \`]*" "$root"/README.md "$root"/doc/*.md "$root"/doc/*.[578] |
    sed 's/localhost:10298//; s/seconds=[0-9]*/seconds=0.1/' | sort -u)
pages=$(get / -H "Accept: text/html" |
    sed -n 's/^<dt>\(<a[^>]*>\)\{0,1\}\([A-Z]* \)\{0,1\}\(\/[^<]*\)<.*/\3/p' | sort -u)
compares "the list of pages is not empty" "$(wc -l <<<"$pages") >= 15"
commands=$("$PERFCOUNTD" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
compares "--help lists commands" "$(wc -l <<<"$commands") >= 6"
for name in $pages; do
    holds "the manual has $name" grep -qE "^\.It .*(^| )$name( |\?|$)" "$root/doc/perfcountd-http.7"
done
for name in $commands; do
    holds "the manual has $name" grep -qE "^\.It .*(^| )$name( |\?|$)" "$root/doc/perfcountd.8"
done
n_configurations=0
for file in "$root"/README.md "$root"/doc/*.md; do
    configurations "$file"
done
for file in "$scratch"/config-*.yaml; do
    n_configurations=$((n_configurations + 1))
    holds "$(basename "$file") is accepted" "$PERFCOUNTD" check-config "$file"
done
compares "the documents have configurations" "$n_configurations >= 5"
stop_daemon

# --- the TLS commands of doc/security.md, verbatim except for the port, the hash and the password

# of_doc PATTERN: prints the first matching line in a code block of doc/security.md.
of_doc() {
    sed -n 's/^    //p' "$root/doc/security.md" | grep -m1 -e "$1"
}

cd "$scratch" || exit 1
{
    of_doc '^tls_server_config:'
    # shellcheck disable=SC2016 # the hash of "secret"
    of_doc '^basic_auth_users:' |
        sed 's|\$[^ }]*|$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW|'
} >web.yml
make=$(of_doc '^openssl req')
holds "openssl creates the certificate" bash -c "$make 2>/dev/null"
check=$(of_doc '^perfcountd check-config --web.config.file')
equals "check-config accepts the certificate and the users" \
    "$(${check/#perfcountd/$PERFCOUNTD} | tail -n 1)" "web.yml: ok"
client=(--insecure -u prometheus:secret) # used only until the daemon is ready
run=$(of_doc '^sudo perfcountd --web.config.file' | sed -e "s|unix:/run|unix:$scratch|" -e 's/=:10298/=127.0.0.1:0/')
# shellcheck disable=SC2086 # words
start_daemon ${run#sudo perfcountd }
port=${url##*:}

# ask HOST [CURL-OPTIONS...]: prints the status of the documented curl command for this host.
ask() {
    local command
    command=$(of_doc '^curl .*--cacert.*-u prometheus' | sed -e 's/ *#.*//' -e "s|https://[^:/]*:10298|https://$1:$port|" \
        -e 's/-u prometheus/-u prometheus:secret/')
    bash -c "$command -o /dev/null -w '%{http_code}' ${*:2}"
}
equals "the documented command succeeds for localhost" "$(ask localhost)" 200
equals "the documented command succeeds for the address" "$(ask 127.0.0.1)" 200
equals "the documented command succeeds for the host name" \
    "$(ask "$(hostname)" "--resolve '$(hostname):$port:127.0.0.1'")" 200
equals "the documented command fails for another name" \
    "$(ask elsewhere.example "--resolve 'elsewhere.example:$port:127.0.0.1'")" 000
matches "the documented curl command connects to localhost" "$(of_doc '^curl .*--cacert.*-u prometheus')" 'https://localhost:10298/'
top=$(of_doc '^sudo perfcountd top --url=unix:' | sed -e 's/ *#.*//' -e "s|unix:/run|unix:$scratch|")
holds "the documented command reads from the unix socket" bash -c "${top/#sudo perfcountd/$PERFCOUNTD} --count=1"
stop_daemon
finish
