/* SPDX-License-Identifier: Apache-2.0 */
/* The label `cgroup` of a cgroup's path: see label.h. */
#include "cgroups/label.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/utf8.h"

#define TAIL "#"

/* Two characters for each U+FFFD of the label, so that no two paths have the same text and tail. */
static void append_tail(struct buffer *label, const char *path)
{
    size_t size = strlen(path);
    const char *separator = TAIL;

    for (size_t at = 0; at < size;) {
        size_t length = utf8_printable_character(path + at, size - at);
        bool replaced = length == 0, is_replacement = str_starts(path + at, UTF8_REPLACEMENT);
        if (replaced || is_replacement) {
            buffer_append_text(label, separator);
            separator = "";
        }
        if (replaced)
            buffer_appendf(label, "%02x", (unsigned char)path[at]);
        else if (is_replacement)
            buffer_append_text(label, "--");
        at += MAX(length, (size_t)1);
    }
}

int cgroup_label(const char *path, enum cgroup_label kind, char **ret)
{
    _cleanup_(buffer_done) struct buffer label = {0};

    escape_append(&label, path, ESCAPE_NOTHING);
    if (kind == CGROUP_LABEL_DISTINCT)
        append_tail(&label, path);
    char *text = buffer_string(&label);
    if (!text)
        return -ENOMEM;
    *ret = text;
    return 0;
}

bool cgroup_label_is_ambiguous(const char *label)
{
    return strstr(label, UTF8_REPLACEMENT) != NULL;
}

int cgroup_label_choose(const char *path, bool (*is_taken)(const void *userdata, const char *label),
                        const void *userdata, char **ret)
{
    bool is_printable = utf8_printable_prefix(path, strlen(path)) == strlen(path);
    _cleanup_(freep) char *label = NULL, *distinct = NULL;
    int r = cgroup_label(path, CGROUP_LABEL_PLAIN, &label);

    /* A label without U+FFFD is the path itself, which no other cgroup has. */
    if (r == 0 && cgroup_label_is_ambiguous(label) && (is_printable || is_taken(userdata, label))) {
        r = cgroup_label(path, CGROUP_LABEL_DISTINCT, &distinct);
        if (r == 0 && is_taken(userdata, distinct))
            r = -EEXIST;
    }
    if (r == 0)
        *ret = distinct ? steal(distinct) : steal(label);
    return r;
}
