#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A real Prometheus raises an alert, a real Alertmanager passes it to the hook program of doc/profiles.md, and the hook
# fetches the profile of a program that ended before the alert fired.
# set: all
. "$(dirname "$0")/lib.sh"
need cc curl prometheus prometheus-alertmanager python3 unshare
[ "$(id -u)" -eq 0 ] || skip "root, to sample all CPUs"
# shellcheck source=prometheus-lib.sh
. "$here/prometheus-lib.sh"
chmod 755 "$scratch"
cc -O1 -g -fno-omit-frame-pointer -o "$scratch/alert-hot" "$here/hot.c"

# free_ports N: prints unused ports, a line each.
free_ports() {
    python3 -c 'import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in sockets:
    s.bind(("127.0.0.1", 0))
for s in sockets:
    print(s.getsockname()[1])' "$1"
}
# block REGEX: prints the code block of doc/profiles.md whose first line matches.
block() {
    awk -v first="$1" '/^    / && !inside && $0 ~ first { inside = 1 } !/^    / { inside = 0 } inside { print substr($0, 5) }' \
        "$root/doc/profiles.md"
}

printf '%s\n' 'web: {local_operators: true}' 'sampler: {enabled: true, hindsight: {enabled: true, frequency: 99}}' \
    >"$scratch/config.yaml"
start_daemon --config.file="$scratch/config.yaml"
holds "samples are taken" eventually 60 grep -q . <(get '/api/v1/folded?last=60')
{ read -r hook_port; read -r alertmanager_port; } < <(free_ports 2)
block '#!/usr/bin/env python3' | sed "s/9199/$hook_port/" >"$scratch/hook"
compares "the hook program has about ten lines" "$(wc -l <"$scratch/hook") < 13"
block 'route: ' | sed "s/9199/$hook_port/" >"$scratch/alertmanager.yml"
mkdir "$scratch/profiles"
(cd "$scratch/profiles" && exec python3 "$scratch/hook" 2>"$scratch/hook.log") &
children+=("$!")
# Alertmanager looks for its templates under /usr/share, even if the package was only unpacked elsewhere.
share=$(realpath "$(dirname "$(command -v prometheus-alertmanager)")/../share")
# shellcheck disable=SC2016 # the inner shell expands it
unshare --mount sh -ec '[ "$1" = /usr/share ] || mount -t overlay -o "lowerdir=$1:/usr/share" overlay /usr/share
    shift; exec "$@"' - "$share" \
    prometheus-alertmanager --config.file="$scratch/alertmanager.yml" --storage.path="$scratch/alertmanager" \
    --web.listen-address="127.0.0.1:$alertmanager_port" --cluster.listen-address= >"$scratch/alertmanager.log" 2>&1 &
children+=("$!")
cat >"$scratch/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
scrape_configs: [{job_name: perfcountd, static_configs: [{targets: ["${url#http://}"]}]}]
rule_files: ["$scratch/rules.yml"]
alerting: {alertmanagers: [{static_configs: [{targets: ["127.0.0.1:$alertmanager_port"]}]}]}
END
echo 'groups: []' >"$scratch/rules.yml"
start_prometheus "$scratch/prometheus.yml"
holds "Alertmanager is ready" eventually 60 curl -sf "http://127.0.0.1:$alertmanager_port/-/ready"
"$scratch/alert-hot" 3 >/dev/null
echo 'groups: [{name: test, rules: [{alert: Test, expr: "up == 1"}]}]' >"$scratch/rules.yml"
kill -HUP "$prometheus_pid"
has_profile() {
    grep -qs '^alert-hot;.*hot_seventy' "$scratch/profiles/"*.folded
}
holds "the profile of the minute before the alert is saved and contains the program" eventually 60 has_profile ||
    tail "$scratch/hook.log" "$scratch/alertmanager.log" "$scratch/profiles/"*
stop_daemon
finish
