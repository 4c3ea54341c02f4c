/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text inside a text: how each format that we write spells what cannot stand as it is. Bytes that are not UTF-8 become
 * U+FFFD in all of them.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include "base/buffer.h"

enum escape {
    ESCAPE_TEXT_HELP,        /* Prometheus text format 0.0.4, "Comments, help text, and type information" */
    ESCAPE_OPENMETRICS_HELP, /* OpenMetrics 1.0.0, "escaped-string" */
    ESCAPE_LABEL,            /* a label value, the same in both */
    ESCAPE_JSON,             /* RFC 8259, section 7 */
    ESCAPE_NOTHING,          /* only made UTF-8 */
};

/* Appends `text`, escaped, without quotes around it. */
void escape_append(struct buffer *buffer, const char *text, enum escape escape);

#endif
