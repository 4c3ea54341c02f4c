/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files, found by a part of each: see name-list.h. */
#include "collectors/names/name-list.h"

static int compare_keys(const struct name_item *item, const char *key)
{
    return memcmp(item->text + item->key, key, NAME_KEY_MIN);
}

/* The first whose key begins as `key` does. */
static size_t list_position(const struct name_list *list, const char *key)
{
    return array_search(list->n, i, compare_keys(&list->at[i], key) < 0);
}

/* The index of the same text; `n` where there is none. */
static size_t list_index(const struct name_list *list, const struct name_item *item)
{
    const char *key = item->text + item->key;

    for (size_t i = list_position(list, key); i < list->n && compare_keys(&list->at[i], key) == 0; i++)
        if (str_equal(list->at[i].text, item->text))
            return i;
    return list->n;
}

int name_list_add(struct name_list *list, const struct name_item *item)
{
    size_t at = list_position(list, item->text + item->key);

    if (list_index(list, item) < list->n)
        return 0;
    if (list->n >= NAME_LIST_MAX)
        return -ENOSPC;
    char *text = strdup(item->text);
    if (!text || array_grow(&list->at, list->n) < 0) {
        free(text);
        return -ENOMEM;
    }
    memmove(list->at + at + 1, list->at + at, (list->n - at) * sizeof(*list->at));
    list->at[at] = (struct name_item){.text = text, .key = item->key, .key_size = item->key_size};
    list->n++;
    return 0;
}

void name_list_remove(struct name_list *list, const struct name_item *item)
{
    size_t at = list_index(list, item);

    if (at == list->n)
        return;
    free(list->at[at].text);
    list->n--;
    memmove(list->at + at, list->at + at + 1, (list->n - at) * sizeof(*list->at));
}

const char *name_list_find(const struct name_list *list, const char *key, size_t key_size)
{
    if (key_size < NAME_KEY_MIN)
        return NULL;
    for (size_t i = list_position(list, key); i < list->n && compare_keys(&list->at[i], key) == 0; i++) {
        const struct name_item *item = &list->at[i];
        if (item->key_size <= key_size && memcmp(item->text + item->key, key, item->key_size) == 0)
            return item->text;
    }
    return NULL;
}

void name_list_clear(struct name_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->at[i].text);
    free(list->at);
    *list = (struct name_list){0};
}
