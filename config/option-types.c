/* SPDX-License-Identifier: Apache-2.0 */
/* The types of values: see option-types.h. */
#include "config/option-types.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/suggest.h"

/* Where the option sets no maximum. */
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

/* NULL where the text is none of the choices. */
static const struct option_choice *choice_find(const struct option *option, const char *text)
{
    const struct option_choice *choice = option->choices;

    while (choice && choice->word && !str_equal(text, choice->word))
        choice++;
    return choice && choice->word ? choice : NULL;
}

/* NULL where the value is none of the choices. */
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

const struct option_type option_choice = {"a word", option_read_text, choice_parse, choice_json, option_done_nothing};

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

const struct option_type option_text = {"a text", option_read_text, text_parse, text_json, option_done_text};

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
    int r = document_parse(option->default_yaml, strlen(option->default_yaml), &document, error);
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

    if (n->type != YAML_SEQUENCE_NODE) /* a text by itself is a list of one */
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

const struct option_type option_text_list = {"a text or a list of texts", list_read, list_parse, list_json, list_done};

int option_set_number(const struct option *option, const char *text, int r, uint64_t value, const char *expected,
                      void *base, struct error *error)
{
    if (r == -ERANGE || (r == 0 && (value < option->min || value > option->max)))
        return error_set(error, -EINVAL, "%s is out of range, %s", text, option->range);
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

/* A number in quotes is a text. */
static int number_read(const struct option *option, const struct document *document, const yaml_node_t *n, void *base,
                       struct error *error)
{
    if (node_text(n) && n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE && !choice_find(option, node_text(n)))
        return document_error(document, n, error, "%s: expected %s, found a text in quotes", option->path,
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

    return option_set_number(option, text, r, ns,
                             "a duration, a number with its unit (ns, us, ms, s, m, h, d) as in 100ms", base, error);
}

static json_t *duration_json(const struct option *option, const void *base)
{
    char text[NUMBER_SIZE_MAX + 3];

    number_format_duration(*(uint64_t *)option_member(option, base), text);
    return json_string(text);
}

const struct option_type option_duration = {"a duration", option_read_text, duration_parse, duration_json,
                                            option_done_nothing};
