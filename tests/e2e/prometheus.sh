#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A real Prometheus scrapes one daemon over HTTP, and its series include the context switches of a load. It scrapes
# another over HTTPS, and gets nothing unless it has both a client certificate and a password.
# set: quick
. "$(dirname "$0")/lib.sh"
# shellcheck source=tls-lib.sh
. "$here/tls-lib.sh"
# shellcheck source=prometheus-lib.sh
. "$here/prometheus-lib.sh"
need curl jq openssl /usr/bin/python3 prometheus

# Each sleep is one context switch, or two if the CPU is otherwise idle.
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
# The password is "secret".
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
equals "curl with the certificate and the password is served" "$(status_of /metrics)" 200
equals "curl with another password is rejected" "$(status_of /metrics -u prometheus:other)" 401

# job NAME PASSWORD CERTIFICATE SCHEME: prints a scrape job for the HTTPS daemon.
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

# A scrape that takes longer than a second leaves a gap, in which an instant query finds nothing.
of_load='sum(last_over_time(perf_cpu_context_switches_total{job="perfcountd"}[10m]))'
# scrapes: prints how many scrapes have succeeded.
scrapes() {
    value 'sum_over_time(up{job="perfcountd"}[10m])'
}
scrapes_are() {
    [[ $(scrapes) =~ ^[0-9]+$ ]] && [ "$(scrapes)" -ge "$1" ]
}
holds "Prometheus scrapes" eventually 60 scrapes_are 2
# The first stored value is older than the first reading of the load, and the last one is newer than the last reading.
first_stored=$(value "$of_load")
first_load=$(switches)
holds "Prometheus scrapes twice more" eventually 60 scrapes_are $(($(scrapes) + 2))
last_load=$(switches)
holds "Prometheus scrapes twice more after the last reading" eventually 60 scrapes_are $(($(scrapes) + 2))
last_stored=$(value "$of_load")
compares "the series include the switches of the load" \
    "$last_load > $first_load && $last_stored - $first_stored >= $last_load - $first_load"
url=$plain_url client=()
compares "the stored series do not exceed the daemon's counters" \
    "$last_stored <= $(sum_of perf_cpu_context_switches_total)"
cpus=$(get /metrics | grep -c '^perf_cpu_context_switches_total{')
equals "a series for each CPU is stored" \
    "$(value 'count(last_over_time(perf_cpu_context_switches_total{job="perfcountd"}[10m]))')" "$cpus"
equals "software events are running whenever they are enabled" "$(value 'sum(
    last_over_time(perf_cpu_group_enabled_seconds_total{job="perfcountd"}[10m]) !=
    last_over_time(perf_cpu_group_running_seconds_total[10m])) or vector(0)')" 0
equals "the collectors succeed" "$(value 'min(min_over_time(perfcountd_collector_success{job="perfcountd"}[10m]))')" 1
for metric in perf_cpu_context_switches_total perf_cpu_minor_faults_total perf_cpu_group_enabled_seconds_total; do
    equals "$metric never decreased" "$(value "sum(resets(${metric}[10m]))")" 0
done

# --- authentication

# last_error JOB: prints the last error of the job.
last_error() {
    curl -sS "$prometheus_url/api/v1/targets" |
        jq -r --arg job "$1" '.data.activeTargets[] | select(.labels.job == $job) | .lastError'
}
fails_by() {
    [[ $(last_error "$1") =~ $2 ]]
}
holds "with the certificate and the password, the scrape succeeds" eventually 60 fails_by right '^$'
holds "a wrong password is reported" eventually 60 fails_by password '401 Unauthorized'
holds "another CA's certificate is reported" eventually 60 fails_by certificate \
    'tls|certificate|EOF|reset|closed|broken pipe'
holds "HTTP to the HTTPS port is reported" eventually 60 fails_by plain '400 Bad Request|HTTP|EOF'
is_stored() {
    [ "$(value 'count(last_over_time(perf_cpu_context_switches_total{job="right"}[10m]))')" = "$cpus" ]
}
holds "the series scraped over HTTPS are stored" eventually 60 is_stored
for job in password certificate plain; do
    equals "no scrape succeeded without the right $job" "$(value "max_over_time(up{job=\"$job\"}[10m])")" 0
done
equals "Prometheus logged no warning" "$(grep -v 'level=info' "$scratch/prometheus.log")" ""
for daemon_pid in "$daemon_pid" "$plain_pid"; do
    stop_daemon
    equals "the daemon exits cleanly" "$daemon_status" 0
done
finish
