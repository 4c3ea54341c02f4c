# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of lib.sh
# Starts a Prometheus for the test. Source it after lib.sh.

# start_prometheus CONFIGURATION [PORT]: starts it and waits until it is ready. Sets prometheus_pid and prometheus_url.
start_prometheus() {
    local port=${2:-}
    [ -n "$port" ] || port=$(/usr/bin/python3 -c \
        'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    prometheus_url=http://127.0.0.1:$port
    prometheus --config.file="$1" --storage.tsdb.path="$scratch/tsdb" --log.level=warn \
        --web.listen-address="127.0.0.1:$port" >"$scratch/prometheus.log" 2>&1 &
    prometheus_pid=$!
    children+=("$prometheus_pid")
    if ! eventually 60 curl -sf "$prometheus_url/-/ready"; then
        fail "Prometheus starts" "$(cat "$scratch/prometheus.log")"
        finish
    fi
}

# query PROMQL: prints the result as a line of JSON.
query() {
    curl -sS --data-urlencode "query=$1" "$prometheus_url/api/v1/query" | jq -c '.data.result'
}

# value PROMQL: prints the value of the only series in the result.
value() {
    query "$1" | jq -r 'if length == 1 then .[0].value[1] else "\(length) series" end'
}
