/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/early-ends.h"

#include <inttypes.h>

#include "base/text.h"

#define FILES_BYTES_MAX ((size_t)64 << 10)
#define SAMPLES_MIN 20
#define SHOWN_MAX 4
#define NAME_BYTES 64 /* maximum length of a file name in the sentence */

void early_ends_done(struct early_ends *ends)
{
    string_table_done(&ends->files);
    free(ends->counts);
    *ends = (struct early_ends){0};
}

void early_ends_add(struct early_ends *ends, const char *file, bool single, uint64_t samples)
{
    uint32_t number;

    if (ends->files.n == 0 && string_table_init(&ends->files, EARLY_ENDS_FILES_MAX + 1, FILES_BYTES_MAX) < 0)
        return;
    if (string_table_add(&ends->files, file, &number) < 0 || number == 0)
        return;
    if (number > ends->n) {
        if (array_grow(&ends->counts, ends->n) < 0)
            return;
        ends->counts[ends->n++] = (struct early_end){0};
    }
    ends->counts[number - 1].samples += samples;
    ends->counts[number - 1].single += single ? samples : 0;
}

static bool misleads(const struct early_end *end)
{
    return end->samples >= SAMPLES_MIN && end->single > end->samples / 2;
}

/*
 * Returns the file that has the most samples or, if `before` is given, the next file in descending order of samples.
 * Returns SIZE_MAX if there is no such file.
 */
static size_t next_file(const struct early_ends *ends, size_t before)
{
    size_t next = SIZE_MAX;

    for (size_t i = 0; i < ends->n; i++) {
        uint64_t samples = ends->counts[i].samples;
        bool is_after = before == SIZE_MAX || samples < ends->counts[before].samples ||
                        (samples == ends->counts[before].samples && i > before);
        if (misleads(&ends->counts[i]) && is_after && (next == SIZE_MAX || samples > ends->counts[next].samples))
            next = i;
    }
    return next;
}

static void append_file(const struct early_ends *ends, size_t number, struct buffer *sentence)
{
    const struct early_end *end = &ends->counts[number];
    const char *file = string_table_text(&ends->files, (uint32_t)number + 1), *slash = strrchr(file, '/');
    char name[NAME_BYTES + 1];

    file = slash && slash[1] ? slash + 1 : file;
    utf8_copy_printable(name, sizeof(name), file, strlen(file));
    buffer_appendf(sentence, "%s (%" PRIu64 " %% of %" PRIu64 " samples)", name, 100 * end->single / end->samples,
                   end->samples);
}

void early_ends_describe(const struct early_ends *ends, struct buffer *sentence)
{
    size_t n = 0, shown = 0;

    for (size_t i = 0; i < ends->n; i++)
        n += misleads(&ends->counts[i]);
    if (n == 0)
        return;
    buffer_append_text(sentence, "stacks end after one function in ");
    for (size_t at = next_file(ends, SIZE_MAX); at != SIZE_MAX && shown < SHOWN_MAX; at = next_file(ends, at)) {
        buffer_append_text(sentence, shown++ ? ", " : "");
        append_file(ends, at, sentence);
    }
    if (n > shown)
        buffer_appendf(sentence, " and %zu other files", n - shown);
    buffer_append_text(
        sentence, ": callers are missing, as in code without frame pointers; compile it with -fno-omit-frame-pointer");
}
