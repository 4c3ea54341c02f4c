/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of names that people give to what runs in a cgroup, and patterns of names: KEY=GLOB. Pure. */
#ifndef CGROUPS_NAME_KIND_H
#define CGROUPS_NAME_KIND_H

#include "base/util.h"

enum name_kind {
    /* Of the path alone: a unit, and its slice. */
    NAME_UNIT,  /* the innermost systemd unit, unescaped as systemd-escape(1) does: "ssh.service" */
    NAME_SLICE, /* the innermost slice: "system.slice" */
    /* Where one of the next two begins in a path, a container does. */
    NAME_CONTAINER_ID, /* 64 hexadecimal digits, of docker, containerd, cri-o, podman */
    NAME_CONTAINER,    /* of the path, or of what the sources (cgroups/name-source.h) know, as all behind it */
    NAME_IMAGE,
    NAME_POD,
    NAME_NAMESPACE, /* of Kubernetes */
    NAME_COMPOSE_PROJECT,
    NAME_COMPOSE_SERVICE,
    NAME_RUNTIME,     /* "docker", "podman", "containerd", "cri-o", "lxc", "nspawn", "libvirt" */
    NAME_DESCRIPTION, /* of the systemd unit; no label, no parameter and no key */
    N_NAME_KINDS
};

/* The kinds that are labels, parameters of requests and keys of patterns come first. */
#define N_NAME_KEYS NAME_DESCRIPTION

/* "unit", "container", ...: the label, the field of JSON, the parameter and the key of a pattern. */
const char *name_kind_text(enum name_kind kind);
/* A pattern "container=grafana-*" and its glob, for glob_match_last(). -ENOENT where it does not begin with a key. */
int name_kind_parse(const char *pattern, enum name_kind *ret, const char **ret_glob);

#endif
