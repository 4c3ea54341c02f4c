#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests TLS with real clients (curl, openssl, GnuTLS): accepted and rejected clients, versions and cipher suites, and
# changes of the certificates and of TLS itself while clients are connected. tests/e2e/bad-clients.sh tests malicious
# clients.
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

# configure LINE...: writes the web configuration, with these lines in tls_server_config.
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

# deploy NAME: replaces the served key and certificate by those with this name, each atomically.
deploy() {
    local suffix
    [ ! -d "$pki/live.key" ] || rmdir "$pki/live.key"
    for suffix in key pem; do
        cp "$pki/$1.$suffix" "$pki/live.$suffix.new"
        mv "$pki/live.$suffix.new" "$pki/live.$suffix"
    done
}

# serve LINE...: starts a daemon with such a web configuration.
serve() {
    configure "$@"
    start_daemon --config.file="$light" --web.config.file="$web"
}

# serve_some LINE...: the same, without waiting for a response, since curl may be rejected.
serve_some() {
    configure "$@"
    launch_daemon --config.file="$light" --web.config.file="$web" --web.listen-address=127.0.0.1:0
    eventually 60 listening_or_dead
    url=$(sed -n 's|.*listening on \(https://[^ "]*\)/.*|\1|p' "$daemon_log")
}

# hello [S_CLIENT-OPTIONS...]: prints openssl's report of a handshake.
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
equals "curl connects with TLS 1.3" "$(status_of /metrics --tlsv1.3)" 200
equals "curl connects with TLS 1.2" "$(status_of /metrics --tls-max 1.2)" 200
matches "ALPN selects HTTP/1.1" "$(hello -alpn h2,http/1.1)" 'ALPN protocol: http/1.1'
matches "ALPN selects HTTP/1.1 for a client that offers only that" \
    "$(hello -alpn http/1.1)" 'ALPN protocol: http/1.1'
matches "a client without ALPN is served" "$(hello)" 'Verify return code: 0'
matches "openssl connects with TLS 1.3" "$(hello -tls1_3)" 'New, TLSv1.3, Cipher is TLS_AES_'
matches "openssl connects with TLS 1.2" "$(hello -tls1_2)" 'New, TLSv1.2, Cipher is ECDHE-RSA-AES128-GCM-SHA256'
matches "X25519 is used without a second round trip" "$(hello -tls1_3)" 'Temp Key: X25519'
weak=(-cipher 'ALL:@SECLEVEL=0')
for version in tls1 tls1_1; do
    matches "$version is refused" "$(hello -$version "${weak[@]}")" 'Cipher is \(NONE\)'
    matches "$version: the client gets an alert" "$(hello -$version "${weak[@]}")" 'alert protocol version'
done
matches "a key exchange without forward secrecy is refused" "$(hello -tls1_2 -cipher AES128-SHA)" 'Cipher is \(NONE\)'
matches "GnuTLS's client connects" \
    "$(gnutls-cli --x509cafile="$pki/ca.pem" -p "${url##*:}" 127.0.0.1 </dev/null 2>&1)" \
    'Handshake was completed'
matches "no session is resumed" "$(hello -tls1_2 -reconnect)" 'New, TLSv1.2'
equals "no session is reused" "$(hello -tls1_2 -reconnect | grep -c Reused)" 0
matches "an HTTP request to the TLS port gets an explanation" \
    "$(curl -s -w '%{http_code}\n' "http://${url#https://}/" | tr '\n' ' ')" \
    '^Client sent an HTTP request to an HTTPS server\. 400 $'
"$PERFCOUNTD" top --url="http://${url#https://}" --count=1 >"$scratch/top" 2>&1
contains "top says what to do instead" "$(<"$scratch/top")" 'it uses TLS, which is not supported here: use its unix socket'
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0

# Columns: name, line, s_client option, what openssl prints.
while IFS='|' read -r name line option expected; do
    serve_some "${line//ECDHE_RSA_/TLS_ECDHE_RSA_WITH_AES_}"
    matches "$name" "$(hello "$option")" "$expected"
    stop_daemon
done <<'END'
min_version TLS 1.3 refuses TLS 1.2|min_version: TLS13|-tls1_2|Cipher is \(NONE\)
the server's order is used|cipher_suites: [ECDHE_RSA_256_GCM_SHA384, ECDHE_RSA_128_GCM_SHA256]|-tls1_2|AES256-GCM-SHA384
a configured curve is used|curve_preferences: [CurveP384]|-tls1_3|Temp Key: ECDH, secp384r1
END

# --- client certificates

# Prints the status for a client with a certificate ("-" for none) and a maximum version: 200, or refused.
answer_to() {
    local certificate=() code
    [ "$1" = - ] || certificate=(--cert "$pki/$1.pem" --key "$pki/$1.key")
    code=$(status_of /-/healthy "${certificate[@]}" --tls-max "$2" 2>"$scratch/curl.log")
    case $code in
    000) echo refused ;;
    *) echo "$code" ;;
    esac
}

# tests/unit/test-tls.c tests each client_auth_type and each alert.
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
equals "client_allowed_sans has no wildcards" "$(answer_to client 1.3) $(answer_to client 1.2)" "refused refused"
stop_daemon

# --- unix sockets

socket=$scratch/tls.sock
# over_socket [CURL-OPTIONS...]: prints the status and the body of a request over the unix socket.
over_socket() {
    "${as[@]}" curl -sS -w '%{http_code} ' --unix-socket "$socket" http://localhost/-/healthy "$@" | tr '\n' ' '
}
# demands_certificate: whether the TCP address rejects clients without a certificate.
demands_certificate() {
    [ "$(answer_to - 1.3)" = refused ]
}
as=() member=()
if [ "$(id -u)" -eq 0 ]; then
    chmod 711 "$scratch"
    member=(setpriv --reuid=12345 --regid=0 --clear-groups)
fi
configure
start_daemon --config.file="$light" --web.config.file="$web" --web.listen-address=127.0.0.1:0 \
    --web.listen-address="unix:$socket"
matches "with TLS, unix sockets speak plain HTTP" "$(over_socket)" '200 $'
holds "with TLS, top reads from the unix socket" "$PERFCOUNTD" top --url="unix:$socket" --count=1 --interval=100ms
as=("${member[@]}")
matches "a member of the socket's group is let in" "$(over_socket)" '200 $'
configure "${verify[@]}"
holds "client certificates are required when the file changes" eventually 60 demands_certificate
as=()
matches "root and the daemon's own user need no certificate on the unix socket" "$(over_socket)" '200 $'
matches "a request that a proxy forwards to the unix socket carries no client certificate, and is refused" \
    "$(over_socket -H 'X-Forwarded-For: 192.0.2.1')" '^this needs a client certificate.*https.* 403 $'
as=("${member[@]}")
if [ ${#as[@]} -gt 0 ]; then
    matches "a member of the socket's group, who cannot present a certificate on the socket, is refused" \
        "$(over_socket)" '^this needs a client certificate.*https.* 403 $'
else
    left_out "a member of the socket's group, which only root can become"
fi
stop_daemon

# operates [NAME]: prints the status of a reload with that certificate: 200 for operators, 403 for others.
operates() {
    local certificate=()
    [ $# -eq 0 ] || certificate=(--cert "$pki/$1.pem" --key "$pki/$1.key")
    status_of /-/reload -X POST "${certificate[@]}"
}
serve_some "${verify[@]}"
equals "a certificate of the client CA makes an operator" "$(operates client)" 200
stop_daemon

# Without a client CA, the system's CAs are used, as in other exporters. In this namespace, the test's CA is the only
# system CA.
system_cas=/etc/ssl/certs/ca-certificates.crt
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(--map-root-user)
# shellcheck disable=SC2016 # the inner shell expands them
with_cas=(unshare "${as_root[@]}" --mount --propagation private bash -c 'mount --bind "$0" "$1" && shift && exec "$@"'
    "$pki/ca.pem" "$system_cas")
if [ -e "$system_cas" ] && "${with_cas[@]}" true 2>/dev/null; then
    configure "client_auth_type: VerifyClientCertIfGiven"
    "${with_cas[@]}" "$PERFCOUNTD" check-config --web.config.file="$web" >"$scratch/checked" 2>&1
    equals "no client CA: check-config accepts the file" "$?" 0
    contains "no client CA: check-config warns" \
        "$(cat "$scratch/checked")" 'web.yml: warning: tls_server_config.client_auth_type: without'
    wrapper=("${with_cas[@]}")
    serve "client_auth_type: VerifyClientCertIfGiven"
    matches "no client CA: the log has the warning" \
        "$(cat "$daemon_log")" ' makes no client an operator; set client_ca_file'
    equals "a client with a certificate from a system CA is let in" "$(answer_to client 1.3)" 200
    equals "a client with a certificate from another CA is rejected" "$(answer_to stranger 1.3)" refused
    equals "no client CA: clients with and without a certificate may not operate" \
        "$(operates client) $(operates)" "403 403"
    stop_daemon
    serve_some "client_auth_type: RequireAndVerifyClientCert" "client_allowed_sans: [prometheus.test]"
    equals "a client whose name is configured may operate" "$(operates client)" 200
    lacks "client_allowed_sans: there is no warning about operators" 'operator' "$daemon_log"
    stop_daemon
    wrapper=()
else
    left_out "system CAs, or a mount namespace"
fi

# --- certificates change while clients are connected

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
equals "a client connects" "$(ask_old)" "200 $(serial_of "$pki/server.pem") new"
deploy second
holds "a new certificate is used" eventually 60 serves_serial "$(serial_of "$pki/second.pem")"
equals "the existing connection is kept" "$(ask_old)" "200 $(serial_of "$pki/server.pem") kept"

cp "$pki/second.pem" "$scratch/second.pem"
echo "no certificate" >"$pki/live.pem"
holds "a broken certificate is logged" eventually 60 has_logged 'pki/live.pem" is not PEM'
equals "the previous certificate stays in use" "$(served_serial)" "$(serial_of "$pki/second.pem")"
equals "the existing connection is still kept" "$(ask_old)" "200 $(serial_of "$pki/server.pem") kept"

mkdir "$pki/a" "$pki/b"
cp "$pki/server.pem" "$pki/a/live.pem"; cp "$pki/server.key" "$pki/a/live.key"
cp "$pki/second.pem" "$pki/b/live.pem"; cp "$pki/second.key" "$pki/b/live.key"
ln -s a "$pki/current"
ln -sf current/live.pem "$pki/live.pem"
ln -sf current/live.key "$pki/live.key"
holds "links are followed" eventually 60 serves_serial "$(serial_of "$pki/server.pem")"
ln -s b "$pki/current.new"
mv -T "$pki/current.new" "$pki/current"
holds "a changed link is noticed" eventually 60 serves_serial "$(serial_of "$pki/second.pem")"
cp "$pki/server.key" "$pki/b/live.key.new"
mv "$pki/b/live.key.new" "$pki/b/live.key"
holds "a key that belongs to another certificate is logged" eventually 60 has_logged 'is not the key of cert_file'
equals "the previous pair stays in use" "$(served_serial)" "$(serial_of "$pki/second.pem")"
rm "$pki/live.pem" "$pki/live.key"
holds "a missing certificate is logged" eventually 60 has_logged 'ENOENT'
deploy server
holds "a restored certificate is used" eventually 60 serves_serial "$(serial_of "$pki/server.pem")"
deploy old
holds "an expired certificate is logged" eventually 60 has_logged 'live.pem expired on 2021-01-01'
equals "an expired certificate is nevertheless served" "$(served_serial)" "$(serial_of "$pki/old.pem")"
deploy server
eventually 60 serves_serial "$(serial_of "$pki/server.pem")"

configure "min_version: TLS13"
refuses_tls12() {
    hello -tls1_2 | grep -q 'Cipher is (NONE)'
}
holds "a changed configuration takes effect at the next connection" eventually 60 refuses_tls12
configure "min_version: TLS14"
holds "an invalid configuration is logged with its line" eventually 60 has_logged 'web.yml:4:'
matches "the previous configuration stays in effect" "$(hello -tls1_2)" 'Cipher is \(NONE\)'
kill -HUP "$daemon_pid"
holds "a reload logs that the previous configuration stays in effect" \
    eventually 60 has_logged 'the previous configuration stays in effect'
equals "a reload with an invalid configuration changes nothing" "$(status_of /-/healthy)" 200
: >"$web"
holds "an empty file, which may still be being written, is logged" eventually 60 has_logged \
    'web.yml: the file is empty.*stays in effect'
matches "an empty file does not disable TLS" "$(hello -tls1_3)" 'New, TLSv1.3'
configure
kill -HUP "$daemon_pid"
holds "a valid configuration is accepted" eventually 60 has_logged 'configuration reloaded'
matches "a valid configuration takes effect at once" "$(hello -tls1_2)" 'New, TLSv1.2'
equals "the broken certificate was logged once" "$(grep -c 'is not PEM' "$daemon_log")" 1
equals "the existing connection was kept throughout" "$(ask_old)" "200 $(serial_of "$pki/server.pem") kept"
eval "exec ${old_client[1]}>&-"
stop_daemon

# --- TLS is enabled and disabled on the same socket

echo "" >"$web"
start_daemon --config.file="$light" --web.config.file="$web"
port=${url##*:}
equals "without tls_server_config the daemon uses HTTP" "$(status_of /-/healthy)" 200
# While TLS is switched, one of the two schemes fails, but no connection may be refused (curl's exit status 7).
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
    holds "files that were not configured at the start need a restart if the daemon's user may not read them" \
        eventually 60 has_logged 'restart perfcountd'
    equals "the daemon still uses HTTP" "$(status_of /-/healthy)" 200
    chmod 755 "$scratch" "$pki"
    chmod 644 "$pki/live.key"
fi
for round in 1 2; do
    configure
    kill -HUP "$daemon_pid"
    holds "round $round: SIGHUP enables TLS" eventually 60 speaks https
    echo "" >"$web"
    kill -HUP "$daemon_pid"
    holds "round $round: SIGHUP disables TLS" eventually 60 speaks http
done
configure
holds "TLS is enabled when the file changes" eventually 60 speaks https
holds "some connections used TLS" eventually 60 grep -q '^https 0$' "$scratch/loop"
echo "" >"$web"
holds "TLS is disabled when the file changes" eventually 60 speaks http
touch "$scratch/enough"
wait "$looping"
equals "no connection was refused" "$(grep -c ' 7$' "$scratch/loop")" 0
# shellcheck disable=SC2012 # numbers
equals "only one socket is listening" "$(ss -Hltn "src = 127.0.0.1:$port" | wc -l)" 1
stop_daemon

# --- errors at the start: exit status 2 and one sentence; tests/unit/test-tls.c tests errors in the files

while IFS='|' read -r name prepare expected; do
    deploy server
    configure
    eval "$prepare"
    launch_daemon --config.file="$light" --web.config.file="$web" --web.listen-address=127.0.0.1:0
    eventually 60 not running "$daemon_pid"
    wait "$daemon_pid"
    equals "$name: exit status" "$?" 2
    matches "$name: the log names the error" "$(cat "$daemon_log")" "$expected"
    equals "$name: the log has one line" "$(wc -l <"$daemon_log")" 1
done <<'END'
a key that is not there|rm "$pki/live.key"|cannot read key_file ".*pki/live.key": No such file or directory
a directory|rm "$pki/live.key"; mkdir "$pki/live.key"|cannot read key_file ".*pki/live.key": Is a directory
END
if [ "$(id -u)" -eq 0 ]; then
    deploy server
    configure
    chmod 755 "$scratch" "$pki"
    chmod 600 "$pki/live.key"
    cp "$PERFCOUNTD" "$scratch/perfcountd"
    setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/perfcountd" --web.config.file="$web" \
        --web.listen-address=127.0.0.1:0 >"$scratch/denied" 2>&1
    equals "an unreadable key: exit status" "$?" 2
    matches "an unreadable key: the message" "$(cat "$scratch/denied")" \
        'cannot read key_file ".*live.key": permission denied \(EACCES\) for user 65534'
fi

deploy second
serve
equals "the first of three scrapes over one connection has a handshake, the others have none" \
    "$(curl -s "${client[@]}" -w '%{time_appconnect}\n' -o /dev/null "$url/metrics" -o /dev/null "$url/metrics" \
        -o /dev/null "$url/metrics" | awk '{ printf "%s ", ($1 > 0) }')" "1 0 0 "
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
finish
