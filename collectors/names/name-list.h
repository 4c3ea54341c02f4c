/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files, found by a part of each, such as the id of a container in the name of its link. */
#ifndef COLLECTORS_NAMES_NAME_LIST_H
#define COLLECTORS_NAMES_NAME_LIST_H

#include "base/util.h"

/* A list drops further names. A node of Kubernetes runs some hundred containers. */
#define NAME_LIST_MAX 16384
/* Bytes that each key has at least, and by which the list is sorted. */
#define NAME_KEY_MIN 16

struct name_item {
    char *text;
    size_t key, key_size; /* the part by which it is found */
};

/* Zeroed, it is empty. */
struct name_list {
    struct name_item *at;
    size_t n;
};

/* A text that is there already is not added again. -ENOSPC where the list is full; -ENOMEM. */
int name_list_add(struct name_list *list, const struct name_item *item);
/* Where it is not there, nothing happens. */
void name_list_remove(struct name_list *list, const struct name_item *item);
/* The text whose key is `key`, or is where `key` begins, since a long name may have been cut; NULL: none. */
const char *name_list_find(const struct name_list *list, const char *key, size_t key_size);
void name_list_clear(struct name_list *list);

#endif
