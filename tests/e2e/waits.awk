# SPDX-License-Identifier: Apache-2.0
# Compares the sampled shares of the functions of tests/e2e/waits.c with those that the program measured itself, within
# 3 points. Prints a line for each function, which begins with "ok" or "NOT OK".
#
# usage: awk -v title=TITLE -f waits.awk OUTPUT PARTS
#
# OUTPUT is what the program printed; PARTS has lines "MICROSECONDS FUNCTION ...".
FNR == NR {
    if ($1 ~ /_part$/ && $2 > 0) {
        truth[$1] = $2
        all += $2
    }
    next
}

$2 in truth {
    seen[$2] += $1
    sum += $1
}

END {
    for (part in truth) {
        of = 100 * truth[part] / all
        is = sum ? 100 * seen[part] / sum : 0
        printf "%s: %s: %s has %.1f %% of %.1f s, by its own clock %.1f %% of %.1f s\n",
            sum && (of - is) ^ 2 < 9 ? "ok" : "NOT OK", title, part, is, sum / 1e6, of, all / 1e6
    }
}
