/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the path of a cgroup says: unit, slice, container ID, user; and its label. Pure.
 *
 * The names that a cgroup's path has: the systemd unit, the slice, the container. Pure.
 *
 * The label `cgroup` of a cgroup's path. A label is printable UTF-8, and a path may be any bytes. Pure.
 *
 * Each byte that is not part of a printable character becomes U+FFFD, so that two paths may become the same text. The
 * label of the later path is distinguished by a tail. The tail says what each U+FFFD of the text stands for, in the
 * path's order: the byte in hexadecimal, or "--" for a U+FFFD of the path itself. "/a\xff" is "/a\uFFFD", and, where
 * that is taken, "/a\uFFFD#ff".
 */
#ifndef CGROUPS_PATH_H
#define CGROUPS_PATH_H

#include "base/util.h"
#include "cgroups/names.h"

#define UNIT_NAME_SIZE 256 /* of systemd's units, the NUL included */

/* A unit or slice of a service manager of this machine, not of a container. */
struct path_unit {
    char name[UNIT_NAME_SIZE]; /* as its file is named, with escapes: "user@1000.service" */
    bool of_user;              /* of the manager of `user`, whose cgroup is user@UID.service */
    uint32_t user;
    bool is_last; /* the path ends with it */
};

/* The byte that "\x2d" at the start of `text` stands for; -1 if there is no such escape, or if the byte is NUL. */
int unit_escaped_byte(const char *text, size_t size);

/* `names` is empty. -ENOMEM. */
int names_from_path(struct names *names, const char *path);
/* The innermost unit, or slice where there is no unit; false where there is none. */
bool path_find_unit(const char *path, struct path_unit *ret);
/*
 * Whether its container is in another one, which made the cgroup and its name: this machine's runtimes do not know it,
 * whatever id it has.
 */
bool path_is_nested(const char *path);
/* Whether a container made what `part`, in the path, begins: it is below the container's cgroup. */
bool path_is_in_container(const char *path, const char *part);
/* Whether it is below user-UID.slice: that user may have made the cgroup and its name. UID 0 is root. */
bool path_find_user(const char *path, uint32_t *ret);

enum cgroup_label { CGROUP_LABEL_PLAIN, CGROUP_LABEL_DISTINCT };

/* The caller frees `ret`. No two paths have the same distinct label. -ENOMEM. */
int cgroup_label(const char *path, enum cgroup_label kind, char **ret);
/*
 * The plain label, or the distinct one where the plain label is taken, or where a printable path looks like a distinct
 * label of others. -EEXIST where that is taken, too: the path was made to have it. -ENOMEM.
 */
int cgroup_label_choose(const char *path, bool (*is_taken)(const void *userdata, const char *label),
                        const void *userdata, char **ret);
/* Whether another path might have the same plain label: a U+FFFD is in it. */
bool cgroup_label_is_ambiguous(const char *label);

#endif
