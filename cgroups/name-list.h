/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files, found by a part of each, such as the id of a container in the name of its link. */
#ifndef CGROUPS_NAME_LIST_H
#define CGROUPS_NAME_LIST_H

#include "base/util.h"

/* A list drops further names. A node of Kubernetes runs some hundred containers. */
#define NAME_LIST_MAX 16384
/* Bytes that each key has at least, and by which it is found. */
#define NAME_KEY_MIN 16

/* A part of the name of a file. */
struct name_key {
    size_t at, size;
};

/* Zeroed, it is empty. */
struct name_list {
    struct name_item **buckets;
    size_t n, size; /* `size` is a power of two, or 0 */
};

/* A name that is there already is not added again. -ENOSPC where the list is full; -ENOMEM. */
int name_list_add(struct name_list *list, const char *name, struct name_key key);
/* Where it is not there, nothing happens. */
void name_list_remove(struct name_list *list, const char *name, struct name_key key);
/* The name whose key is `key`, or is where `key` begins, since a long name may have been cut; NULL: none. */
const char *name_list_find(const struct name_list *list, const char *key, size_t size);
void name_list_clear(struct name_list *list);

#endif
