/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of `perfcountd top` that are text: see top-page.h. */
#include "top/page.h"

#include "base/cleanup.h"
#include "collectors/failures.h"
#include "top/text.h"

#define KEYS_WIDTH 14
#define INDENT 4

void top_page_text_done(struct top_page_text *page)
{
    buffer_done(&page->text);
}

static void end_line(struct top_page_text *page)
{
    buffer_append_char(&page->text, '\n');
    page->lines++;
}

/* How many bytes of `text` go on a line of `width` columns: up to a blank where there is one. */
static size_t line_size(const char *text, size_t width)
{
    _cleanup_(buffer_done) struct buffer line = {0};
    size_t size = 0;

    top_text_append(&line, text, MAX(width, (size_t)1));
    if (line.size == strlen(text))
        return line.size;
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] == ' ')
            size = i + 1;
    return size ? size : line.size;
}

/* `safe` has passed top_text_append(). */
static void append_lines(struct top_page_text *page, const char *safe, size_t indent)
{
    size_t width = page->width - MIN(page->width, indent);

    while (*safe) {
        size_t size = line_size(safe, width);
        if (size == 0)
            break;
        buffer_append(&page->text, safe, size);
        end_line(page);
        safe += size;
        if (*safe)
            buffer_appendf(&page->text, "%*s", (int)MIN(indent, page->width), "");
    }
}

static void append_text(struct top_page_text *page, const char *text, size_t indent)
{
    struct buffer buffer = {0};

    top_text_append(&buffer, text, SIZE_MAX);
    _cleanup_(freep) char *safe = buffer_string(&buffer);
    if (safe)
        append_lines(page, safe, indent);
}

static void append_entry(struct top_page_text *page, const char *keys, const char *text)
{
    size_t width = strlen(keys);

    buffer_appendf(&page->text, "%-*s", KEYS_WIDTH, keys);
    if (width >= KEYS_WIDTH) {
        end_line(page);
        buffer_appendf(&page->text, "%*s", KEYS_WIDTH, "");
    }
    append_text(page, text, KEYS_WIDTH);
}

void top_page_text_append_help(struct top_page_text *page)
{
    const struct top_view_help *help;
    char keys[32];

    for (size_t i = 0; (help = top_view_help_at(i)); i++)
        append_entry(page, help->keys, help->text);
    end_line(page);
    append_text(page, "Columns, the key that sorts by each, and what they show:", 0);
    for (size_t i = 0; i < top_column_count(); i++) {
        const struct top_column *column = top_column_at(i);
        snprintf(keys, sizeof(keys), "%c %s", column->key, column->title);
        append_entry(page, keys, column->help);
    }
    end_line(page);
    append_text(page, "- is a value that is not known, ~ an estimate: its group was counted for a part of the time.",
                0);
}

static const char *failure_text(const json_t *failure, const char *key)
{
    const char *text = json_string_value(json_object_get(failure, key));

    return text ? text : "";
}

size_t top_page_count_events(const json_t *failures)
{
    const json_t *failure;
    size_t i, n = 0;

    json_array_foreach(failures, i, failure)
    {
        n += failure_text(failure, "event")[0] != '\0';
    }
    return n;
}

const char *top_page_find_failed(const json_t *failures)
{
    const json_t *failure;
    size_t i;

    json_array_foreach(failures, i, failure)
    {
        if (str_equal(failure_text(failure, "reason"), FAILURE_OF_COLLECTOR))
            return failure_text(failure, "collector");
    }
    return NULL;
}

/* "collector cpu, group g: cycles", or "collector cgroup" of a failure that is not of an event. */
static void append_place(struct top_page_text *page, const json_t *failure)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    buffer_appendf(&page->text, "%*s", INDENT, "");
    buffer_appendf(&text, "collector %s", failure_text(failure, "collector"));
    if (*failure_text(failure, "event"))
        buffer_appendf(&text, ", group %s: %s", failure_text(failure, "group"), failure_text(failure, "event"));
    buffer_append_char(&text, '\0');
    append_text(page, text.failed ? "" : text.data, INDENT);
}

void top_page_text_append_failures(struct top_page_text *page, const json_t *failures)
{
    const json_t *failure;
    const char *before = "";
    size_t i;

    if (json_array_size(failures) == 0)
        append_text(page, "Everything that is configured is counted.", 0);
    json_array_foreach(failures, i, failure)
    {
        const char *message = failure_text(failure, "message");
        if (!str_equal(message, before)) {
            append_text(page, message, 0);
            before = message;
        }
        append_place(page, failure);
    }
}

void top_page_text_write(const struct top_page_text *page, size_t first, size_t height, struct top_frame *frame)
{
    const char *at = page->text.data, *end = at + page->text.size;

    for (size_t line = 0; at < end && line < first + height; line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        if (!next)
            next = end;
        _cleanup_(freep) char *text = line < first ? NULL : strndup(at, (size_t)(next - at));
        if (text) {
            top_frame_append(frame, TOP_PLAIN, text);
            top_frame_next(frame);
        }
        at = next + 1;
    }
}
