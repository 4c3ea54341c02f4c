#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the files of contrib/: the commented configuration equals the built-in one, promtool accepts and tests the rules
# and alerts, dashboards follow the rules of Grafana's linter, the mixin has the same dashboards and rules, and a
# Prometheus with these files finds the daemon by file and by DNS and evaluates the rules. tests/dashboards.sh tests the
# dashboards' queries. Profiles are sent and compared. For Kubernetes, the chart and kustomize must give the same
# objects, and kubectl must know each field; no cluster is needed.
# set: all

# Runs in a network namespace with its own name server, so that no request leaves the machine.
if [ -z "${PERFCOUNTD_OWN_NETWORK-}" ] && [ "$(id -u)" -eq 0 ]; then
    PERFCOUNTD_OWN_NETWORK=yes exec unshare --net --mount "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
# shellcheck source=prometheus-lib.sh
. "$here/prometheus-lib.sh"
need cc curl jq ip jsonnet kubectl pprof promtool prometheus setpriv unshare xmllint /usr/bin/python3
# shellcheck source=cgroup-lib.sh
. "$here/cgroup-lib.sh"
ip link set lo up
contrib=$root/contrib
openmetrics="Accept: application/openmetrics-text; version=1.0.0"

# --- the commented configuration

# settings FLAGS...: prints the configuration of a daemon with these flags, without the address.
settings() {
    start_daemon "$@"
    get /api/v1/config | jq -S 'del(.web.listen)'
    stop_daemon
}
equals "check-config accepts contrib/perfcountd.yaml" "$("$PERFCOUNTD" check-config "$contrib/perfcountd.yaml")" \
    "$contrib/perfcountd.yaml: ok"
printf '' >"$scratch/empty.yaml"
defaults=$(settings --config.file="$scratch/empty.yaml")
holds "there is a built-in configuration" jq -e '.web and .collectors and .sampler' <<<"$defaults"
equals "contrib/perfcountd.yaml equals the built-in configuration" \
    "$(settings --config.file="$contrib/perfcountd.yaml")" "$defaults"
equals "contrib/perfcountd.yaml has the default port" "$(grep -oE '"?:[0-9]+"' "$contrib/perfcountd.yaml")" '":10298"'
missing=$(jq -r 'paths | select(all(.[]; type == "string")) | last' <<<"$defaults" | sort -u | while read -r key; do
    grep -qE "^ *#? *$key:" "$contrib/perfcountd.yaml" || echo "$key"
done)
equals "contrib/perfcountd.yaml has every key" "$missing" ""

# --- Avahi

holds "the Avahi service is well-formed" xmllint --noout --nonet "$contrib/avahi/perfcountd.service"
holds "Avahi announces the default port" grep -q '<port>10298</port>' "$contrib/avahi/perfcountd.service"
contains "Avahi announces the default path" "$(cat "$contrib/avahi/perfcountd.service")" \
    "<txt-record>path=$(jq -r .web.telemetry_path <<<"$defaults")</txt-record>"

# The first lines of avahi.txt are output of Avahi 0.8 for a machine with hostile names; the others were written in the
# same format.
avahi_targets() {
    "$contrib/fleet/avahi-targets" "$scratch/lan.json" <"${1-$root/tests/contrib/avahi.txt}" 2>"$scratch/avahi.log"
}
holds "avahi-targets reads the output of avahi-browse" avahi_targets
equals "avahi-targets makes each machine a target, and nothing else" \
    "$(jq -r '.[] | "\(.labels.instance) \(.labels.__scheme__)://\(.targets[])\(.labels.__metrics_path__)"' "$scratch/lan.json")" \
    "bare http://192.168.1.20:10298/metrics
opi5-01 http://192.168.1.11:10298/metrics
opi5-01 http://192.168.1.11:10300/metrics
opi5-02-2 https://192.168.1.12:10299/perf/metrics
opi5-03 http://[2001:db8::3]:10298/metrics
semicolon http://192.168.1.15:10298/metrics"
equals "avahi-targets reports the lines that it leaves out" "$(grep -c 'left out' "$scratch/avahi.log")" 10
inode=$(stat -c %i "$scratch/lan.json")
avahi_targets
equals "avahi-targets does not replace an unchanged file" "$(stat -c %i "$scratch/lan.json")" "$inode"
holds "avahi-targets fails if there is no machine" not avahi_targets /dev/null
equals "avahi-targets keeps the file if there is no machine" "$(stat -c %i "$scratch/lan.json")" "$inode"

# --- backfill from files that stand in for a daemon: a board with two kinds of core, a pause, a recreated cgroup

mkdir -p "$scratch/simulated/api/v1"
cat >"$scratch/simulated/api/v1/counters" <<'END'
{"timestamp": 140.0004, "counters": [
 {"collector": "cpu", "event": "cycles", "cpu": 0, "pmu": "a55", "group": "core", "unit": "", "value": 90071992547409931,
  "enabled_ns": 40000000001, "running_ns": 20000000000},
 {"collector": "pmu", "event": "energy", "cpu": 0, "pmu": "power", "group": "power", "unit": "joules", "value": 7.5,
  "enabled_ns": 40000000000, "running_ns": 40000000000},
 {"collector": "cpu", "event": "faults", "cpu": 0, "pmu": "software", "group": "core", "unit": "", "value": null},
 {"collector": "cgroup", "event": "task_clock", "cgroup": "/a \"b\"", "pmu": "a55", "group": "s", "unit": "seconds",
  "value": 3.000000001, "enabled_ns": 3, "running_ns": 2},
 {"collector": "cgroup", "event": "task_clock", "cgroup": "/a \"b\"", "pmu": "a76", "group": "s", "unit": "seconds",
  "value": 5.0, "enabled_ns": 5, "running_ns": 4}]}
END
cat >"$scratch/simulated/api/v1/history" <<'END'
{"interval": 10, "times": [110.0, 120.0, 130.0, 140.0], "seconds": [10, 10, 10, 10], "left_out": [0, 0, 0, 0], "rows": [
 {"collector": "cpu", "cpu": 0, "pmu": "a55", "group": "core", "enabled": [10, 10, 10, 10.000000001],
  "running": [5, 5, 5, 5], "events": {"cycles": [1, 2, 3, 4], "faults": [1, 1, 1, 1]}},
 {"collector": "pmu", "cpu": 0, "pmu": "power", "group": "power", "enabled": [10, 10, null, 10], "running": [10, 10, null, 10],
  "events": {"energy": [1.5, 1.5, null, 1.5]}},
 {"collector": "cgroup", "cgroup": "/a \"b\"", "pmu": "a55", "group": "s", "enabled": [0, 0, 0, 0], "running": [0, 0, 0, 0],
  "events": {"task_clock": [9.0, 3.0, 0.000000001, 1.0]}},
 {"collector": "cgroup", "cgroup": "/a \"b\"", "pmu": "a76", "group": "s", "enabled": [0, 0, 0, 0], "running": [0, 0, 0, 0],
  "events": {"task_clock": [0.5, 0.5, 0.5, 0.5]}}], "others": []}
END
simulated() {
    "$contrib/fleet/backfill" --label=instance=opi "$@" "file://$scratch/simulated" 2>/dev/null
}
# The numbers must be exact; they have 57 bits here. As a double, an idle counter might decrease by one, which rate()
# takes for a reset.
equals "backfill has the total at each reading, as far back as the history knows how much each counter grew" \
    "$(simulated --since=100 --until=200 --openmetrics | grep -v '_group_')" '# TYPE perf_cgroup_task_clock_seconds counter
perf_cgroup_task_clock_seconds_total{cgroup="/a \"b\"",pmu="a55",group="s",instance="opi"} 2.000000000 120.000
perf_cgroup_task_clock_seconds_total{cgroup="/a \"b\"",pmu="a55",group="s",instance="opi"} 2.000000001 130.000
perf_cgroup_task_clock_seconds_total{cgroup="/a \"b\"",pmu="a55",group="s",instance="opi"} 3.000000001 140.000
perf_cgroup_task_clock_seconds_total{cgroup="/a \"b\"",pmu="a76",group="s",instance="opi"} 3.5 110.000
perf_cgroup_task_clock_seconds_total{cgroup="/a \"b\"",pmu="a76",group="s",instance="opi"} 4.0 120.000
perf_cgroup_task_clock_seconds_total{cgroup="/a \"b\"",pmu="a76",group="s",instance="opi"} 4.5 130.000
perf_cgroup_task_clock_seconds_total{cgroup="/a \"b\"",pmu="a76",group="s",instance="opi"} 5.0 140.000
# TYPE perf_cpu_cycles counter
perf_cpu_cycles_total{cpu="0",pmu="a55",group="core",instance="opi"} 90071992547409922 110.000
perf_cpu_cycles_total{cpu="0",pmu="a55",group="core",instance="opi"} 90071992547409924 120.000
perf_cpu_cycles_total{cpu="0",pmu="a55",group="core",instance="opi"} 90071992547409927 130.000
perf_cpu_cycles_total{cpu="0",pmu="a55",group="core",instance="opi"} 90071992547409931 140.000
# TYPE perf_pmu_energy_joules counter
perf_pmu_energy_joules_total{cpu="0",pmu="power",group="power",instance="opi"} 6.0 130.000
perf_pmu_energy_joules_total{cpu="0",pmu="power",group="power",instance="opi"} 7.5 140.000
# EOF'
equals "backfill leaves out samples near --since and --until" "$(simulated --since=109 --until=131 | jq -r '
    select(.metric.__name__ == "perf_cpu_group_enabled_seconds_total") | [.timestamps, .values] | @json')" \
    '[[120000],[20]]'
# refused FILE-OR-OPTION...: prints the exit status, what backfill printed, and its error.
refused() {
    local output status
    output=$("$contrib/fleet/backfill" "$@" "file://$scratch/simulated" 2>&1)
    status=$?
    echo "$status $output"
}
equals "backfill refuses a --since that is not a time" "$(refused --since=null --until=131)" \
    "1 backfill: --since=null: not a time in seconds since 1970"
equals "backfill fails if the history begins too late" "$(refused --since=50 --until=100 --openmetrics)" \
    "1 backfill: no samples: the history begins at 110.0, which is after --until"
# A pause after the outage: the reading at 130 does not say how much the counters grew.
cp "$scratch/simulated/api/v1/history" "$scratch/history"
jq '.rows[] |= (.enabled[2] = null | .running[2] = null | .events[][2] = null)' "$scratch/history" \
    >"$scratch/simulated/api/v1/history"
equals "backfill fails if there was a pause after the outage" "$(refused --since=108 --until=122)" \
    "1 backfill: no samples: between --since and now each series has a gap, such as a pause; nothing before it can be computed"
cp "$scratch/history" "$scratch/simulated/api/v1/history"

# --- promtool

holds "promtool check config" promtool check config "$contrib/prometheus/scrape.yml"
# uncomment FIRST LAST FILE: uncomments the lines between two lines that match.
uncomment() {
    sed -i -E "/$1/,/$2/s/^( *)# /\1/" "$3"
}
cp -r "$contrib/prometheus" "$scratch/site"
uncomment 'job_name: perfcountd-tls' 'metric_relabel_configs' "$scratch/site/scrape.yml"
uncomment '# remote_write:' 'action: keep' "$scratch/site/scrape.yml"
touch "$scratch"/site/{perfcountd.password,fleet-ca.pem}
equals "uncommented, scrape.yml has two jobs and a remote_write" \
    "$(grep -cE '^ *(- job_name|remote_write):' "$scratch/site/scrape.yml")" 3
holds "promtool check config of the uncommented scrape.yml" promtool check config "$scratch/site/scrape.yml"
sed 's|/etc/perfcountd/push/.*|/dev/null|' "$contrib/fleet/agent.yml" >"$scratch/agent.yml"
holds "promtool check config of the agent" promtool check config --agent "$scratch/agent.yml"
for kind in rules alerts compat aggregate; do
    holds "promtool check rules: $kind.yml" promtool check rules "$contrib/prometheus/$kind.yml"
    compares "there are rules in $kind.yml" \
        "$(grep -cE '^ *- (record|alert): ' "$contrib/prometheus/$kind.yml") > 2"
done
"$PERFCOUNTD" list-metrics --json >"$scratch/metrics.json"
equals "each formula has a case in derived.txt" "$("$root/tests/contrib/derived.py" "$contrib/prometheus/rules.yml" \
    "$root/tests/contrib/derived.txt" <"$scratch/metrics.json" 2>&1 >"$scratch/derived.yml")" ""
holds "promtool test rules of derived metrics" promtool test rules "$scratch/derived.yml"
# promtool evaluates all rules at each step, and the tests of alerts cover days, so these tests load only the rules that
# alerts use.
used=$scratch/used
mkdir -p "$used/contrib/prometheus" "$used/tests/contrib"
cp "$contrib"/prometheus/*.yml "$used/contrib/prometheus/"
cp "$root"/tests/contrib/*.yml "$used/tests/contrib/"
names=$(grep -ohE '[a-z_]+:perf_[a-z0-9_]+:[a-z0-9_]+' "$contrib/prometheus/alerts.yml" | sort -u | tr '\n' ' ')
awk -v names=" $names " '
    / - record: / { keep = index(names, " " $3 " ") }
    keep || /^groups:|^  - name:|^    rules:/' "$contrib/prometheus/rules.yml" >"$used/contrib/prometheus/rules.yml"
compares "alerts use more than two recording rules" "$(grep -c ' - record: ' "$used/contrib/prometheus/rules.yml") > 2"
holds "promtool test rules: alerts" promtool test rules "$used"/tests/contrib/{alerts,alike,usual}.yml
holds "promtool test rules: rules" promtool test rules "$root"/tests/contrib/{aggregate,compat,rules}.yml
untested=$(sed -nE 's/^ *- (record|alert): //p' "$contrib"/prometheus/*.yml | while read -r rule; do
    grep -qF -e "round($rule," -e "round($rule{" -e "alertname: $rule" "$root"/tests/contrib/*.yml \
        "$scratch/derived.yml" || echo "$rule"
done)
equals "every rule and alert is tested" "$untested" ""

# anchors FILE: prints the anchors that GitHub generates for the headings of a page.
anchors() {
    sed -n 's/^##* //p' "$1" | tr '[:upper:] ' '[:lower:]-' | tr -cd 'a-z0-9_\n-'
}
sed -nE 's/^ *runbook_url: "([^#]*)#(.*)"$/\1 \2/p' "$contrib/prometheus/alerts.yml" | sort -u >"$scratch/runbooks"
compares "alerts have runbook URLs" "$(wc -l <"$scratch/runbooks") > 0"
equals "each runbook_url leads to a heading" "$(while read -r page anchor; do
    anchors "$root/$page" | grep -qx -e "$anchor" || echo "$page#$anchor"
done <"$scratch/runbooks")" ""

# --- dashboards

export PYTHONDONTWRITEBYTECODE=1
holds "the linter reports no problem in the dashboards" "$root/tests/contrib/lint-dashboards.py" \
    "$contrib"/grafana/{fleet,board,containers}.json
"$root/tests/contrib/panels.py" "$contrib/grafana/containers.json" "$root/tests/contrib/containers.yml" \
    >"$scratch/containers.yml"
holds "promtool test rules: a container is counted once, by its name" promtool test rules "$scratch/containers.yml"

# --- the mixin

# mixin EXPRESSION: prints the expression of the mixin's object as JSON.
mixin() {
    jsonnet -e "local mixin = import '$contrib/mixin/mixin.libsonnet'; $1"
}
for dashboard in fleet board containers; do
    equals "the mixin has $dashboard.json" \
        "$(mixin "mixin.grafanaDashboards['perfcountd-$dashboard.json']" | jq -cS .)" \
        "$(jq -cS . "$contrib/grafana/$dashboard.json")"
done
mkdir -p "$scratch"/mixin/{contrib/prometheus,tests/contrib}
for pair in rules:prometheusRules alerts:prometheusAlerts; do
    mixin "mixin.${pair#*:}" >"$scratch/mixin/contrib/prometheus/${pair%:*}.yml"
    equals "the mixin has as many rules as ${pair%:*}.yml" \
        "$(jq '[.groups[].rules[]] | length' "$scratch/mixin/contrib/prometheus/${pair%:*}.yml")" \
        "$(grep -cE '^ *- (record|alert): ' "$contrib/prometheus/${pair%:*}.yml")"
done
mixin "{groups: (mixin { _config+:: { compat: true } }).prometheusRules.groups}" |
    jq '.groups |= map(select(.name | test("exporter|advisor")))' >"$scratch/mixin/contrib/prometheus/compat.yml"
cp "$root"/tests/contrib/*.yml "$scratch/mixin/tests/contrib/"
holds "the mixin's rules pass the same tests" promtool test rules "$scratch"/mixin/tests/contrib/{compat,rules}.yml
cp "$used/contrib/prometheus/rules.yml" "$scratch/mixin/contrib/prometheus/rules.yml"
holds "the mixin's alerts pass the same tests" \
    promtool test rules "$scratch"/mixin/tests/contrib/{alerts,alike,usual}.yml
contains "the mixin's job can be configured" \
    "$(mixin "(mixin { _config+:: { job: 'boards' } }).prometheusAlerts" | jq -r '.groups[].rules[].expr')" \
    'up{job="boards"} == 0'

# --- profiles of a fleet

profiles=$contrib/fleet/profiles
jsonnet -e "std.parseYaml(importstr '$profiles/parca.yaml')" >"$scratch/parca.json"
holds "Parca's configuration matches Parca's schema" "$root/tests/contrib/profilers.py" parca "$scratch/parca.json"
holds "Alloy's configuration matches Alloy's schema" \
    "$root/tests/contrib/profilers.py" alloy "$profiles/perfcountd.alloy"
sed 's/delta: true/deltas: true/' "$profiles/parca.yaml" >"$scratch/changed.yaml"
jsonnet -e "std.parseYaml(importstr '$scratch/changed.yaml')" >"$scratch/changed.json"
contains "the check finds a field that Parca does not know" \
    "$("$root/tests/contrib/profilers.py" parca "$scratch/changed.json")" "unknown field deltas"
sed 's/    url =/    uri =/' "$profiles/perfcountd.alloy" >"$scratch/changed.alloy"
contains "the check finds an argument that Alloy does not know" \
    "$("$root/tests/contrib/profilers.py" alloy "$scratch/changed.alloy")" "unknown argument uri"

start_daemon --sampler.enabled --config.file="$light" --web.listen-address="unix:$scratch/profiles.sock"
mkdir "$scratch/ingest"
"$root/tests/contrib/ingest.py" "$scratch/ingest" &
children+=($!)
holds "the server for profiles is ready" eventually 60 test -s "$scratch/ingest/port"
printf 'user = "board:secret"\n' >"$scratch/curl"
# push_profile ASSIGNMENTS...: runs push-profile with these environment variables.
push_profile() {
    env PYROSCOPE_URL="http://127.0.0.1:$(cat "$scratch/ingest/port")/" PERFCOUNTD_SOCKET="$scratch/profiles.sock" \
        PROFILE_QUERY='seconds=1&event=cpu-clock' INSTANCE=opi5-07 PROFILE_LABELS=site=field,rack=a+b \
        CURL_CONFIG="$scratch/curl" "$@" "$profiles/push-profile"
}
holds "a profile is sent to Pyroscope" push_profile
equals "the profile is sent to /ingest with the documented parameters" \
    "$(jq -r '"\(.path) \(.query | del(.from, .until) | to_entries | map("\(.key)=\(.value)") | sort | join(" "))"' \
        "$scratch/ingest/request")" \
    '/ingest format=pprof name=perfcountd{instance=opi5-07,site=field,rack=a+b} spyName=perfcountd'
equals "the profile is sent with its time span" "$(jq '(.query.until | tonumber) - (.query.from | tonumber) >= 1 and
    (.query.until | tonumber) - now < 60' "$scratch/ingest/request")" true
equals "the profile is sent with the password from a file" "$(jq -r .authorization "$scratch/ingest/request")" \
    "Basic $(printf board:secret | base64)"
equals "the profile is compressed with gzip" "$(head -c 2 "$scratch/ingest/body" | od -An -tx1)" " 1f 8b"
pprof -raw -symbolize=none "$scratch/ingest/body" >"$scratch/raw" 2>/dev/null
matches "the profile is of cpu-clock" "$(cat "$scratch/raw")" 'PeriodType: cpu-clock nanoseconds'
matches "the samples of the profile have labels" "$(cat "$scratch/raw")" 'cgroup:\[/.*comm:\['
: >"$scratch/ingest/refuse"
holds "push-profile fails if Pyroscope refuses the profile" not push_profile
holds "push-profile fails if the daemon rejects the request" not push_profile PROFILE_QUERY=seconds=never
holds "push-profile fails without an address" not push_profile PYROSCOPE_URL=
equals "perfcountd-profiles.env has every variable that push-profile uses" \
    "$(sed -nE 's/^#?([A-Z_]+)=.*/\1/p' "$profiles/perfcountd-profiles.env" | sort | xargs)" \
    "$(grep -oE '\$\{[A-Z_]+' "$profiles/push-profile" | sed 's,^..,,' | grep -v PERFCOUNTD_SOCKET | sort -u | xargs)"

# The command in doc/fleet.md prints the difference between two sets of profiles.
cc -O1 -g -fno-omit-frame-pointer -o "$scratch/hot" "$here/hot.c"
mkdir "$scratch/before" "$scratch/after"
for set in before after; do
    [ "$set" = before ] || { "$scratch/hot" 600 >/dev/null & children+=($!); }
    for board in one two; do
        curl -sS --fail --unix-socket "$scratch/profiles.sock" -o "$scratch/$set/$board.pb.gz" \
            'http://localhost/debug/pprof/profile?seconds=1&event=cpu-clock'
    done
done
kill "${children[-1]}"
command=$(sed -n 's/^    go tool \(pprof .*-diff_base.*\)/\1/p' "$root/doc/fleet.md" | head -n 1)
contains "doc/fleet.md has a command that compares profiles" "$command" "before/*.pb.gz"
(cd "$scratch" && eval "$command") >"$scratch/difference" 2>/dev/null
grew=$(awk '$NF == "hot_seventy" { print $1 }' "$scratch/difference")
matches "pprof shows the new function" "$grew" '^[0-9.]+m?s$'
stop_daemon

# --- Kubernetes

kubernetes=$contrib/kubernetes
export KUBECONFIG=/dev/null
# objects: prints the documents on standard input as a JSON array, sorted by kind.
objects() {
    kubectl label --local -f - -o json checked=yes |
        jq -sS 'map(if .kind == "List" then .items[] else . end) | sort_by(.kind)'
}
# base MONITOR: prints the objects that kustomize generates from a copy of the base with this monitor.
base() {
    rm -rf "$scratch/base"
    cp -r "$kubernetes/base" "$scratch/"
    sed -i '/monitor[.]yaml$/d' "$scratch/base/kustomization.yaml"
    [ "$1" = none ] || echo "  - $1monitor.yaml" >>"$scratch/base/kustomization.yaml"
    kubectl kustomize "$scratch/base" | objects
}
equals "kustomize has a PodMonitor" "$(kubectl kustomize "$kubernetes/base" | objects)" "$(base pod)"
for monitor in pod service none; do
    equals "the chart and kustomize give the same objects: $monitor" \
        "$("$kubernetes/chart.py" "monitor=$monitor" | objects)" \
        "$(base $monitor)"
done
equals "kustomize generates objects of these kinds" \
    "$({ base pod; base service; } | jq -r '.[].kind' | sort -u | xargs)" "DaemonSet PodMonitor Service ServiceMonitor"
equals "the chart's values change the fields that they name" \
    "$(diff <("$kubernetes/chart.py") <("$kubernetes/chart.py" image.repository=registry.internal/p image.tag=1 \
        sysAdmin=true seccompProfile=Unconfined scrapeInterval=1m resources.cpu=20m resources.memory=32Mi \
        image.pullPolicy=Always) | sed -n 's/^> *//p')" \
    'type: Unconfined
image: "registry.internal/p:1"
imagePullPolicy: Always
cpu: 20m
memory: 32Mi
- SYS_ADMIN
interval: 1m'
equals "the chart's image has the chart's appVersion" "$(sed -nE 's/^  tag: //p' "$kubernetes/chart/values.yaml")" \
    "$(sed -n 's/^appVersion: //p' "$kubernetes/chart/Chart.yaml")"
equals "the chart's templates use each value" \
    "$(sed -nE 's/^ *(\w+): .*/\1/p' "$kubernetes/chart/values.yaml" | while read -r name; do
    grep -qE "Values[.](\w+[.])?$name\b" "$kubernetes"/chart/templates/*.yaml || echo "$name"
done)" ""
# When kubectl reads an object to change it, it drops unknown fields.
"$kubernetes/chart.py" monitor=none >"$scratch/daemonset.yaml"
"$kubernetes/chart.py" monitor=none image.repository=new image.tag=1 | objects >"$scratch/wanted.json"
kubectl set image --local -f "$scratch/daemonset.yaml" -o json perfcountd=new:1 >"$scratch/known.json"
equals "Kubernetes knows each field" "$(jq -rn --slurpfile known "$scratch/known.json" \
    --slurpfile wanted "$scratch/wanted.json" '$wanted[0][0] | del(.metadata.labels.checked) | . as $object |
    paths(type != "object" and type != "array" and . != false) | . as $path |
    select(($known[0] | getpath($path)) != ($object | getpath($path))) | join(".")' 2>&1)" ""
# The fields are documented in Documentation/api-reference/api.md of the Prometheus operator.
equals "the Prometheus operator documents each field of the monitors" "$({ base pod; base service; } |
    jq -r '.[] | select(.kind | endswith("Monitor")).spec | [.. | objects | keys[]] | unique[]' | sort -u |
    grep -vxE 'app.kubernetes.io/.*|endpoints|podMetricsEndpoints|jobLabel|selector|matchLabels|port|interval' |
    xargs)" "action metricRelabelings regex relabelings sourceLabels targetLabel"

# The daemon works with the chart's capabilities and a read-only root file system.
sets=$([ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 3 ] || echo sysAdmin=true)
capabilities=$("$kubernetes/chart.py" monitor=none ${sets:+"$sets"} | objects | jq -r '
    .[0].spec.template.spec.containers[0].securityContext.capabilities | select(.drop == ["ALL"]) | .add |
    map("+" + ascii_downcase) | join(",")')
contains "the container has CAP_PERFMON and CAP_BPF" "$capabilities" "+perfmon,+bpf"
# shellcheck disable=SC2016 # the inner shell expands it
wrapper=(unshare --mount sh -c 'mount --make-rprivate / && mount --bind / / && mount -o remount,ro,bind / &&
    exec setpriv --no-new-privs --bounding-set="-all,$0" "$@"' "$capabilities")
start_daemon --config.file="$light"
wrapper=()
contains "the daemon counts with the chart's capabilities" "$(get /metrics)" 'perf_cpu_context_switches_total{'
equals "the process that listens has no capability" \
    "$(grep -E '^Cap(Eff|Prm|Bnd)' "/proc/$daemon_pid/status" | cut -f2 |
    sort -u)" 0000000000000000
stop_daemon

# --- a Prometheus with these files

printf 'collectors: {cgroup: {include: ["%s/*"]}}\n' "$below" >"$scratch/cgroup.yaml"
start_daemon --web.listen-address=127.0.0.1:10298 --config.file="$scratch/cgroup.yaml"
unit=$below/load.service
mkdir "$hierarchy$unit"
(while fault "$unit" 2000; do sleep 0.05; done) &
children+=($!)
printf 'nameserver 127.0.0.1\n' >"$scratch/resolv.conf"
mount --bind "$scratch/resolv.conf" "$(realpath /etc/resolv.conf)" || skip "the right to replace resolv.conf"

# Answers every SRV query with opi5-08, port 10298, and every A query with 127.0.0.1 (RFC 1035, RFC 2782).
cat >"$scratch/dns.py" <<'END_OF_PYTHON'
import socket, struct
def name(text):
    return b"".join(bytes([len(part)]) + part.encode() for part in text.split(".")) + b"\0"
answers = {33: struct.pack("!HHH", 0, 0, 10298) + name("opi5-08.fleet.internal"), 1: bytes([127, 0, 0, 1])}
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
while True:
    query, client = server.recvfrom(1500)
    end = query.index(b"\0", 12) + 5
    kind = struct.unpack("!H", query[end - 4:end - 2])[0]
    data = answers.get(kind)
    answer = struct.pack("!HHHIH", 0xc00c, kind, 1, 60, len(data)) + data if data else b""
    server.sendto(query[:2] + struct.pack("!HHHHH", 0x8580, 1, bool(data), 0, 0) + query[12:end] + answer, client)
END_OF_PYTHON
/usr/bin/python3 "$scratch/dns.py" 2>"$scratch/dns.log" &
children+=($!)
mkdir "$scratch/inventory"
echo '[{"targets": ["opi5-09.lab.fleet.internal:10298"], "labels": {"board": "orangepi-5"}}]' \
    >"$scratch/inventory/perfcountd.json"
/usr/bin/python3 -m http.server --bind 127.0.0.1 --directory "$scratch/inventory" 80 >/dev/null 2>&1 &
children+=($!)
# Prometheus must find the inventory at its first request, since it would only retry after a minute.
holds "the inventory is served" eventually 60 curl -sf http://inventory.fleet.internal/perfcountd.json

mkdir "$scratch/prometheus"
cp -r "$contrib"/prometheus/* "$scratch/prometheus/"
sed -E -i 's/scrape_interval: 15s/scrape_interval: 1s/; s/evaluation_interval: 15s/evaluation_interval: 3s/
    s/^  # - (compat|aggregate).yml/  - \1.yml/' "$scratch/prometheus/scrape.yml"
cat >"$scratch/prometheus/targets/fleet.yml" <<'END'
- targets: [opi5-01.fleet.internal:10298, "127.0.0.1:10298"]
- targets: ["127.0.0.1:10298"]
  labels: {instance: opi5-07, site: field}
END
start_prometheus "$scratch/prometheus/scrape.yml" 9090

instances() {
    query 'up{job="perfcountd"} == 1' | jq -r '[.[].metric.instance] | sort | join(" ")'
}
all_are_up() {
    [ "$(instances)" = "127.0.0.1 opi5-01 opi5-07 opi5-08 opi5-09" ]
}
is_positive() {
    local value
    value=$(value "$1")
    [[ $value =~ ^[0-9.e-]+$ ]] && awk "BEGIN { exit !($value > 0) }"
}

each_is_recorded() {
    [ "$(query 'count by (instance) (instance:perf_cpu_context_switches:rate5m)' | jq length)" = 5 ]
}

eventually 60 all_are_up # Prometheus asks DNS again after 30 s if it had no answer
equals "the machines in the file, in DNS and in the inventory are up, under their names" "$(instances)" \
    "127.0.0.1 opi5-01 opi5-07 opi5-08 opi5-09"
equals "a machine has the labels from the file" "$(query 'up{site="field"}' | jq -r '.[].metric.instance')" opi5-07
equals "a machine has the site from its name, and the board from the inventory" \
    "$(query 'up{instance="opi5-09"}' | jq -r '.[].metric | "\(.site) \(.board)"')" "lab orangepi-5"
for rule in 'instance:perf_cpu_context_switches:rate5m{instance="opi5-08"}' \
    'instance:perf_cpu_running:ratio_rate5m{instance="opi5-08", group="software"}' \
    'cgroup:perf_cgroup_cpu_utilization:rate5m{instance="opi5-08"}' \
    'unit:perf_cgroup_cpu_utilization:rate5m{instance="opi5-08", unit="load.service"}' \
    'site_unit:perf_cgroup_cpu_utilization:sum_rate5m{site="lab", unit="load.service"}' \
    'sum(node_perf_context_switches_total{instance="opi5-08"})' \
    'container_perf_events_total{instance="opi5-08", id=~".*/load.service", event="minor_faults"}' \
    'container_perf_events_scaling_ratio{instance="opi5-08", id=~".*/load.service", event="minor_faults"}'; do
    holds "$rule has a value" eventually 60 is_positive "$rule"
done
compares "the running ratio of software events is 1" \
    "$(value 'instance:perf_cpu_running:ratio_rate5m{instance="opi5-08", group="software"}') == 1"
holds "the rates of all five machines are recorded" eventually 60 each_is_recorded
compares "OpenMetrics has _created series for cgroups" "$(get /metrics -H "$openmetrics" |
    grep -c '^perf_cgroup_.*_created{') > 0"
equals "Prometheus does not store _created series" "$(query 'count({__name__=~".*_created"})')" "[]"
sent=$(sed -n '/^remote_write:/,$ s/^ *regex: //p' "$scratch/site/scrape.yml")
for metric in instance:perf_cpu_context_switches:rate5m site_unit:perf_cgroup_instances:count perfcountd_board_info up; do
    matches "a site sends $metric" "$metric" "^($sent)$"
done
equals "a site sends no cgroup series" "$(query "count({__name__=~\"$sent\", cgroup!=\"\"})")" "[]"
# Prometheus first evaluates each rule group at some time within its interval, which is up to a minute.
rules_are_evaluated() {
    curl -sS http://127.0.0.1:9090/api/v1/rules >"$scratch/rules"
    jq -e 'all(.data.groups[].rules[]; .health != "unknown")' "$scratch/rules" >/dev/null
}
holds "each rule is evaluated" eventually 600 rules_are_evaluated
compares "Prometheus has loaded the rules" "$(jq '[.data.groups[].rules[]] | length' "$scratch/rules") > 6"
equals "no rule fails" "$(jq -r '.data.groups[].rules[] | select(.health != "ok") | "\(.name): \(.lastError)"' \
    "$scratch/rules")" ""
equals "no alert fires" "$(query 'ALERTS{alertstate="firing"}')" "[]"
stop_daemon
finish
