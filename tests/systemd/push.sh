#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs contrib/fleet/perfcountd-push.service in a container with systemd, as described in doc/fleet.md. The service
# pushes to a Prometheus that requires a client certificate; only root can read the certificate's files.
# shellcheck disable=SC2016 # awk expands it
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../e2e/tls-lib.sh
. "$here/tls-lib.sh"
need openssl prometheus vmagent
fleet=$root/contrib/fleet

make_ca ca
make_certificate server ca server IP:127.0.0.1
make_certificate client ca client DNS:board
cat >"$scratch/web.yml" <<END
tls_server_config:
  cert_file: $pki/server.pem
  key_file: $pki/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: $pki/ca.pem
END
echo '{}' >"$scratch/prometheus.yml"
port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
database=https://127.0.0.1:$port
prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" --web.enable-remote-write-receiver \
    --web.listen-address="127.0.0.1:$port" --web.config.file="$scratch/web.yml" >"$scratch/prometheus.log" 2>&1 &
children+=("$!")
certificate=(--cacert "$pki/ca.pem" --cert "$pki/client.pem" --key "$pki/client.key")
holds "Prometheus is ready" eventually 60 curl -sf "${certificate[@]}" "$database/-/ready"

boot --bind-ro="$(command -v vmagent):/usr/bin/vmagent"
inside mkdir -p /etc/perfcountd/push
inside_write /etc/perfcountd/web.yml <<<'{}'
start_service -- --web.config.file=/etc/perfcountd/web.yml
inside_write /etc/systemd/system/perfcountd-push.service <"$fleet/perfcountd-push.service"
sed "s|10298|${url##*:}|; s|15s|1s|" "$fleet/push.yml" | inside_write /etc/perfcountd/push.yml
sed "s|https://metrics.fleet.internal|$database|" "$fleet/push.env" | inside_write /etc/perfcountd/push.env
for file in client.pem client.key ca.pem; do
    inside_write "/etc/perfcountd/push/$file" <"$pki/$file"
done
inside chmod -R go= /etc/perfcountd/push
inside systemctl daemon-reload
holds "perfcountd-push.service starts" inside systemctl start perfcountd-push
equals "systemd knows all of the unit's settings" \
    "$(inside systemd-analyze verify /etc/systemd/system/perfcountd-push.service 2>&1 |
    grep perfcountd-push)" ""

samples() {
    curl -sS "${certificate[@]}" --data-urlencode "query=count_over_time($1[10m])" "$database/api/v1/query" |
        jq -r '.data.result[0].value[1] // 0'
}
has_samples_of() {
    [ "$(samples "$1")" -ge "$2" ]
}
name=$(inside hostname)
holds "pushed samples are labelled with the machine's name" eventually 60 has_samples_of "up{instance=\"$name\"}" 3 ||
    inside journalctl --no-pager -o cat -u perfcountd-push | tail -n 20
holds "pushed counters are labelled with the machine's name" \
    has_samples_of "perf_cpu_context_switches_total{instance=\"$name\",cpu=\"0\"}" 1
pid=$(inside systemctl show -P MainPID perfcountd-push)
matches "the service runs as a dynamic user" "$(inside stat -c %U "/proc/$pid")" '^(perfcountd-push|UNKNOWN)$'
equals "the service has no capabilities" \
    "$(inside awk '/^Cap(Prm|Eff|Bnd|Amb)/ { print $2 }' "/proc/$pid/status" | sort -u)" \
    0000000000000000
holds "the queue is below /var/lib" inside test -d /var/lib/perfcountd-push/persistent-queue
echo "    $(inside systemd-analyze security --no-pager perfcountd-push | tail -n 1)"
echo "    vmagent: $(inside awk '$1 == "VmRSS:" { print $2 }' "/proc/$pid/status") kB; perfcountd: \
$(for pid in $(inside pgrep perfcountd); do inside awk '$1 == "VmRSS:" { print $2 }' "/proc/$pid/status"; done | xargs)"

# A daemon that requires a password, which vmagent reads from a credential.
inside_write /etc/perfcountd/web.yml \
    <<<'basic_auth_users: {prometheus: $2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW}'
requires_password() {
    [ "$(status_of /metrics)" = 401 ]
}
holds "the daemon requires a password" eventually 60 requires_password
inside_write /etc/perfcountd/push/daemon <<<secret
inside chmod 600 /etc/perfcountd/push/daemon
basic_auth=$(grep '^ *basic_auth:.*/run/credentials/' "$root/doc/fleet.md")
inside sh -c "sed -i '/static_configs/i\\$basic_auth' /etc/perfcountd/push.yml"
switches="perf_cpu_context_switches_total{instance=\"$name\",cpu=\"0\"}"
holds "the service restarts with the password" inside systemctl restart perfcountd-push
before=$(samples "$switches")
holds "the service scrapes with the password" eventually 60 has_samples_of "$switches" $((before + 3)) ||
    inside journalctl --no-pager -o cat -u perfcountd-push | tail -n 20

# The in-memory queue: its settings are commented out in push.env, and are enabled here.
inside sed -i -e '/^remoteWrite_maxDisk/d' -e 's/^# \(remoteWrite_\(tmpDataPath\|maxDisk\)\)/\1/' /etc/perfcountd/push.env
before=$(samples "up{instance=\"$name\"}")
holds "the service restarts" inside systemctl restart perfcountd-push
holds "the service pushes with an in-memory queue" eventually 60 has_samples_of "up{instance=\"$name\"}" $((before + 3))
holds "the in-memory queue exists" inside test -d /run/perfcountd-push/persistent-queue
inside systemctl stop perfcountd-push
holds "the in-memory queue is removed when the service stops" not inside test -e /run/perfcountd-push
finish
