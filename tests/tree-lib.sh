# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the scripts that make trees of files of other systems: how they fail, and the tools that they need.
# Sourced with `log` set, a file whose directory is there when something runs quietly, and for install_tools `tools`:
# COMMAND:PACKAGE by spaces, the packages by Debian's names.

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# quietly WHAT COMMAND...: its output goes to the log, and is shown only if it fails.
quietly() {
    local what=$1
    shift
    # shellcheck disable=SC2154 # set by the script that sources this
    printf '\n+ %s\n' "$*" >>"$log"
    "$@" >>"$log" 2>&1 </dev/null && return
    tail -n 30 "$log" >&2
    die "$what; all of the output is in $log"
}

install_tools() {
    local pair missing=()
    # shellcheck disable=SC2154 # set by the script that sources this
    for pair in $tools; do
        command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
    done
    [ ${#missing[@]} -gt 0 ] || return
    command -v apt-get >/dev/null || die "please install what Debian calls: ${missing[*]}"
    echo "installing ${missing[*]}" >&2
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}")
    "${install[@]}" >>"$log" 2>&1 </dev/null && return
    quietly "apt-get update failed" apt-get -q update
    quietly "could not install ${missing[*]}" "${install[@]}"
}
