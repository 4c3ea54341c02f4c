#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A real Prometheus scrapes a daemon by HTTP, where its series have the switches of a load; and one by HTTPS with a
# client certificate and a password, where a scraper without any of them gets nothing.
# set: quick
. "$(dirname "$0")/lib.sh"
# shellcheck source=tls-lib.sh
. "$here/tls-lib.sh"
# shellcheck source=prometheus-lib.sh
. "$here/prometheus-lib.sh"
need curl jq openssl /usr/bin/python3 prometheus

# Each sleep is a context switch, and one more on a CPU that is idle otherwise.
/usr/bin/python3 -c 'import time
while True: time.sleep(0.0002)' &
load=$!
children+=("$load")
switches() {
    awk '/ctxt_switches/ { sum += $2 } END { print sum }' "/proc/$load/status"
}

make_ca ca
make_ca other-ca
make_certificate server ca server DNS:localhost,IP:127.0.0.1
make_certificate scraper ca client DNS:scraper.example
make_certificate stranger other-ca client DNS:scraper.example
# "secret"
cat >"$scratch/web.yml" <<END
tls_server_config:
  cert_file: $pki/server.pem
  key_file: $pki/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: $pki/ca.pem
  client_allowed_sans: [scraper.example]
  min_version: TLS12
basic_auth_users:
  prometheus: \$2y\$10\$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u
http_server_config:
  headers: {Strict-Transport-Security: max-age=31536000}
END
start_daemon
plain_pid=$daemon_pid plain_url=$url
client=(--cacert "$pki/ca.pem" --cert "$pki/scraper.pem" --key "$pki/scraper.key" -u prometheus:secret)
start_daemon --web.config.file="$scratch/web.yml"
equals "curl with certificate and password" "$(status_of /metrics)" 200
equals "curl with another password" "$(status_of /metrics -u prometheus:other)" 401

# job NAME PASSWORD CERTIFICATE SCHEME: of the daemon with HTTPS.
job() {
    cat <<END
  - job_name: $1
    scheme: $4
    basic_auth: {username: prometheus, password: $2}
    tls_config: {ca_file: $pki/ca.pem, cert_file: $pki/$3.pem, key_file: $pki/$3.key}
    static_configs: [{targets: ["${url#https://}"]}]
END
}
{
    echo 'global: {scrape_interval: 1s, scrape_timeout: 1s}'
    echo 'scrape_configs:'
    echo "  - {job_name: perfcountd, static_configs: [{targets: [\"${plain_url#http://}\"]}]}"
    job right secret scraper https
    job password wrong scraper https
    job certificate secret stranger https
    job plain secret scraper http
} >"$scratch/prometheus.yml"
start_prometheus "$scratch/prometheus.yml"

# --- series

of_load='sum(perf_cpu_context_switches_total{job="perfcountd"})'
# scrapes: how many have succeeded.
scrapes() {
    value 'sum_over_time(up{job="perfcountd"}[10m])'
}
scrapes_are() {
    [[ $(scrapes) =~ ^[0-9]+$ ]] && [ "$(scrapes)" -ge "$1" ]
}
holds "Prometheus scrapes" eventually 60 scrapes_are 2
# The stored values are older than the first reading of the load, and younger than the last one.
first_stored=$(value "$of_load")
first_load=$(switches)
holds "and goes on" eventually 60 scrapes_are $(($(scrapes) + 2))
last_load=$(switches)
holds "and on" eventually 60 scrapes_are $(($(scrapes) + 2))
last_stored=$(value "$of_load")
compares "the switches of the load are in the series" \
    "$last_load > $first_load && $last_stored - $first_stored >= $last_load - $first_load"
url=$plain_url client=()
compares "they are no more than those of the daemon" "$last_stored <= $(sum_of perf_cpu_context_switches_total)"
cpus=$(get /metrics | grep -c '^perf_cpu_context_switches_total{')
equals "a series for each CPU is stored" \
    "$(value 'count(perf_cpu_context_switches_total{job="perfcountd"})')" "$cpus"
equals "software events run whenever they are enabled" "$(value 'sum(
    perf_cpu_group_enabled_seconds_total{job="perfcountd"} != perf_cpu_group_running_seconds_total) or vector(0)')" 0
equals "the collectors succeed" "$(value 'min(perfcountd_collector_success{job="perfcountd"})')" 1
for metric in perf_cpu_context_switches_total perf_cpu_minor_faults_total perf_cpu_group_enabled_seconds_total; do
    equals "$metric never fell" "$(value "sum(resets(${metric}[10m]))")" 0
done

# --- rights

# last_error JOB
last_error() {
    curl -sS "$prometheus_url/api/v1/targets" |
        jq -r --arg job "$1" '.data.activeTargets[] | select(.labels.job == $job) | .lastError'
}
fails_by() {
    [[ $(last_error "$1") =~ $2 ]]
}
holds "with certificate and password it scrapes" eventually 60 fails_by right '^$'
holds "a wrong password is reported" eventually 60 fails_by password '401 Unauthorized'
holds "so is a certificate of somebody else" eventually 60 fails_by certificate \
    'tls|certificate|EOF|reset|closed|broken pipe'
holds "and HTTP" eventually 60 fails_by plain '400 Bad Request|HTTP|EOF'
equals "its series are stored as well" "$(value 'count(perf_cpu_context_switches_total{job="right"})')" "$cpus"
for job in password certificate plain; do
    equals "never without the right $job" "$(value "max_over_time(up{job=\"$job\"}[10m])")" 0
done
equals "Prometheus had nothing to complain of" "$(grep -v 'level=info' "$scratch/prometheus.log")" ""
for daemon_pid in "$daemon_pid" "$plain_pid"; do
    stop_daemon
    equals "a daemon ends well" "$daemon_status" 0
done
finish
