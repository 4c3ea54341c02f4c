#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the files of the page, compressed, as what web/assets.c includes; or lists them.
#
# usage: compile.sh OUTPUT           what web/assets.c includes
#        compile.sh --sources         the files, a path below web/ on each line
#        compile.sh --list            those of them that are sent
#        compile.sh --strip FILE      the file as it is sent
#        compile.sh --array NAME FILE the file as it is sent, as an array of C
#
# app.js is sent with all that it imports, and so is page.css: a request costs the browser more than the file does. The
# modules that app.js loads later are sent one by one, and take from app.js what is in there.
#
# Comments at the end of a line, unless a quote is in them, and indentation are left out on the way, a line staying
# where it was in its module. The same files give the same output. Nothing in it is a pointer, so that it stays in pages
# of the daemon's file.
set -eu
export LC_ALL=C

web=$(cd "$(dirname "$0")" && pwd)

sources() {
    (cd "$web" && find . -type f \( -name '[a-z]*.css' -o -name '[a-z]*.html' -o -name '[a-z]*.js' \
        -o -name '[a-z]*.svg' \)) | sed 's|^\./||' | sort
}

# Files that are parts of app.js and page.css are not sent by themselves.
list() {
    sources | grep -v -e '^base\.css$' -e '/.*\.css$' | grep -vxF -e "$(echo "${parts% app.js*}" | tr ' ' '\n')"
}

die() {
    echo "compile.sh: $*" >&2
    exit 1
}

# stripped FILE: without what only a reader of the source needs. No text of a program goes over lines.
stripped() {
    case $1 in
    *.js) sed "s|^ *//.*||; s| *// [^\"'\`]*\$||; s/^ *//" "$1" ;;
    */page.css) sed -n 's/^@import "\(.*\)";$/\1/p' "$1" | (cd "$web" && xargs cat) | sed 's|^ */\*.*\*/$||; s/^ *//' ;;
    *) cat "$1" ;;
    esac
}

# What the awk programs below know of imports.
# shellcheck disable=SC2016 # awk's
imports='
    # The path of what the import in $0 is from.
    function imported(path,   other, folder) {
        folder = path ~ /\// ? substr(path, 1, index(path, "/")) : ""
        other = substr($NF, 2, length($NF) - 3)
        if (!sub(/^\.\.\//, "", other))
            sub(/^\.\//, folder, other)
        return other
    }
'

# parts: the modules of app.js, which is the last one, each after those that it imports.
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

# linked PATH: a module, whose imports from a part of app.js become constants. As a part itself it is the body of a
# function that returns its exports.
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

# stripped FILE: without what only a reader of the source needs. No text of a program goes over lines.
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

# compressed: from standard input to standard output, as small as the tools here make it.
compressed() {
    if command -v libdeflate-gzip >/dev/null; then
        libdeflate-gzip -12 -c
    else
        gzip -9n
    fi
}

# add PATH FILE: compresses it to the end of $work/bytes, and writes its row of the table.
add() {
    stripped "$2" >"$work/text"
    compressed <"$work/text" >"$work/gz"
    [ ${#1} -lt 48 ] || die "$1: make it shorter: struct asset has room for 47 characters"
    type=$(echo "${1##*.}" | tr '[:lower:]' '[:upper:]')
    printf '    {"%s", "%.16s", ASSET_%s, %d, %d, %d},\n' "$1" "$(sha256sum <"$work/gz")" "$type" "$begin" \
        "$(wc -c <"$work/gz")" "$(wc -c <"$work/text")"
    begin=$((begin + $(wc -c <"$work/gz")))
    cat "$work/gz" >>"$work/bytes"
}

# numbers FILE: its bytes, as C has them in an array.
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
    [ -n "$bytes" ] || die "$3: nothing can be read"
    echo "static const unsigned char $2[] = {"
    echo "$bytes"
    echo '};'
    exit
    ;;
esac
# Nothing is new since the last time, which is often: make runs this each time.
if [ -e "$1" ] && [ -z "$(find "$web" -newer "$1.stamp" 2>&1)" ]; then
    exit
fi
work=$1.new
mkdir -p "$work"
: >"$work/begin"
trap 'rm -rf "$work"' EXIT
: >"$work/bytes"
{
    echo '/* Made by web/compile.sh of the files in web/. */'
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
