#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes system calls of a real daemon, its opener, its state file reader and its symboliser fail, one after the other,
# on the real kernel, with strace(1). calls.py describes the options and the names of points. To run one point:
#     calls.sh --verbose daemon:serve:openat:EMFILE:10
. "$(dirname "$0")/../e2e/lib.sh"
need strace openssl cc unshare /usr/bin/python3
# shellcheck source=../e2e/cgroup-lib.sh
. "$here/cgroup-lib.sh"
# shellcheck source=../e2e/tls-lib.sh
. "$here/tls-lib.sh"

# The daemon runs as another user.
chmod 755 "$scratch"
tools=$scratch/tools
mkdir "$tools" "$scratch/points"
cp "$load" "$tools/cgroup-load"
cc -O1 -fno-omit-frame-pointer -o "$tools/hot" "$here/hot.c" || exit 1
make_ca ca
make_certificate localhost ca server DNS:localhost
cp "$pki/localhost.pem" "$pki/localhost.key" "$tools"
chmod 644 "$tools"/localhost.*
# A hash of "right" with the lowest cost.
cat >"$tools/web.yaml" <<'END'
tls_server_config: {cert_file: localhost.pem, key_file: localhost.key}
basic_auth_users: {alice: "$2b$04$NEBlQi29u6rU4Ez/YjCrVOthX/F1Mruu1tYjJXbAew9oFlw83A8PK"}
END

# A private /run for the state files of containers.
# shellcheck disable=SC2016 # the inner shell expands the variables
unshare --mount --propagation private sh -c 'mount -t tmpfs tmpfs /run && exec "$@"' x /usr/bin/python3 \
    "$root/tests/faults/calls.py" "$PERFCOUNTD" "$tools" "$scratch/points" "$hierarchy" "$@"
