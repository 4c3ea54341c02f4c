#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs programs whose file and function names are hostile: HTML markup, bidirectional controls, 4 KB of text, and bytes
# that are not UTF-8. Usage: hostile.sh FOLDER; prints "ready", and exits when standard input is closed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
markup='<img src=x onerror="window.ran=1">'
bidi=$'\xe2\x80\xae\xe2\x81\xa6'
invalid=$'\xff\xfe\xc3'
long=$(printf 'n%.0s' {1..4000})
children=()
trap 'kill -9 "${children[@]}" 2>/dev/null' EXIT
trap 'exit 1' INT TERM

mkdir -p "$folder/$markup"
programs=("$folder/$markup/<b id=ran>$invalid" "$folder/$markup/$bidi$invalid<i id=ran>")
cc -O1 -g0 -fno-omit-frame-pointer -o "$folder/plain" "$here/../e2e/hot.c"
objcopy --redefine-sym "hot_seventy=$markup" --redefine-sym "hot_thirty=$bidi$invalid$long" \
    "$folder/plain" "${programs[0]}"
cp "${programs[0]}" "${programs[1]}"
for program in "${programs[@]}"; do
    "$program" 600 >/dev/null &
    children+=($!)
done
echo ready
cat >/dev/null
