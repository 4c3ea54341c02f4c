#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compresses the files of the page into web/assets.inc, which web/assets.c includes, or lists the files.
#
# usage: compile.sh OUTPUT            writes web/assets.inc to OUTPUT
#        compile.sh --sources         lists all files, one path relative to web/ on each line
#        compile.sh --list            lists the files that are served
#        compile.sh --strip FILE      prints a file as it is served
#        compile.sh --array NAME FILE prints a file as it is served, as a C array
#
# app.js and page.css are merged with the files that they import, since a request costs the browser more than the bytes.
# The modules that app.js loads later are served separately; they import from app.js what it already contains.
#
# Indentation and comments are removed; a comment at the end of a line stays if it contains a quote. Line numbers within
# a module stay the same. The output depends only on the contents of the files. The generated table contains no
# pointers, so that it needs no relocation: see assets.h.
set -eu
export LC_ALL=C

web=$(cd "$(dirname "$0")" && pwd)

sources() {
    (cd "$web" && find . -type f \( -name '[a-z]*.css' -o -name '[a-z]*.html' -o -name '[a-z]*.js' \
        -o -name '[a-z]*.svg' \)) | sed 's|^\./||' | sort
}

# Files that are merged into app.js and page.css are not served on their own.
list() {
    sources | grep -v -e '^base\.css$' -e '/.*\.css$' | grep -vxF -e "$(echo "${parts% app.js*}" | tr ' ' '\n')"
}

die() {
    echo "compile.sh: $*" >&2
    exit 1
}

# An awk function that the awk programs below use.
# shellcheck disable=SC2016 # awk's
imports='
    # Returns the path of the module that the import in $0 refers to.
    function imported(path,   other, folder) {
        folder = path ~ /\// ? substr(path, 1, index(path, "/")) : ""
        other = substr($NF, 2, length($NF) - 3)
        if (!sub(/^\.\.\//, "", other))
            sub(/^\.\//, folder, other)
        return other
    }
'

# parts: prints the modules to merge into app.js, each after the modules that it imports; app.js itself comes last.
parts() {
    (cd "$web" && sources | grep '\.js$' | xargs awk "$imports"'
        /^import .* from "\..*";$/ { others[FILENAME] = others[FILENAME] imported(FILENAME) " " }
        function visit(path,   list, n, i) {
            if (seen[path]++)
                return
            n = split(others[path], list, " ")
            for (i = 1; i <= n; i++)
                visit(list[i])
            print path
        }
        END { visit("app.js") }')
}
parts=$(parts | tr '\n' ' ')

# linked PATH: rewrites a module. Imports of modules that are merged into app.js become constants. If the module is
# itself merged into app.js, it becomes the body of a function that returns its exports.
linked() {
    awk -v path="$1" -v parts=" $parts" "$imports"'
        function variable(of) { sub(/.js$/, "", of); gsub(/[^a-z]/, "_", of); return "module_" of }
        function is_part(of) { return index(parts, " " of " ") }
        BEGIN {
            if (is_part(path))
                printf "const %s = (() => { ", variable(path)
        }
        /^import .* from "\..*";$/ {
            other = imported(path)
            names = $0
            sub(/^import (\* as )?/, "", names)
            sub(/ from .*/, "", names)
            gsub(/ as /, ": ", names)
            if (is_part(other)) {
                if (!is_part(path))
                    printf "import { %s } from \"%sapp.js\"; ", variable(other), path ~ /\// ? "../" : "./"
                $0 = "const " names " = " variable(other) ";"
            }
        }
        is_part(path) && sub(/^export /, "") {
            name = $0
            sub(/^(async )?[a-z]+ /, "", name)
            sub(/[^A-Za-z0-9_].*/, "", name)
            exports = exports name ", "
        }
        { print }
        END {
            if (is_part(path))
                print "return { " exports "}; })();"
        }'
}

# stripped FILE: prints the file without comments and indentation. Removing them is safe because no string spans several
# lines.
stripped() {
    case $1 in
    */app.js)
        for path in $parts; do
            stripped_module "$path"
        done
        for path in ${parts% app.js*}; do
            echo "export { module_$(echo "${path%.js}" | tr -c 'a-z\n' _) };"
        done
        ;;
    "$web"/*.js) stripped_module "${1#"$web/"}" ;;
    *.js) without_comments "$1" ;;
    */page.css) sed -n 's/^@import "\(.*\)";$/\1/p' "$1" | (cd "$web" && xargs cat) | sed 's|^ */\*.*\*/$||; s/^ *//' ;;
    *) cat "$1" ;;
    esac
}

without_comments() {
    sed "s|^ *//.*||; s| *// [^\"'\`]*\$||; s/^ *//" "$1"
}

stripped_module() {
    without_comments "$web/$1" | linked "$1"
}

# compressed: compresses standard input to standard output, with the best tool available.
compressed() {
    if command -v libdeflate-gzip >/dev/null; then
        libdeflate-gzip -12 -c
    else
        gzip -9n
    fi
}

# add PATH FILE: appends the compressed file to $work/bytes, and prints the file's row of the table.
add() {
    stripped "$2" >"$work/text"
    compressed <"$work/text" >"$work/gz"
    [ ${#1} -lt 48 ] || die "$1: the path is too long: struct asset has room for 47 characters"
    type=$(echo "${1##*.}" | tr '[:lower:]' '[:upper:]')
    printf '    {"%s", "%.16s", ASSET_%s, %d, %d, %d},\n' "$1" "$(sha256sum <"$work/gz")" "$type" "$begin" \
        "$(wc -c <"$work/gz")" "$(wc -c <"$work/text")"
    begin=$((begin + $(wc -c <"$work/gz")))
    cat "$work/gz" >>"$work/bytes"
}

# numbers FILE: prints the bytes as the elements of a C array.
numbers() {
    od -An -v -tu1 "$1" | sed 's/  */,/g; s/^,//; s/$/,/'
}

table() {
    begin=0
    for path in $(list); do
        add "$path" "$web/$path"
    done
}

case $1 in
--sources) sources; exit ;;
--list) list; exit ;;
--strip) stripped "$2"; exit ;;
--array)
    bytes=$(stripped "$3" | numbers -)
    [ -n "$bytes" ] || die "$3: cannot be read, or is empty"
    echo "static const unsigned char $2[] = {"
    echo "$bytes"
    echo '};'
    exit
    ;;
esac
# make always runs this script, so the script stops here if no file has changed since its last run.
if [ -e "$1" ] && [ -z "$(find "$web" -newer "$1.stamp" 2>&1)" ]; then
    exit
fi
work=$1.new
mkdir -p "$work"
: >"$work/begin"
trap 'rm -rf "$work"' EXIT
: >"$work/bytes"
{
    echo '/* Generated by web/compile.sh from the files in web/. */'
    echo 'const struct asset assets[] = {'
    table
    echo '};'
    echo 'const size_t n_assets = sizeof(assets) / sizeof(assets[0]);'
    echo
    echo 'const unsigned char asset_bytes[] = {'
    numbers "$work/bytes"
    echo '};'
} >"$work/output"
cmp -s "$work/output" "$1" || mv "$work/output" "$1"
mv "$work/begin" "$1.stamp"
