#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the files of the page, compressed, as what web/assets.c includes; or lists them.
#
# usage: compile.sh OUTPUT           what web/assets.c includes
#        compile.sh --sources         the files, a path below web/ on each line
#        compile.sh --list            those of them that are sent
#        compile.sh --strip FILE      the file as it is sent
#
# Comments at the end of a line, unless a quote is in them, and indentation are left out on the way, a line staying
# where it was. The same files give the same output. Nothing in it is a pointer, so that it stays in pages of the
# daemon's file.
set -eu
export LC_ALL=C

web=$(cd "$(dirname "$0")" && pwd)

sources() {
    (cd "$web" && find . -type f \( -name '[a-z]*.css' -o -name '[a-z]*.html' -o -name '[a-z]*.js' \
        -o -name '[a-z]*.svg' \)) | sed 's|^\./||' | sort
}

# Styles are sent as page.css, which imports the others.
list() {
    sources | grep -v -e '^base\.css$' -e '/.*\.css$'
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
    od -An -v -tu1 "$work/bytes" | sed 's/  */,/g; s/^,//; s/$/,/'
    echo '};'
} >"$work/output"
cmp -s "$work/output" "$1" || mv "$work/output" "$1"
mv "$work/begin" "$1.stamp"
