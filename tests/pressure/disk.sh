#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In a mount namespace, the daemon runs with a full /run: first without inodes for the socket, then without blocks for
# the log.
if [ "${IN_NAMESPACE-}" != yes ] && [ "$(id -u)" -eq 0 ]; then
    IN_NAMESPACE=yes exec unshare -m --propagation private "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "root, to mount"
mount -t tmpfs -o size=256k,nr_inodes=32,mode=755 tmpfs /run || exit 1

config=$scratch/perfcountd.yaml
cat >"$config" <<'END'
web: {min_interval: 0s, local_operators: true}
collectors:
  cgroup: {enabled: false}
  cpu: {groups: [{name: s, events: "{context-switches,minor-faults}"}]}
END
socket=/run/perfcountd.sock

i=0
while : 2>/dev/null >"/run/inode-$i"; do
    i=$((i + 1))
done
launch_daemon --config.file="$config" --web.listen-address="unix:$socket"
holds "no inodes: the daemon does not start" eventually 60 not running "$daemon_pid"
wait "$daemon_pid"
compares "no inodes: the daemon exits with an error" "$? > 0"
says "no inodes: why" "$socket" 'No space left on device'
rm -f /run/inode-*
launch_daemon --config.file="$config" --web.listen-address="unix:$socket"
holds "with free inodes, the daemon starts" eventually 60 curl -sf --unix-socket $socket http://localhost/-/ready
stop_daemon

daemon_log=/run/daemon.log
"$PERFCOUNTD" --config.file="$config" --web.listen-address=127.0.0.1:0 >$daemon_log 2>&1 </dev/null &
daemon_pid=$!
children+=("$daemon_pid")
eventually 60 listening_or_dead
url=$(sed -n 's|.*listening on \(http://[^ "]*\)/.*|\1|p' $daemon_log | head -n 1)
start_scraping
dd if=/dev/zero of=/run/full bs=4k 2>/dev/null
equals "the disk is full" "$(df --output=avail /run | tail -n 1 | tr -d ' ')" 0
# The reloads log more lines than fit into the rest of the log's last block.
for _ in $(seq 60); do
    get /-/reload -X POST -o /dev/null
done
equals "a reload succeeds" "$(status_of /-/reload -X POST)" 200
compares "the log does not grow (bytes)" "$(stat -c %s "$daemon_log") <= 8192"
rm /run/full
is_logged_again() {
    local before
    before=$(stat -c %s "$daemon_log")
    get /-/reload -X POST -o /dev/null
    [ "$(stat -c %s "$daemon_log")" -gt "$before" ] && tail -n 3 "$daemon_log" | grep -q 'configuration reloaded'
}
back "logging" is_logged_again
# The line that did not fit may be truncated, but the next message begins on a new line.
equals "no line in the log contains two messages" "$(grep -cE '[0-9]T[0-9:.]+Z .*[0-9]T[0-9:.]+Z ' $daemon_log)" 0
served_rightly "a full /run"
ends_well "a full /run"
finish
