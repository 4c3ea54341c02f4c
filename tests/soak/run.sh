#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Exposes two daemons to a random mix of requests, reloads, containers, cgroups and programs, and checks that no total
# decreases, no scrape fails, and nothing leaks. One counts cgroups with perf and is used over HTTP; the other counts
# with BPF and is used over TLS, on a machine with containers.
#
# usage: [ROUNDS=6] [SEED=1] run.sh      the same seed chooses the same actions
# shellcheck source=../e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
here=$root/tests/e2e
need curl cc openssl unshare /usr/bin/python3
# shellcheck source=../e2e/cgroup-lib.sh
. "$here/cgroup-lib.sh"
# shellcheck source=../e2e/tls-lib.sh
. "$here/tls-lib.sh"

rounds=${ROUNDS-6}
seed=${SEED-1}
echo "ROUNDS=$rounds SEED=$seed"
export PYTHONDONTWRITEBYTECODE=1
make_ca ca
make_certificate server ca server DNS:localhost,IP:127.0.0.1
chmod -R a+rX "$scratch"
cc -O1 -fno-omit-frame-pointer -o "$scratch/names" "$here/names.c" || exit 1

begin_with='{"web": {"local_operators": true}, "sampler": {"enabled": true, "event": "cpu-clock"}}'
echo "$begin_with" | tee "$scratch/perf.yaml" >"$scratch/bpf.yaml"
start_daemon --config.file="$scratch/perf.yaml"
pids=("$daemon_pid")
targets=("perf:$daemon_pid:${url##*:}:$scratch/perf.yaml:")

docker=$scratch/lib/docker/containers
mkdir -p "$docker"
printf 'tls_server_config: {cert_file: pki/server.pem, key_file: pki/server.key}\n' >"$scratch/web.yml"
# shellcheck disable=SC2016 # the inner shell expands the variables
wrapper=(unshare --mount --propagation private
    bash -c 'mount --bind "$1" /var/lib && shift && exec "$@"' x "$scratch/lib")
# shellcheck disable=SC2154 # the library sets the variable
client=(--cacert "$pki/ca.pem")
start_daemon --config.file="$scratch/bpf.yaml" --web.config.file="$scratch/web.yml"
pids+=("$daemon_pid")
targets+=("bpf:$daemon_pid:${url##*:}:$scratch/bpf.yaml:$pki/ca.pem")

# shellcheck disable=SC2154 # the libraries set the variables
/usr/bin/python3 "$root/tests/soak/soak.py" "$rounds" "$seed" \
    "$hierarchy:$below:$scratch:$load:$scratch/names:$docker" "${targets[@]}" &
children+=("$!")
wait $!
equals "no action and no scrape failed, no total decreased, nothing leaked" $? 0
for daemon_pid in "${pids[@]}"; do
    stop_daemon
    equals "the daemon exits cleanly" "$daemon_status" 0
done
finish
