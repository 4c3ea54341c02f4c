/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a YAML text, with the core schema of YAML 1.2, into libyaml's tree of nodes. Each error has a line and a
 * column. A document owns its nodes.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <yaml.h>

#include "base/error.h"

/* A parsed YAML text. A zeroed document is empty. */
struct document {
    yaml_document_t tree;
    bool parsed;
    bool builtin;              /* parsed from a built-in string, so nodes have no position */
    bool secret;               /* set by document_parse_secret() */
    struct error_list *errors; /* collects errors in values; if NULL, reading ends at the first error */
};

/*
 * Returns -EINVAL, with line and column, if the text is not YAML in UTF-8, has more than one document, or has tags,
 * control characters, nesting that is too deep, or too many anchors. Returns -ENOMEM when out of memory.
 */
int document_parse(const char *text, size_t size, struct document *ret, struct error *error);
/*
 * Like document_parse(), for a text with secrets: error messages never quote values. A value may have several lines, as
 * PEM does.
 */
int document_parse_secret(const char *text, size_t size, struct document *ret, struct error *error);
/* Like document_parse(), for a NUL-terminated string that is built into the program. The limits are not checked. */
int document_parse_builtin(const char *text, struct document *ret, struct error *error);
void document_done(struct document *document);
/* Returns the root node, or NULL if the document is empty or `null`. */
const yaml_node_t *document_root(const struct document *document);

/* Gets the line and column of the node, both counted from 1; both are 0 in a built-in document. */
void document_position(const struct document *document, const yaml_node_t *n, unsigned *ret_line, unsigned *ret_column);
/*
 * Gets the position of the byte at `offset` in the node's text, or the node's own position if the byte's position is
 * unknown.
 */
void document_position_at(const struct document *document, const yaml_node_t *n, size_t offset, unsigned *ret_line,
                          unsigned *ret_column);
/* Sets an error with this message and the position of the node, and returns -EINVAL. */
int document_error(const struct document *document, const yaml_node_t *n, struct error *error, const char *format, ...)
    PRINTF_LIKE(4, 5);
/* Sets an error with the message "expected EXPECTED, found ..." and the position of the node, and returns -EINVAL. */
int document_expected(const struct document *document, const yaml_node_t *n, const char *expected, struct error *error);

/*
 * Decides whether to go on reading a value with several parts after reading one part returned `r`. If the document
 * collects errors, returns 0, which means to continue, for -EINVAL (after adding `error` to the list) and for
 * -ECANCELED (the part has added its own errors). Returns any other `r` unchanged, and -EINVAL if the list is full.
 */
int document_keep(const struct document *document, int r, const struct error *error);
/* The number of errors that the document has collected. */
size_t document_count_errors(const struct document *document);
/*
 * Returns the final result of reading a value with several parts: -ECANCELED if `r` is 0 and errors were collected
 * since document_count_errors() returned `before`, otherwise `r`.
 */
int document_settle(const struct document *document, int r, size_t before);

/* Returns whether the node is an unquoted null or an omitted value. */
bool node_is_null(const yaml_node_t *n);
/*
 * Returns the text of a scalar, which may be a number. Returns NULL for a list, a map, and an unquoted null, true or
 * false.
 */
const char *node_text(const yaml_node_t *n);
/* Returns whether `n` is an unquoted true or false, and if so, stores the value of `n` in *ret. */
bool node_bool(const yaml_node_t *n, bool *ret);

/* Returns the i-th item of a list, or NULL past the last item. */
const yaml_node_t *document_item(const struct document *document, const yaml_node_t *list, size_t i);
/*
 * Gets the i-th pair of a map. Returns 1 on success, 0 past the last pair, or -EINVAL for a key that is not a string or
 * is given twice. Each key is compared with all earlier keys, so callers stop at the first unknown key or limit the
 * number of keys.
 */
int document_pair(const struct document *document, const yaml_node_t *map, size_t i, const yaml_node_t **ret_key,
                  const yaml_node_t **ret_value, struct error *error);

#endif
