#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks the documents: that the version is the same in six places; that benchmark figures are the same in all
# documents; that the recording rules and doc/metrics.md match the daemon's table of derived metrics; that the manual
# pages describe all flags, keys, request parameters and metrics of the daemon, and have every section that is referred
# to; and that each test, benchmark and example named in a document exists. First, the checks test themselves.
#
# usage: tests/check-docs.sh [SOURCES]
set -u
export LC_ALL=C

# version_in FILE: prints the version number given in the file.
version_in() {
    case $1 in
    */configure.ac) sed -n 's/^AC_INIT(\[perfcountd\], \[\([0-9.]*\)\].*/\1/p' "$1" ;;
    */debian/changelog) sed -n '1s/^perfcountd (\([0-9.]*\)-[0-9]*) .*/\1/p' "$1" ;;
    */CHANGELOG.md) sed -n 's/^## \[\([0-9.]*\)\] - [0-9-]*$/\1/p' "$1" | head -n 1 ;;
    */baseline.tsv) sed -n 's/^release\t\([0-9.]*\)$/\1/p' "$1" ;;
    *.md) sed -n 's/.*perfcountd_\([0-9.]*\)-[0-9]*_.*\.deb.*/\1/p' "$1" | sort -u ;;
    esac
}

places="configure.ac debian/changelog CHANGELOG.md bench/baseline.tsv README.md doc/install.md"

# check_versions DIRECTORY: prints the files whose version differs from configure.ac's. A released archive has no
# debian/.
check_versions() {
    local file wanted found heading
    wanted=$(version_in "$1/configure.ac")
    for file in $places; do
        [ -e "$1/${file%%/*}" ] || continue
        found=$(version_in "$1/$file")
        [ -n "$found" ] && [ "$found" = "$wanted" ] ||
            echo "$file: the release is \"$found\" there, and \"$wanted\" in configure.ac"
    done
    heading=$(grep -m 1 '^## ' "$1/CHANGELOG.md")
    [ "$heading" = "## Unreleased" ] || [ "$heading" = "$(grep -m 1 '^## \[' "$1/CHANGELOG.md")" ] ||
        echo "CHANGELOG.md: the first heading is \"$heading\", neither \"## Unreleased\" nor a release"
}

# sections_named FILE: prints "perfcountd.8 SECTION" for each reference in the form `"SECTION" in perfcountd(8)` or
# `perfcountd(8), "SECTION"`, with or without a link and across line ends. A manual page writes .Dq and .Xr, and .Sx for
# its own sections.
sections_named() {
    local page='perfcountd(-http|-metrics|\.yaml)?\([578]\)'
    tr '\n' ' ' <"$1" | sed -E 's/ *# */ /g; s/\[(perfcountd[^]]*)\]\([^)]*\)/\1/g; s/  */ /g
        s/\.Dq ([A-Za-z0-9 -]+) in \.Xr (perfcountd[a-z.-]*) ([578])/"\1" in \2(\3)/g' |
        grep -oE "\"[^\"]+\" in $page|$page, \"[^\"]+\"" |
        sed -E "s/^(.*) in ($page)\$/\\2, \\1/; s/\(([578])\), \"/.\\1 /; s/\"\$//"
    case $1 in
    *.[578]) sed -nE "s/^\.Sx ([A-Za-z0-9 -]*[A-Za-z0-9]).*/${1##*/} \\1/p" "$1" ;;
    esac
}

# check_sections DIRECTORY: prints references to sections that do not exist.
check_sections() {
    local file page section
    while read -r file; do
        sections_named "$1/$file" | while read -r page section; do
            grep -qx "\.S[hs] $section" "$1/doc/$page" ||
                echo "$file: no section \"$section\" in doc/$page"
        done
    done < <(cd "$1" && find README.md HACKING.md doc contrib systemd -type f 2>/dev/null)
}

# plain FILE: prints a manual page without its markup; mdoc(7) writes a flag as "Fl -name".
plain() {
    sed 's/\\-/-/g; s/\\f[BIRP]//g; s/\(^\|[ .]\)Fl /&-/g; s/Fl -/-/g' "$1"
}

# all_help: prints the help of each command of the program.
all_help() {
    local command
    "$program" --help | sed -n '/^commands:/,/^$/ s/^  \([a-z][a-z-]*\).*/\1/p' | while read -r command; do
        "$program" "$command" --help </dev/null
    done
}

# all_parameters DIRECTORY: prints all request parameters, from the tables of the server and the sampler.
all_parameters() {
    sed -n '/_parameters\[\] = /,/;$/p; /^#define \(FILTERS\|COMMON_PARAMETERS\)/,/"$/p' \
        "$1/http/routes.c" "$1/sampler/record-options.c" | grep -oE '"[a-z_]+(\[\])?"' | tr -d '"[]' | sort -u
}

# check_manuals DIRECTORY: prints the request parameters, metrics, flags and configuration keys that are missing in
# their manual page.
check_manuals() {
    local name
    all_parameters "$1" | while read -r name; do
        grep -qE "^\.(It Cm|It Pa|Ql|Cm) (.*[^a-z_])?$name([^a-z_]|$)" "$1/doc/perfcountd-http.7" ||
            echo "doc/perfcountd-http.7: missing parameter $name"
    done
    grep -oE '"(perfcountd|process)_[a-z_]+"' "$1/metrics/own-metrics.c" | tr -d '"' | sort -u | while read -r name; do
        grep -qw "$name" "$1/doc/perfcountd-metrics.7" || echo "doc/perfcountd-metrics.7: missing metric $name"
    done
    all_help | grep -oE -- '--[a-z][a-z.-]*' | sort -u | while read -r name; do
        plain "$1/doc/perfcountd.8" | grep -qE -e "(^|[^a-z])Fl -${name#--}( |$)|$name([^a-z]|$)" ||
            echo "doc/perfcountd.8: missing flag $name"
    done
    sed -nE 's/.*\.path = "([a-z_.]+)".*/\1/p' "$1"/config/*.c | sort -u | while read -r name; do
        plain "$1/doc/perfcountd.yaml.5" | grep -qE -e "(^|[^a-z_])${name##*.}([^a-z_]|$)" ||
            echo "doc/perfcountd.yaml.5: missing key $name"
    done
}

# check_paths DIRECTORY: prints paths in tests/, bench/, contrib/ and doc/ that a document names but that do not exist.
# A name without .c may be a program; a name with capitals, such as test-NAME.c, is a placeholder.
check_paths() {
    local file path
    for file in "$1"/README.md "$1"/HACKING.md "$1"/doc/*.md "$1"/doc/*.[578]; do
        file=${file#"$1"/}
        plain "$1/$file" | grep -oE '(^|[^A-Za-z0-9_./-])(tests|bench|contrib|doc)/[A-Za-z0-9*][][A-Za-z0-9_./*?-]*' |
            sed -E 's/^[^a-z]//; s/[].?-]+$//' | sort -u | while read -r path; do
            [[ ${path%/README.md} != *[A-Z][A-Z]* && $path != doc/perfcountd/* ]] || continue
            compgen -G "$1/$path" >/dev/null || [ -e "$1/$path.c" ] || echo "$file: $path does not exist"
        done
    done
}

# check_promises DIRECTORY: prints tests that the table of promises in tests/README.md names but that do not exist.
check_promises() {
    local name path
    # shellcheck disable=SC2016 # the backquotes are part of the text
    sed -n 's/^| .* | \(.*\) |$/\1/p' "$1/tests/README.md" | grep -oE '`[^`]+`' | tr -d '`' | while read -r name; do
        case $name in
        tests/*) path=$name ;;
        unit/*) path=tests/unit/test-${name#unit/}.c ;;
        *) path=tests/e2e/$name.sh ;;
        esac
        compgen -G "$1/$path" >/dev/null || echo "tests/README.md: $path does not exist"
    done
}

# check_walks DIRECTORY: prints functions that, according to HACKING.md, are in a file that does not define them.
check_walks() {
    local name path
    # shellcheck disable=SC2016 # the backquotes are part of the text
    tr '\n' ' ' <"$1/HACKING.md" | grep -oE '`[a-z_]+\(\)` +in +`[a-z/-]+\.c`' | tr -d '`()' |
        while read -r name _ path; do
            grep -qE "^[a-z].*[ *]$name\(" "$1/$path" || echo "HACKING.md: $path has no $name()"
        done
}

# check_quotes DIRECTORY: prints lines of manual pages with two Ql, for which groff ends both quotes after the second.
check_quotes() {
    (cd "$1" && grep -HnE '^\.(.* )?Ql .* Ql ' doc/*.[578])
}

# --- tests of the checks themselves

broken() {
    echo "check-docs.sh does not work: $1"
    exit 1
}

# The version is changed in each place in turn, and each change must be found.
test_versions() {
    local tree file found
    tree=$(mktemp -d)
    [ -e "$sources/debian" ] || places=${places/debian\/changelog /}
    for file in $places; do
        mkdir -p "$tree/$(dirname "$file")"
        cp "$sources/$file" "$tree/$file"
    done
    for file in ${places#configure.ac }; do
        sed -i "s/$version/9.9.9/" "$tree/$file"
        found=$(check_versions "$tree")
        [[ $found == "$file: the release is \"9.9.9"* ]] || broken "another release in $file gave \"$found\""
        cp "$sources/$file" "$tree/$file"
    done
    sed -i '0,/^## /s/^## /## Soon\n\n&/' "$tree/CHANGELOG.md"
    [[ $(check_versions "$tree") == *'first heading is "## Soon"'* ]] ||
        broken "a heading that is not a release was not reported"
    rm -rf "$tree"
}

# If a section name is changed in one file, that file must be reported.
test_sections() {
    local tree file found
    tree=$(mktemp -d)
    cp -R "$sources/doc" "$sources/contrib" "$sources/systemd" "$tree"
    chmod -R u+w "$tree"
    for file in contrib/perfcountd.yaml doc/install.md doc/cgroups.md systemd/perfcountd.service.in doc/perfcountd.yaml.5; do
        sed -i 's/"Systemd"/"Services"/; s/"Short-lived$/"Short/; s/^\.Dq Privilege$/.Dq Safety/' "$tree/$file"
        found=$(check_sections "$tree")
        [[ $found == "$file: no section \"S"* ]] || broken "another section in $file gave \"$found\""
        cp "$sources/$file" "$tree/$file"
    done
    rm -rf "$tree"
}

# A path to a missing file must be reported, in a text and in a manual page; patterns, programs and placeholders must
# not.
test_paths() {
    local tree file found
    tree=$(mktemp -d)
    cp -R "$sources/README.md" "$sources/HACKING.md" "$sources/doc" "$tree"
    chmod -R u+w "$tree"
    ln -s "$sources/tests" "$sources/bench" "$sources/contrib" "$tree"
    for file in README.md doc/security.md doc/perfcountd.8; do
        echo "See tests/e2e/*.sh, (tests/unit/test-glob), /usr/share/doc/perfcountd/x, tests/unit/test-NAME.c." >>"$tree/$file"
        echo "See contrib/gone.yml." >>"$tree/$file"
        found=$(check_paths "$tree")
        [ "$found" = "$file: contrib/gone.yml does not exist" ] || broken "a missing path in $file gave \"$found\""
        cp "$sources/$file" "$tree/$file"
    done
    rm -rf "$tree"
}

# A missing test of each kind must be reported.
test_promises() {
    local tree found
    tree=$(mktemp -d)
    mkdir "$tree/tests"
    ln -s "$sources"/tests/* "$tree/tests"
    rm "$tree/tests/README.md"
    # shellcheck disable=SC2016 # the backquotes are part of the text
    echo '| `stat` | `unit/gone`, `unit/cgroup-*`, `gone`, `http`; `tests/vm/gone.sh`, `tests/faults` |' >"$tree/tests/README.md"
    found=$(check_promises "$tree" | tr '\n' ';')
    [ "$found" = "$(printf 'tests/README.md: tests/%s does not exist;' unit/test-gone.c e2e/gone.sh vm/gone.sh)" ] ||
        broken "missing tests gave \"$found\""
    rm -rf "$tree"
}

# A function that is not in the file that HACKING.md names must be reported.
test_walks() {
    local tree found
    tree=$(mktemp -d)
    # shellcheck disable=SC2016 # the backquotes are part of the text
    printf '1. `one()` in `a/b.c`, then `two()` in\n   `a/b.c`\n' >"$tree/HACKING.md"
    mkdir "$tree/a"
    printf 'static int *one(void)\n{\n    return two();\n}\n' >"$tree/a/b.c"
    found=$(check_walks "$tree")
    [ "$found" = "HACKING.md: a/b.c has no two()" ] || broken "a missing function gave \"$found\""
    rm -rf "$tree"
}

test_quotes() {
    local tree found
    tree=$(mktemp -d)
    mkdir "$tree/doc"
    printf '.Ql a ,\n.Pq Ql a No or b\n.Ql a No or Ql b\n' >"$tree/doc/x.8"
    found=$(check_quotes "$tree")
    [ "$found" = "doc/x.8:3:.Ql a No or Ql b" ] || broken "two quotes on a line gave \"$found\""
    rm -rf "$tree"
}

# The exit status must be right for bounds that are met, missed, known to be missed, met again, and not measured.
test_bounds() {
    PYTHONPATH=$sources/bench PYTHONDONTWRITEBYTECODE=1 python3 - <<'END' || broken "bounds are judged wrongly"
import contextlib, io, sys, tempfile, table

def verdict(bound, value, figure="time of 3"):
    with tempfile.NamedTemporaryFile("w") as file, contextlib.redirect_stdout(io.StringIO()) as out:
        file.write("x\ttime of N\t%s\n" % bound)
        file.flush()
        made = table.Table("x", file.name)
        made.row(figure, value)
        return made.conclude(), out.getvalue()

known = "<= 1\t2\ta reason"
for bound, value, status, words in (
        ("<= 1", 1, 0, "0 bounds missed"), ("<= 1", 1.01, 1, "bound <= 1: FAILED"),
        (">= 4", 4, 0, "1 met"), (">= 4", 3.9, 1, "FAILED"), ("<= 0", 1, 1, "FAILED"),
        (known, 1.9, 0, "known: a reason"), (known, 2.1, 1, "FAILED"),
        (known, 0.9, 0, "met again")):
    got, text = verdict(bound, value)
    if got != status or words not in text:
        sys.exit("%s of %s: %d\n%s" % (value, bound, got, text))
got, text = verdict("<= 1", 1, figure="another time")
if got != 1 or "not judged: FAILED: time of N" not in text:
    sys.exit("a bound that was not measured: %d\n%s" % (got, text))
for program in ("scrapes", "cgroup", "sampler"):
    table.load_bounds(program)
END
}

# If a figure is changed in one document, that document must be reported.
test_figures() {
    local tree found
    tree=$(mktemp -d)
    mkdir "$tree/doc"
    sed 's/^\(| CPU time per scrape | \)/\11/' "$sources/README.md" >"$tree/README.md"
    cp "$sources/doc/performance.md" "$tree/doc"
    found=$("$sources/bench/docs.py" "$tree")
    [[ $found == "README.md: the figures differ"* ]] || broken "another figure in README.md gave \"$found\""
    rm -rf "$tree"
}

# check_metrics TABLE: prints the generated files that do not match the table of derived metrics.
check_metrics() {
    "$sources/contrib/generate.py" --check <"$1" 2>&1
}

# A parameter, a metric, a flag and a key that are missing in the manual pages must be reported.
test_manuals() {
    local tree found wanted
    tree=$(mktemp -d)
    cp -R "$sources/doc" "$sources/config" "$sources/http" "$sources/sampler" "$sources/metrics" "$tree"
    chmod -R u+w "$tree"
    sed -i 's/min_interval/other/g' "$tree/doc/perfcountd.yaml.5"
    sed -i 's/web.telemetry-path/other/g' "$tree/doc/perfcountd.8"
    sed -i 's/compose_service/other/g' "$tree/doc/perfcountd-http.7"
    sed -i 's/perfcountd_paused/other/g' "$tree/doc/perfcountd-metrics.7"
    found=$(check_manuals "$tree" | tr '\n' ';')
    wanted='*parameter compose_service;*missing metric perfcountd_paused;*flag --web.telemetry-path;*key *min_interval*'
    # shellcheck disable=SC2053 # the right side is a pattern
    [[ $found == $wanted ]] ||
        broken "missing entries in manual pages gave \"$found\""
    rm -rf "$tree"
}

# If a formula changes, all files that contain it must be reported.
test_metrics() {
    local found
    sed 's|instructions / cycles|cycles / instructions|' "$1" >"$1.other"
    found=$(check_metrics "$1.other")
    rm -f "$1.other"
    [[ $found == contrib/prometheus/rules.yml*contrib/mixin/rules.json*doc/metrics.md:* ]] ||
        broken "another formula gave \"$found\""
}

sources=$(cd "${1-${srcdir-$(dirname "$0")/..}}" && pwd) || exit 1
version=$(version_in "$sources/configure.ac")
test_versions
test_sections
test_paths
test_promises
test_walks
test_quotes
found=$(check_versions "$sources"; check_sections "$sources"; check_paths "$sources"; check_promises "$sources"
    check_walks "$sources"; check_quotes "$sources")
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }
command -v python3 >/dev/null || { echo "skipped: python3, which checks the figures"; exit 77; }
test_bounds
test_figures
program=$(realpath "${PERFCOUNTD-./perfcountd}")
[ -x "$program" ] || { echo "$program, which lists the derived metrics, does not exist: set PERFCOUNTD"; exit 1; }
table=$(mktemp)
trap 'rm -f "$table"' EXIT
"$program" list-metrics --json >"$table" || { echo "$program list-metrics failed"; exit 1; }
test_metrics "$table"
test_manuals
found=$(check_metrics "$table"; check_manuals "$sources")
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }
"$sources/bench/docs.py" "$sources"
