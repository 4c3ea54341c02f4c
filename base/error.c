/* SPDX-License-Identifier: Apache-2.0 */
/* An error that a person must fix: see error.h. */
#include "base/error.h"

#include <stdio.h>

#include "base/utf8.h"

/* vsnprintf() may have cut the message in the middle of a character, which JSON could not carry. */
static void message_end_at_character(char *message)
{
    size_t size = strlen(message), start = size;

    while (start > 0 && size - start < 3 && (message[start - 1] & 0xc0) == 0x80)
        start--;
    if (start > 0 && utf8_character(message + start - 1, size - start + 1) == 0)
        message[start - 1] = '\0';
}

static int error_vset(struct error *error, int code, size_t offset, const char *format, va_list args)
{
    if (!error)
        return code;
    error->line = error->column = 0;
    error->offset = offset;
    if (vsnprintf(error->message, sizeof(error->message), format, args) >= (int)sizeof(error->message))
        message_end_at_character(error->message);
    return code;
}

int error_set(struct error *error, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    error_vset(error, code, 0, format, args);
    va_end(args);
    return code;
}

int error_set_at(struct error *error, int code, size_t offset, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    error_vset(error, code, offset, format, args);
    va_end(args);
    return code;
}

int error_oom(struct error *error)
{
    return error_set(error, -ENOMEM, "out of memory");
}

void error_set_position(struct error *error, unsigned line, unsigned column)
{
    if (!error)
        return;
    error->line = line;
    error->column = column;
}

void error_prefix(struct error *error, const char *format, ...)
{
    char message[sizeof(error->message)];
    va_list args;

    if (!error)
        return;
    memcpy(message, error->message, sizeof(message));
    va_start(args, format);
    int n = vsnprintf(error->message, sizeof(error->message), format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof(error->message))
        n += snprintf(error->message + n, sizeof(error->message) - (size_t)n, ": %s", message);
    if (n >= (int)sizeof(error->message))
        message_end_at_character(error->message);
}
