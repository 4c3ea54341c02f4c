/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of any bytes in JSON: jansson takes UTF-8 only, and a path may be anything. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>

/* What is not UTF-8 becomes U+FFFD, a byte each. NULL when out of memory. */
json_t *json_text(const char *text);

#endif
