/* SPDX-License-Identifier: Apache-2.0 */
#include "config/schema.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/glob.h"
#include "base/number.h"
#include "base/text.h"
#include "cgroups/names.h"
#include "config/address.h"
#include "perf/cpuset.h"
#include "perf/event-parse.h"
#include "perf/event.h"

/* --- Tables --- */

/* Buffer size for one component of a dotted path; larger than any key of the tables. */
#define KEY_MAX 32

struct table_reading {
    const struct option_table *table;
    const struct document *document;
    void *base;
    const yaml_node_t **nodes;
};

/*
 * Gets the component that follows `prefix`, such as "web.", in the row's path. Returns false for a row whose path does
 * not begin with the prefix.
 */
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

/* Returns the last component of `path` if it equals `key` and is not the only component, otherwise NULL. */
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

/* Lists the paths at which the table has a key of this name, because an unknown key is often just indented wrongly. */
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

/* Adds a hint if the unknown key is at the top level and belongs to another file. */
static void table_append_other(struct buffer *text, const struct option_table *table, const char *prefix,
                               const char *key)
{
    char other[KEY_MAX];

    for (size_t i = 0; !*prefix && table->other && i < table->other->n; i++)
        if (row_key(&table->other->rows[i], "", other) && str_equal(key, other)) {
            buffer_appendf(text, "; %s", table->other_hint);
            return;
        }
}

/*
 * Reports an unknown key. The message suggests the place where the key belongs, or else the keys with the most similar
 * names, or else lists all keys of this map.
 */
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
    table_append_other(&known, table, prefix, node_text(n));
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
    const char *name = node_text(key);
    size_t prefix_size = strlen(prefix), name_size = strlen(name), size = prefix_size + name_size;
    char *path = NULL;

    /* A dotted path such as "web.listen" is not accepted as a key. */
    for (size_t i = 0; i < table->n && !strchr(name, '.'); i++) {
        const struct option *row = &table->rows[i];
        if (strncmp(row->path, prefix, prefix_size) != 0 || strncmp(row->path + prefix_size, name, name_size) != 0 ||
            !(row->path[size] == '\0' || row->path[size] == '.'))
            continue;
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

/* The table bounds the depth of the recursion, even if the document is nested deeper or has cycles. */
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

/* --- Types --- */

/* Default for the maximum number of items in a list. */
#define LIST_MAX 64

int option_expected(const struct option *option, const struct document *document, const yaml_node_t *n,
                    const char *expected, struct error *error)
{
    document_expected(document, n, expected, error);
    error_prefix(error, "%s", option->path);
    return -EINVAL;
}

int option_read_text(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                     struct error *error)
{
    unsigned line, column;

    if (!node_text(n))
        return option_expected(option, document, n, option->type->name, error);
    int r = option->type->parse(option, node_text(n), base, error);
    if (r < 0 && error) {
        if (error->offset)
            document_position_at(document, n, error->offset, &line, &column);
        else
            document_position(document, n, &line, &column);
        error_prefix(error, "%s", option->path);
        error_set_position(error, line, column);
    }
    return r;
}

void option_done_nothing(const struct option *option, void *base)
{
    (void)option;
    (void)base;
}

static int bool_read(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                     struct error *error)
{
    bool value;

    if (!node_bool(n, &value))
        return option_expected(option, document, n, option->type->name, error);
    *(bool *)option_member(option, base) = value;
    return 0;
}

static int bool_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    if (!str_equal(text, "true") && !str_equal(text, "false"))
        return error_set(error, -EINVAL, "expected %s, found \"%s\"", option->type->name, text);
    *(bool *)option_member(option, base) = str_equal(text, "true");
    return 0;
}

static json_t *bool_json(const struct option *option, const void *base)
{
    return json_boolean(*(bool *)option_member(option, base));
}

const struct option_type option_bool = {"true or false", bool_read, bool_parse, bool_json, option_done_nothing};
const struct option_type option_deprecated_bool = {"true or false", bool_read, bool_parse, NULL, option_done_nothing};

/* Returns the choice with this keyword, or NULL if there is none. */
static const struct option_choice *choice_find(const struct option *option, const char *text)
{
    const struct option_choice *choice = option->choices;

    while (choice && choice->word && !str_equal(text, choice->word))
        choice++;
    return choice && choice->word ? choice : NULL;
}

/* Returns the keyword for this value, or NULL if there is none. */
static const char *choice_word(const struct option *option, uint64_t value)
{
    const struct option_choice *choice = option->choices;

    while (choice && choice->word && choice->value != value)
        choice++;
    return choice ? choice->word : NULL;
}

static int choice_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    const struct option_choice *found = choice_find(option, text);
    struct suggest suggest = {.wrong = text};
    char nearest[128];

    if (found) {
        *(unsigned *)option_member(option, base) = found->value;
        return 0;
    }
    for (const struct option_choice *choice = option->choices; choice->word; choice++)
        suggest_consider(&suggest, choice->word);
    return error_set(error, -EINVAL, "expected %s, found \"%s\"%s", option->range, text,
                     suggest_format(&suggest, nearest, sizeof(nearest)));
}

static json_t *choice_json(const struct option *option, const void *base)
{
    const char *word = choice_word(option, *(unsigned *)option_member(option, base));

    return word ? json_string(word) : json_null();
}

const struct option_type option_choice = {"a keyword", option_read_text, choice_parse, choice_json,
                                          option_done_nothing};

static int text_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    char **to = option_member(option, base);
    int r = option->check ? option->check(text, error) : 0;

    if (r < 0)
        return r;
    char *copy = strdup(text);
    if (!copy)
        return error_oom(error);
    free(*to);
    *to = copy;
    return 0;
}

static json_t *text_json(const struct option *option, const void *base)
{
    const char *text = *(char **)option_member(option, base);

    return text ? json_string(text) : json_null();
}

void option_done_text(const struct option *option, void *base)
{
    freep(option_member(option, base));
    *(char **)option_member(option, base) = NULL;
}

const struct option_type option_text = {"a string", option_read_text, text_parse, text_json, option_done_text};

static size_t *list_count(const struct option *option, const void *base)
{
    return (size_t *)((char *)base + option->count_offset);
}

static int list_add(const struct option *option, const char *text, void *base, struct error *error)
{
    char ***items = option_member(option, base);
    size_t *n = list_count(option, base), most = option->max ? option->max : LIST_MAX;

    for (size_t i = 0; i < *n; i++)
        if (str_equal((*items)[i], text))
            return error_set(error, -EINVAL, "\"%s\" is given twice", text);
    if (*n == most)
        return error_set(error, -EINVAL, "more than %zu items", most);
    if (array_grow(items, *n) < 0)
        return error_oom(error);
    char *copy = strdup(text);
    if (!copy)
        return error_oom(error);
    (*items)[(*n)++] = copy;
    return 0;
}

static int list_add_default(const struct option *option, void *base, struct error *error)
{
    _cleanup_(document_done) struct document document = {0};
    int r = document_parse_builtin(option->default_yaml, &document, error);
    const yaml_node_t *item;

    for (size_t i = 0; r == 0 && (item = document_item(&document, document_root(&document), i)); i++)
        r = list_add(option, node_text(item), base, error);
    if (r == -EINVAL)
        error_prefix(error, "default");
    return r;
}

static int list_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    if (option->extends && str_equal(text, "default"))
        return list_add_default(option, base, error);
    int r = option->check ? option->check(text, error) : 0;
    return r < 0 ? r : list_add(option, text, base, error);
}

static void list_done(const struct option *option, void *base)
{
    char ***items = option_member(option, base);
    size_t *n = list_count(option, base);

    for (size_t i = 0; i < *n; i++)
        free((*items)[i]);
    free(*items);
    *items = NULL;
    *n = 0;
}

static int list_read_items(const struct option *option, const struct document *document, const yaml_node_t *n,
                           void *base, struct error *error)
{
    size_t before = document_count_errors(document);
    const yaml_node_t *item;
    int r = 0;

    if (n->type != YAML_SEQUENCE_NODE) /* a bare scalar is a one-element list */
        return option_read_text(option, document, n, base, error);
    for (size_t i = 0; r == 0 && (item = document_item(document, n, i)); i++)
        r = document_keep(document, option_read_text(option, document, item, base, error), error);
    r = document_settle(document, r, before);
    if (r < 0)
        return r;
    if (option->min && *list_count(option, base) == 0)
        return document_error(document, n, error, "%s: the list is empty", option->path);
    return 0;
}

static int list_read(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                     struct error *error)
{
    char ***items = option_member(option, base), **old_items = steal(*items);
    size_t *count = list_count(option, base), old_count = *count;

    *count = 0;
    int r = list_read_items(option, document, n, base, error);
    if (r < 0) {
        list_done(option, base);
        *items = old_items;
        *count = old_count;
        return r;
    }
    for (size_t i = 0; i < old_count; i++)
        free(old_items[i]);
    free(old_items);
    return 0;
}

static json_t *list_json(const struct option *option, const void *base)
{
    char **items = *(char ***)option_member(option, base);
    json_t *list = json_array();

    for (size_t i = 0; i < *list_count(option, base); i++)
        if (json_array_append_new(list, json_string(items[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

const struct option_type option_text_list = {"a string or a list of strings", list_read, list_parse, list_json,
                                             list_done};

int option_set_number(const struct option *option, const char *text, int r, uint64_t value, const char *expected,
                      void *base, struct error *error)
{
    if (r == -ERANGE || (r == 0 && (value < option->min || value > option->max)))
        return error_set(error, -EINVAL, "%s is out of range (%s)", text, option->range);
    if (r < 0)
        return error_set(error, -EINVAL, "expected %s, found \"%s\"", expected, text);
    r = option->check ? option->check(text, error) : 0;
    if (r == 0)
        *(uint64_t *)option_member(option, base) = value;
    return r;
}

static int number_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    const struct option_choice *choice = choice_find(option, text);
    char expected[128];
    uint64_t value = 0;
    int r = number_parse_u64(text, &value);

    if (choice) {
        *(uint64_t *)option_member(option, base) = choice->value;
        return 0;
    }
    snprintf(expected, sizeof(expected), "a whole number, %s", option->range);
    return option_set_number(option, text, r, value, expected, base, error);
}

/* Refuses a quoted number, which is a string in YAML. Keywords may be quoted. */
static int number_read(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                       struct error *error)
{
    if (node_text(n) && n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE && !choice_find(option, node_text(n)))
        return document_error(document, n, error, "%s: expected %s, found a quoted string", option->path,
                              option->type->name);
    return option_read_text(option, document, n, base, error);
}

static json_t *number_json(const struct option *option, const void *base)
{
    uint64_t value = *(uint64_t *)option_member(option, base);
    const char *word = choice_word(option, value);

    return word ? json_string(word) : json_integer((json_int_t)value);
}

const struct option_type option_number = {"a whole number", number_read, number_parse, number_json,
                                          option_done_nothing};

static int duration_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    uint64_t ns = 0;
    int r = number_parse_duration(text, &ns);

    return option_set_number(option, text, r, ns, "a duration with a unit (ns, us, ms, s, m, h or d), such as 100ms",
                             base, error);
}

static json_t *duration_json(const struct option *option, const void *base)
{
    char text[NUMBER_SIZE_MAX + 3];

    number_format_duration(*(uint64_t *)option_member(option, base), text);
    return json_string(text);
}

const struct option_type option_duration = {"a duration", option_read_text, duration_parse, duration_json,
                                            option_done_nothing};

static int size_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    uint64_t bytes = 0;
    int r = number_parse_size(text, &bytes);

    return option_set_number(option, text, r, bytes, "a size with a unit (B, KiB, MiB or GiB), such as 2MiB", base,
                             error);
}

static json_t *size_json(const struct option *option, const void *base)
{
    char text[NUMBER_SIZE_MAX + 3];

    number_format_size(*(uint64_t *)option_member(option, base), text);
    return json_string(text);
}

const struct option_type option_size = {"a size", option_read_text, size_parse, size_json, option_done_nothing};

/* --- Checks --- */

int option_check_address(const char *text, struct error *error)
{
    struct address address;

    return address_parse(text, &address, error);
}

/* Path prefixes of the daemon's other pages. */
static const char *const taken_prefixes[] = {"/api/", "/-/", "/debug/", "/page/"};

/* The characters of a path that need no percent-encoding (RFC 3986, section 3.3). */
#define PATH_CHARACTERS                                                                                                \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"                                                   \
    "/-._~!$&'()*+,;=:@"

int option_check_telemetry_path(const char *text, struct error *error)
{
    size_t usual = strspn(text, PATH_CHARACTERS);

    if (text[0] != '/')
        return error_set(error, -EINVAL, "\"%s\" does not start with \"/\"", text);
    if (str_equal(text, "/"))
        return error_set(error, -EINVAL, "\"/\" is the live page; choose another path, such as /metrics");
    if (text[usual])
        return error_set(error, -EINVAL, "\"%s\" contains a character that is not allowed in a URL path: \"%.*s\"",
                         text, (int)utf8_character(text + usual, strlen(text + usual)), text + usual);
    /*
     * Clients resolve "." and ".." before they send a request, so a path with these components could never be
     * requested.
     */
    if (strstr(text, "//") || strstr(text, "/./") || strstr(text, "/../") || str_equal(strrchr(text, '/'), "/.") ||
        str_equal(strrchr(text, '/'), "/.."))
        return error_set(error, -EINVAL, "\"%s\" contains an empty path component, \".\" or \"..\"", text);
    for (size_t i = 0; i < ARRAY_SIZE(taken_prefixes); i++)
        if (str_starts(text, taken_prefixes[i]))
            return error_set(error, -EINVAL, "\"%s\" is below %s, which is reserved for other pages", text,
                             taken_prefixes[i]);
    return 0;
}

int option_check_cpus(const char *text, struct error *error)
{
    _cleanup_(cpuset_done) struct cpuset set = {0};

    if (str_equal(text, "all"))
        return 0;
    if (text[0] == '\0')
        return error_set(error, -EINVAL, "expected \"all\" or a list of CPUs such as 0-3,6, found nothing");
    int r = cpuset_parse(text, &set, error);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        error_prefix(error, "neither \"all\" nor a list of CPUs such as 0-3,6");
    return r < 0 ? -EINVAL : 0;
}

static int check_path_pattern(const char *text, struct error *error)
{
    size_t size = strlen(text);

    if (strstr(text, "//") || (size > 1 && text[size - 1] == '/'))
        return error_set(error, -EINVAL, "\"%s\" contains an empty path component", text);
    return glob_check(text, error);
}

static int check_name_pattern(const char *text, const char *glob, struct error *error)
{
    if (!*glob)
        return error_set_at(error, -EINVAL, (size_t)(glob - text), "names are never empty; \"%s*\" matches every name",
                            text);
    int r = glob_check(glob, error);
    if (r < 0 && error)
        error->offset += (size_t)(glob - text);
    return r;
}

static int refuse_key(const char *key, struct error *error)
{
    struct suggest suggest = {.wrong = key};
    char nearest[128], known[256];
    size_t used = 0;

    for (size_t i = 0; i < N_NAME_KEYS; i++) {
        const char *text = name_kind_text((enum name_kind)i);
        suggest_consider(&suggest, text);
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", text);
    }
    suggest_format(&suggest, nearest, sizeof(nearest));
    if (*nearest)
        return error_set(error, -EINVAL, "unknown kind of name \"%s\"%s", key, nearest);
    return error_set(error, -EINVAL, "unknown kind of name \"%s\"; known are %s", key, known);
}

/*
 * Sets the error message for a string that is not a cgroup pattern, because it neither is a path nor begins with a kind
 * of name and "=".
 */
static int refuse_pattern(const char *text, struct error *error)
{
    size_t size = strcspn(text, "=");

    if (!text[size])
        return error_set(error, -EINVAL,
                         "\"%s\" is neither a path, which starts with \"/\", nor a name such as container=grafana",
                         text);
    _cleanup_(freep) char *key = strndup(text, size);
    return key ? refuse_key(key, error) : error_oom(error);
}

/* Refuses patterns that can never match a cgroup, because they must be mistakes. */
int option_check_pattern(const char *text, struct error *error)
{
    enum name_kind kind;
    const char *glob;

    if (text[0] == '/')
        return check_path_pattern(text, error);
    if (name_kind_parse(text, &kind, &glob) == 0)
        return check_name_pattern(text, glob, error);
    return refuse_pattern(text, error);
}

int option_check_not_empty(const char *text, struct error *error)
{
    return text[0] ? 0 : error_set(error, -EINVAL, "the value is empty");
}

int option_check_sampled_event(const char *text, struct error *error)
{
    struct event_list list;

    if (str_equal(text, "auto"))
        return 0;
    int r = event_list_parse_sampled(text, &list, error);
    if (r < 0)
        return r;
    event_list_done(&list);
    return 0;
}

int option_check_tracepoint(const char *text, struct error *error)
{
    struct event event;

    int r = event_parse(text, &event, error);
    if (r < 0)
        return r;
    if (event.kind != EVENT_TRACEPOINT || event.modifiers || event.precise)
        r = error_set(error, -EINVAL, "\"%s\" is not a tracepoint such as sched:sched_switch", text);
    event_done(&event);
    return r;
}

/* The kernel only accepts ring buffers whose number of data pages is a power of two. */
int option_check_power_of_two(const char *text, struct error *error)
{
    uint64_t value = 0;

    if (number_parse_u64(text, &value) < 0 || value == 0 || (value & (value - 1)) != 0)
        return error_set(error, -EINVAL, "%s is not a power of two", text);
    return 0;
}

int option_check_host(const char *text, struct error *error)
{
    size_t usual = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._");

    if (text[0] == '\0' || text[0] == '.')
        return error_set(error, -EINVAL, "\"%s\" is not a host name", text);
    if (text[usual])
        return error_set(error, -EINVAL,
                         "\"%s\" is not a host name: use letters, digits, \"-\", \"_\" and dots, without a port", text);
    return 0;
}
