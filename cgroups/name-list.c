/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files, found by a part of each: see name-list.h. */
#include "cgroups/name-list.h"

#include "base/hash-index.h"

struct name_item {
    struct name_item *next; /* in its bucket */
    struct name_key key;
    char name[];
};

/* Where the names are whose keys begin as `key` does. There is a bucket. */
static struct name_item **list_bucket(const struct name_list *list, const char *key)
{
    uint64_t words[NAME_KEY_MIN / sizeof(uint64_t)], hash = 0;

    memcpy(words, key, sizeof(words));
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        hash = hash_mix(hash, words[i]);
    return &list->buckets[hash_fold(hash) & (list->size - 1)];
}

/* Twice as many buckets, or the first. */
static int list_grow(struct name_list *list)
{
    struct name_list larger = {.n = list->n, .size = list->size ? 2 * list->size : 16};

    larger.buckets = calloc(larger.size, sizeof(struct name_item *));
    if (!larger.buckets)
        return -ENOMEM;
    for (size_t i = 0; i < list->size; i++)
        for (struct name_item *item = list->buckets[i], *next; item; item = next) {
            struct name_item **bucket = list_bucket(&larger, item->name + item->key.at);
            next = item->next;
            item->next = *bucket;
            *bucket = item;
        }
    free(list->buckets);
    *list = larger;
    return 0;
}

/* Where the name is, or the end of its bucket. */
static struct name_item **list_place(const struct name_list *list, const char *name, struct name_key key)
{
    struct name_item **at = list_bucket(list, name + key.at);

    while (*at && !str_equal((*at)->name, name))
        at = &(*at)->next;
    return at;
}

int name_list_add(struct name_list *list, const char *name, struct name_key key)
{
    size_t size = strlen(name) + 1;

    if (list->n == list->size && list->n < NAME_LIST_MAX && list_grow(list) < 0)
        return -ENOMEM;
    struct name_item **place = list_place(list, name, key);
    if (*place)
        return 0;
    if (list->n >= NAME_LIST_MAX)
        return -ENOSPC;
    struct name_item *item = malloc(sizeof(*item) + size);
    if (!item)
        return -ENOMEM;
    item->next = NULL;
    item->key = key;
    memcpy(item->name, name, size);
    *place = item;
    list->n++;
    return 0;
}

void name_list_remove(struct name_list *list, const char *name, struct name_key key)
{
    struct name_item **place = list->n ? list_place(list, name, key) : NULL;

    if (!place || !*place)
        return;
    struct name_item *item = *place;
    *place = item->next;
    free(item);
    list->n--;
}

const char *name_list_find(const struct name_list *list, const char *key, size_t size)
{
    if (list->n == 0 || size < NAME_KEY_MIN)
        return NULL;
    for (const struct name_item *item = *list_bucket(list, key); item; item = item->next)
        if (item->key.size <= size && memcmp(item->name + item->key.at, key, item->key.size) == 0)
            return item->name;
    return NULL;
}

void name_list_clear(struct name_list *list)
{
    for (size_t i = 0; i < list->size; i++)
        for (struct name_item *item = list->buckets[i], *next; item; item = next) {
            next = item->next;
            free(item);
        }
    free(list->buckets);
    *list = (struct name_list){0};
}
