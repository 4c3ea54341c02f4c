# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Derived metrics of known loops, on a board whose PMUs list the stall events. Sourced after board.sh, cgroup.sh and
# truth.sh.
# shellcheck disable=SC2154 # set there

# metrics_daemon: with the groups of the standard input, of CPU 3 and of a cgroup.
metrics_daemon() {
    daemon_start <<END
web: {min_interval: 0s}
collectors:
$(cat)
END
}

# rates_during COMMAND: the rates of the CPU and of the cgroup while the board executes the command, which takes longer.
rates_during() {
    get "/api/v1/rates?seconds=${METRICS_SECONDS:-1}&group=*" -f
}

# ratio GROUP METRIC, of the answer on the standard input, in thousandths.
ratio() {
    jq --arg group "$1" --arg metric "$2" \
        '[.rates[] | select(.group == $group) | .ratios[$metric]] | if length == 1 then .[0] * 1000 | round else . end'
}
