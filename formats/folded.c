/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, the input of flame graph tools: one line per stack, "comm;outermost;...;innermost SAMPLES". Equal
 * lines are merged, and lines are sorted bytewise.
 *
 * Names are written as by stackcollapse-perf.pl: spaces in a comm become "_", kernel functions end in "_[k]", and an
 * address without a symbol is shown as its file, "[libc.so.6]", or as "[unknown]". A ";" within a name becomes ":".
 * Samples whose stacks did not fit in the profile are counted in a "[truncated]" line. With `by=thread`, the first
 * frame is "comm-PID/TID". With `by=cgroup` or `by=container`, the first frame is the cgroup or container, and the comm
 * follows.
 *
 * Off-CPU time is in microseconds, and its first frame is the task's state: "sleeping;comm;...".
 *
 * If stacks end early, the last line says so in a sentence, which tools ignore because it begins with "#" and does not
 * end with a number.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "formats/profile.h"
#include "formats/writers.h"

#define BYTES_MAX ((size_t)3 << 20)
#define OWNERS_BYTES_MAX ((size_t)128 << 10)
#define TRUNCATED "[truncated]"

struct folded_line {
    uint32_t text;   /* index into `texts` of struct lines */
    uint64_t weight; /* number of samples; for off-CPU time, nanoseconds */
};

struct lines {
    struct profile_writer *writer;
    struct locations *locations;
    uint32_t *owners; /* index into `names` of each cgroup's first frame, for BY_CGROUP and BY_CONTAINER */
    struct string_table names;
    struct string_table texts;
    struct folded_line *lines; /* one for each text except "" */
    size_t n;
    uint64_t truncated;
};

static void lines_done(struct lines *lines)
{
    string_table_done(&lines->texts);
    string_table_done(&lines->names);
    free(lines->owners);
    free(lines->lines);
}

/* Replaces separators within the name that begins at `from`, which is printable. */
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
        buffer_appendf(text, ":%d", (int)stack->pid); /* perf writes ":PID" for an unknown comm */
    if (lines->writer->source->by == BY_THREAD) {
        buffer_appendf(text, "-%d", (int)stack->pid);
        if (stack->tid)
            buffer_appendf(text, "/%d", (int)stack->tid);
    }
    clean_name(text, from);
    for (size_t i = from; i < text->size; i++)
        if (text->data[i] == ' ')
            text->data[i] = '_';
}

/* --- cgroups and containers --- */

#define NO_CONTAINER "[no container]"
#define UNKNOWN_CGROUP "[unknown]"

static bool is_container(const struct names *names)
{
    return names->texts[NAME_CONTAINER] || names->texts[NAME_CONTAINER_ID] || names->texts[NAME_POD];
}

/* Sets the first frame of a cgroup's lines, which is "" if the string table is full. */
static int name_owner(struct lines *lines, uint32_t number)
{
    const struct writer_source *source = lines->writer->source;
    const struct found_cgroup *cgroup = profile_cgroup(lines->writer->profile, number);
    _cleanup_(names_done) struct names names = {0};
    char room[NAMES_BEST_MAX];
    const char *text = cgroup ? cgroup->label : UNKNOWN_CGROUP;

    if (source->by == BY_CONTAINER && cgroup) {
        if (cgroup_lookup_names(source->cgroups, cgroup->path, &names) < 0)
            return -ENOMEM;
        text = is_container(&names) ? names_best(&names, room) : NO_CONTAINER;
    }
    int r = string_table_add(&lines->names, text ? text : cgroup->label, &lines->owners[number]);
    return r == -ENOSPC ? 0 : r;
}

static int name_owners(struct lines *lines)
{
    size_t n = profile_n_cgroups(lines->writer->profile);
    int r = string_table_init(&lines->names, n + 2, OWNERS_BYTES_MAX);

    lines->owners = calloc(n + 1, sizeof(lines->owners[0]));
    if (!lines->owners)
        return -ENOMEM;
    for (uint32_t i = 0; i <= n && r == 0; i++)
        r = name_owner(lines, i);
    return r;
}

static void append_owner(struct lines *lines, const struct profile_stack *stack)
{
    struct buffer *text = &lines->texts.bytes;
    size_t from = text->size;

    if (!lines->owners)
        return;
    buffer_append_text(text, string_table_text(&lines->names, lines->owners[stack->cgroup]));
    clean_name(text, from);
    buffer_append_char(text, ';');
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

/* Adds a weight to the line whose text was just appended at `from`. */
static int count_line(struct lines *lines, size_t from, uint64_t weight)
{
    uint32_t number;

    int r = string_table_add_appended(&lines->texts, from, &number);
    if (r == -ENOSPC) {
        lines->truncated += weight;
        return 0;
    }
    if (r < 0)
        return r;
    if (number > lines->n) {
        if (array_grow(&lines->lines, lines->n) < 0)
            return -ENOMEM;
        lines->lines[lines->n++] = (struct folded_line){.text = number};
    }
    lines->lines[number - 1].weight += weight;
    return 0;
}

static uint64_t weight_of(const struct lines *lines, struct profile_weight weight)
{
    return lines->writer->source->off_cpu_threshold_ns ? weight.period : weight.samples;
}

static int add_stack(void *userdata, const struct profile_stack *stack)
{
    struct lines *lines = userdata;
    size_t from = lines->texts.bytes.size;

    if (stack->state) {
        buffer_append_text(&lines->texts.bytes, off_cpu_state_name(stack->state - 1));
        buffer_append_char(&lines->texts.bytes, ';');
    }
    append_owner(lines, stack);
    append_comm(lines, stack);
    for (size_t i = stack->n; i > 0; i--)
        append_location(lines, stack->locations[i - 1]);
    if (stack->n == 0)
        buffer_append_text(&lines->texts.bytes, ";[unknown]");
    return count_line(lines, from, weight_of(lines, stack->weight));
}

static int compare_lines(const void *a, const void *b, void *userdata)
{
    const struct folded_line *left = a, *right = b;

    return strcmp(string_table_text(userdata, left->text), string_table_text(userdata, right->text));
}

static void write_line(const struct lines *lines, const char *text, uint64_t weight, struct buffer *out)
{
    uint64_t shown = lines->writer->source->off_cpu_threshold_ns ? (weight + 500) / 1000 : weight;

    if (shown)
        buffer_appendf(out, "%s %" PRIu64 "\n", text, shown);
}

static void write_lines(struct lines *lines, struct buffer *out)
{
    if (lines->n)
        qsort_r(lines->lines, lines->n, sizeof(lines->lines[0]), compare_lines, &lines->texts);
    for (size_t i = 0; i < lines->n; i++)
        write_line(lines, string_table_text(&lines->texts, lines->lines[i].text), lines->lines[i].weight, out);
    if (lines->truncated)
        write_line(lines, TRUNCATED, lines->truncated, out);
}

static bool is_by_owner(const struct writer_source *source)
{
    return source->by == BY_CGROUP || source->by == BY_CONTAINER;
}

static void *folded_begin(const struct writer_source *source, struct buffer *out)
{
    const struct profile_keys keys = {.cgroups = is_by_owner(source) ? source->cgroups : NULL,
                                      .threads = source->by == BY_THREAD};

    (void)out;
    return profile_writer_begin(source, keys);
}

static void folded_end(void *state, const struct writer_end *end, struct buffer *out)
{
    struct profile_writer *writer = state;
    _cleanup_(lines_done) struct lines lines = {.writer = writer, .locations = profile_locations(writer->profile)};

    int r = string_table_init(&lines.texts, PROFILE_STACKS_MAX + 1, BYTES_MAX);
    profile_finish(writer->profile);
    lines.truncated = weight_of(&lines, profile_skipped(writer->profile));
    if (r == 0 && is_by_owner(writer->source))
        r = name_owners(&lines);
    if (r == 0)
        r = profile_each(writer->profile, add_stack, &lines);
    /* Frees the profile early, because the lines may be just as large. */
    writer->profile = profile_free(writer->profile);
    if (r < 0)
        out->failed = true;
    else
        write_lines(&lines, out);
    if (r == 0 && end->early)
        buffer_appendf(out, "# %s\n", end->early);
}

const struct writer writer_folded = {
    .seconds = 30,
    .begin = folded_begin,
    .record = profile_writer_record,
    .mark = profile_writer_mark,
    .settle = profile_writer_settle,
    .bytes = profile_writer_bytes,
    .unnamed = profile_writer_unnamed,
    .early = profile_writer_early_ends,
    .end = folded_end,
    .free = profile_writer_free,
};
