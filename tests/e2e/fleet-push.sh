#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A board behind NAT pushes its counters with the files of contrib/fleet to a real Prometheus and a real
# VictoriaMetrics. The link is cut for two minutes under load: no sample is missing or duplicated. The disk usage of a
# full queue exceeds its limit by at most one file. If nothing was queued, contrib/fleet/backfill fills the gap.
# set: all

# The test runs in the board's network namespace.
if [ -z "${PERFCOUNTD_OWN_NETWORK-}" ] && [ "$(id -u)" -eq 0 ]; then
    PERFCOUNTD_OWN_NETWORK=yes exec unshare --net --mount "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
need curl ip jq nft nsenter openssl prometheus promtool unshare victoria-metrics vmagent /usr/bin/python3
[ "$(id -u)" -eq 0 ] || skip "root, to make network namespaces"
# shellcheck source=tls-lib.sh
. "$here/tls-lib.sh"
fleet=$root/contrib/fleet

# --- the networks: the board's, in which this script runs, behind a router with NAT; and the site's, with the databases

board_ip=192.168.7.2 site_ip=203.0.113.2
mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
ip netns add router
ip netns add site
ip link add eth0 type veth peer name board netns router
ip -n router link add site type veth peer name eth0 netns site
ip addr add $board_ip/24 dev eth0
ip -n router addr add 192.168.7.1/24 dev board
ip -n router addr add 203.0.113.1/24 dev site
ip -n site addr add $site_ip/24 dev eth0
for link in lo eth0; do
    ip link set $link up
    ip -n site link set $link up
done
ip -n router link set board up
ip -n router link set site up
ip route add default via 192.168.7.1
ip -n site route add default via 203.0.113.1
nsenter --net=/run/netns/router sh -ec 'echo 1 >/proc/sys/net/ipv4/ip_forward
nft -f -' <<'END' || skip "NAT of nftables"
table ip nat {
    chain out { type nat hook postrouting priority srcnat; oifname "site" masquerade; }
    chain through { type filter hook forward priority filter; policy drop
        iifname "board" accept
        ct state established accept
    }
}
END
link_is() {
    ip -n router link set site "$1"
}
at_site() {
    nsenter --net=/run/netns/site "$@"
}

# --- the databases

make_ca ca
make_certificate server ca server "IP:$site_ip"
make_certificate client ca client DNS:opi5-07
cat >"$scratch/web.yml" <<END
tls_server_config:
  cert_file: $pki/server.pem
  key_file: $pki/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: $pki/ca.pem
END
echo '{storage: {tsdb: {out_of_order_time_window: 2h}}}' >"$scratch/prometheus.yml"
prometheus_url=https://$site_ip:9090 victoria_url=http://$site_ip:8428
certificate=(--cacert "$pki/ca.pem" --cert "$pki/client.pem" --key "$pki/client.key")
nsenter --net=/run/netns/site prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" \
    --web.listen-address="$site_ip:9090" --web.config.file="$scratch/web.yml" --web.enable-remote-write-receiver \
    >"$scratch/prometheus.log" 2>&1 &
children+=("$!")
nsenter --net=/run/netns/site victoria-metrics -storageDataPath="$scratch/victoria" -retentionPeriod=1y \
    -httpListenAddr="$site_ip:8428" -search.latencyOffset=0s -dedup.minScrapeInterval=1ms >"$scratch/victoria.log" 2>&1 &
children+=("$!")
holds "Prometheus is ready for a client with a certificate" eventually 60 \
    curl -sf "${certificate[@]}" "$prometheus_url/-/ready"
holds "VictoriaMetrics is ready" eventually 60 curl -sf "$victoria_url/health"

# query DATABASE PROMQL: prints the result as JSON. series DATABASE SELECTOR: prints the samples of the only series in
# the last hour as [[TIME, VALUE], ...]. VictoriaMetrics returns staleness markers as values, which are left out.
query() {
    local base=${1}_url
    curl -sS "${certificate[@]}" --data-urlencode "query=$2" "${!base}/api/v1/query" | jq -c .data.result
}
series() {
    query "$1" "${2}[1h]" | jq -c 'if length == 1 then .[0].values | map(select(.[1] != "NaN")) else "\(length) series" end'
}
count() {
    series "$@" | jq 'if type == "array" then length else 0 end'
}
has_count() {
    [ "$(count "$1" "$2")" -ge "$3" ]
}
count_is() {
    [ "$(count "$1" "$2")" = "$3" ]
}

# --- the board

# settings: prints the service's environment variables: those of the unit, and then those of push.env.
settings() {
    { sed -n 's/^Environment=//p' "$fleet/perfcountd-push.service" | xargs -n 1; grep '^[a-z]' "$fleet/push.env"; } |
        sed "s|%H|opi5-07|; s|/etc/perfcountd/push.yml|$scratch/push.yml|; s|/var/lib/perfcountd-push|$scratch/queue|
            s|/run/credentials/perfcountd-push.service/push_|$pki/|
            s|=https://metrics.fleet.internal/api/v1/write|=$prometheus_url/api/v1/write,$victoria_url/api/v1/write|"
}
# start_vmagent [NAME=VALUE...]: starts vmagent with the service's variables, overridden by the given ones.
start_vmagent() {
    local command
    command=$(sed -n 's|^ExecStart=/usr/bin/||p' "$fleet/perfcountd-push.service")
    # shellcheck disable=SC2046,SC2086 # words
    env $(settings) "$@" $command >>"$scratch/vmagent.log" 2>&1 &
    vmagent_pid=$!
    children+=("$vmagent_pid")
    holds "vmagent starts" eventually 60 curl -sf http://127.0.0.1:8429/health
}
# agent_sum METRIC: prints the sum of all series of this vmagent metric.
agent_sum() {
    curl -sS http://127.0.0.1:8429/metrics | awk -v metric="^$1[{ ]" '$0 ~ metric { sum += $NF } END { printf "%.0f\n", sum }'
}
# n_scrapes: prints how many scrapes vmagent has made, including failed ones: each stores a sample of `up`.
n_scrapes() {
    agent_sum vm_promscrape_scrape_duration_seconds_count
}
scraped() {
    [ "$(n_scrapes)" -ge "$1" ]
}
nothing_is_queued() {
    [ "$(($(agent_sum vmagent_remotewrite_pending_data_bytes) + $(agent_sum vmagent_remotewrite_pending_inmemory_blocks)))" = 0 ]
}
scrape() {
    sed 's/scrape_interval: 15s/scrape_interval: 1s/' "$fleet/push.yml" >"$scratch/push.yml"
}

printf 'history: {interval: 2s}\n' >"$scratch/config.yaml"
start_daemon --web.listen-address=0.0.0.0:10298 --config.file="$scratch/config.yaml"
scrape
start_vmagent
up='up{instance="opi5-07"}' switches='perf_cpu_context_switches_total{instance="opi5-07",cpu="0"}'
for database in prometheus victoria; do
    holds "$database receives samples" eventually 60 has_count $database "$up" 3
done
equals "the site cannot connect to the board" \
    "$(at_site curl -sS -o /dev/null -w '%{http_code}' --max-time 2 "http://$board_ip:10298/metrics" 2>/dev/null)" 000

# --- the link is cut

for _ in 1 2; do
    (while :; do /bin/true; done) &
    children+=("$!")
    loads+=("$!")
done
link_is down
cut=$(date +%s)
holds "scrapes continue for two minutes while the link is cut" \
    eventually 600 scraped $(($(n_scrapes) + 120))
compares "the samples of these scrapes are queued" "$(agent_sum vmagent_remotewrite_pending_data_bytes) > 0"
link_is up
restored=$(date +%s)
kill "${loads[@]}"
echo "    the link was cut for $((restored - cut)) s; $(agent_sum vmagent_remotewrite_pending_data_bytes) bytes are queued"
holds "the queue is sent once the link is back" eventually 300 nothing_is_queued
echo "    the queue was empty after $(($(date +%s) - restored)) s"
: >"$scratch/push.yml"
scrapes_are_over() {
    local before
    before=$(n_scrapes)
    curl -sS http://127.0.0.1:8429/targets | grep -q 'job=' && return 1
    [ "$before" = "$(n_scrapes)" ]
}
kill -HUP "$vmagent_pid"
holds "vmagent stops scraping after a reload" eventually 60 scrapes_are_over
holds "the queue is empty after the last scrape" eventually 120 nothing_is_queued
scrapes=$(n_scrapes)
for database in prometheus victoria; do
    # The last samples may have left the queue without being stored yet.
    holds "$database has each of the $scrapes scrapes once" eventually 60 count_is $database "$up" "$scrapes"
    equals "no two samples in $database have the same time" \
        "$(series $database "$up" | jq 'length - (unique_by(.[0]) | length)')" 0
    compares "more than 100 samples in $database are from while the link was cut" "$(series $database "$up" |
        jq "map(select(.[0] > $cut and .[0] < $restored)) | length") > 100"
    equals "count_over_time in $database counts each sample once" \
        "$(query $database "count_over_time(${switches}[$(($(date +%s) - cut + 60))s])" | jq -r '.[0].value[1]')" \
        "$(series $database "$switches" | jq --argjson since $((cut - 60)) 'length')"
done
equals "both databases have the same samples" "$(series prometheus "$switches")" "$(series victoria "$switches")"
equals "the counter never falls" "$(query prometheus "resets(${switches}[1h])" | jq -r '.[0].value[1]')" 0

# --- nothing was queued: the board was not scraped for a while

stopped=$(date +%s)
outage_is_over() {
    [ $(($(date +%s) - stopped)) -ge 30 ]
}
eventually 60 outage_is_over
scrape
kill -HUP "$vmagent_pid"
n=$(count victoria "$up")
holds "the board is scraped again" eventually 60 has_count victoria "$up" $((n + 5))
# longest_gap DATABASE: prints the longest time between two samples of the counter, in seconds.
longest_gap() {
    series "$1" "$switches" | jq '[.[][0]] | [., .[1:]] | transpose[:-1] | map(.[1] - .[0]) | max'
}
compares "the series has a gap of more than 25 s" "$(longest_gap victoria) > 25"
# shellcheck disable=SC2034 # the documented command reads them
gap=$(database=$victoria_url board=opi5-07
    eval "$(sed -n '/^    gap=/,/)$/p' "$root/doc/fleet.md")"
    echo "$gap")
matches "the command in doc/fleet.md finds the outage" "$gap" '^--since=[0-9.]+ --until=[0-9.]+$'
fill() {
    # shellcheck disable=SC2086 # words
    "$fleet/backfill" $gap --label=job=perfcountd --label=instance=opi5-07 "$@" http://127.0.0.1:10298
}
# vmagent imports the samples and sends them to both databases, with its certificate.
fill | curl -sS --data-binary @- http://127.0.0.1:8429/api/v1/import
is_filled() {
    awk "BEGIN { exit !($(longest_gap "$1") < 8) }"
}
for database in victoria prometheus; do
    holds "$database has samples of the outage" eventually 120 is_filled $database
    echo "    the longest gap in $database is $(longest_gap $database) s"
    equals "the counter in $database never falls" \
        "$(query $database "resets(${switches}[1h])" | jq -r '.[0].value[1]')" 0
done
fill --openmetrics >"$scratch/openmetrics"
contains "promtool creates blocks from backfill's OpenMetrics" \
    "$(promtool tsdb create-blocks-from openmetrics "$scratch/openmetrics" "$scratch/blocks" 2>&1)" "NUM SAMPLES"
equals "the blocks have each sample of backfill's OpenMetrics" \
    "$(promtool tsdb list "$scratch/blocks" | awk 'NR > 1 { sum += $5 } END { print sum }')" \
    "$(grep -vc '^#' "$scratch/openmetrics")"

# --- the same with a Prometheus agent

sed "s|https://metrics.fleet.internal|$prometheus_url|; s|/etc/perfcountd/push/|$pki/|; s/scrape_interval: 15s/scrape_interval: 1s/" \
    "$fleet/agent.yml" >"$scratch/agent.yml"
HOSTNAME=opi5-08 prometheus --enable-feature=agent,expand-external-labels --config.file="$scratch/agent.yml" \
    --storage.agent.path="$scratch/agent" --web.listen-address=127.0.0.1:9090 >"$scratch/agent.log" 2>&1 &
agent_pid=$!
children+=("$agent_pid")
holds "the Prometheus agent pushes samples with the machine's name" \
    eventually 60 has_count prometheus 'up{instance="opi5-08",job="perfcountd"}' 3
equals "the Prometheus agent adds no other label" \
    "$(query prometheus 'up{instance="opi5-08"}' | jq -c '.[0].metric | keys')" \
    '["__name__","instance","job"]'
echo "    resident: vmagent $(memory_of "$vmagent_pid") kB, the agent $(memory_of "$agent_pid") kB, perfcountd \
$(memory_of "$daemon_pid") kB"
kill "$agent_pid" "$vmagent_pid"
wait "$agent_pid" "$vmagent_pid" 2>/dev/null
equals "Prometheus has rejected no block as out of order" "$(grep -c 'Out of order' "$scratch/prometheus.log")" 0

# --- the queue's limit: the queue, in files of 512 MiB, is filled with incompressible numbers

link_is down
: >"$scratch/push.yml"
bound=64 chunk=512
start_vmagent remoteWrite_tmpDataPath="$scratch/full" remoteWrite_url="$victoria_url/api/v1/write" \
    remoteWrite_maxDiskUsagePerURL=${bound}MiB
# shellcheck disable=SC2016
/usr/bin/python3 -c 'import random
for series in range(100):
    values = ",".join(str(random.random()) for _ in range(10000))
    times = ",".join(str(1700000000000 + random.getrandbits(30)) for _ in range(10000))
    print("{\"metric\":{\"__name__\":\"fill\",\"n\":\"%d\"},\"values\":[%s],\"timestamps\":[%s]}" % (series, values, times))' \
    >"$scratch/fill"
import() {
    curl -sS --data-binary @- http://127.0.0.1:8429/api/v1/import
}
mark() {
    echo "{\"metric\":{\"__name__\":\"mark\",\"which\":\"$1\"},\"values\":[1],\"timestamps\":[$(date +%s)000]}" | import
}
# A block that is being sent is not in the queue.
mark sending
is_sending() {
    [ "$(agent_sum vmagent_remotewrite_retries_count_total)" -ge 1 ]
}
holds "vmagent tries to send" eventually 60 is_sending
mark first
most=0 written=0
while [ "$written" -lt $(((bound + chunk + chunk) * 1024 * 1024)) ]; do
    import <"$scratch/fill" || break
    size=$(du -sk "$scratch/full" | cut -f 1)
    most=$((size > most ? size : most))
    written=$(agent_sum vm_persistentqueue_bytes_written_total)
done
mark last
echo "    $((written / 1024 / 1024)) MiB were queued, $(($(agent_sum vm_persistentqueue_bytes_pending) / 1024)) \
KiB are now; at most $((most / 1024)) MiB were on disk"
compares "the queue is not larger than its limit" \
    "$(agent_sum vm_persistentqueue_bytes_pending) <= $bound * 1024 * 1024"
compares "the queue's disk usage exceeds its limit by at most one file" "$most <= ($bound + $chunk) * 1024"
compares "the queue's disk usage has exceeded its limit" "$most > $bound * 1024"
link_is up
mark_has_arrived() {
    has_count victoria "mark{which=\"$1\"}" 1
}
holds "the newest samples in the queue arrive" eventually 300 mark_has_arrived last
holds "the samples that were being sent arrive" mark_has_arrived sending
equals "the oldest samples in the queue were dropped" "$(count victoria 'mark{which="first"}')" 0
stop_daemon
finish
