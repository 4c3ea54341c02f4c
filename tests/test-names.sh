#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints each unit test as "FILE: NAME", sorted, so that the lists of two trees can be compared. A test is defined by
# TEST() or is a function of the state that cmocka gives it.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
grep -oE '^(static void \w+\(void \*\*|TEST(_WITH)?\(\w+)' tests/unit/*.c |
    sed -E 's/^tests\/unit\/(.*)\.c:(static void |TEST\(|TEST_WITH\()(\w+).*/\1: \3/' | sort
