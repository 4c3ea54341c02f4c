/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML text as libyaml's tree of nodes, with the core schema of YAML 1.2. Each error has its line and column. Nodes
 * are borrowed from the document.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <yaml.h>

#include "base/error.h"

/* Embedded; a zeroed document is empty. */
struct document {
    yaml_document_t tree;
    bool parsed;
    bool builtin;              /* the text is built into the program, so nodes have no position */
    bool secret;               /* set by document_parse_secret() */
    struct error_list *errors; /* collects the errors of values; NULL: the first error ends the reading */
};

/*
 * Returns -EINVAL, with line and column, if the text is not YAML in UTF-8, has more than one document, or has tags,
 * control characters, deep nesting or too many anchors. Returns -ENOMEM on failure.
 */
int document_parse(const char *text, size_t size, struct document *ret, struct error *error);
/*
 * Like document_parse(), for a text that holds secrets: no error quotes a value. Values may have several lines, as PEM
 * does.
 */
int document_parse_secret(const char *text, size_t size, struct document *ret, struct error *error);
/* Like document_parse(), for a NUL-terminated text of this program, which needs no check of its limits. */
int document_parse_builtin(const char *text, struct document *ret, struct error *error);
void document_done(struct document *document);
/* Returns the root node, or NULL if the document is empty or `null`. */
const yaml_node_t *document_root(const struct document *document);

/* Line and column of the node, both from 1; 0 in a built-in document. */
void document_position(const struct document *document, const yaml_node_t *n, unsigned *ret_line, unsigned *ret_column);
/* The position of the byte at `offset` in the node's text, or the node's own position if that is unknown. */
void document_position_at(const struct document *document, const yaml_node_t *n, size_t offset, unsigned *ret_line,
                          unsigned *ret_column);
/* Sets the message and the position of the node, and returns -EINVAL. */
int document_error(const struct document *document, const yaml_node_t *n, struct error *error, const char *format, ...)
    PRINTF_LIKE(4, 5);
/* Sets "expected EXPECTED, found ..." and the position of the node, and returns -EINVAL. */
int document_expected(const struct document *document, const yaml_node_t *n, const char *expected, struct error *error);

/*
 * For a function that reads several parts: decides whether to continue after one part has returned `r`. If the document
 * collects errors, -EINVAL (`error` is added to the list) and -ECANCELED (the part has added its own errors) become 0.
 * Any other `r` is returned as it is, and so is -EINVAL if the list is full.
 */
int document_keep(const struct document *document, int r, const struct error *error);
/* The number of errors that the document has collected. */
size_t document_count_errors(const struct document *document);
/*
 * The result of such a function: -ECANCELED if `r` is 0 and errors were collected since document_count_errors()
 * returned `before`, otherwise `r`.
 */
int document_settle(const struct document *document, int r, size_t before);

/* Whether the node is a plain null of the core schema or an omitted value. */
bool node_is_null(const yaml_node_t *n);
/* Returns the text of a scalar; numbers are texts. NULL for a list, a map, null, and the plain words true and false. */
const char *node_text(const yaml_node_t *n);
/* Returns whether `n` is a plain true or false, and stores which in *ret. */
bool node_bool(const yaml_node_t *n, bool *ret);

/* Returns the i-th item of a list, or NULL past the last. */
const yaml_node_t *document_item(const struct document *document, const yaml_node_t *list, size_t i);
/*
 * Gets the i-th pair of a map. Returns 1, 0 past the last pair, or -EINVAL for a key that is not a text or is given
 * twice. Each key is compared with all earlier ones, so a reader stops at the first unknown key or limits their number.
 */
int document_pair(const struct document *document, const yaml_node_t *map, size_t i, const yaml_node_t **ret_key,
                  const yaml_node_t **ret_value, struct error *error);

#endif
