#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# TLS with real clients: curl, openssl and GnuTLS's. Clients that are let in and those that are not; versions and
# suites; certificates and TLS itself change under way without a client being lost. tests/e2e/bad-clients.sh has those
# that mean harm.
# set: quick
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tls-lib.sh"
need curl openssl gnutls-cli unshare /usr/bin/python3

make_ca ca
make_ca elsewhere
names=DNS:localhost,IP:127.0.0.1,IP:::1
make_key server rsa
make_certificate server ca server "$names"
make_certificate second ca server "$names"
make_certificate old ca server "$names" 20200101000000Z 20210101000000Z
make_certificate client ca client DNS:prometheus.test,URI:spiffe://test/prometheus
make_certificate stranger elsewhere client DNS:prometheus.test
make_certificate expired ca client DNS:prometheus.test 20200101000000Z 20210101000000Z
make_certificate future ca client DNS:prometheus.test 20900101000000Z 20910101000000Z
make_certificate misused ca server DNS:prometheus.test
client=(--cacert "$pki/ca.pem")
web=$scratch/web.yml

# configure LINE...: the web configuration, with these lines in tls_server_config.
configure() {
    local line
    {
        echo "tls_server_config:"
        echo "  cert_file: pki/live.pem"
        echo "  key_file: pki/live.key"
        for line in "$@"; do
            echo "  $line"
        done
    } >"$web.new"
    mv "$web.new" "$web"
}

# deploy NAME: the files of this name are served, each replaced as a whole.
deploy() {
    local suffix
    [ ! -d "$pki/live.key" ] || rmdir "$pki/live.key"
    for suffix in key pem; do
        cp "$pki/$1.$suffix" "$pki/live.$suffix.new"
        mv "$pki/live.$suffix.new" "$pki/live.$suffix"
    done
}

# serve LINE...: the daemon with such a web configuration.
serve() {
    configure "$@"
    start_daemon --config.file="$light" --web.config.file="$web"
}

# serve_some LINE...: the same, where curl as it is may not be let in.
serve_some() {
    configure "$@"
    launch_daemon --config.file="$light" --web.config.file="$web" --web.listen-address=127.0.0.1:0
    eventually 60 listening_or_dead
    url=$(sed -n 's|.*listening on \(https://[^ "]*\)/.*|\1|p' "$daemon_log")
}

# hello [S_CLIENT-OPTIONS...]: openssl's report of a handshake.
hello() {
    openssl s_client -connect "${url#https://}" -CAfile "$pki/ca.pem" "$@" </dev/null 2>&1
}

served_serial() {
    hello | openssl x509 -noout -serial | sed 's/serial=//'
}

serves_serial() {
    status_of /-/healthy >/dev/null 2>&1
    [ "$(served_serial)" = "$1" ]
}

has_logged() {
    status_of /-/healthy >/dev/null 2>&1
    grep -q -- "$1" "$daemon_log"
}

# --- versions, suites, curves

deploy server
serve
matches "the URL is https" "$url" '^https://'
equals "curl over TLS 1.3" "$(status_of /metrics --tlsv1.3)" 200
equals "curl over TLS 1.2" "$(status_of /metrics --tls-max 1.2)" 200
matches "HTTP/1.1 is agreed on by ALPN" "$(hello -alpn h2,http/1.1)" 'ALPN protocol: http/1.1'
matches "so it is for a client that has HTTP/1.1 only" "$(hello -alpn http/1.1)" 'ALPN protocol: http/1.1'
matches "no ALPN, no matter" "$(hello)" 'Verify return code: 0'
matches "TLS 1.3" "$(hello -tls1_3)" 'New, TLSv1.3, Cipher is TLS_AES_'
matches "TLS 1.2" "$(hello -tls1_2)" 'New, TLSv1.2, Cipher is ECDHE-RSA-AES128-GCM-SHA256'
matches "X25519 without a second round" "$(hello -tls1_3)" 'Temp Key: X25519'
weak=(-cipher 'ALL:@SECLEVEL=0')
for version in tls1 tls1_1; do
    matches "$version is refused" "$(hello -$version "${weak[@]}")" 'Cipher is \(NONE\)'
    matches "with an alert to the client" "$(hello -$version "${weak[@]}")" 'alert protocol version'
done
matches "a key exchange without forward secrecy is refused" "$(hello -tls1_2 -cipher AES128-SHA)" 'Cipher is \(NONE\)'
matches "GnuTLS's client" "$(gnutls-cli --x509cafile="$pki/ca.pem" -p "${url##*:}" 127.0.0.1 </dev/null 2>&1)" \
    'Handshake was completed'
matches "no session is resumed" "$(hello -tls1_2 -reconnect)" 'New, TLSv1.2'
equals "none at all" "$(hello -tls1_2 -reconnect | grep -c Reused)" 0
matches "HTTP to the TLS port has an answer that says so" \
    "$(curl -s -w '%{http_code}\n' "http://${url#https://}/" | tr '\n' ' ')" \
    '^Client sent an HTTP request to an HTTPS server\. 400 $'
stop_daemon
equals "it ends well" "$daemon_status" 0

# NAME | LINE | S_CLIENT-OPTION | what openssl says
while IFS='|' read -r name line option expected; do
    serve_some "${line//ECDHE_RSA_/TLS_ECDHE_RSA_WITH_AES_}"
    matches "$name" "$(hello "$option")" "$expected"
    stop_daemon
done <<'END'
1.3 alone refuses 1.2|min_version: TLS13|-tls1_2|Cipher is \(NONE\)
the server's order|cipher_suites: [ECDHE_RSA_256_GCM_SHA384, ECDHE_RSA_128_GCM_SHA256]|-tls1_2|AES256-GCM-SHA384
a curve that is named|curve_preferences: [CurveP384]|-tls1_3|Temp Key: ECDH, secp384r1
END

# --- client certificates

# The answer to a client that shows a certificate ("-" for none) in a version: 200, or refused.
answer_to() {
    local certificate=() code
    [ "$1" = - ] || certificate=(--cert "$pki/$1.pem" --key "$pki/$1.key")
    code=$(status_of /-/healthy "${certificate[@]}" --tls-max "$2" 2>"$scratch/curl.log")
    case $code in
    000) echo refused ;;
    *) echo "$code" ;;
    esac
}

# tests/unit/test-tls.c has each client_auth_type and each alert.
client+=(--cert "$pki/client.pem" --key "$pki/client.key")
verify=("client_auth_type: RequireAndVerifyClientCert" "client_ca_file: pki/ca.pem")
serve "${verify[@]}" "client_allowed_sans: ['nobody.test', 'spiffe://test/prometheus']"
client=(--cacert "$pki/ca.pem")
while read -r certificate expected; do
    for version in 1.2 1.3; do
        equals "$version: certificate: $certificate" "$(answer_to "$certificate" $version)" "$expected"
    done
done <<'END'
- refused
client 200
stranger refused
expired refused
future refused
misused refused
END
stop_daemon
serve_some "${verify[@]}" "client_allowed_sans: ['nobody.test', '*.test']"
equals "names of clients have no patterns" "$(answer_to client 1.3) $(answer_to client 1.2)" "refused refused"
stop_daemon

# operates [NAME]: the status of a reload with that certificate: 200 for operators, 403 for others.
operates() {
    local certificate=()
    [ $# -eq 0 ] || certificate=(--cert "$pki/$1.pem" --key "$pki/$1.key")
    status_of /-/reload -X POST "${certificate[@]}"
}
serve_some "${verify[@]}"
equals "a certificate of the client CA makes an operator" "$(operates client)" 200
stop_daemon

# Without a client CA those of the system count, as for other exporters. Here it has one: the test's.
system_cas=/etc/ssl/certs/ca-certificates.crt
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(--map-root-user)
# shellcheck disable=SC2016 # that shell expands them
with_cas=(unshare "${as_root[@]}" --mount --propagation private bash -c 'mount --bind "$0" "$1" && shift && exec "$@"'
    "$pki/ca.pem" "$system_cas")
if [ -e "$system_cas" ] && "${with_cas[@]}" true 2>/dev/null; then
    configure "client_auth_type: VerifyClientCertIfGiven"
    "${with_cas[@]}" "$PERFCOUNTD" check-config --web.config.file="$web" >"$scratch/checked" 2>&1
    equals "no client CA: check-config takes the file" "$?" 0
    contains "and warns" "$(cat "$scratch/checked")" 'web.yml: warning: tls_server_config.client_auth_type: without'
    wrapper=("${with_cas[@]}")
    serve "client_auth_type: VerifyClientCertIfGiven"
    matches "the log has it" "$(cat "$daemon_log")" ' makes no client an operator; set client_ca_file'
    equals "a client of a CA of the system is let in" "$(answer_to client 1.3)" 200
    equals "one of another CA is not" "$(answer_to stranger 1.3)" refused
    equals "and is no operator, as one without a certificate" "$(operates client) $(operates)" "403 403"
    stop_daemon
    serve_some "client_auth_type: RequireAndVerifyClientCert" "client_allowed_sans: [prometheus.test]"
    equals "the name of a client makes an operator" "$(operates client)" 200
    lacks "without a warning" 'operator' "$daemon_log"
    stop_daemon
    wrapper=()
else
    left_out "CAs of the system, or a mount namespace"
fi

# --- certificates change while connections go on

rotate='
import http.client, ssl, sys
context = ssl.create_default_context(cafile=sys.argv[3])
context.verify_flags |= ssl.VERIFY_X509_STRICT # the default since Python 3.13
c = http.client.HTTPSConnection(sys.argv[1], int(sys.argv[2]), context=context, timeout=60)
for line in sys.stdin:
    first = c.sock
    c.request("GET", "/-/healthy")
    answer = c.getresponse()
    answer.read()
    certificate = c.sock.getpeercert()["serialNumber"] if c.sock else "closed"
    print(answer.status, certificate, "kept" if first is c.sock else "new", flush=True)
'
deploy server
serve
coproc old_client { /usr/bin/python3 -c "$rotate" 127.0.0.1 "${url##*:}" "$pki/ca.pem" 2>&1; }
children+=("$old_client_PID")
ask_old() {
    local answer
    echo >&"${old_client[1]}"
    read -r -t 60 answer <&"${old_client[0]}"
    echo "$answer"
}
equals "a connection is made" "$(ask_old)" "200 $(serial_of "$pki/server.pem") new"
deploy second
holds "a new certificate is taken up" eventually 60 serves_serial "$(serial_of "$pki/second.pem")"
equals "the old connection goes on" "$(ask_old)" "200 $(serial_of "$pki/server.pem") kept"

cp "$pki/second.pem" "$scratch/second.pem"
echo "no certificate" >"$pki/live.pem"
holds "a broken one is logged" eventually 60 has_logged 'pki/live.pem" is not PEM'
equals "and the one before goes on" "$(served_serial)" "$(serial_of "$pki/second.pem")"
equals "in the old connection too" "$(ask_old)" "200 $(serial_of "$pki/server.pem") kept"

mkdir "$pki/a" "$pki/b"
cp "$pki/server.pem" "$pki/a/live.pem"; cp "$pki/server.key" "$pki/a/live.key"
cp "$pki/second.pem" "$pki/b/live.pem"; cp "$pki/second.key" "$pki/b/live.key"
ln -s a "$pki/current"
ln -sf current/live.pem "$pki/live.pem"
ln -sf current/live.key "$pki/live.key"
holds "links are followed" eventually 60 serves_serial "$(serial_of "$pki/server.pem")"
ln -s b "$pki/current.new"
mv -T "$pki/current.new" "$pki/current"
holds "a link that is swapped is noticed" eventually 60 serves_serial "$(serial_of "$pki/second.pem")"
cp "$pki/server.key" "$pki/b/live.key.new"
mv "$pki/b/live.key.new" "$pki/b/live.key"
holds "a key that does not fit is logged" eventually 60 has_logged 'is not the key of cert_file'
equals "and the pair before goes on" "$(served_serial)" "$(serial_of "$pki/second.pem")"
rm "$pki/live.pem" "$pki/live.key"
holds "one that is gone is logged" eventually 60 has_logged 'ENOENT'
deploy server
holds "one that is back is taken up" eventually 60 serves_serial "$(serial_of "$pki/server.pem")"
deploy old
holds "one that has expired is served, and logged" eventually 60 has_logged 'live.pem expired on 2021-01-01'
equals "it is served" "$(served_serial)" "$(serial_of "$pki/old.pem")"
deploy server
eventually 60 serves_serial "$(serial_of "$pki/server.pem")"

configure "min_version: TLS13"
refuses_tls12() {
    hello -tls1_2 | grep -q 'Cipher is (NONE)'
}
holds "another configuration, once somebody asks" eventually 60 refuses_tls12
configure "min_version: TLS14"
holds "a bad one is logged with its line" eventually 60 has_logged 'web.yml:4:'
matches "and the one before goes on" "$(hello -tls1_2)" 'Cipher is \(NONE\)'
kill -HUP "$daemon_pid"
holds "a reload says so too" eventually 60 has_logged 'the old configuration stays in use'
equals "and changes nothing" "$(status_of /-/healthy)" 200
: >"$web"
holds "a file that is empty, as it is while it is written, is said" eventually 60 has_logged \
    'web.yml: the file is empty.*stay in force'
matches "and does not end TLS" "$(hello -tls1_3)" 'New, TLSv1.3'
configure
kill -HUP "$daemon_pid"
holds "a good one is taken up" eventually 60 has_logged 'configuration reloaded'
matches "at once" "$(hello -tls1_2)" 'New, TLSv1.2'
equals "the broken certificate was logged once" "$(grep -c 'is not PEM' "$daemon_log")" 1
equals "all the while the old connection was kept" "$(ask_old)" "200 $(serial_of "$pki/server.pem") kept"
eval "exec ${old_client[1]}>&-"
stop_daemon

# --- TLS goes on and off on the same socket

echo "" >"$web"
start_daemon --config.file="$light" --web.config.file="$web"
port=${url##*:}
equals "without tls_server_config it is HTTP" "$(status_of /-/healthy)" 200
# Exit statuses of curl: 7 is a refused connection. One scheme does not work while the other does, and that is all.
(
    while [ ! -e "$scratch/enough" ]; do
        curl -s -o /dev/null --cacert "$pki/ca.pem" "https://127.0.0.1:$port/-/healthy"
        echo "https $?"
        curl -s -o /dev/null "http://127.0.0.1:$port/-/healthy"
        echo "http $?"
    done
) >"$scratch/loop" &
looping=$!
children+=("$looping")
speaks() {
    curl -sf -o /dev/null --cacert "$pki/ca.pem" "$1://127.0.0.1:$port/-/healthy"
}
if [ "$(id -u)" -eq 0 ]; then
    configure
    kill -HUP "$daemon_pid"
    holds "files that were not named at the start, and that its user may not read, want a restart" \
        eventually 60 has_logged 'restart perfcountd'
    equals "and it goes on as it was" "$(status_of /-/healthy)" 200
    chmod 755 "$scratch" "$pki"
    chmod 644 "$pki/live.key"
fi
for round in 1 2; do
    configure
    kill -HUP "$daemon_pid"
    holds "round $round: SIGHUP turns TLS on" eventually 60 speaks https
    echo "" >"$web"
    kill -HUP "$daemon_pid"
    holds "round $round: and off" eventually 60 speaks http
done
configure
holds "it goes on when the file changes" eventually 60 speaks https
echo "" >"$web"
holds "and off" eventually 60 speaks http
touch "$scratch/enough"
wait "$looping"
equals "no connection was refused" "$(grep -c ' 7$' "$scratch/loop")" 0
holds "some were answered" grep -q '^https 0$' "$scratch/loop"
# shellcheck disable=SC2012 # numbers
equals "and one socket is left listening" "$(ss -Hltn "sport = :$port" | wc -l)" 1
stop_daemon

# --- errors at the start: exit status 2 and a sentence; tests/unit/test-tls.c has those of what is in the files

while IFS='|' read -r name prepare expected; do
    deploy server
    configure
    eval "$prepare"
    launch_daemon --config.file="$light" --web.config.file="$web" --web.listen-address=127.0.0.1:0
    eventually 60 not running "$daemon_pid"
    wait "$daemon_pid"
    equals "$name: exit status" "$?" 2
    matches "$name: is logged" "$(cat "$daemon_log")" "$expected"
    equals "$name: in one line" "$(wc -l <"$daemon_log")" 1
done <<'END'
a key that is not there|rm "$pki/live.key"|key_file ".*pki/live.key" cannot be read: No such file or directory
a directory|rm "$pki/live.key"; mkdir "$pki/live.key"|key_file ".*pki/live.key" cannot be read: Is a directory
END
if [ "$(id -u)" -eq 0 ]; then
    deploy server
    configure
    chmod 755 "$scratch" "$pki"
    chmod 600 "$pki/live.key"
    cp "$PERFCOUNTD" "$scratch/perfcountd"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/perfcountd" --web.config.file="$web" \
        --web.listen-address=127.0.0.1:0 >"$scratch/denied" 2>&1
    equals "a key that may not be read: exit status" "$?" 2
    matches "is explained" "$(cat "$scratch/denied")" \
        'live.key" cannot be read: permission denied \(EACCES\) for user 65534'
fi

deploy second
serve
equals "the first of three scrapes over one connection has a handshake, the others have none" \
    "$(curl -s "${client[@]}" -w '%{time_appconnect}\n' -o /dev/null "$url/metrics" -o /dev/null "$url/metrics" \
        -o /dev/null "$url/metrics" | awk '{ printf "%s ", ($1 > 0) }')" "1 0 0 "
stop_daemon
equals "it ends well" "$daemon_status" 0
finish
