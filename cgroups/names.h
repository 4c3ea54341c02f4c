/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of names that people give to what runs in a cgroup, and patterns of names: KEY=GLOB. Pure.
 *
 * The names that people have for what runs in a cgroup: the systemd unit, the container, the pod. Strangers write these
 * names: they may be any text, and say nothing that could be trusted.
 */
#ifndef CGROUPS_NAMES_H
#define CGROUPS_NAMES_H

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

/* Names are cut to this many bytes, at the end of a character. */
#define NAME_SIZE_MAX 512

struct names {
    char *texts[N_NAME_KINDS]; /* NULL where there is none */
    bool is_pause;             /* it only holds the namespaces of a pod */
    /* The source of the container's name: "docker", "kubernetes", "path"...; NULL where it has none. Static text. */
    const char *source;
    /* Where it is a container without a name, why: a sentence with the remedy. Static text; NULL otherwise. */
    const char *unnamed;
};

/*
 * Takes the first `size` bytes of `text`, cut to NAME_SIZE_MAX; each byte that is not part of a printable
 * character becomes U+FFFD. Without a byte there is no name. -ENOMEM.
 */
int names_set(struct names *names, enum name_kind kind, const char *text, size_t size);
/* Takes each name from `other` that `names` lacks, and the source where it has none. -ENOMEM. */
int names_merge(struct names *names, const struct names *other);
bool names_equal(const struct names *a, const struct names *b);
void names_done(struct names *names);

#define NAMES_BEST_MAX (3 * (NAME_SIZE_MAX + 1))

/*
 * The name that a person uses: "project/service" of compose, "namespace/pod/container" of Kubernetes, the container,
 * the unit, the slice; NULL: nothing. It is in `room`.
 */
const char *names_best(const struct names *names, char room[NAMES_BEST_MAX]);

#endif
