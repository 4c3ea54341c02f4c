#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# As hang.sh, with every operation of a file system that does not answer.
# set: all
# alone: daemons of other tests would sample its program and hang
# packages: libfuse3-dev
OPERATIONS="getattr read flush" exec "$(dirname "$0")/hang.sh"
