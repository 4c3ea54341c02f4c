/* SPDX-License-Identifier: Apache-2.0 */
/* The systemd unit and the container that a cgroup's path names. Pure. */
#ifndef COLLECTORS_CGROUP_IDENTITY_H
#define COLLECTORS_CGROUP_IDENTITY_H

#include "base/util.h"

/* One piece of memory holds the texts. */
struct cgroup_identity {
    char *unit;  /* the innermost unit, unescaped as systemd-escape(1) does: "ssh.service"; "" where there is none */
    char *slice; /* the innermost slice: "system.slice"; "" */
    char *container_id; /* 64 hexadecimal digits, of docker, containerd, cri-o, podman; "" */
};

/* -ENOMEM. */
int cgroup_identify(const char *path, struct cgroup_identity *ret);
void cgroup_identity_done(struct cgroup_identity *identity);

#endif
