#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The commands of doc/security.md that try TLS, as they stand there: on the machine itself and by its name. Only the
# port, the hash and the password are the test's.
. "$(dirname "$0")/lib.sh"
need curl openssl

# of_doc PATTERN: the line of a block of doc/security.md that has it.
of_doc() {
    sed -n 's/^    //p' "$root/doc/security.md" | grep -m1 -e "$1"
}

cd "$scratch" || exit 1
{
    of_doc '^tls_server_config:'
    # shellcheck disable=SC2016 # the hash of "secret"
    of_doc '^basic_auth_users:' |
        sed 's|\$[^ }]*|$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW|'
} >web.yml
make=$(of_doc '^openssl req')
holds "the certificate is made" bash -c "$make 2>/dev/null"
check=$(of_doc '^perfcountd check-config --web.config.file')
equals "check-config likes both" "$(${check/#perfcountd/$PERFCOUNTD} | tail -n 1)" "web.yml: ok"
client=(--insecure -u prometheus:secret) # until it is ready
run=$(of_doc '^perfcountd --web.config.file')
# shellcheck disable=SC2086 # its words
start_daemon ${run#perfcountd } --web.listen-address=127.0.0.1:0
port=${url##*:}

# ask HOST [CURL-OPTIONS...]: the status of the documented curl, to this host.
ask() {
    local command
    command=$(of_doc '^curl .*--cacert' | sed -e 's/ *#.*//' -e "s|https://[^:/]*:10298|https://$1:$port|" \
        -e 's/-u prometheus/-u prometheus:secret/')
    bash -c "$command -o /dev/null -w '%{http_code}' --max-time 30 ${*:2}"
}
equals "on the machine itself, as documented" "$(ask localhost)" 200
equals "by the address" "$(ask 127.0.0.1)" 200
equals "by the name of the machine" "$(ask "$(hostname)" "--resolve '$(hostname):$port:127.0.0.1'")" 200
equals "by another name" "$(ask elsewhere.example "--resolve 'elsewhere.example:$port:127.0.0.1'")" 000
matches "the documented curl asks the machine itself" "$(of_doc '^curl .*--cacert')" 'https://localhost:10298/'
stop_daemon
finish
