/* SPDX-License-Identifier: Apache-2.0 */
/* The types that a value can have: see option-types.h. */
#include "config/option-types.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/suggest.h"

/* Where the option does not say. */
#define LIST_MAX 64

static void *member(const struct option *option, const void *base)
{
    return (char *)base + option->offset;
}

int option_read_text(const struct option *option, const struct document *document, const node *n, void *base,
                     struct error *error)
{
    unsigned line, column;

    if (!node_text(n)) {
        document_expected(document, n, option->type->name, error);
        error_prefix(error, "%s", option->path);
        return -EINVAL;
    }
    int r = option->type->parse(option, node_text(n), base, error);
    if (r < 0 && error) {
        if (error->offset)
            document_position_at(document, n, error->offset, &line, &column);
        else
            document_position(document, n, &line, &column);
        error_prefix(error, "%s", option->path);
        error->line = line;
        error->column = column;
    }
    return r;
}

static void nothing_to_free(const struct option *option, void *base)
{
    (void)option;
    (void)base;
}

static int bool_read(const struct option *option, const struct document *document, const node *n, void *base,
                     struct error *error)
{
    bool value;

    if (!node_bool(n, &value)) {
        document_expected(document, n, option->type->name, error);
        error_prefix(error, "%s", option->path);
        return -EINVAL;
    }
    *(bool *)member(option, base) = value;
    return 0;
}

static int bool_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    if (!str_equal(text, "true") && !str_equal(text, "false"))
        return error_set(error, -EINVAL, "expected %s, found \"%s\"", option->type->name, text);
    *(bool *)member(option, base) = str_equal(text, "true");
    return 0;
}

static json_t *bool_json(const struct option *option, const void *base)
{
    return json_boolean(*(bool *)member(option, base));
}

const struct option_type option_bool = {"true or false", bool_read, bool_parse, bool_json, nothing_to_free};
const struct option_type option_deprecated_bool = {"true or false", bool_read, bool_parse, NULL, nothing_to_free};

static int choice_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    struct suggest suggest = {.wrong = text};
    char nearest[128];

    for (const struct option_choice *choice = option->choices; choice->word; choice++) {
        if (str_equal(text, choice->word)) {
            *(unsigned *)member(option, base) = choice->value;
            return 0;
        }
        suggest_consider(&suggest, choice->word);
    }
    return error_set(error, -EINVAL, "expected %s, found \"%s\"%s", option->range, text,
                     suggest_format(&suggest, nearest, sizeof(nearest)));
}

static json_t *choice_json(const struct option *option, const void *base)
{
    const struct option_choice *choice = option->choices;

    while (choice->word && choice->value != *(unsigned *)member(option, base))
        choice++;
    return choice->word ? json_string(choice->word) : json_null();
}

const struct option_type option_choice = {"a word", option_read_text, choice_parse, choice_json, nothing_to_free};

static int text_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    char **to = member(option, base);
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
    const char *text = *(char **)member(option, base);

    return text ? json_string(text) : json_null();
}

static void text_done(const struct option *option, void *base)
{
    freep(member(option, base));
    *(char **)member(option, base) = NULL;
}

const struct option_type option_text = {"text", option_read_text, text_parse, text_json, text_done};

static size_t *list_count(const struct option *option, const void *base)
{
    return (size_t *)((char *)base + option->count_offset);
}

static int list_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    char ***items = member(option, base);
    size_t *n = list_count(option, base), most = option->max ? option->max : LIST_MAX;
    int r = option->check ? option->check(text, error) : 0;

    if (r < 0)
        return r;
    for (size_t i = 0; i < *n; i++)
        if (str_equal((*items)[i], text))
            return error_set(error, -EINVAL, "\"%s\" is there twice", text);
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

static void list_done(const struct option *option, void *base)
{
    char ***items = member(option, base);
    size_t *n = list_count(option, base);

    for (size_t i = 0; i < *n; i++)
        free((*items)[i]);
    free(*items);
    *items = NULL;
    *n = 0;
}

static int list_read_items(const struct option *option, const struct document *document, const node *n, void *base,
                           struct error *error)
{
    const node *item;

    if (n->type != YAML_SEQUENCE_NODE) /* one text is a list of one */
        return option_read_text(option, document, n, base, error);
    for (size_t i = 0; (item = document_item(document, n, i)); i++) {
        int r = option_read_text(option, document, item, base, error);
        if (r < 0)
            return r;
    }
    if (option->min && *list_count(option, base) == 0)
        return document_error(document, n, error, "%s: the list is empty", option->path);
    return 0;
}

static int list_read(const struct option *option, const struct document *document, const node *n, void *base,
                     struct error *error)
{
    char ***items = member(option, base), **old_items = steal(*items);
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
    char **items = *(char ***)member(option, base);
    json_t *list = json_array();

    for (size_t i = 0; i < *list_count(option, base); i++)
        if (json_array_append_new(list, json_string(items[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

const struct option_type option_text_list = {"a text or a list of texts", list_read, list_parse, list_json, list_done};

static int number_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    uint64_t value;
    int r = number_parse_u64(text, &value);

    if (r == -ERANGE || (r == 0 && (value < option->min || value > option->max)))
        return error_set(error, -EINVAL, "%s is out of range, %s", text, option->range);
    if (r < 0)
        return error_set(error, -EINVAL, "expected a whole number, %s, found \"%s\"", option->range, text);
    r = option->check ? option->check(text, error) : 0;
    if (r < 0)
        return r;
    *(uint64_t *)member(option, base) = value;
    return 0;
}

/* What is in quotes is a text. */
static int number_read(const struct option *option, const struct document *document, const node *n, void *base,
                       struct error *error)
{
    if (node_text(n) && n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return document_error(document, n, error, "%s: expected %s, found a text in quotes", option->path,
                              option->type->name);
    return option_read_text(option, document, n, base, error);
}

static json_t *number_json(const struct option *option, const void *base)
{
    return json_integer((json_int_t) * (uint64_t *)member(option, base));
}

const struct option_type option_number = {"a whole number", number_read, number_parse, number_json, nothing_to_free};

static int duration_parse(const struct option *option, const char *text, void *base, struct error *error)
{
    uint64_t ns;
    int r = number_parse_duration(text, &ns);

    if (r == -ERANGE || (r == 0 && (ns < option->min || ns > option->max)))
        return error_set(error, -EINVAL, "%s is out of range, %s", text, option->range);
    if (r < 0)
        return error_set(
            error, -EINVAL,
            "expected a duration, a number with its unit (ns, us, ms, s, m, h, d) as in 100ms, found \"%s\"", text);
    *(uint64_t *)member(option, base) = ns;
    return 0;
}

static json_t *duration_json(const struct option *option, const void *base)
{
    char text[NUMBER_SIZE_MAX + 3];

    number_format_duration(*(uint64_t *)member(option, base), text);
    return json_string(text);
}

const struct option_type option_duration = {"a duration", option_read_text, duration_parse, duration_json,
                                            nothing_to_free};
