/* SPDX-License-Identifier: Apache-2.0 */
/* A unit's name, and its file or drop-in: see unit-file.h. */
#include "cgroups/unit-file.h"

#include "base/buffer.h"
#include "cgroups/path.h"

#define BLANKS " \t\r"
#define KEY "Description"

/* --- the syntax --- */

/* The next line, with those that a backslash at the end joins to it; NULL at the end of the text, or out of memory. */
static char *next_line(const char **at)
{
    struct buffer line = {0};

    while (**at) {
        const char *from = *at;
        size_t length = strcspn(from, "\n");
        char first = from[strspn(from, BLANKS)];
        *at += length + (from[length] == '\n');
        if (first == '#' || first == ';')
            continue;
        bool joins = length && from[length - 1] == '\\';
        buffer_append(&line, from, length - joins);
        if (!joins)
            return buffer_string(&line);
        buffer_append_char(&line, ' ');
    }
    if (line.size)
        return buffer_string(&line);
    buffer_done(&line);
    return NULL;
}

/* The value of "KEY = value", in `line`; NULL where it is another key's. */
static char *find_value(char *line)
{
    size_t length = strlen(line);

    if (!str_starts(line, KEY))
        return NULL;
    char *value = line + strlen(KEY);
    value += strspn(value, BLANKS);
    if (*value != '=')
        return NULL;
    value += 1 + strspn(value + 1, BLANKS);
    while (length && strchr(BLANKS, line[length - 1]) && line + length > value)
        line[--length] = '\0';
    return value;
}

int unit_file_description(const char *text, char **ret)
{
    char *found = NULL, *line;
    bool in_unit = false, failed = false;

    while ((line = next_line(&text))) {
        char *begin = line + strspn(line, BLANKS);
        if (*begin == '[')
            in_unit = str_starts(begin, "[Unit]");
        char *value = in_unit ? find_value(begin) : NULL;
        if (value) {
            free(found);
            found = strdup(value);
            failed = !found;
        }
        free(line);
    }
    if (!found)
        return failed || *text ? -ENOMEM : -ENOENT;
    *ret = found;
    return 0;
}

/* --- specifiers --- */

const char *unit_file_instance(const char *unit)
{
    const char *at = strchr(unit, '@');
    return at ? at + 1 : NULL;
}

/* As systemd-escape(1) --unescape does: "-" was "/". */
static void append_unescaped(struct buffer *buffer, const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        int byte = unit_escaped_byte(text + i, size - i);
        buffer_append_char(buffer, byte >= 0 ? (char)byte : text[i] == '-' ? '/' : text[i]);
        i += byte >= 0 ? 4 : 1;
    }
}

/* The parts of a unit's name, whose sizes go before the suffix. */
struct unit_parts {
    const char *name, *instance, *last; /* `last`: behind the last "-" of the prefix */
    size_t size, prefix, instance_size, last_size;
};

static struct unit_parts split_unit(const char *unit)
{
    const char *dot = strrchr(unit, '.'), *instance = unit_file_instance(unit);
    struct unit_parts parts = {.name = unit, .size = dot ? (size_t)(dot - unit) : strlen(unit), .instance = ""};

    parts.prefix = parts.size;
    if (instance && instance <= unit + parts.size) {
        parts.prefix = (size_t)(instance - 1 - unit);
        parts.instance = instance;
        parts.instance_size = (size_t)(unit + parts.size - instance);
    }
    const char *dash = memrchr(unit, '-', parts.prefix);
    parts.last = dash ? dash + 1 : unit;
    parts.last_size = parts.prefix - (size_t)(parts.last - unit);
    return parts;
}

/* false where the specifier is not of the unit's name. */
static bool append_specifier(struct buffer *buffer, const struct unit_parts *parts, char specifier)
{
    const struct {
        char specifier;
        const char *text;
        size_t size;
        bool unescape;
    } table[] = {
        {'n', parts->name, strlen(parts->name), false},
        {'N', parts->name, parts->size, false},
        {'p', parts->name, parts->prefix, false},
        {'P', parts->name, parts->prefix, true},
        {'i', parts->instance, parts->instance_size, false},
        {'I', parts->instance, parts->instance_size, true},
        {'j', parts->last, parts->last_size, false},
        {'J', parts->last, parts->last_size, true},
        {'f', parts->instance_size ? parts->instance : parts->name,
         parts->instance_size ? parts->instance_size : parts->prefix, true},
        {'%', "%", 1, false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        if (table[i].specifier != specifier)
            continue;
        if (specifier == 'f')
            buffer_append_char(buffer, '/');
        if (table[i].unescape)
            append_unescaped(buffer, table[i].text, table[i].size);
        else
            buffer_append(buffer, table[i].text, table[i].size);
        return true;
    }
    return false;
}

int unit_file_expand(const char *text, const char *unit, char **ret)
{
    struct unit_parts parts = split_unit(unit);
    struct buffer buffer = {0};

    for (; *text; text++)
        if (*text == '%' && append_specifier(&buffer, &parts, text[1]))
            text++;
        else
            buffer_append_char(&buffer, *text);
    char *expanded = buffer_string(&buffer);
    if (!expanded)
        return -ENOMEM;
    *ret = expanded;
    return 0;
}
