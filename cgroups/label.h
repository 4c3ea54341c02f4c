/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The label `cgroup` of a cgroup's path. A label is printable UTF-8, and a path may be any bytes. Pure.
 *
 * Each byte that is not part of a printable character becomes U+FFFD, so that two paths may become the same text. The
 * label of the later path is distinguished by a tail. The tail says what each U+FFFD of the text stands for, in the
 * path's order: the byte in hexadecimal, or "--" for a U+FFFD of the path itself. "/a\xff" is "/a\uFFFD", and, where
 * that is taken, "/a\uFFFD#ff".
 */
#ifndef CGROUPS_LABEL_H
#define CGROUPS_LABEL_H

#include "base/util.h"

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
