#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The page as the daemon sends it: each file of web/ in both codings, the bytes of a first visit and of a second one,
# the headers that confine it, and the list of paths for clients without JavaScript.
. "$(dirname "$0")/lib.sh"
need curl

html='Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
gzip='Accept-Encoding: gzip, deflate'
wire_limit=150000 # bytes of a first visit, the headers of the answers among them

# header_of NAME PATH [CURL-OPTIONS...]: its value in the answer to HEAD.
header_of() {
    get "$2" -I "${@:3}" | tr -d '\r' | awk -v name="$1" '
        tolower($1) == tolower(name ":") { sub(/^[^:]*: */, ""); print }'
}

# --- what is compiled in

mapfile -t files < <("$root/web/compile.sh" --list | grep -v '^index\.html$')
compares "web/ has files" "${#files[@]} > 10"
then=$scratch/then
mkdir "$then"
cp -r "$root/web" "$then/"
find "$then/web" -type f -exec touch -d 2001-01-01 {} +
"$root/web/compile.sh" "$scratch/now.inc" no
TZ=Asia/Tokyo "$then/web/compile.sh" "$scratch/then.inc" no
holds "the same files become the same bytes, whatever their times and folder" cmp "$scratch/now.inc" "$scratch/then.inc"

start_daemon
[ "$(status_of /page/chart.js)" != 200 ] || files+=(chart.js)

# --- how many bytes a visit takes

# wire_bytes [CURL-OPTIONS...]: "HEADERS FILES" of the answers to a visit, which asks for the page and all of its files.
wire_bytes() {
    local arguments=(-o /dev/null "$url/") file
    for file in "${files[@]}"; do
        arguments+=(-o /dev/null "$url/page/$file")
    done
    curl -sS -H "$html" -H "$gzip" "$@" -w '%{size_header} %{size_download}\n' "${arguments[@]}" |
        awk '{ headers += $1; files += $2 } END { print headers + 0, files + 0 }'
}
anonymous() {
    awk '$1 == "RssAnon:" { print $2 }' "/proc/$daemon_pid/status"
}
# The heap keeps what compressing the page takes.
get / -H "$html" -H "$gzip" >"$scratch/page.gz"
before=$(anonymous)
first=$(wire_bytes)
after=$(anonymous)
second=$(wire_bytes -H 'If-None-Match: *')
echo "bytes on the wire: ${first#* } of ${#files[@]} files and the page, and ${first% *} of headers;" \
    "${second% *} of a second visit"
compares "a first visit takes at most $wire_limit bytes" "${first#* } > 50000 && ${first/ / + } <= $wire_limit"
if [ -z "${SANITIZED-}" ]; then
    compares "it is sent from the pages of the daemon's file: kB of other memory" "$after - $before < 40"
fi
equals "a second one takes headers alone" "${second#* }" 0

# --- each of them

types=$(printf 'css text/css\njs text/javascript\nsvg image/svg+xml\n')
# check_file PATH FILE: is sent as FILE in both codings, by its type.
check_file() {
    holds "$1 is sent as it is" cmp <("$root/web/compile.sh" --strip "$2") <(get "/page/$1")
    holds "$1 is sent compressed" cmp <("$root/web/compile.sh" --strip "$2") <(get "/page/$1" -H "$gzip" | zcat)
    equals "$1 has its type" "$(header_of content-type "/page/$1")" "$(awk -v type="${1##*.}" '
        $1 == type { sub(/^[^ ]* /, ""); print }' <<<"$types")"
}
for file in "${files[@]}"; do
    [ "$file" = chart.js ] || check_file "$file" "$root/web/$file"
done
for chart in /usr/share/javascript/chart.js/{chart,Chart}.min.js; do
    [ ! -e "$chart" ] || break
done
if [ "$(status_of /page/chart.js)" = 200 ]; then
    check_file chart.js "$chart"
    matches "its licence is in it" "$(get /page/chart.js)" 'Released under the MIT License'
elif [ -e "$chart" ]; then
    fail "the daemon has Chart.js, as $chart is there" "$(get /page/chart.js)"
else
    contains "without Chart.js, the answer says so" "$(get /page/chart.js)" "built without Chart.js"
    left_out "there is no libjs-chart.js here"
fi

# --- still the same, or not

for path in /page/app.js /; do
    for coding in "$gzip" 'Accept-Encoding: identity'; do
        etag=$(header_of etag "$path" -H "$html" -H "$coding")
        matches "$path has a strong ETag ($coding)" "$etag" '^"[0-9a-f]{16}(-gzip)?"$'
        equals "a client that has it gets no more" \
            "$(status_of "$path" -H "$html" -H "$coding" -H "If-None-Match: \"x\", W/$etag")" 304
        equals "a client that has another gets all" \
            "$(status_of "$path" -H "$html" -H "$coding" -H 'If-None-Match: "x"')" 200
    done
    equals "$path is asked for again each time" "$(header_of cache-control "$path" -H "$html")" no-cache
done
equals "a connection goes on after 304" "$(curl -s -H 'If-None-Match: *' -w '%{http_code} %{num_connects}\n' \
    -o /dev/null "$url/page/app.js" -o /dev/null "$url/page/page.css" | tr '\n' ,)" "304 1,304 0,"

# --- what confines it

equals "the page's policy" "$(header_of content-security-policy / -H "$html")" \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
for path in / /page/app.js; do
    equals "$path: nosniff" "$(header_of x-content-type-options "$path" -H "$html")" nosniff
done
equals "/: referrer-policy" "$(header_of referrer-policy / -H "$html")" no-referrer

while read -r status path; do
    equals "$path" "$(status_of "$path" --path-as-is)" "$status"
done <<'END'
404 /page/
404 /page/index.html
404 /page/assets.c
404 /page/compile.sh
404 /page/../perfcountd.8
404 /page/../../../../etc/passwd
404 /page/now/../app.js
404 /page/%2e%2e/%2e%2e/etc/passwd
404 /page/..%2f..%2fetc%2fpasswd
404 /page//etc/passwd
404 /page/app.js/
400 /page/app.js%00.css
400 /page/%ff
400 /page/app.js?v=1
END
long=$(head -c 4096 /dev/zero | tr '\0' a)
equals "4 KB of path" "$(status_of "/page/$long")" 404
equals "POST" "$(status_of /page/app.js -X POST)" 405
equals "it says what is possible" "$(get /page/app.js -X POST -D - -o /dev/null | tr -d '\r' |
    sed -n 's/^Allow: //p')" "GET, HEAD"

# --- without JavaScript

list=$(get /)
page=$(get / -H "$html")
equals "curl gets the list as text" "$(header_of content-type /)" 'text/plain; charset=utf-8'
equals "so does a browser of text alone" "$(header_of content-type / -H 'Accept: text/plain, text/*;q=0.5')" \
    'text/plain; charset=utf-8'
equals "a browser gets the page" "$(header_of content-type / -H "$html")" 'text/html; charset=utf-8'
noscript=$(sed -n '/<noscript>/,/<\/noscript>/p' <<<"$page")
n=0
while read -r path; do
    n=$((n + 1))
    contains "the page has $path" "$noscript" "<dt>POST $path</dt>"
done < <(sed -n 's/^POST //p' <<<"$list")
while read -r path; do
    n=$((n + 1))
    contains "the page links to $path" "$noscript" "<a href=\".$path"
done < <(grep '^/' <<<"$list")
equals "each path of the list was looked for, but one that is removed" "$((n + 1))" \
    "$(grep -cE '^(POST |DELETE |/)' <<<"$list")"
equals "no link begins at the root, so that they hold below any path of a proxy" \
    "$(grep -cE '(href|src)="/' <<<"$page")" 0
while read -r link; do
    equals "$link is there" "$(status_of "/${link#./}")" 200
done < <(grep -oE '<(link|script)[^>]* (href|src)="[^"]*"' <<<"$page" | sed 's/.*="//; s/"$//' | sort -u)
stop_daemon

# --- as many requests at once as a browser makes, to a daemon that limits them and asks for a password

cat >"$scratch/web.yaml" <<'END'
basic_auth_users: {alice: $2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW}
auth_excluded_paths: [/-/ready]
rate_limit: {interval: 10ms, burst: 60}
END
# More than six: the daemon may not have seen the end of the connections of the requests before.
cat >"$scratch/perfcountd.yaml" <<'END'
web: {limits: {connections_per_address: 8}}
END
start_daemon --config.file="$scratch/perfcountd.yaml" --web.config.file="$scratch/web.yaml"
equals "a file of the page needs the password" "$(status_of /page/app.js)" 401
equals "as the page does" "$(status_of / -H "$html")" 401
equals "with it, the page comes first" "$(status_of / -H "$html" -u alice:secret)" 200
# shellcheck disable=SC2016 # the shells of xargs expand it
codes=$(printf '%s\n' "${files[@]}" | xargs -P 6 -n $(((${#files[@]} + 5) / 6)) bash -c '
    arguments=()
    for file; do
        arguments+=(-o /dev/null "$0/page/$file")
    done
    curl -sS -u alice:secret -w "%{http_code}\n" "${arguments[@]}"' "$url" | sort | uniq -c | tr -s ' ')
equals "six connections get all files" "$codes" " ${#files[@]} 200"
stop_daemon
finish
