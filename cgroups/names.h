/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The human-readable names of a cgroup: the systemd unit, the container, the pod; and patterns of such names, KEY=GLOB.
 * Any user can choose such names, so they are untrusted text. This module makes no system calls.
 */
#ifndef CGROUPS_NAMES_H
#define CGROUPS_NAMES_H

#include "base/util.h"

enum name_kind {
    /* The unit and its slice are known from the path alone. */
    NAME_UNIT,  /* the innermost systemd unit, unescaped as systemd-escape(1) does: "ssh.service" */
    NAME_SLICE, /* the innermost slice: "system.slice" */
    /* A container's cgroup is the path component that contains one of the next two. */
    NAME_CONTAINER_ID, /* 64 hexadecimal digits, of docker, containerd, cri-o, podman */
    NAME_CONTAINER,    /* from here on, names come from the path or from a source (cgroups/name-source.h) */
    NAME_IMAGE,
    NAME_POD,
    NAME_NAMESPACE, /* the Kubernetes namespace */
    NAME_COMPOSE_PROJECT,
    NAME_COMPOSE_SERVICE,
    NAME_RUNTIME,     /* "docker", "podman", "containerd", "cri-o", "lxc", "nspawn", "libvirt" */
    NAME_DESCRIPTION, /* description of the systemd unit; used neither as a label nor as a parameter or a key */
    N_NAME_KINDS
};

/* The kinds before this one are used as labels, request parameters and pattern keys. */
#define N_NAME_KEYS NAME_DESCRIPTION

/*
 * Returns "unit", "container", ...: the name of the label, the JSON field, the request parameter and the pattern key.
 */
const char *name_kind_text(enum name_kind kind);
/*
 * Splits a pattern such as "container=grafana-*" into its kind and its glob, which is to be matched by
 * glob_match_last(). Returns -ENOENT if the pattern does not begin with a key.
 */
int name_kind_parse(const char *pattern, enum name_kind *ret, const char **ret_glob);

/* Longer names are cut to this many bytes, at a character boundary. */
#define NAME_SIZE_MAX 512

struct names {
    char *texts[N_NAME_KINDS]; /* NULL if the cgroup has no name of this kind */
    bool is_pause;             /* the container only holds the namespaces of a pod */
    /* The source of the container's name: "docker", "kubernetes", "path"..., or NULL if it has no name. Static text. */
    const char *source;
    /*
     * The reason why the container has no name, and the remedy. NULL if it has a name or if there is no container.
     * Static text.
     */
    const char *unnamed;
};

/*
 * Sets a name to the first `size` bytes of `text`, cut to NAME_SIZE_MAX. Each byte that is not part of a printable
 * character becomes U+FFFD. With size 0 the name is removed. Returns -ENOMEM on failure.
 */
int names_set(struct names *names, enum name_kind kind, const char *text, size_t size);
/*
 * Copies from `other` each name that `names` lacks, and the source if `names` has none. If the container still has no
 * name, the reason is copied too; otherwise the reason is removed. Returns -ENOMEM on failure.
 */
int names_merge(struct names *names, const struct names *other);
bool names_equal(const struct names *a, const struct names *b);
void names_done(struct names *names);

#define NAMES_BEST_MAX (3 * (NAME_SIZE_MAX + 1))

/*
 * The best human-readable name: "project/service" of compose, "namespace/pod/container" of Kubernetes, the container,
 * the unit, or the slice. The name is written to `room`. Returns NULL if there is no name.
 */
const char *names_best(const struct names *names, char room[NAMES_BEST_MAX]);

#endif
