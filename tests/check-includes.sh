#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Data goes one way: a folder includes only what is before it. This holds every #include "..." against the table below.
#
# usage: tests/check-includes.sh [DIRECTORY]     the source tree; without it, also tests itself first
set -u
export LC_ALL=C

# FOLDER | which folders, or single headers of them, it may include besides its own
table() {
    cat <<'END'
base       |
perf       | base
opener     | base perf
config     | base perf
collectors | base perf config
symbols    | base perf
sampler    | base perf config symbols
formats    | base perf symbols collectors/snapshot.h collectors/metric.h collectors/rates.h sampler/writer.h
http       | base config formats collectors/snapshot.h collectors/metric.h collectors/rates.h sampler/stream.h
systemd    | base
daemon     | base perf config collectors symbols sampler formats http systemd opener
tests      | base perf config collectors symbols sampler formats http systemd daemon opener
bench      | base perf config collectors symbols sampler formats http systemd daemon tests opener
END
}

# check_tree DIRECTORY: prints each violation as FILE:LINE: what is wrong.
# shellcheck disable=SC2016 # dollars are awk's
check_tree() {
    (cd "$1" && find . -mindepth 2 -name '*.[ch]' -not -path './build*' -not -path './[._]*' -printf '%P\n' | sort |
        xargs -r awk -v table="$(table)" '
            BEGIN {
                n = split(table, rows, "\n")
                for (i = 1; i <= n; i++) {
                    split(rows[i], columns, "|")
                    folder = columns[1]
                    gsub(/ /, "", folder)
                    folders[folder]
                    may[folder, folder]
                    m = split(columns[2], targets, " ")
                    for (j = 1; j <= m; j++)
                        may[folder, targets[j]]
                }
            }
            function wrong(text) {
                printf "%s:%d: %s\n", FILENAME, FNR, text
            }
            FNR == 1 {
                folder = FILENAME
                sub(/\/.*/, "", folder)
                if (!(folder in folders))
                    wrong("the folder " folder "/ is not in the table of what may include what")
            }
            /^[ \t]*#[ \t]*include[ \t]*"/ {
                split($0, parts, "\"")
                header = parts[2]
                target = header
                sub(/\/.*/, "", target)
                if (header == "config.h")
                    next
                if (target == header || target == "." || target == "..")
                    wrong("\"" header "\" is not written from the root of the tree")
                else if (!((folder, target) in may) && !((folder, header) in may))
                    wrong(folder "/ may not include \"" header "\"")
            }' /dev/null)
}

# refuses FOLDER HEADER WHETHER: a tree of one file that includes one header.
refuses() {
    local tree found
    tree=$(mktemp -d)
    mkdir "$tree/$1"
    printf '/* x */\n#include <errno.h>\n#include "%s"\n' "$2" >"$tree/$1/x.c"
    found=$(check_tree "$tree")
    rm -rf "$tree"
    case $3 in
    yes) [[ $found == "$1/x.c:3: "* ]] ;;
    no) [ -z "$found" ] ;;
    esac || {
        echo "check-includes.sh does not work: $1/ including $2 gave \"$found\""
        exit 1
    }
}

self_test() {
    local folder header whether
    while read -r folder header whether; do
        refuses "$folder" "$header" "$whether"
    done <<'END'
base base/util.h no
base perf/sys.h yes
perf base/util.h no
perf config/config.h yes
config perf/event/event.h no
config collectors/metric.h yes
collectors config/config.h no
collectors http/server.h yes
http collectors/snapshot.h no
http collectors/rates.h no
http collectors/registry.h yes
http perf/sys.h yes
http daemon/log/log.h yes
systemd base/util.h no
systemd config/config.h yes
daemon http/server.h no
tests daemon/options.h no
bench collectors/metric.h no
base util.h yes
base ../perf/sys.h yes
base config.h no
END
}

[ $# -gt 0 ] || self_test
found=$(check_tree "${1-${srcdir-$(dirname "$0")/..}}")
[ -z "$found" ] || printf '%s\n' "$found"
[ -z "$found" ]
