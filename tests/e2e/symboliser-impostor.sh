#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A stranger in the symboliser's place: the real jail, entered by root and by nobody, leaves nothing but what reading an
# open file takes. That the real process is in it is checked by tests/unit/test-symboliser.
. "$(dirname "$0")/lib.sh"
beside=$(dirname "$PERFCOUNTD")
impostor=$beside/tests/impostor/symboliser-impostor
need "$impostor" # make check TESTS= builds it

"$impostor" >"$scratch/attempts"
equals "each attempt has the result that it must have" "$?" 0
compares "there are many of them" "$(grep -c '^ok' "$scratch/attempts") > 80"
grep -v '^ok' "$scratch/attempts"
finish
