#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints each unit test as "FILE: NAME", sorted, so that the lists of two trees can be compared. A test is a function
# of the state that cmocka gives it.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
grep -oE '^static void \w+\(void \*\*' tests/unit/*.c |
    sed 's/^tests\/unit\/\(.*\)\.c:static void \(.*\)(.*/\1: \2/' | sort
