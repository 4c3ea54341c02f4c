#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the page as the daemon serves it: each file of web/ with and without compression, the bytes that a first and a
# second visit transfer, and a daemon that limits its clients. tests/unit/test-page.c tests headers, ETags and paths.
# set: all
. "$(dirname "$0")/lib.sh"
need curl

html='Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
gzip='Accept-Encoding: gzip, deflate'
wire_limit=150000 # bytes that a first visit transfers, response headers included

# header_of NAME PATH [CURL-OPTIONS...]: prints the value of this header in the response to HEAD.
header_of() {
    get "$2" -I "${@:3}" | tr -d '\r' | awk -v name="$1" '
        tolower($1) == tolower(name ":") { sub(/^[^:]*: */, ""); print }'
}

# --- what is compiled in

mapfile -t files < <("$root/web/compile.sh" --list | grep -v '^index\.html$')
compares "web/ has files" "${#files[@]} > 10"
start_daemon

# --- how many bytes a visit transfers

# wire_bytes [CURL-OPTIONS...]: requests the page and all of its files, as one visit does, and prints "HEADERS FILES",
# the bytes received.
wire_bytes() {
    local arguments=(-o /dev/null "$url/") file
    for file in "${files[@]}"; do
        arguments+=(-o /dev/null "$url/page/$file")
    done
    curl -sS -H "$html" -H "$gzip" "$@" -w '%{size_header} %{size_download}\n' "${arguments[@]}" |
        awk '{ headers += $1; files += $2 } END { print headers + 0, files + 0 }'
}
first=$(wire_bytes)
second=$(wire_bytes -H 'If-None-Match: *')
echo "bytes on the wire: ${first#* } of ${#files[@]} files and the page, and ${first% *} of headers;" \
    "${second% *} of a second visit"
compares "a first visit takes at most $wire_limit bytes" "${first#* } > 50000 && ${first/ / + } <= $wire_limit"
equals "a second visit transfers only headers" "${second#* }" 0

# --- each file

types=$(printf 'css text/css\njs text/javascript\nsvg image/svg+xml\n')
# check_file PATH FILE: checks that PATH serves FILE with and without compression, and with the right media type.
check_file() {
    holds "$1 is sent uncompressed" cmp <("$root/web/compile.sh" --strip "$2") <(get "/page/$1")
    holds "$1 is sent compressed" cmp <("$root/web/compile.sh" --strip "$2") <(get "/page/$1" -H "$gzip" | zcat)
    equals "$1 has the right media type" "$(header_of content-type "/page/$1")" "$(awk -v type="${1##*.}" '
        $1 == type { sub(/^[^ ]* /, ""); print }' <<<"$types")"
}
for file in "${files[@]}"; do
    check_file "$file" "$root/web/$file"
done

# --- the page's links lead to existing files

while read -r link; do
    equals "$link exists" "$(status_of "/${link#./}")" 200
done < <(get / -H "$html" | grep -oE '<(link|script)[^>]* (href|src)="[^"]*"' | sed 's/.*="//; s/"$//' | sort -u)
stop_daemon

# --- as many concurrent requests as a browser makes, to a daemon that limits them and requires a password

cat >"$scratch/web.yaml" <<'END'
basic_auth_users: {alice: $2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW}
auth_excluded_paths: [/-/ready]
rate_limit: {interval: 10ms, burst: 60}
END
# More than the test's six connections, since the daemon may not have noticed yet that earlier ones are closed.
cat >"$scratch/perfcountd.yaml" <<'END'
web: {limits: {connections_per_address: 8}}
END
start_daemon --config.file="$scratch/perfcountd.yaml" --web.config.file="$scratch/web.yaml"
equals "the page's files require the password" "$(status_of /page/app.js)" 401
equals "the page requires the password" "$(status_of / -H "$html")" 401
equals "with the password, the page is served" "$(status_of / -H "$html" -u alice:secret)" 200
# shellcheck disable=SC2016 # the shells of xargs expand it
codes=$(printf '%s\n' "${files[@]}" | xargs -P 6 -n $(((${#files[@]} + 5) / 6)) bash -c '
    arguments=()
    for file; do
        arguments+=(-o /dev/null "$0/page/$file")
    done
    curl -sS -u alice:secret -w "%{http_code}\n" "${arguments[@]}"' "$url" | sort | uniq -c | tr -s ' ')
equals "six concurrent connections receive all files" "$codes" " ${#files[@]} 200"
stop_daemon
finish
