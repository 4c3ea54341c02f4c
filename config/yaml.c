/* SPDX-License-Identifier: Apache-2.0 */
#include "config/yaml.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Error messages quote at most this many bytes of a value. */
#define QUOTE_MAX 60
/*
 * Limits on the nesting depth and on the number of anchors, both far above the needs of a configuration. The limits are
 * needed because libyaml's running time is quadratic in each of the two numbers.
 */
#define DEPTH_MAX 32
#define ANCHORS_MAX 256

/* Words with a special meaning in YAML's core schema (YAML 1.2, section 10.3.2). */
static const char *const null_words[] = {"", "~", "null", "Null", "NULL"};
static const char *const true_words[] = {"true", "True", "TRUE"};
static const char *const false_words[] = {"false", "False", "FALSE"};

#define IS_ONE_OF(text, words) str_is_one_of(text, words, ARRAY_SIZE(words))

/* Returns whether the text would be a null or a boolean, rather than a string, if it were unquoted. */
static bool is_word(const char *text)
{
    return IS_ONE_OF(text, null_words) || IS_ONE_OF(text, true_words) || IS_ONE_OF(text, false_words);
}

static size_t count_characters(const char *text, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += (text[i] & 0xc0) != 0x80;
    return n;
}

/* Sets the error's position from a byte offset in a text that has not been parsed yet. */
static void error_set_byte_position(const char *text, size_t offset, struct error *error)
{
    size_t line = 1, start = 0;

    for (size_t i = 0; i < offset; i++)
        if (text[i] == '\n') {
            line++;
            start = i + 1;
        }
    error_set_position(error, (unsigned)line, (unsigned)count_characters(text + start, offset - start) + 1);
}

static int text_check_utf8(const char *text, size_t size, struct error *error)
{
    size_t valid = utf8_valid_prefix(text, size);

    if (valid == size)
        return 0;
    error_set(error, -EINVAL, "the file is not valid UTF-8: unexpected byte 0x%02x", (unsigned char)text[valid]);
    error_set_byte_position(text, valid, error);
    return -EINVAL;
}

/*
 * Returns whether there is a tab at the mark, whose line and column count from 0. libyaml only reports that "a
 * character" is out of place, so this module looks for tabs itself.
 */
static bool is_tab(const char *text, size_t size, const yaml_mark_t *mark)
{
    const char *at = text, *end = text + size;

    for (size_t line = 0; line < mark->line; line++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            return false;
        at++;
    }
    return mark->column < (size_t)(end - at) && at[mark->column] == '\t';
}

static int reader_error(const yaml_parser_t *parser, const char *text, size_t size, struct error *error)
{
    error_set(error, -EINVAL, "the file contains a control character, 0x%02x", (unsigned)parser->problem_value);
    error_set_byte_position(text, MIN(parser->problem_offset, size), error);
    return -EINVAL;
}

static int syntax_error(const yaml_parser_t *parser, const char *text, size_t size, struct error *error)
{
    const yaml_mark_t *mark = &parser->problem_mark;

    if (parser->error == YAML_MEMORY_ERROR)
        return error_oom(error);
    if (parser->error == YAML_READER_ERROR)
        return reader_error(parser, text, size, error);
    if (is_tab(text, size, mark))
        error_set(error, -EINVAL, "YAML does not allow tabs for indentation: use spaces");
    else if (parser->context)
        error_set(error, -EINVAL, "not valid YAML: %s, %s in line %zu", parser->problem, parser->context,
                  parser->context_mark.line + 1);
    else
        error_set(error, -EINVAL, "not valid YAML: %s", parser->problem ? parser->problem : "it cannot be read");
    error_set_position(error, (unsigned)mark->line + 1, (unsigned)mark->column + 1);
    return -EINVAL;
}

static int open_parser(const char *text, size_t size, yaml_parser_t *ret, struct error *error)
{
    if (!yaml_parser_initialize(ret))
        return error_oom(error);
    yaml_parser_set_encoding(ret, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(ret, (const unsigned char *)text, size);
    return 0;
}

/*
 * State of the first pass over the text: the current nesting depth, and the numbers of documents and anchors seen so
 * far.
 */
struct extent {
    int depth;
    unsigned documents, anchors;
};

static bool has_anchor(const yaml_event_t *event)
{
    return (event->type == YAML_SCALAR_EVENT && event->data.scalar.anchor) ||
           (event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.anchor) ||
           (event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.anchor);
}

static void extent_add(const yaml_event_t *event, struct extent *extent)
{
    extent->depth += event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT;
    extent->depth -= event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT;
    extent->documents += event->type == YAML_DOCUMENT_START_EVENT;
    extent->anchors += has_anchor(event);
}

static int extent_check(const struct extent *extent, const yaml_mark_t *mark, struct error *error)
{
    if (extent->documents > 1)
        error_set(error, -EINVAL, "a second YAML document starts here, but only one is allowed");
    else if (extent->depth > DEPTH_MAX)
        error_set(error, -EINVAL, "lists and maps are nested more than %d levels deep", DEPTH_MAX);
    else if (extent->anchors > ANCHORS_MAX)
        error_set(error, -EINVAL, "there are more than %d anchors", ANCHORS_MAX);
    else
        return 0;
    error_set_position(error, (unsigned)mark->line + 1, (unsigned)mark->column + 1);
    return -EINVAL;
}

/* Checks the syntax and the limits of the whole text with libyaml's event parser, before a tree is built. */
static int text_check_syntax(const char *text, size_t size, struct error *error)
{
    _cleanup_(yaml_parser_delete) yaml_parser_t parser = {0};
    struct extent extent = {0};
    int r = open_parser(text, size, &parser, error);

    for (bool end = false; r == 0 && !end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event))
            return syntax_error(&parser, text, size, error);
        extent_add(&event, &extent);
        r = extent_check(&extent, &event.start_mark, error);
        end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return r;
}

/*
 * Refuses control characters, which escapes in quoted strings can produce. Line breaks are allowed in documents with
 * secrets, because they may contain PEM.
 */
static int document_check_scalar(const struct document *document, const yaml_node_t *n, struct error *error)
{
    const char *text = (const char *)n->data.scalar.value;
    size_t size = n->data.scalar.length, printable = utf8_printable_prefix(text, size);

    while (document->secret && printable < size && text[printable] == '\n')
        printable += 1 + utf8_printable_prefix(text + printable + 1, size - printable - 1);
    if (printable == size)
        return 0;
    if (text[printable] == '\n')
        return document_error(document, n, error,
                              "this string contains a line break: write it on one line, or after >-");
    return document_error(document, n, error, "this string contains a control character, 0x%02x",
                          (unsigned char)text[printable]);
}

/* Returns the tag that libyaml assigns to nodes of this type if the file gives them none. */
static const char *default_tag(const yaml_node_t *n)
{
    return n->type == YAML_SCALAR_NODE     ? YAML_DEFAULT_SCALAR_TAG
           : n->type == YAML_SEQUENCE_NODE ? YAML_DEFAULT_SEQUENCE_TAG
                                           : YAML_DEFAULT_MAPPING_TAG;
}

static int document_check_nodes(const struct document *document, struct error *error)
{
    for (const yaml_node_t *n = document->tree.nodes.start; n < document->tree.nodes.top; n++) {
        if (!str_equal((const char *)n->tag, default_tag(n)))
            return document_error(document, n, error, "tags, such as !!int, are not supported");
        int r = n->type == YAML_SCALAR_NODE ? document_check_scalar(document, n, error) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* Parses the text twice: first into events, to check the limits, then into a tree. */
static int document_parse_as(const char *text, size_t size, struct document like, struct document *ret,
                             struct error *error)
{
    _cleanup_(document_done) struct document document = like;
    _cleanup_(yaml_parser_delete) yaml_parser_t parser = {0};
    int r = text_check_utf8(text, size, error);

    if (r == 0 && !document.builtin)
        r = text_check_syntax(text, size, error);
    if (r == 0)
        r = open_parser(text, size, &parser, error);
    if (r < 0)
        return r;
    if (!yaml_parser_load(&parser, &document.tree))
        return syntax_error(&parser, text, size, error);
    document.parsed = true;
    r = document_check_nodes(&document, error);
    if (r < 0)
        return r;
    *ret = document;
    document.parsed = false;
    return 0;
}

int document_parse(const char *text, size_t size, struct document *ret, struct error *error)
{
    return document_parse_as(text, size, (struct document){0}, ret, error);
}

int document_parse_secret(const char *text, size_t size, struct document *ret, struct error *error)
{
    return document_parse_as(text, size, (struct document){.secret = true}, ret, error);
}

int document_parse_builtin(const char *text, struct document *ret, struct error *error)
{
    return document_parse_as(text, strlen(text), (struct document){.builtin = true}, ret, error);
}

void document_done(struct document *document)
{
    if (document->parsed)
        yaml_document_delete(&document->tree);
    *document = (struct document){0};
}

const yaml_node_t *document_root(const struct document *document)
{
    const yaml_node_t *root = yaml_document_get_root_node((yaml_document_t *)&document->tree);

    return root && !node_is_null(root) ? root : NULL;
}

void document_position(const struct document *document, const yaml_node_t *n, unsigned *ret_line, unsigned *ret_column)
{
    *ret_line = document->builtin ? 0 : (unsigned)n->start_mark.line + 1;
    *ret_column = document->builtin ? 0 : (unsigned)n->start_mark.column + 1;
}

void document_position_at(const struct document *document, const yaml_node_t *n, size_t offset, unsigned *ret_line,
                          unsigned *ret_column)
{
    document_position(document, n, ret_line, ret_column);
    if (document->builtin || n->type != YAML_SCALAR_NODE || n->start_mark.line != n->end_mark.line)
        return;
    const char *text = (const char *)n->data.scalar.value;
    size_t size = n->data.scalar.length, quote = n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? 0 : 1;
    /*
     * If the node's source is longer than its text, the source has escapes, and the column cannot be computed from the
     * offset.
     */
    if (n->end_mark.column - n->start_mark.column != count_characters(text, size) + 2 * quote)
        return;
    *ret_column += (unsigned)(quote + count_characters(text, MIN(offset, size)));
}

int document_error(const struct document *document, const yaml_node_t *n, struct error *error, const char *format, ...)
{
    char message[sizeof(error->message)];
    va_list args;

    if (!error)
        return -EINVAL;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    error_set(error, -EINVAL, "%s", message);
    document_position(document, n, &error->line, &error->column);
    return -EINVAL;
}

int document_keep(const struct document *document, int r, const struct error *error)
{
    if (!document->errors || (r != -EINVAL && r != -ECANCELED))
        return r;
    return r == -ECANCELED || error_list_add(document->errors, error) == 0 ? 0 : r;
}

size_t document_count_errors(const struct document *document)
{
    return document->errors ? document->errors->n : 0;
}

int document_settle(const struct document *document, int r, size_t before)
{
    return r == 0 && document_count_errors(document) > before ? -ECANCELED : r;
}

/* Describes the type of a value without revealing the value, which may be a secret. */
static const char *node_kind(const yaml_node_t *n)
{
    bool value;

    return n->type == YAML_MAPPING_NODE    ? "a map"
           : n->type == YAML_SEQUENCE_NODE ? "a list"
           : node_bool(n, &value)          ? "a boolean"
                                           : "a string";
}

int document_expected(const struct document *document, const yaml_node_t *n, const char *expected, struct error *error)
{
    const char *text = node_text(n);
    bool value;

    if (node_is_null(n))
        return document_error(document, n, error, "expected %s, found nothing", expected);
    if (document->secret || n->type != YAML_SCALAR_NODE)
        return document_error(document, n, error, "expected %s, found %s", expected, node_kind(n));
    if (node_bool(n, &value))
        return document_error(document, n, error, "expected %s, found the boolean %s", expected,
                              (const char *)n->data.scalar.value);
    int shown = (int)MIN(strlen(text), (size_t)QUOTE_MAX);
    while ((text[shown] & 0xc0) == 0x80) /* do not cut a UTF-8 character in two */
        shown--;
    return document_error(document, n, error, "expected %s, found \"%.*s\"%s%s", expected, shown, text,
                          text[shown] ? "..." : "", is_word(text) ? " in quotes" : "");
}

/*
 * Returns the text of an unquoted scalar, in which words such as null have their special meaning, or NULL for any other
 * node.
 */
static const char *node_plain_text(const yaml_node_t *n)
{
    if (n->type != YAML_SCALAR_NODE || n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return NULL;
    return (const char *)n->data.scalar.value;
}

bool node_is_null(const yaml_node_t *n)
{
    const char *text = node_plain_text(n);

    return text && IS_ONE_OF(text, null_words);
}

bool node_bool(const yaml_node_t *n, bool *ret)
{
    const char *text = node_plain_text(n);

    if (!text || (!IS_ONE_OF(text, true_words) && !IS_ONE_OF(text, false_words)))
        return false;
    *ret = IS_ONE_OF(text, true_words);
    return true;
}

const char *node_text(const yaml_node_t *n)
{
    bool value;

    if (n->type != YAML_SCALAR_NODE || node_is_null(n) || node_bool(n, &value))
        return NULL;
    return (const char *)n->data.scalar.value;
}

static const yaml_node_t *document_node(const struct document *document, int id)
{
    return yaml_document_get_node((yaml_document_t *)&document->tree, id);
}

const yaml_node_t *document_item(const struct document *document, const yaml_node_t *list, size_t i)
{
    if (i >= (size_t)(list->data.sequence.items.top - list->data.sequence.items.start))
        return NULL;
    return document_node(document, list->data.sequence.items.start[i]);
}

int document_pair(const struct document *document, const yaml_node_t *map, size_t i, const yaml_node_t **ret_key,
                  const yaml_node_t **ret_value, struct error *error)
{
    const yaml_node_pair_t *pairs = map->data.mapping.pairs.start;

    if (i >= (size_t)(map->data.mapping.pairs.top - pairs))
        return 0;
    const yaml_node_t *key = document_node(document, pairs[i].key);
    const char *text = node_text(key);
    if (!text)
        return document_expected(document, key, "a key", error);
    for (size_t k = 0; k < i; k++) {
        const yaml_node_t *earlier = document_node(document, pairs[k].key);
        if (earlier->type == YAML_SCALAR_NODE && str_equal(text, (const char *)earlier->data.scalar.value) &&
            node_text(earlier))
            return document_error(document, key, error, "key \"%s\" is given twice, first in line %zu", text,
                                  earlier->start_mark.line + 1);
    }
    *ret_key = key;
    *ret_value = document_node(document, pairs[i].value);
    return 1;
}
