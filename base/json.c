/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of any bytes in JSON: see json.h. */
#include "base/json.h"

#include "base/cleanup.h"
#include "base/escape.h"

json_t *json_text(const char *text)
{
    _cleanup_(buffer_done) struct buffer valid = {0};

    escape_append(&valid, text, ESCAPE_NOTHING);
    return valid.failed ? NULL : json_stringn(valid.data ? valid.data : "", valid.size);
}
