#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A sample of the points of check-faults that the commit chooses, so that over time all are tried.
#   CHECK_FAULTS   the program; FAULTS_POINTS  how many points
set -eu
tree=$(cd "$(dirname "$0")/../.." && pwd)
program=${CHECK_FAULTS:-./tests/faults/check-faults}
commit=$(git -C "$tree" rev-parse HEAD 2>/dev/null || date +%F)
exec "$program" --sample="$commit:${FAULTS_POINTS:-500}"
