#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With a memory.max of 12 MB, clients request 100,000 series as JSON. To avoid being killed by the kernel, the daemon
# limits itself: it watches fewer cgroups, reports this, and rejects requests that need too much memory with 503.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "root, to create cgroups"
make_confinement memory
case $confinement_version in
1) limit_file=$confinement/memory.limit_in_bytes usage_file=$confinement/memory.usage_in_bytes
    events_file=$confinement/memory.oom_control ;;
2) limit_file=$confinement/memory.max usage_file=$confinement/memory.current events_file=$confinement/memory.events ;;
esac
megabytes() {
    echo $(($1 * 1048576))
}
no_limit() {
    case $confinement_version in 1) echo -1 ;; 2) echo max ;; esac >"$limit_file"
}
# killed: prints how many processes the kernel has killed because of the limit.
killed() {
    awk '$1 == "oom_kill" { print $2 }' "$events_file"
}

# 5,600 cgroups of 18 series each are 100,800.
n_cgroups=5600
make_cgroup
seq -f "$hierarchy$below/c%05g" $n_cgroups | xargs mkdir

events="context-switches,cpu-migrations,minor-faults,major-faults,page-faults,alignment-faults,emulation-faults"
config=$scratch/perfcountd.yaml
cat >"$config" <<END
web: {min_interval: 0s, limits: {response_timeout: 10s}}
collectors:
  cpu: {groups: [{name: s, events: "{context-switches,cpu-migrations}"}]}
  cgroup:
    max_cgroups: 10000
    include: ["$below/*"]
    groups:
      - {name: a, events: "{$events}"}
      - {name: b, events: "{$events}"}
END

# Requests all counters as JSON, with the given number of concurrent clients. Every second client reads nothing for two
# seconds. Prints the number of responses with each status, and the message of one rejection.
cat >"$scratch/crowd.py" <<'END'
import collections, concurrent.futures, socket, sys, time

def ask(i):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
    # All requests differ, so that no response is shared.
    s.sendall(b"GET /api/v1/counters?cgroup=**&cgroup=%d HTTP/1.1\r\n" % i)
    s.sendall(b"Host: localhost\r\nConnection: close\r\n\r\n")
    time.sleep(2 * (i % 2))
    answer = b""
    while part := s.recv(1 << 20):
        answer = (answer + part)[:65536]
    return answer[9:12].decode() or "none", answer.rpartition(b"\r\n\r\n")[2].decode("utf-8", "replace")

n = int(sys.argv[2])
with concurrent.futures.ThreadPoolExecutor(n) as pool:
    answers = list(pool.map(ask, range(n)))
print(" ".join("%s:%d" % item for item in sorted(collections.Counter(status for status, _ in answers).items())))
print("\n".join([text for status, text in answers if status == "503"][:1]))
END
crowd() {
    /usr/bin/python3 "$scratch/crowd.py" "${url##*:}" "$1"
}
# only_clear STATUSES: succeeds if each status is 200 or 503.
only_clear() {
    ! grep -qvE '^(200|503):' <(head -n 1 <<<"$1" | tr ' ' '\n')
}

# --- 12 MB from the start: fewer cgroups are watched

megabytes 12 >"$limit_file"
start_daemon --config.file="$config"
start_scraping
read -r dropped watched < <(get /metrics |
    awk '/^perfcountd_cgroups{/ { n[$1] = $2 }
        END { print n["perfcountd_cgroups{state=\"dropped\"}"], n["perfcountd_cgroups{state=\"watched\"}"] }')
compares "some cgroups are watched" "$watched > 0 && $watched < $n_cgroups"
equals "the rest is reported as dropped" "$dropped" $((n_cgroups - watched))
says "dropped cgroups, with the cause and the remedy," \
    'cgroups: some are not watched' 'memory limit' MemoryMax= /api/v1/cgroups
answers=$(crowd 40)
echo "    40 concurrent clients: $(head -n 1 <<<"$answers")"
holds "each of 40 concurrent clients gets the document or 503" only_clear "$answers"
for i in 1 2 3; do
    get '/api/v1/rates?seconds=0.1' -o /dev/null
    get /api/v1/cgroups -o /dev/null --compressed
done
equals "the kernel killed no process" "$(killed)" 0
served_rightly "12 MB"
no_limit
watches_more() {
    [ "$(metric 'perfcountd_cgroups{state="watched"}')" -gt "$watched" ]
}
kill -HUP "$daemon_pid"
back "12 MB, after a reload without the limit" watches_more
ends_well "12 MB"

# --- the limit is lowered while 100,000 series are counted: the document does not fit

no_limit
start_daemon --config.file="$config"
if [ "$(get /api/v1/cgroups | jq -r .engine)" != bpf ]; then
    left_out "the BPF engine"
    finish
fi
series=$(get /metrics | grep -vc '^#')
compares "more than 100,000 series are served" "$series > 100000"
start_scraping --path '/metrics?collect[]=cpu'
echo $(($(cat "$usage_file") + $(megabytes 5))) >"$limit_file" || fail "cannot lower the limit"
answers=$(crowd 10)
echo "    10 concurrent clients: $(head -n 1 <<<"$answers")"
holds "each of 10 concurrent clients gets the document or 503" only_clear "$answers"
contains "a document that does not fit is rejected" "$answers" 503:
matches "the message about a document that does not fit has the remedy" \
    "$answers" 'out of memory for this reply.*MemoryMax='
equals "a part of the document is served" "$(status_of "/api/v1/counters?cgroup=$below/c0000*")" 200
equals "the kernel killed no process" "$(killed)" 0
no_limit
is_whole() {
    [ "$(get /metrics | grep -vc '^#')" -ge "$series" ]
}
back "100,000 series, after the limit was removed" is_whole
served_rightly "100,000 series"
ends_well "100,000 series"
finish
