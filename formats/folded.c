/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, the input of flame graph tools: one line per stack, "comm;outermost;...;innermost SAMPLES". Equal
 * lines are merged, and lines are sorted bytewise.
 *
 * The details follow stackcollapse-perf.pl: spaces in a comm become "_", kernel functions end in "_[k]", and an address
 * without a symbol is shown as its file, "[libc.so.6]", or as "[unknown]". A ";" within a name becomes ":". Samples
 * whose stacks did not fit in the profile are counted in the line "[truncated]".
 */
#include "base/cleanup.h"
#include "formats/profile.h"
#include "formats/writers.h"

#define BYTES_MAX ((size_t)3 << 20)
#define TRUNCATED "[truncated]"

struct folded_line {
    uint32_t text; /* index into the texts of `struct lines` */
    uint64_t samples;
};

struct lines {
    struct locations *locations;
    struct string_table texts;
    struct folded_line *lines; /* one per text, except "" */
    size_t n;
    uint64_t truncated;
};

static void lines_done(struct lines *lines)
{
    string_table_done(&lines->texts);
    free(lines->lines);
}

/* Replaces the bytes that would end a name. The name is printable, and begins at `from`. */
static void clean_name(struct buffer *text, size_t from)
{
    for (size_t i = from; i < text->size; i++)
        if (text->data[i] == ';')
            text->data[i] = ':';
}

static void append_comm(struct lines *lines, const struct profile_stack *stack)
{
    struct buffer *text = &lines->texts.bytes;
    size_t from = text->size;

    if (stack->comm)
        buffer_append_text(text, string_table_text(&lines->locations->strings, stack->comm));
    else
        buffer_appendf(text, ":%d", (int)stack->pid); /* perf's placeholder for an unknown comm */
    clean_name(text, from);
    for (size_t i = from; i < text->size; i++)
        if (text->data[i] == ' ')
            text->data[i] = '_';
}

static void append_location(struct lines *lines, uint32_t number)
{
    const struct location *location = &lines->locations->locations[number];
    struct buffer *text = &lines->texts.bytes;
    size_t from = text->size + 1;

    buffer_append_char(text, ';');
    location_append_name(lines->locations, location, text);
    clean_name(text, from);
    if (location_is_kernel(lines->locations, location))
        buffer_append_text(text, "_[k]");
}

/* Counts samples for the line that was appended at `from`. */
static int count_line(struct lines *lines, size_t from, uint64_t samples)
{
    uint32_t number;

    int r = string_table_add_appended(&lines->texts, from, &number);
    if (r == -ENOSPC) {
        lines->truncated += samples;
        return 0;
    }
    if (r < 0)
        return r;
    if (number > lines->n) {
        if (array_grow(&lines->lines, lines->n) < 0)
            return -ENOMEM;
        lines->lines[lines->n++] = (struct folded_line){.text = number};
    }
    lines->lines[number - 1].samples += samples;
    return 0;
}

static int add_stack(void *userdata, const struct profile_stack *stack)
{
    struct lines *lines = userdata;
    size_t from = lines->texts.bytes.size;

    append_comm(lines, stack);
    for (size_t i = stack->n; i > 0; i--)
        append_location(lines, stack->locations[i - 1]);
    if (stack->n == 0)
        buffer_append_text(&lines->texts.bytes, ";[unknown]");
    return count_line(lines, from, stack->weight.samples);
}

static int compare_lines(const void *a, const void *b, void *userdata)
{
    const struct folded_line *left = a, *right = b;

    return strcmp(string_table_text(userdata, left->text), string_table_text(userdata, right->text));
}

static void write_lines(struct lines *lines, struct buffer *out)
{
    if (lines->n)
        qsort_r(lines->lines, lines->n, sizeof(lines->lines[0]), compare_lines, &lines->texts);
    for (size_t i = 0; i < lines->n; i++)
        buffer_appendf(out, "%s %llu\n", string_table_text(&lines->texts, lines->lines[i].text),
                       (unsigned long long)lines->lines[i].samples);
    if (lines->truncated)
        buffer_appendf(out, TRUNCATED " %llu\n", (unsigned long long)lines->truncated);
}

static void folded_end(void *state, const struct writer_end *end, struct buffer *out)
{
    struct profile_writer *writer = state;
    _cleanup_(lines_done) struct lines lines = {.locations = profile_locations(writer->profile)};

    (void)end;
    int r = string_table_init(&lines.texts, PROFILE_STACKS_MAX + 1, BYTES_MAX);
    profile_finish(writer->profile);
    lines.truncated = profile_skipped(writer->profile).samples;
    if (r == 0)
        r = profile_each(writer->profile, add_stack, &lines);
    /* The lines may be as large as the profile, which is not needed any longer. */
    writer->profile = profile_free(writer->profile);
    if (r < 0)
        out->failed = true;
    else
        write_lines(&lines, out);
}

const struct writer writer_folded = {
    .seconds = 30,
    .begin = profile_writer_begin,
    .record = profile_writer_record,
    .mark = profile_writer_mark,
    .settle = profile_writer_settle,
    .bytes = profile_writer_bytes,
    .unnamed = profile_writer_unnamed,
    .end = folded_end,
    .free = profile_writer_free,
};
