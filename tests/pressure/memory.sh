#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# memory.max of 12 MB while 100,000 series are wanted, as JSON: the kernel would kill the daemon. Its limit is its own,
# so that it watches fewer cgroups, says so, and refuses by 503 what does not fit.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "only root makes cgroups"
make_confinement memory
case $confinement_version in
1) limit_file=$confinement/memory.limit_in_bytes usage_file=$confinement/memory.usage_in_bytes
    events_file=$confinement/memory.oom_control ;;
2) limit_file=$confinement/memory.max usage_file=$confinement/memory.current events_file=$confinement/memory.events ;;
esac
megabytes() {
    echo $(($1 * 1048576))
}
# killed: how many processes the kernel has killed for the limit.
killed() {
    awk '$1 == "oom_kill" { print $2 }' "$events_file"
}

# 5,600 cgroups of 18 series each are 100,800.
n_cgroups=5600
hierarchy=/sys/fs/cgroup
[ ! -d $hierarchy/unified ] || hierarchy=$hierarchy/unified
below=/perfcountd-pressure-$$
at_end+=("find '$hierarchy$below' -depth -type d -delete")
mkdir "$hierarchy$below"
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

# crowd.py PORT CLIENTS: asks for all counters as JSON by that many clients at once. Every second one reads nothing
# for two seconds. Prints how often each status came, and a sentence of a refusal.
cat >"$scratch/crowd.py" <<'END'
import collections, socket, sys, threading, time

statuses, sentences = collections.Counter(), set()

def ask(i):
    s = socket.socket()
    s.settimeout(20)
    if i % 2:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    try:
        s.connect(("127.0.0.1", int(sys.argv[1])))
        # Each asks for something else, so that no reply is shared.
        s.sendall(b"GET /api/v1/counters?cgroup=**&cgroup=%d HTTP/1.1\r\n" % i)
        s.sendall(b"Host: localhost\r\nConnection: close\r\n\r\n")
        time.sleep(2 * (i % 2))
        answer = b""
        while part := s.recv(1 << 20):
            answer = (answer + part)[:65536]
        statuses[answer[9:12].decode() or "none"] += 1
        if answer[9:12] == b"503":
            sentences.add(answer.rpartition(b"\r\n\r\n")[2].decode())
    except OSError as error:
        statuses[type(error).__name__] += 1

threads = [threading.Thread(target=ask, args=(i,)) for i in range(int(sys.argv[2]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(" ".join("%s:%d" % item for item in sorted(statuses.items())))
for sentence in sorted(sentences)[:1]:
    print(sentence)
END
crowd() {
    /usr/bin/python3 "$scratch/crowd.py" "${url##*:}" "$1"
}
# only_clear STATUSES: each is 200 or 503.
only_clear() {
    ! grep -qvE '^(200|503):' <(head -n 1 <<<"$1" | tr ' ' '\n')
}

# --- 12 MB from the start: fewer cgroups

megabytes 12 >"$limit_file"
start_daemon --config.file="$config"
start_scraping
read -r dropped watched < <(get /metrics |
    awk '/^perfcountd_cgroups{/ { n[$1] = $2 }
        END { print n["perfcountd_cgroups{state=\"dropped\"}"], n["perfcountd_cgroups{state=\"watched\"}"] }')
compares "some cgroups are watched" "$watched > 0 && $watched < $n_cgroups"
equals "the others are dropped, and counted as such" "$dropped" $((n_cgroups - watched))
says "what is dropped, why, and the remedy" 'cgroups: some are not watched' 'memory limit' MemoryMax= /api/v1/cgroups
answers=$(crowd 40)
echo "    40 clients at once: $(head -n 1 <<<"$answers")"
holds "each of 40 clients at once has the document, or 503" only_clear "$answers"
for i in 1 2 3; do
    get '/api/v1/rates?seconds=0.1' -o /dev/null
    get /api/v1/cgroups -o /dev/null --compressed
done
equals "the kernel killed no process" "$(killed)" 0
holds "the daemon lives" running "$daemon_pid"
served_rightly "12 MB" 3000
case $confinement_version in 1) echo -1 >"$limit_file" ;; 2) echo max >"$limit_file" ;; esac
watches_more() {
    [ "$(metric 'perfcountd_cgroups{state="watched"}')" -gt "$watched" ]
}
if [ $length = long ]; then
    holds "more cgroups are watched by themselves when the limit is gone" eventually 70 watches_more
else
    kill -HUP "$daemon_pid"
    back_within 1 "more cgroups are watched after a reload, when the limit is gone" watches_more
fi
stop_daemon
equals "12 MB: it ends well" "$daemon_status" 0

# --- the limit is lowered while 100,000 series are counted: the document does not fit

case $confinement_version in 1) echo -1 >"$limit_file" ;; 2) echo max >"$limit_file" ;; esac
start_daemon --config.file="$config"
if [ "$(get /api/v1/cgroups | jq -r .engine)" != bpf ]; then
    left_out "100,000 series by one daemon take the engine bpf, which this machine does not have"
    finish
fi
series=$(get /metrics | grep -vc '^#')
compares "series" "$series > 100000"
start_scraping '/metrics?collect[]=cpu'
echo $(($(cat "$usage_file") + $(megabytes 5))) >"$limit_file" || fail "the limit can be lowered"
answers=$(crowd 10)
echo "    10 clients at once: $(head -n 1 <<<"$answers")"
holds "each of 10 clients at once has the document, or 503" only_clear "$answers"
contains "what does not fit is refused" "$answers" 503:
matches "with what and the remedy" "$answers" 'no memory for this reply.*MemoryMax='
equals "a part of it is served" "$(status_of "/api/v1/counters?cgroup=$below/c0000*")" 200
equals "the kernel killed no process" "$(killed)" 0
case $confinement_version in 1) echo -1 >"$limit_file" ;; 2) echo max >"$limit_file" ;; esac
is_whole() {
    [ "$(get /metrics | grep -vc '^#')" -ge "$series" ]
}
back_within 1 "all series after the limit is gone" is_whole
served_rightly "100,000 series" 3000
stop_daemon
equals "100,000 series: it ends well" "$daemon_status" 0
finish
