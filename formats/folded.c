/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, as flame graphs are drawn from: a line for each stack, "comm;outermost;...;innermost SAMPLES", equal
 * ones merged, in the order of their bytes.
 *
 * As stackcollapse-perf.pl writes them: spaces of a comm are "_", functions of the kernel end in "_[k]", an address
 * without a symbol is its file, "[libc.so.6]", or "[unknown]". A ";" within a name is ":". What the profile had no room
 * for is the line "[truncated]".
 */
#include "base/cleanup.h"
#include "formats/profile-writer.h"
#include "formats/writers.h"

#define BYTES_MAX ((size_t)3 << 20)
#define TRUNCATED "[truncated]"

struct line {
    uint32_t text; /* offset */
    uint64_t samples;
};

struct lines {
    struct locations *locations;
    struct buffer text; /* NUL-terminated lines */
    struct line *lines;
    size_t n;
    struct hash_index slots;
    uint64_t truncated;
};

static void lines_done(struct lines *lines)
{
    buffer_done(&lines->text);
    free(lines->lines);
    hash_index_done(&lines->slots);
}

/* What was appended behind `from` is a name: what would end it is replaced. */
static void clean_name(struct buffer *text, size_t from)
{
    for (size_t i = from; i < text->size; i++)
        if (text->data[i] == ';')
            text->data[i] = ':';
        else if ((unsigned char)text->data[i] < ' ')
            text->data[i] = '?';
}

static void append_comm(struct lines *lines, const struct profile_stack *stack)
{
    struct buffer *text = &lines->text;
    size_t from = text->size;

    if (stack->comm)
        buffer_append_text(text, string_table_text(&lines->locations->strings, stack->comm));
    else
        buffer_appendf(text, ":%d", (int)stack->pid); /* as perf calls it */
    clean_name(text, from);
    for (size_t i = from; i < text->size; i++)
        if (text->data[i] == ' ')
            text->data[i] = '_';
}

static void append_location(struct lines *lines, uint32_t number)
{
    const struct location *location = &lines->locations->locations[number];
    size_t from = lines->text.size + 1;

    buffer_append_char(&lines->text, ';');
    location_name(lines->locations, location, &lines->text);
    clean_name(&lines->text, from);
    if (location_is_kernel(lines->locations, location))
        buffer_append_text(&lines->text, "_[k]");
}

static uint32_t hash_of(const char *text)
{
    uint64_t hash = 0;

    for (; *text; text++)
        hash = hash_mix(hash, (unsigned char)*text);
    return hash_fold(hash);
}

/* The line that was appended behind `from` is one that is there, or a new one. */
static int count_line(struct lines *lines, size_t from, uint64_t samples)
{
    const char *text = lines->text.data + from;
    uint32_t hash = hash_of(text), found;

    for (size_t at = 0; (found = hash_index_next(&lines->slots, hash, &at)) != HASH_INDEX_NONE;)
        if (str_equal(lines->text.data + lines->lines[found].text, text)) {
            lines->lines[found].samples += samples;
            lines->text.size = from;
            return 0;
        }
    if (lines->text.size > BYTES_MAX) {
        lines->truncated += samples;
        lines->text.size = from;
        return 0;
    }
    if (array_grow(&lines->lines, lines->n) < 0 || hash_index_add(&lines->slots, hash, (uint32_t)lines->n) < 0)
        return -ENOMEM;
    lines->lines[lines->n++] = (struct line){.text = (uint32_t)from, .samples = samples};
    return 0;
}

static int add_stack(void *userdata, const struct profile_stack *stack)
{
    struct lines *lines = userdata;
    size_t from = lines->text.size;

    append_comm(lines, stack);
    for (size_t i = stack->n; i > 0; i--)
        append_location(lines, stack->locations[i - 1]);
    if (stack->n == 0)
        buffer_append_text(&lines->text, ";[unknown]");
    buffer_append_char(&lines->text, '\0');
    return lines->text.failed ? -ENOMEM : count_line(lines, from, stack->sum.samples);
}

static int compare(const void *a, const void *b, void *userdata)
{
    const struct line *left = a, *right = b;
    const char *text = userdata;

    return strcmp(text + left->text, text + right->text);
}

static void write_lines(struct lines *lines, struct buffer *out)
{
    if (lines->n)
        qsort_r(lines->lines, lines->n, sizeof(lines->lines[0]), compare, lines->text.data);
    for (size_t i = 0; i < lines->n; i++)
        buffer_appendf(out, "%s %llu\n", lines->text.data + lines->lines[i].text,
                       (unsigned long long)lines->lines[i].samples);
    if (lines->truncated)
        buffer_appendf(out, TRUNCATED " %llu\n", (unsigned long long)lines->truncated);
}

static void folded_end(void *state, const struct writer_end *end, struct buffer *out)
{
    struct profile_writer *summing = state;
    _cleanup_(lines_done) struct lines lines = {.locations = profile_locations(summing->profile)};

    (void)end;
    profile_finish(summing->profile);
    lines.truncated = profile_skipped(summing->profile).samples;
    int r = profile_each(summing->profile, add_stack, &lines);
    summing->profile = profile_free(summing->profile); /* the lines are all that is needed, and as large */
    if (r < 0)
        out->failed = true;
    else
        write_lines(&lines, out);
}

const struct writer writer_folded = {
    .seconds = 30,
    .begin = profile_writer_begin,
    .record = profile_writer_record,
    .notice = profile_writer_notice,
    .settle = profile_writer_settle,
    .bytes = profile_writer_bytes,
    .end = folded_end,
    .free = profile_writer_free,
};
