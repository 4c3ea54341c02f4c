/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escaping of a text inside each format that the daemon writes. Names are written by strangers, and a reader may print
 * them on a terminal: in all formats each byte that is not part of a printable character (base/utf8.h) becomes U+FFFD.
 * HELP and label values keep a line feed, which the exposition formats escape as \n.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include "base/buffer.h"

enum escape {
    ESCAPE_TEXT_HELP,        /* Prometheus text format 0.0.4, "Comments, help text, and type information" */
    ESCAPE_OPENMETRICS_HELP, /* OpenMetrics 1.0.0, "escaped-string" */
    ESCAPE_LABEL,            /* a label value, the same in both */
    ESCAPE_JSON,             /* RFC 8259, section 7 */
    ESCAPE_NOTHING,          /* bytes are replaced, and nothing is escaped */
};

/* Appends `text`, escaped, without quotes around it. */
void escape_append(struct buffer *buffer, const char *text, enum escape escape);

/* Appends a text that a stranger wrote, for a terminal: a byte that is no part of a printable character is "\xNN". */
void escape_append_printable(struct buffer *buffer, const char *text);

#endif
