#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A quota of 5 % of a CPU for the daemon and its children, while clients want documents, rates and samples:
# they wait, and are served; what a stream loses by it is said in its end.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "only root makes cgroups"
make_confinement cpu
# quota PERCENT: of one CPU; max: none.
quota() {
    local us=$(($1 * 1000))
    case $confinement_version in
    1) echo $us >"$confinement/cpu.cfs_quota_us" ;;
    2) echo "$us 100000" >"$confinement/cpu.max" ;;
    esac
}
no_quota() {
    case $confinement_version in
    1) echo -1 >"$confinement/cpu.cfs_quota_us" ;;
    2) echo max >"$confinement/cpu.max" ;;
    esac
}
# How often, and for how many milliseconds, the kernel held the daemon back.
throttled() {
    awk '$1 == "nr_throttled" { n = $2 }
        $1 == "throttled_time" { ms = $2 / 1e6 }
        $1 == "throttled_usec" { ms = $2 / 1e3 }
        END { printf "%d %.0f\n", n, ms }' "$confinement/cpu.stat"
}

config=$scratch/perfcountd.yaml
cat >"$config" <<'END'
user: games
web: {min_interval: 0s, local_operators: true}
collectors:
  cgroup: {enabled: false}
  cpu: {groups: [{name: s, events: "{context-switches,minor-faults}"}]}
sampler: {enabled: true, event: cpu-clock, allow: local, max_clients: 8}
END
id games >/dev/null 2>&1 || sed -i '/^user:/d' "$config"
seconds=$(for_length 6 60)
start_daemon --config.file="$config"
for _ in $(seq "$(getconf _NPROCESSORS_ONLN)"); do
    nice -n 19 sh -c 'while :; do :; done' &
    children+=($!)
done
start_scraping
quota 5
get "/api/v1/samples?seconds=$((seconds - 2))&period=200000" >"$scratch/samples" &
stream=$!
children+=("$stream")
end=$((SECONDS + seconds)) asked=0 refused=0
while [ $SECONDS -lt $end ]; do
    for path in '/api/v1/counters' '/api/v1/rates?seconds=0.2' /api/v1/status /api/v1/config; do
        asked=$((asked + 1))
        [ "$(status_of "$path" --compressed)" = 200 ] || refused=$((refused + 1))
    done
done
wait "$stream"
read -r n ms < <(throttled)
no_quota
compares "the kernel held the daemon back (for $ms ms): times" "$n > 10"
compares "documents and rates meanwhile" "$asked > 3"
equals "each of them is answered" "$refused" 0
tail -n 1 "$scratch/samples" | jq -c '{reason, records, lost, dropped, seconds, notes}' | sed 's/^/    /'
equals "the stream ends as it should" "$(tail -n 1 "$scratch/samples" | jq -r .reason)" seconds
# Five thousand a second on each CPU; the host of a virtual machine may take many of them. On such a one, a CPU was seen
# to have no records at all now and then, and nobody knows yet why: it is printed, and not judged.
sampled=$(grep '"type":"sample"' "$scratch/samples" | grep -o '"cpu":[0-9]*' | sort -u | wc -l)
echo "    samples of $sampled of $(getconf _NPROCESSORS_ONLN) CPUs"
compares "CPUs that are sampled" "$sampled > 0"
least=$((5000 * sampled * (seconds - 2) / 4))
if tail -n 1 "$scratch/samples" | grep -q 'the kernel throttled sampling'; then
    least=0 # as another test has it, which lowers kernel.perf_event_max_sample_rate: then that is what is said
fi
missing=$(tail -n 1 "$scratch/samples" | jq '.lost + .dropped')
compares "what is missing in the stream is said to be lost or dropped: samples" \
    "$(grep -c '"type":"sample"' "$scratch/samples") + $missing >= $least"
is_quick() {
    [ "$(curl -s -o /dev/null -w '%{time_total}' "$url/metrics" | awk '{ print ($1 < 0.05) }')" = 1 ]
}
back_within 1 "a scrape within 50 ms" is_quick
served_rightly "5 % of a CPU" 3000
stop_daemon
equals "it ends well" "$daemon_status" 0
finish
