#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs check-faults with its options: tests/faults/run.sh [--seed=N] [--points=N] [--all] ...
#   CHECK_FAULTS   path of the program
set -eu
exec "${CHECK_FAULTS:-./tests/faults/check-faults}" "$@"
