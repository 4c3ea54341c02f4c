#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A stranger in the symboliser's place, and in that of the reader of container runtimes' files: the real jail, entered
# by root and by nobody, leaves nothing but what reading an open file takes. That the real processes are in it is
# checked by tests/unit/test-symboliser and test-name-reader.
. "$(dirname "$0")/lib.sh"
beside=$(dirname "$PERFCOUNTD")
impostor=$beside/tests/impostor/symboliser-impostor
need "$impostor" # make check TESTS= builds it

for process in symboliser reader; do
    "$impostor" $process >"$scratch/attempts"
    equals "$process: each attempt has the result that it must have" "$?" 0
    compares "$process: there are many of them" "$(grep -c '^ok' "$scratch/attempts") > 80"
    grep -v '^ok' "$scratch/attempts"
done
finish
