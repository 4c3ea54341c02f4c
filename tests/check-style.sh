#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A reader may rely on this in every file: licence line, layout, short files and functions, plain words (style.py has
# those). The manual knows each flag and each key.
#
# PERFCOUNTD names a binary, for the flags; OBJECTS the directory where it was built, for circles of calls. Exit status
# 77 where clang-format 14, since others format otherwise, or python3 is missing and everything else is well.
set -u
export LC_ALL=C

cd "${srcdir-$(dirname "$0")/..}" || exit 1
failures=0
page=('*.js' '*.mjs' '*.css' 'index.html')

# complain TITLE LINES: nothing if there are none.
complain() {
    [ -n "$2" ] || return 0
    failures=$((failures + 1))
    printf '%s:\n%s\n\n' "$1" "$2"
}

# sources NAME-PATTERN...: the files of the tree with one of these names.
sources() {
    local pattern tests=()
    for pattern in "$@"; do
        tests+=(-o -name "$pattern")
    done
    find . \( -name .git -o -name 'build*' -type d -o -name '_*' -o -name autom4te.cache -o -name corpus \) -prune -o \
        -type f \( "${tests[@]:1}" \) -print | sort
}

without_licence() {
    local file
    sources '*.[ch]' '*.sh' '*.py' "${page[@]}" '*.am' configure.ac quickstart run 'run-bench*' '*.service' '*.socket' |
        while read -r file; do
            case $file in
            */Makemodule.am) continue ;; # fragments of Makefile.am
            esac
            head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$file"
        done
}

# plain FILE: a manual page without its markup; mdoc(7) writes a flag as "Fl -name".
plain() {
    sed 's/\\-/-/g; s/\\f[BIRP]//g; s/\(^\|[ .]\)Fl /&-/g; s/Fl -/-/g' "$1"
}

undocumented_flags() {
    local flag
    "$PERFCOUNTD" --help | grep -oE -- '--[a-z][a-z.-]*' | sort -u | while read -r flag; do
        # mdoc(7) writes the first dash by itself: .Fl -help
        plain doc/perfcountd.8 | grep -qE -e "(^|[^a-z])Fl -${flag#--}( |$)|$flag([^a-z]|$)" || echo "$flag"
    done
}

undocumented_keys() {
    local key
    sed -nE 's/.*\.path = "([a-z_.]+)".*/\1/p' config/*.c | sort -u | while read -r key; do
        plain doc/perfcountd.yaml.5 | grep -qE -e "(^|[^a-z_])${key##*.}([^a-z_]|$)" || echo "$key"
    done
}

# A file that .gitignore names is lost on the way to another checkout, also where somebody had added it by force.
complain "kept by git, and named by .gitignore" "$(git ls-files --cached --ignored --exclude-standard 2>/dev/null)"
complain "without a licence line" "$(without_licence)"
complain "lines of more than 120 characters" "$(sources '*.sh' "${page[@]}" quickstart |
    xargs grep -nE '^.{121}' | cut -c1-160)"
complain "blanks at the end of a line" \
    "$(sources '*.[ch]' '*.sh' "${page[@]}" '*.am' '*.md' quickstart | xargs grep -nE '[[:blank:]]+$')"
[ ! -e doc/perfcountd.8 ] || [ ! -x "${PERFCOUNTD-}" ] ||
    complain "flags that doc/perfcountd.8 does not have" "$(undocumented_flags)"
[ ! -e doc/perfcountd.yaml.5 ] || complain "keys that doc/perfcountd.yaml.5 does not have" "$(undocumented_keys)"
missing=
if clang-format --version 2>/dev/null | grep -q 'version 14[.]'; then
    # shellcheck disable=SC2046 # a list of files
    complain "not as clang-format has it" "$(clang-format --dry-run -Werror $(sources '*.[ch]') 2>&1 | grep 'error:')"
else
    missing="clang-format 14"
fi
if command -v python3 >/dev/null; then
    tests/style.py --self-test || failures=$((failures + 1))
    tests/style.py ${OBJECTS+"--objects=$OBJECTS"} || failures=$((failures + 1))
else
    missing="$missing python3"
fi
[ "$failures" -eq 0 ] || exit 1
[ -n "$missing" ] || exit 0
echo "skipped: missing here: $missing; everything else is well"
exit 77
