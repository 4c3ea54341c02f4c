#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Data goes one way: a folder includes only what the table below gives it, and neither files nor folders include or
# call each other in a circle.
#
# usage: tests/check-includes.sh [SOURCES [OBJECTS]]
#
# SOURCES is the root of a source tree; without it, this tree is checked, after a test of the checks themselves.
# OBJECTS is the directory where it was built: a call is a symbol that one object lacks and another one defines. Without
# it, calls are not checked, unless the working directory has objects.
set -u
export LC_ALL=C

# FOLDER | the folders and single headers that it may include besides its own. FOLDER/* is a folder with its wings.
table() {
    cat <<'END'
base               |
base/process       | base
perf               | base base/process/program.h perf/event perf/userpage
perf/event         | base perf
perf/files         | base perf
perf/tally         | base base/process perf
perf/userpage      | base perf perf/event
opener             | base/* perf/*
config             | base perf/*
derived            | base
collectors         | base/* perf/* config derived collectors/cgroup collectors/names
collectors/cgroup  | base/* perf/* config derived collectors collectors/cgroup/tally collectors/names
collectors/cgroup/tally | base perf/* config collectors collectors/names
collectors/names   | base/* config/name-kind.h perf/*
collectors/names/reader | base/* perf/* collectors/names
symbols            | base perf/* symbols/symboliser
symbols/symboliser | base/*
sampler            | base perf/* config symbols
formats            | base derived collectors/snapshot.h collectors/known.h collectors/metric.h collectors/rates.h
formats            | collectors/names/names.h collectors/totals.h perf/record.h sampler/writer.h symbols/*
web                |
http               | base config formats http/tls http/auth http/api
http               | collectors/snapshot.h collectors/rates.h sampler/stream.h
http/tls           | base config
http/auth          | base config http http/tls
http/api           | base config derived formats web http http/auth
http/api           | collectors/snapshot.h collectors/rates.h sampler/stream.h
systemd            | base
daemon             | base/* perf/* config derived collectors/* symbols/* sampler formats http/* systemd opener daemon/*
daemon/availability | base perf/* collectors derived
daemon/command     | base/* perf/* config derived collectors/* symbols/* sampler formats http/* systemd opener daemon/*
daemon/log         | base
daemon/top         | base derived collectors collectors/names formats daemon
tests              | base/* perf/* config derived collectors/* symbols/* sampler formats http/* systemd opener daemon/*
tests              | web
bench              | base/* perf/* config derived collectors/* symbols/* sampler formats http/* systemd opener
bench              | daemon/* tests
END
}

# The folders that are checked for circles.
product="base perf opener config derived collectors symbols sampler formats web http systemd daemon"

# check_tree DIRECTORY: prints each violation of the table as FILE:LINE: what is wrong.
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
            function folder_of(path) {
                sub(/\/[^\/]*$/, "", path)
                return path
            }
            function house_of(path) {
                sub(/\/.*/, "", path)
                return path
            }
            FNR == 1 {
                folder = folder_of(FILENAME)
                if (house_of(folder) == "tests" || house_of(folder) == "bench")
                    folder = house_of(folder)
                if (!(folder in folders))
                    wrong("the folder " folder "/ is not in the table of what may include what")
            }
            /^[ \t]*#[ \t]*include[ \t]*"/ {
                split($0, parts, "\"")
                header = parts[2]
                target = folder_of(header)
                house = house_of(header)
                if (header == "config.h")
                    next
                if (house == header || house == "." || house == "..")
                    wrong("\"" header "\" is not written from the root of the tree")
                else if (house == folder && (house == "tests" || house == "bench"))
                    next
                else if (house == "tests" && (folder, house) in may)
                    next
                else if (!((folder, target) in may) && !((folder, header) in may) && !((folder, house "/*") in may))
                    wrong(folder "/ may not include \"" header "\"")
            }' /dev/null)
}

# noun() is the file without its extension and without the name of a variant: base/muldiv-fallback.c is base/muldiv.
# In a wing of variants, the noun is the wing: perf/userpage/arm64.c is perf/userpage/userpage.
# shellcheck disable=SC2016 # dollars are awk's
noun='
    function noun(path, wing) {
        sub(/^\.\//, "", path)
        sub(/\.[cho]$/, "", path)
        sub(/-(fallback|portable|arm64|x86)$/, "", path)
        if (path ~ /\/(fallback|portable|arm64|x86)$/) {
            sub(/\/[^\/]*$/, "", path)
            wing = path
            sub(/.*\//, "", wing)
            path = path "/" wing
        }
        return path
    }'

# include_edges SOURCES: a line "FROM TO includes HEADER" for each include of another noun.
# shellcheck disable=SC2016 # dollars are awk's
include_edges() {
    (cd "$1" && for folder in $product; do
        [ ! -d "$folder" ] || find "$folder" -name '*.[ch]'
    done | sort | xargs -r awk "$noun"'
        /^[ \t]*#[ \t]*include[ \t]*".*\// {
            split($0, parts, "\"")
            if (noun(FILENAME) != noun(parts[2]))
                print noun(FILENAME), noun(parts[2]), "includes", parts[2]
        }' /dev/null)
}

# call_edges SOURCES OBJECTS: a line "FROM TO calls SYMBOL" for each symbol that an object takes from another noun.
# Objects without a source were left by a file that has gone.
# shellcheck disable=SC2016 # dollars are awk's
call_edges() {
    (cd "$2" && for folder in $product; do
        [ ! -d "$folder" ] || find "$folder" -name '*.o'
    done | sort | while read -r object; do
        [ ! -e "$1/${object%.o}.c" ] || echo "$object"
    done | xargs -r nm -A -P) | awk "$noun"'
        {
            file = $1
            sub(/:$/, "", file)
            if ($3 ~ /^[TDBRVWC]$/)
                defines[$2] = noun(file)
            else if ($3 == "U")
                lacks[++n] = noun(file) " " $2
        }
        END {
            for (i = 1; i <= n; i++) {
                split(lacks[i], columns, " ")
                if (columns[2] in defines && defines[columns[2]] != columns[1])
                    print columns[1], defines[columns[2]], "calls", columns[2]
            }
        }'
}

# folder_edges: of edges of files those of folders. A wing and its house are one, beside other wings.
# shellcheck disable=SC2016 # dollars are awk's
folder_edges() {
    awk '
        function folder(path) {
            sub(/\/[^\/]*$/, "", path)
            return path
        }
        function house(path) {
            sub(/\/.*/, "", path)
            return path
        }
        {
            from = folder($1)
            to = folder($2)
            if (from == to)
                next
            if (house(from) != house(to))
                print house(from), house(to), $1, $3, $4
            else if (from ~ /\// && to ~ /\//)
                print from, to, $1, $3, $4
        }'
}

# circles WHAT: reads edges; prints each set that is strongly connected as "a circle of WHAT: A+B+C" and its edges.
# shellcheck disable=SC2016 # dollars are awk's
circles() {
    sort -u | awk -v what="$1" '
        # Tarjan: the nodes from which one comes back to where one began.
        function visit(node, i, n, list, next_node) {
            number[node] = low[node] = ++visited
            stack[++depth] = node
            on_stack[node] = 1
            n = split(targets[node], list, " ")
            for (i = 1; i <= n; i++) {
                next_node = list[i]
                if (!(next_node in number)) {
                    visit(next_node)
                    if (low[next_node] < low[node])
                        low[node] = low[next_node]
                } else if (on_stack[next_node] && number[next_node] < low[node])
                    low[node] = number[next_node]
            }
            if (low[node] == number[node]) {
                do {
                    next_node = stack[depth--]
                    on_stack[next_node] = 0
                    circle[next_node] = node
                    size[node]++
                } while (next_node != node)
            }
        }
        {
            edge = $1 " " $2
            why = $3
            for (i = 4; i <= NF; i++)
                why = why " " $i
            if (!(edge in reasons)) {
                edges[++n_edges] = edge
                targets[$1] = targets[$1] " " $2
                if (!($1 in known)) {
                    known[$1]
                    nodes[++n_nodes] = $1
                }
            }
            if (++n_reasons[edge] <= 4)
                reasons[edge] = reasons[edge] (reasons[edge] == "" ? "" : ", ") why
        }
        END {
            for (i = 1; i <= n_nodes; i++)
                if (!(nodes[i] in number))
                    visit(nodes[i])
            for (i = 1; i <= n_nodes; i++) {
                root = circle[nodes[i]]
                if (size[root] < 2 || done[root]++)
                    continue
                names = nodes[i]
                for (j = i + 1; j <= n_nodes; j++)
                    if (circle[nodes[j]] == root)
                        names = names "+" nodes[j]
                print "a circle of " what ": " names
                for (j = 1; j <= n_edges; j++) {
                    split(edges[j], ends, " ")
                    more = n_reasons[edges[j]] > 4 ? ", ..." : ""
                    if (circle[ends[1]] == root && circle[ends[2]] == root)
                        print "    " ends[1] " -> " ends[2] ": " reasons[edges[j]] more
                }
            }
        }'
}

# unexplained SOURCES: drops the circles that tests/style-exceptions explains, unless WITH_EXPLAINED is set.
# shellcheck disable=SC2016 # dollars are awk's
unexplained() {
    [ -z "${WITH_EXPLAINED-}" ] || exec cat
    awk -v exceptions="$1/tests/style-exceptions" '
        BEGIN {
            while ((getline line < exceptions) > 0) {
                split(line, columns, " ")
                if (columns[1] == "circle")
                    explained[columns[2]]
            }
        }
        /^a circle/ { hidden = $NF in explained }
        !hidden'
}

# check_circles SOURCES OBJECTS
check_circles() {
    local edges
    edges=$(include_edges "$1"; [ -z "$2" ] || call_edges "$1" "$2")
    [ -n "$edges" ] || return 0
    echo "$edges" | circles files | unexplained "$1"
    echo "$edges" | folder_edges | circles folders | unexplained "$1"
}

# --- a test of the checks themselves

broken() {
    echo "check-includes.sh does not work: $1"
    exit 1
}

# refuses FOLDER HEADER WHETHER: a tree of one file that includes one header.
refuses() {
    local tree found
    tree=$(mktemp -d)
    mkdir -p "$tree/$1"
    printf '/* x */\n#include <errno.h>\n#include "%s"\n' "$2" >"$tree/$1/x.c"
    found=$(check_tree "$tree")
    rm -rf "$tree"
    case $3 in
    yes) [[ $found == "$1/x.c:3: "* ]] ;;
    no) [ -z "$found" ] ;;
    esac || broken "$1/ including $2 gave \"$found\""
}

# made TREE FILE TEXT
made() {
    mkdir -p "$(dirname "$1/$2")"
    printf '%s\n' "${@:3}" >"$1/$2"
}

# Includes in a circle, through a variant of a file, and with a header that a file of another name has.
test_circles_of_includes() {
    local tree found
    tree=$(mktemp -d)
    made "$tree" base/a.c '#include "base/a.h"' '#include "base/b.h"'
    made "$tree" base/a.h ''
    made "$tree" base/b.h ''
    found=$(check_circles "$tree" "")
    [ -z "$found" ] || broken "one-way includes gave \"$found\""
    made "$tree" base/b-fallback.c '#include "base/a.h"'
    found=$(check_circles "$tree" "")
    [[ $found == "a circle of files: base/a+base/b
    base/a -> base/b: includes base/b.h
    base/b -> base/a: includes base/a.h" ]] || broken "a circle of two files gave \"$found\""
    made "$tree" tests/style-exceptions 'circle base/a+base/b they are one'
    found=$(check_circles "$tree" "")
    [ -z "$found" ] || broken "a circle that is explained gave \"$found\""
    rm -rf "$tree"
}

# Neither two files nor two folders, but three each.
test_circles_of_folders() {
    local tree found
    tree=$(mktemp -d)
    made "$tree" base/a.c '#include "perf/b.h"'
    made "$tree" perf/c.c '#include "config/d.h"'
    made "$tree" config/e.c '#include "base/f.h"'
    made "$tree" http/g.c '#include "http/tls/h.h"'
    made "$tree" http/tls/i.c '#include "http/j.h"'
    found=$(check_circles "$tree" "")
    [[ $found == "a circle of folders: base+config+perf"$'\n'* ]] || broken "a circle of folders gave \"$found\""
    rm -rf "$tree"
}

# A call, where the declaration is in no header of the other file.
test_circles_of_calls() {
    local tree found
    tree=$(mktemp -d)
    made "$tree" base/a.c 'void b(void);' 'void a(void);' 'void a(void) { b(); }'
    made "$tree" base/b.c 'void a(void);' 'void b(void);' 'void b(void) { a(); }'
    # An object of a file that has gone.
    made "$tree" base/c.c 'void b(void);' 'void c(void);' 'void c(void) { b(); }'
    if (cd "$tree/base" && ${CC-cc} -c a.c b.c c.c) 2>/dev/null; then
        rm "$tree/base/c.c"
        found=$(check_circles "$tree" "$tree")
        [[ $found == "a circle of files: base/a+base/b
    base/a -> base/b: calls b
    base/b -> base/a: calls a" ]] || broken "a circle of calls gave \"$found\""
    fi
    rm -rf "$tree"
}

self_test() {
    local folder header whether
    while read -r folder header whether; do
        refuses "$folder" "$header" "$whether"
    done <<'END'
base base/util.h no
base perf/sys.h yes
perf base/util.h no
perf perf/event/event.h no
perf config/config.h yes
perf/event perf/userpage/userpage.h yes
perf/userpage perf/event/event.h no
config perf/event.h no
config perf/event/event.h no
config collectors/metric.h yes
collectors config/config.h no
collectors http/server.h yes
collectors/cgroup collectors/rows.h no
collectors/names perf/sys.h no
collectors/names collectors/cgroup/set.h yes
collectors/names collectors/names/reader/reader.h yes
collectors/names/reader collectors/names/record.h no
symbols perf/sys.h no
symbols sampler/stream.h yes
symbols/symboliser base/util.h no
symbols/symboliser perf/sys.h yes
sampler symbols/symbols.h no
sampler formats/ndjson.h yes
formats collectors/snapshot.h no
formats collectors/registry.h yes
formats http/reply.h yes
http collectors/snapshot.h no
http http/tls/tls.h no
http formats/exposition.h no
http collectors/registry.h yes
http perf/sys.h yes
http daemon/log.h yes
http base/util.h no
http web/assets.h yes
http/api web/assets.h no
web base/util.h yes
http/tls http/request.h yes
http/auth http/api/api.h yes
systemd base/util.h no
systemd config/config.h yes
daemon http/server.h no
daemon http/auth/auth.h no
tests daemon/options.h no
tests/unit daemon/log/log.h no
tests/unit tests/unit/test.h no
bench collectors/metric.h no
bench tests/unit/fake-sys.h no
base util.h yes
base ../perf/sys.h yes
base config.h no
END
    test_circles_of_includes
    test_circles_of_folders
    test_circles_of_calls
}

[ $# -gt 0 ] || self_test
sources=$(cd "${1-${srcdir-$(dirname "$0")/..}}" && pwd) || exit 1
objects=${2-}
[ $# -gt 0 ] || [ ! -e libperfcountd.a ] || objects=$PWD
found=$(check_tree "$sources"; check_circles "$sources" "$objects")
[ -z "$found" ] || printf '%s\n' "$found"
[ -z "$found" ]
