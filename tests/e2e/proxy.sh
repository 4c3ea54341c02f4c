#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Clients of a real proxy on the machine, nginx or haproxy, may only read, even if local clients may operate.
# tests/unit/test-request.c tests the headers of other proxies.
# set: all
. "$(dirname "$0")/lib.sh"
need curl haproxy jq nginx python3

config=$scratch/perfcountd.yaml
socket=$scratch/http.sock
cat >"$config" <<'END'
web: {min_interval: 0s, local_operators: true}
sampler: {enabled: true, event: cpu-clock, frequency: 50}
END
start_daemon --config.file="$config" --web.listen-address=127.0.0.1:0 --web.listen-address="unix:$socket"
port=${url##*:}

free_ports() {
    python3 - "$1" <<'END'
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in sockets))
END
}
# end PID: stops the proxy.
end() {
    kill -TERM "$1"
    wait "$1" 2>/dev/null
}
# at PORT METHOD PATH [CURL-OPTIONS...]: prints the status code.
at() {
    curl -sS --globoff --max-time 90 -o /dev/null -w '%{http_code}' -X "$2" "${@:4}" "http://127.0.0.1:$1$3"
}
answers_at() {
    [ "$(at "$1" GET /metrics)" != 000 ]
}
# operates PORT STATUS TITLE [CURL-OPTIONS...]: checks the status of requests that only operators may send.
operates() {
    local method path
    while read -r method path; do
        equals "$3: $method $path" "$(at "$1" "$method" "$path" "${@:4}")" "$2"
    done <<'END'
POST /-/reload
POST /api/v1/pause?seconds=1
DELETE /api/v1/pause
GET /api/v1/samples?seconds=0.1
END
}
# is_no_operator PORT TITLE [CURL-OPTIONS...]: checks that the client may read, but not operate.
is_no_operator() {
    equals "$2: may read" "$(at "$1" GET /metrics "${@:3}")" 200
    operates "$1" 403 "$2" "${@:3}"
}

operates "$port" 200 "without a proxy"
reloads=$(grep -c 'configuration reloaded' "$daemon_log")

# --- nginx: one server for each header that names the client

test_nginx() {
    local ports i=0 name headers target nginx
    read -ra ports < <(free_ports 7)
    mkdir "$scratch/nginx"
    {
        echo "daemon off; master_process off; pid $scratch/nginx/pid; error_log $scratch/nginx/error.log;"
        echo "events {} http { access_log off;"
        for name in client_body proxy fastcgi uwsgi scgi; do
            echo "${name}_temp_path $scratch/nginx/$name;"
        done
        while read -r target headers; do
            echo "server { listen 127.0.0.1:${ports[i]}; location / {
                proxy_pass http://${target/UNIX/unix:$socket:}; $headers } }"
            i=$((i + 1))
        done
        echo "}"
    } >"$scratch/nginx/nginx.conf" <<END
127.0.0.1:$port proxy_set_header X-Forwarded-For \$proxy_add_x_forwarded_for;
127.0.0.1:$port proxy_set_header X-Real-IP \$remote_addr;
127.0.0.1:$port proxy_set_header Forwarded for=\$remote_addr;
127.0.0.1:$port proxy_set_header Host \$http_host; proxy_set_header X-Forwarded-Proto \$scheme;
UNIX proxy_set_header X-Forwarded-For \$proxy_add_x_forwarded_for;
127.0.0.1:$port proxy_set_header Host \$http_host;
127.0.0.1:$port
END
    nginx -p "$scratch/nginx" -c "$scratch/nginx/nginx.conf" 2>"$scratch/nginx/stderr" &
    nginx=$!
    children+=("$nginx")
    if ! eventually 60 answers_at "${ports[6]}"; then
        fail "nginx starts" "$(cat "$scratch/nginx/stderr" "$scratch/nginx/error.log")"
        return
    fi
    is_no_operator "${ports[0]}" "nginx, X-Forwarded-For"
    is_no_operator "${ports[0]}" "a client that claims to be local" -H 'X-Forwarded-For: 127.0.0.1'
    is_no_operator "${ports[1]}" "nginx, X-Real-IP"
    is_no_operator "${ports[2]}" "nginx, Forwarded"
    is_no_operator "${ports[3]}" "nginx, X-Forwarded-Proto alone"
    is_no_operator "${ports[4]}" "nginx, over the unix socket"
    # As the manual says, a proxy that sends no such header looks like a local client, unless the Host is another
    # machine's.
    is_no_operator "${ports[5]}" "nginx, only its client's Host" -H 'Host: board.example'
    operates "${ports[6]}" 200 "nginx, no header"
    end "$nginx"
}

# --- haproxy

test_haproxy() {
    local ports haproxy
    read -ra ports < <(free_ports 2)
    cat >"$scratch/haproxy.cfg" <<END
defaults
    mode http
    option forwardfor
    timeout connect 5s
    timeout client 30s
    timeout server 30s
listen tcp
    bind 127.0.0.1:${ports[0]}
    server board 127.0.0.1:$port
listen unix
    bind 127.0.0.1:${ports[1]}
    server board unix@$socket
END
    haproxy -db -f "$scratch/haproxy.cfg" >"$scratch/haproxy.log" 2>&1 &
    haproxy=$!
    children+=("$haproxy")
    if ! eventually 60 answers_at "${ports[1]}"; then
        fail "haproxy starts" "$(cat "$scratch/haproxy.log")"
        return
    fi
    is_no_operator "${ports[0]}" "haproxy"
    is_no_operator "${ports[1]}" "haproxy, over the unix socket"
    end "$haproxy"
}

test_nginx
by_nginx=$(grep -c 'configuration reloaded' "$daemon_log")
test_haproxy
compares "refused requests changed nothing" "$by_nginx - $reloads <= 1 && \
    $(grep -c 'configuration reloaded' "$daemon_log") == $by_nginx"
equals "nothing is paused" "$(get /api/v1/pause | jq -c .paused)" false
stop_daemon
equals "the daemon exits cleanly" "$daemon_status" 0
finish
