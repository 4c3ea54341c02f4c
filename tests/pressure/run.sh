#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the pressure tests one after the other. The exit status is 1 if any of them failed.
#
# usage: run.sh [SCRIPT...]
set -u
cd "$(dirname "$0")" || exit
scripts=("$@")
[ $# -gt 0 ] || scripts=(cgroups.sh cpu.sh descriptors.sh disk.sh kernel-limits.sh memory.sh slow-clients.sh stopped.sh)
failed=0
for script in "${scripts[@]}"; do
    echo "== $script"
    "./$script"
    case $? in
    0) ;;
    77) echo "SKIP: $script" ;;
    *) failed=1 ;;
    esac
done
exit $failed
