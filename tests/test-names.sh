#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints each unit test as "FILE: NAME", sorted, so that the lists of two trees can be compared. Every function whose
# name begins with "test_" is a test, regardless of the macro that defines it.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
grep -oE '^[A-Za-z_ ]+[ (]test_\w+' tests/unit/*.c |
    sed -E 's/^tests\/unit\/(.*)\.c:.*[ (](test_\w+)$/\1: \2/' | sort -u
