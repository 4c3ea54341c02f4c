/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of keys: see option-table.h. */
#include "config/option-table.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/suggest.h"

/* Longer than any key. */
#define KEY_MAX 32

struct table_reading {
    const struct option_table *table;
    const struct document *document;
    void *base;
    const yaml_node_t **nodes;
};

/* The part of the row's path after `prefix` ("web."); false for a row that does not have the prefix. */
static bool row_key(const struct option *row, const char *prefix, char key[KEY_MAX])
{
    if (!str_starts(row->path, prefix))
        return false;
    size_t size = strcspn(row->path + strlen(prefix), ".");
    if (size >= KEY_MAX)
        return false;
    memcpy(key, row->path + strlen(prefix), size);
    key[size] = '\0';
    return true;
}

static void table_append_keys(struct buffer *text, const struct option_table *table, const char *prefix)
{
    char key[KEY_MAX], last[KEY_MAX] = "";

    for (size_t i = 0; i < table->n; i++)
        if (row_key(&table->rows[i], prefix, key) && !str_equal(key, last)) {
            buffer_appendf(text, "%s%s", last[0] ? ", " : "; the keys here are ", key);
            strcpy(last, key);
        }
}

/* The end of `key` in `path`, where it is below another key; NULL where the path does not have it so. */
static const char *path_end_of_key(const char *path, const char *key)
{
    const char *dot = path;

    while ((dot = strchr(dot, '.'))) {
        size_t size = strcspn(++dot, ".");
        if (size == strlen(key) && memcmp(dot, key, size) == 0)
            return dot + size;
    }
    return NULL;
}

/* A key that is known elsewhere was most often indented wrongly. */
static void table_append_paths(struct buffer *text, const struct option_table *table, const char *key)
{
    const char *last = "";

    for (size_t i = 0; i < table->n; i++) {
        const char *path = table->rows[i].path, *end = path_end_of_key(path, key);
        size_t size = end ? (size_t)(end - path) : 0;
        if (!end || (strncmp(path, last, size) == 0 && last[size] == '.'))
            continue;
        buffer_appendf(text, "%s%.*s", last[0] ? ", " : "; it exists as ", (int)size, path);
        last = path;
    }
}

static int table_unknown_key(const struct table_reading *reading, const char *prefix, const yaml_node_t *n,
                             struct error *error)
{
    const struct option_table *table = reading->table;
    struct suggest suggest = {.wrong = node_text(n)};
    _cleanup_(buffer_done) struct buffer known = {0};
    char nearest[128];
    char(*keys)[KEY_MAX] = calloc(table->n, sizeof(*keys));

    for (size_t i = 0; keys && i < table->n; i++)
        if (row_key(&table->rows[i], prefix, keys[i]))
            suggest_consider(&suggest, keys[i]);
    table_append_paths(&known, table, node_text(n));
    if (known.size > 0)
        suggest.n = 0;
    else if (suggest.n == 0)
        table_append_keys(&known, table, prefix);
    suggest_format(&suggest, nearest, sizeof(nearest));
    buffer_append_char(&known, '\0');
    document_error(reading->document, n, error, "unknown key \"%s\"%s%s", node_text(n), nearest,
                   known.failed ? "" : known.data);
    free(keys);
    return -EINVAL;
}

static int table_read_map(const struct table_reading *reading, const char *prefix, const yaml_node_t *map,
                          struct error *error);

static int table_read_inner_map(const struct table_reading *reading, const char *path, const yaml_node_t *n,
                                struct error *error)
{
    if (node_is_null(n))
        return 0;
    if (n->type == YAML_MAPPING_NODE)
        return table_read_map(reading, path, n, error);
    document_expected(reading->document, n, "a map", error);
    error_prefix(error, "%.*s", (int)strlen(path) - 1, path);
    return -EINVAL;
}

static int table_read_pair(const struct table_reading *reading, const char *prefix, const yaml_node_t *key,
                           const yaml_node_t *value, struct error *error)
{
    const struct option_table *table = reading->table;
    char *path = NULL;

    for (size_t i = 0; i < table->n; i++) {
        const struct option *row = &table->rows[i];
        char name[KEY_MAX];
        if (!row_key(row, prefix, name) || !str_equal(name, node_text(key)))
            continue;
        size_t size = strlen(prefix) + strlen(name);
        if (row->path[size] == '\0') {
            if (table->null_is_absent && node_is_null(value))
                return 0;
            if (reading->nodes)
                reading->nodes[i] = value;
            return row->type->read(row, reading->document, value, reading->base, error);
        }
        path = strndup(row->path, size + 1);
        if (!path)
            return error_oom(error);
        int r = table_read_inner_map(reading, path, value, error);
        free(path);
        return r;
    }
    return table_unknown_key(reading, prefix, key, error);
}

/* Reads no deeper than the table, however deep or circular the document is. */
static int table_read_map(const struct table_reading *reading, const char *prefix, const yaml_node_t *map,
                          struct error *error)
{
    const struct document *document = reading->document;
    size_t before = document_count_errors(document);
    const yaml_node_t *key, *value;
    int r;

    for (size_t i = 0; (r = document_pair(document, map, i, &key, &value, error)) != 0; i++) {
        if (r > 0)
            r = table_read_pair(reading, prefix, key, value, error);
        r = document_keep(document, r, error);
        if (r < 0)
            break;
    }
    return document_settle(document, r, before);
}

const struct option *option_table_find(const struct option_table *table, const char *path)
{
    for (size_t i = 0; i < table->n; i++)
        if (str_equal(table->rows[i].path, path))
            return &table->rows[i];
    return NULL;
}

int option_table_read(const struct option_table *table, const struct document *document, const yaml_node_t *map,
                      void *base, const yaml_node_t **ret_nodes, struct error *error)
{
    struct table_reading reading = {table, document, base, ret_nodes};

    return table_read_map(&reading, "", map, error);
}
