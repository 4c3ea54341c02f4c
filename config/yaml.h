/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML text as libyaml's tree of nodes, read with the core schema of YAML 1.2, each error at its line and column.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <yaml.h>

#include "base/error.h"

/* Embedded; a zeroed one is empty. */
struct document {
    yaml_document_t tree;
    bool parsed;
    bool builtin;              /* its text is in the program: nodes have no position */
    bool secret;               /* see document_parse_secret() */
    struct error_list *errors; /* collects the errors of its values; NULL: the first one ends the reading */
};

/* -EINVAL, with line and column, where the text is not YAML in UTF-8 or has more than one document. */
int document_parse(const char *text, size_t size, struct document *ret, struct error *error);
/*
 * The same for a text that holds secrets: no error quotes a value of it. Its values may have several lines, as PEM has.
 */
int document_parse_secret(const char *text, size_t size, struct document *ret, struct error *error);
void document_done(struct document *document);
/* NULL for a document that is empty or `null`. Nodes are borrowed from the document. */
const yaml_node_t *document_root(const struct document *document);

/* Line and column of the node, both from 1; 0 in a built-in document. */
void document_position(const struct document *document, const yaml_node_t *n, unsigned *ret_line, unsigned *ret_column);
/* The same for the byte at `offset` of its text; the start of the text where that position is unknown. */
void document_position_at(const struct document *document, const yaml_node_t *n, size_t offset, unsigned *ret_line,
                          unsigned *ret_column);
/* -EINVAL at the node. */
int document_error(const struct document *document, const yaml_node_t *n, struct error *error, const char *format, ...)
    PRINTF_LIKE(4, 5);
/* -EINVAL at the node: "expected EXPECTED, found ...". */
int document_expected(const struct document *document, const yaml_node_t *n, const char *expected, struct error *error);

/*
 * For a reader of several parts, with the result of one: where the document collects errors, an -EINVAL goes to them,
 * and the result is 0, so that the reader goes on. A part whose own errors were collected gives -ECANCELED, which also
 * becomes 0. Else it is `r`.
 */
int document_keep(const struct document *document, int r, const struct error *error);
/* How many errors it has collected. */
size_t document_count_errors(const struct document *document);
/* The result of that reader: `r`, or -ECANCELED where it is 0 and there are more than `before` errors by now. */
int document_settle(const struct document *document, int r, size_t before);

/* Whether it is a plain null of the core schema, or an omitted value. */
bool node_is_null(const yaml_node_t *n);
/* The text of a scalar; NULL for a list, a map, null and the plain words true and false. Numbers are text. */
const char *node_text(const yaml_node_t *n);
/* True where `n` is a plain true or false, which goes to *ret. */
bool node_bool(const yaml_node_t *n, bool *ret);

/* The items of a list; NULL past the last. */
const yaml_node_t *document_item(const struct document *document, const yaml_node_t *list, size_t i);
/*
 * The pairs of a map: 1 and the i-th, 0 past the last, -EINVAL for a key that is not a text or is given twice. Stop at
 * the first unknown key: the search for duplicates compares with all earlier keys.
 */
int document_pair(const struct document *document, const yaml_node_t *map, size_t i, const yaml_node_t **ret_key,
                  const yaml_node_t **ret_value, struct error *error);

#endif
