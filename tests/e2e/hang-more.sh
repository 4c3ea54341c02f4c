#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs hang.sh with a file system that does not answer the other operations.
# set: all
# alone: daemons of other tests would sample its program and hang
# packages: libfuse3-dev
OPERATIONS="getattr read flush" exec "$(dirname "$0")/hang.sh"
