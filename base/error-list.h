/* SPDX-License-Identifier: Apache-2.0 */
/* Several errors of one text, for a person who wants to fix all of them at once. */
#ifndef BASE_ERROR_LIST_H
#define BASE_ERROR_LIST_H

#include "base/error.h"

/* More help nobody. */
#define ERROR_LIST_MAX 64

/* Embedded; a zeroed one is empty. */
struct error_list {
    struct error *items;
    size_t n;
};

void error_list_done(struct error_list *list);
/* -ENOSPC where it is full; -ENOMEM. */
int error_list_add(struct error_list *list, const struct error *error);
/* By line and column. */
void error_list_sort(struct error_list *list);

#endif
