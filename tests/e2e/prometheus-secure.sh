#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A real Prometheus scrapes with TLS, a client certificate and a password; one without any of them does not.
. "$(dirname "$0")/lib.sh"
. "$here/tls-lib.sh"
# shellcheck source=prometheus-lib.sh
. "$here/prometheus-lib.sh"
need curl jq openssl /usr/bin/python3 prometheus

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
client=(--cacert "$pki/ca.pem" --cert "$pki/scraper.pem" --key "$pki/scraper.key" -u prometheus:secret)
start_daemon --web.config.file="$scratch/web.yml"
matches "it speaks TLS" "$url" '^https://'
equals "curl with all of it" "$(status_of /metrics)" 200
equals "curl with another password" "$(status_of /metrics -u prometheus:other)" 401

# job NAME PASSWORD CERTIFICATE SCHEME
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
    job right secret scraper https
    job password wrong scraper https
    job certificate secret stranger https
    job plain secret scraper http
} >"$scratch/prometheus.yml"
start_prometheus "$scratch/prometheus.yml"

enough_samples() {
    [ "$(value 'min(count_over_time(up[1m])) >= bool 10')" = 1 ] && [ "$(value 'count(up)')" = 4 ]
}
holds "Prometheus scrapes" eventually 45 enough_samples
# The first scrape may have waited for a password that had not been seen before; a busy machine may be late for one.
compares "with all of it scrapes are good" "$(value 'avg_over_time(up{job="right"}[8s])') > 0.7"
for job in password certificate plain; do
    equals "never without the right $job" "$(value "max_over_time(up{job=\"$job\"}[1m])")" 0
done
# last_error JOB
last_error() {
    curl -sS "$prometheus_url/api/v1/targets" |
        jq -r --arg job "$1" '.data.activeTargets[] | select(.labels.job == $job) | .lastError'
}
all_is_right() {
    [ -z "$(last_error right)" ]
}
holds "the last one, too" eventually 5 all_is_right
# Passwords are checked at a lower priority: on a busy machine a scrape may be given up before.
refused() {
    [[ $(last_error password) = *'401 Unauthorized'* ]]
}
holds "a wrong password is reported" eventually 30 refused
matches "so is a certificate of somebody else" "$(last_error certificate)" \
    'tls|certificate|EOF|reset|closed|broken pipe'
echo "    plain: $(last_error plain)"
cpus=$(get /metrics | grep -c '^perf_cpu_context_switches_total{')
equals "a series for each CPU is stored" "$(value 'count(perf_cpu_context_switches_total)')" "$cpus"
duration=$(value 'quantile_over_time(0.5, scrape_duration_seconds{job="right"}[8s])')
compares "a scrape takes no bcrypt: seconds" "$duration < 0.05"
stop_daemon
equals "it ends well" "$daemon_status" 0
finish
