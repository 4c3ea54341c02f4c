/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derives a cgroup's names (the systemd unit, the slice, the container and the user) and the value of its `cgroup`
 * label from its path. This module makes no system calls.
 *
 * A label is printable UTF-8, and a path may contain any bytes. Each byte that is not part of a printable character
 * becomes U+FFFD in the label, so two paths may give the same label. The label of the later path then gets a suffix
 * with two characters for each U+FFFD in the label: the replaced byte in hexadecimal, or "--" if the path itself has a
 * U+FFFD there. "/a\xff" becomes "/a\uFFFD", and, if that is taken, "/a\uFFFD#ff".
 */
#ifndef CGROUPS_PATH_H
#define CGROUPS_PATH_H

#include "base/util.h"
#include "cgroups/names.h"

#define UNIT_NAME_SIZE 256 /* room for the name of a systemd unit, including the NUL */

/* A unit or slice of a service manager of this machine, not of a container. */
struct path_unit {
    char name[UNIT_NAME_SIZE]; /* the name of the unit's file, with escapes: "user@1000.service" */
    bool of_user;              /* the unit belongs to the service manager of `user`, in user@UID.service */
    uint32_t user;
    bool is_last; /* the unit is the last component of the path */
};

/*
 * The byte that an escape such as "\x2d" at the start of `text` stands for; -1 if there is no escape, or if the byte is
 * NUL.
 */
int unit_escaped_byte(const char *text, size_t size);

/* Sets the names that the path gives. `names` must be empty. Returns -ENOMEM on failure. */
int names_from_path(struct names *names, const char *path);
/*
 * Finds the innermost unit, or the innermost slice if there is no unit. Returns false if the path has no unit and no
 * slice.
 */
bool path_find_unit(const char *path, struct path_unit *ret);
/*
 * Whether the container of this path is in another container, which created the cgroup and chose its name. This
 * machine's runtimes do not know a container inside another one, whatever its id.
 */
bool path_is_nested(const char *path);
/*
 * Whether the component at `part`, a pointer into `path`, is below a container's cgroup, so that the container may have
 * created it.
 */
bool path_is_in_container(const char *path, const char *part);
/*
 * Whether the path is below user-UID.slice, so that this user may have created the cgroup and chosen its name. UID 0 is
 * root.
 */
bool path_find_user(const char *path, uint32_t *ret);

enum cgroup_label { CGROUP_LABEL_PLAIN, CGROUP_LABEL_DISTINCT };

/*
 * Makes a label, which the caller frees. The distinct labels of different paths are always different. Returns -ENOMEM
 * on failure.
 */
int cgroup_label(const char *path, enum cgroup_label kind, char **ret);
/*
 * Chooses the plain label, or the distinct one if the plain label is taken or could be the distinct label of another
 * path. Returns -EEXIST if the distinct label is taken too, which happens only for a path crafted to collide, or
 * -ENOMEM.
 */
int cgroup_label_choose(const char *path, bool (*is_taken)(const void *userdata, const char *label),
                        const void *userdata, char **ret);
/* Whether another path might have the same plain label, because this one contains a U+FFFD. */
bool cgroup_label_is_ambiguous(const char *label);

#endif
