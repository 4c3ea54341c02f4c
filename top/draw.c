/* SPDX-License-Identifier: Apache-2.0 */
#include "top/draw.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "collectors/failures.h"

/* A page of text, in which lines wider than the screen are wrapped. */
struct top_page_text {
    struct buffer text; /* the text of the page, in which each line ends with '\n' */
    size_t width, lines;
};

/* --- pages of text --- */

#define KEYS_WIDTH 14
#define INDENT 4

static void top_page_text_done(struct top_page_text *page)
{
    buffer_done(&page->text);
}

static void end_line(struct top_page_text *page)
{
    buffer_append_char(&page->text, '\n');
    page->lines++;
}

/* Returns how many bytes of `text` fit on a line of `width` columns; the line is broken at a blank if possible. */
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

/* Appends the text `safe`, which top_text_append() must have written, wrapped to the width of the page. */
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

/* Writes the list of keys to `page`, which must be zero-initialised except for `width`. */
static void top_page_text_append_help(struct top_page_text *page)
{
    const struct top_view_help *help;
    char keys[32];

    for (size_t i = 0; (help = top_view_help_at(i)); i++)
        append_entry(page, help->keys, help->text);
    end_line(page);
    append_text(page, "Columns, the keys that sort by them, and what they show:", 0);
    for (size_t i = 0; i < top_column_count(); i++) {
        const struct top_column *column = top_column_at(i);
        snprintf(keys, sizeof(keys), "%c %s", column->key, column->title);
        append_entry(page, keys, column->help);
    }
    end_line(page);
    append_text(page,
                "- is an unknown value; ~ marks an estimate, because the group was counted for only part of the time.",
                0);
}

static const char *failure_text(const json_t *failure, const char *key)
{
    const char *text = json_string_value(json_object_get(failure, key));

    return text ? text : "";
}

/*
 * Returns the number of events that are not counted, according to `failures` in /api/v1/status. Failures without an
 * event, such as a limit that was reached, do not count.
 */
static size_t top_page_count_events(const json_t *failures)
{
    const json_t *failure;
    size_t i, n = 0;

    json_array_foreach (failures, i, failure) {
        n += failure_text(failure, "event")[0] != '\0';
    }
    return n;
}

/* Returns the name of the first collector that has failed, or NULL if no collector has failed. */
static const char *top_page_find_failed(const json_t *failures)
{
    const json_t *failure;
    size_t i;

    json_array_foreach (failures, i, failure) {
        if (str_equal(failure_text(failure, "reason"), FAILURE_OF_COLLECTOR))
            return failure_text(failure, "collector");
    }
    return NULL;
}

/*
 * Appends where a failure occurred: "collector cpu, group g: cycles", or "collector cgroup" for a failure without an
 * event.
 */
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

static void top_page_text_append_failures(struct top_page_text *page, const json_t *failures)
{
    const json_t *failure;
    const char *before = "";
    size_t i;

    if (json_array_size(failures) == 0)
        append_text(page, "Everything that is configured is counted.", 0);
    json_array_foreach (failures, i, failure) {
        const char *message = failure_text(failure, "message");
        if (!str_equal(message, before)) {
            append_text(page, message, 0);
            before = message;
        }
        append_place(page, failure);
    }
}

/* Writes at most `height` lines of the page, from line `first` on. */
static void top_page_text_write(const struct top_page_text *page, size_t first, size_t height, struct top_frame *frame)
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

/* --- frame --- */

#define PMU_LINES_MAX 4
#define HEIGHT_FOR_PMUS 16 /* on a screen with fewer lines, the PMU lines are left out */

static void write_first_line(const struct top_scene *scene, const struct top_view *view, struct top_frame *frame)
{
    char interval[NUMBER_SIZE_MAX + 3];

    number_format_duration(view->interval_ns, interval);
    top_frame_append(frame, TOP_BOLD, scene->host);
    if (view->frozen)
        top_frame_append(frame, TOP_WARNING, "  FROZEN");
    if (scene->paused)
        top_frame_append(frame, TOP_WARNING, "  PAUSED: nothing is counted");
    top_frame_appendf(frame, TOP_PLAIN, "  %s  every %s", scene->clock, interval);
    top_frame_appendf(frame, TOP_DIM, "  %s", scene->source);
    if (*scene->kernel)
        top_frame_appendf(frame, TOP_DIM, "  Linux %s", scene->kernel);
    top_frame_next(frame);
}

static void write_pmu(const struct top_row *pmu, const struct top_table *pmus, struct top_frame *frame)
{
    char text[32];

    top_frame_append(frame, TOP_BOLD, pmu->target);
    for (size_t k = 0; k < top_column_count(); k++) {
        const struct top_column *column = top_column_at(k);
        if (!top_table_has(pmus, k) || isnan(pmu->values[k]))
            continue;
        top_column_format(column, pmu->values[k], pmu->estimates >> k & 1, text, sizeof(text));
        top_frame_appendf(frame, TOP_DIM, "  %s ", column->title);
        top_frame_append(frame, TOP_PLAIN, text);
    }
    top_frame_next(frame);
}

static void write_pmus(const struct top_scene *scene, struct top_frame *frame)
{
    size_t n = scene->pmus ? top_table_count(scene->pmus) : 0;

    if (frame->height && frame->height < HEIGHT_FOR_PMUS)
        return;
    for (size_t i = 0; i < MIN(n, (size_t)PMU_LINES_MAX); i++)
        write_pmu(top_table_at(scene->pmus, i), scene->pmus, frame);
    if (scene->pmus && n == 0) {
        top_frame_append(frame, TOP_DIM, "no hardware PMU is counted");
        top_frame_next(frame);
    }
}

static void write_filter(struct top_view *view, struct top_frame *frame)
{
    const char *filter = top_view_filter(view);

    if (view->typing || *filter)
        top_frame_appendf(frame, view->typing ? TOP_BOLD : TOP_WARNING, "  filter: %s%s", filter,
                          view->typing ? "_" : "");
}

/* Writes the number of rows, or why there are no new readings. */
static void write_summary(const struct top_scene *scene, struct top_view *view, size_t shown, struct top_frame *frame)
{
    size_t n = scene->table ? top_table_count(scene->table) : 0, failures = top_page_count_events(scene->failures);
    size_t sort = view->sort[view->kind];
    const char *failed = top_page_find_failed(scene->failures);
    const char *why = frame->height ? "n: why" : "\"perfcountd plan\" says why"; /* plain text has no keys to press */

    if (*scene->error)
        top_frame_appendf(frame, TOP_WARNING, "%s", scene->error);
    else if (!scene->table)
        top_frame_append(frame, TOP_DIM, "the first reading takes one interval");
    else
        top_frame_appendf(frame, TOP_PLAIN, "%zu of %zu %s by %s%s", shown, n,
                          view->kind == TOP_CPUS ? "CPUs"
                          : view->by_pmu         ? "cgroups and PMUs"
                                                 : "cgroups",
                          sort < top_column_count() ? top_column_at(sort)->title : "name",
                          view->reverse ? ", reversed" : "");
    write_filter(view, frame);
    if (scene->table && n && sort < top_column_count() && !top_table_has(scene->table, sort) && !*scene->error)
        top_frame_appendf(frame, TOP_WARNING, "  no row has %s (%s)%s", top_column_at(sort)->title, why,
                          frame->height ? "; P sorts by %CPU" : "");
    if (failed && !*scene->error)
        top_frame_appendf(frame, TOP_WARNING, "  the collector %s fails (%s)", failed, why);
    if (failures && !*scene->error)
        top_frame_appendf(frame, TOP_DIM, "  %zu %s not counted (%s)", failures, failures == 1 ? "event" : "events",
                          why);
    top_frame_next(frame);
}

#define METER_WIDTH_MAX 20

/*
 * Returns the CPU time, in CPUs, of a full bar. The bar of a CPU is full at 1. A cgroup may use several CPUs, so the
 * bar of a cgroup is full at the CPU time of the busiest cgroup, but at least at 1.
 */
static double full_meter(const struct top_table *table, const struct top_view *view)
{
    size_t cpu = top_column_find("cpu");
    double full = 1;

    for (size_t i = 0; view->kind == TOP_CGROUPS && i < top_table_count(table); i++)
        full = fmax(full, top_table_at(table, i)->values[cpu]); /* ignores NAN */
    return full;
}

static void write_meter(const struct top_row *row, double full, size_t width, struct top_frame *frame)
{
    double share = row->values[top_column_find("cpu")] / full;
    bool is_busy = row->cpu >= 0 && share >= 0.9;
    char bar[METER_WIDTH_MAX + 1];
    size_t n = isfinite(share) ? (size_t)(MIN(MAX(share, 0), 1) * (double)width + 0.5) : 0;

    memset(bar, '|', n);
    bar[n] = '\0';
    top_frame_append(frame, TOP_DIM, "[");
    top_frame_append_left(frame, is_busy ? TOP_WARNING : TOP_PLAIN, bar, width);
    top_frame_append(frame, TOP_DIM, "]  ");
}

static void write_titles(const struct top_view *view, const struct top_layout *layout, struct top_frame *frame)
{
    static const char *const names[] = {[TOP_CGROUPS] = "CGROUP", [TOP_CPUS] = "CPU"};
    size_t sort = view->sort[view->kind];

    top_frame_append_left(frame, sort == top_column_count() ? TOP_TITLE_SORTED : TOP_TITLE, names[view->kind],
                          layout->name);
    top_frame_append_left(frame, TOP_TITLE, "PMU", layout->pmu);
    for (size_t i = 0; i < layout->n; i++)
        top_frame_append_right(frame, layout->columns[i] == sort ? TOP_TITLE_SORTED : TOP_TITLE,
                               top_column_at(layout->columns[i])->title, TOP_COLUMN_WIDTH);
    top_frame_append_left(frame, TOP_TITLE, "", 2 + (layout->meter ? layout->meter + 4 : 0));
    for (size_t i = 0; i < TOP_TEXTS; i++)
        top_frame_append_left(frame, TOP_TITLE, top_layout_texts[i].title, layout->texts[i]);
    top_frame_append_left(frame, TOP_TITLE, "", frame->width);
    top_frame_next(frame);
}

/* Writes a field of `width` columns, which include two blanks at the end even if the text is cut. */
static void write_field(struct top_frame *frame, enum top_style style, const char *text, size_t width)
{
    if (width < 3)
        return;
    top_frame_append_left(frame, style, text, width - 2);
    top_frame_append(frame, TOP_PLAIN, "  ");
}

static void write_row(const struct top_row *row, const struct top_layout *layout, double full, struct top_frame *frame)
{
    char text[32];

    write_field(frame, TOP_PLAIN, row->label, layout->name);
    write_field(frame, TOP_DIM, row->pmu ? row->pmu : "", layout->pmu);
    for (size_t i = 0; i < layout->n; i++) {
        size_t k = layout->columns[i];
        bool estimate = row->estimates >> k & 1;
        top_column_format(top_column_at(k), row->values[k], estimate, text, sizeof(text));
        top_frame_append_right(frame, estimate ? TOP_WARNING : TOP_PLAIN, text, TOP_COLUMN_WIDTH);
    }
    top_frame_append(frame, TOP_PLAIN, "  ");
    if (layout->meter)
        write_meter(row, full, layout->meter, frame);
    for (size_t i = 0; i < TOP_TEXTS; i++)
        write_field(frame, TOP_DIM, top_layout_texts[i].text(row), layout->texts[i]);
    top_frame_next(frame);
}

static size_t count_shown(const struct top_scene *scene, const struct top_view *view)
{
    size_t shown = 0;

    for (size_t i = 0; scene->table && i < top_table_count(scene->table); i++)
        shown += top_view_shows(view, top_table_at(scene->table, i));
    return shown;
}

/* Returns the number of lines left for the page, not counting the last line of the screen, which lists the keys. */
static size_t lines_left(const struct top_frame *frame)
{
    size_t used = (size_t)frame->line + 1;

    return frame->height ? frame->height - MIN(frame->height, used) : SIZE_MAX / 2;
}

static void write_rows(const struct top_scene *scene, struct top_view *view, struct top_frame *frame,
                       struct top_page_extent *size)
{
    struct top_layout layout;
    size_t at = 0;

    if (!scene->table)
        return;
    top_table_sort(scene->table, view->sort[view->kind], view->reverse);
    top_layout_make(view, scene->table, frame->width, frame->height > 0, &layout);
    double full = full_meter(scene->table, view);
    write_titles(view, &layout, frame);
    size->height = lines_left(frame);
    top_view_limit(view, size);
    for (size_t i = 0; i < top_table_count(scene->table) && at < view->first + size->height; i++) {
        const struct top_row *row = top_table_at(scene->table, i);
        if (!top_view_shows(view, row))
            continue;
        if (at++ >= view->first)
            write_row(row, &layout, full, frame);
    }
}

static void write_page(const struct top_scene *scene, struct top_view *view, struct top_frame *frame,
                       struct top_page_extent *size)
{
    _cleanup_(top_page_text_done) struct top_page_text page = {.width = frame->width};

    if (view->page == TOP_PAGE_HELP)
        top_page_text_append_help(&page);
    else
        top_page_text_append_failures(&page, scene->failures);
    size->lines = page.lines;
    size->height = lines_left(frame);
    top_view_limit(view, size);
    top_page_text_write(&page, view->first, size->height, frame);
}

static void write_keys(const struct top_view *view, struct top_frame *frame)
{
    static const char *const rows =
        "q quit  h help  Tab cgroups/CPUs  <> sort  r reverse  f freeze  / filter  +- interval  n not counted";
    const char *keys = view->page != TOP_PAGE_ROWS ? "Esc back  q quit" : rows;

    if (!frame->height || frame->line >= frame->height)
        return;
    frame->line = (unsigned)frame->height - 1;
    frame->column = 0;
    top_frame_append(frame, TOP_DIM, view->typing ? "Enter keep the filter  Esc show all rows" : keys);
    top_frame_next(frame);
}

void top_scene_write(struct top_scene *scene, struct top_view *view, struct top_frame *frame,
                     struct top_page_extent *ret)
{
    struct top_page_extent size = {.table = scene->table, .lines = count_shown(scene, view)};

    write_first_line(scene, view, frame);
    write_pmus(scene, frame);
    write_summary(scene, view, size.lines, frame);
    if (view->page == TOP_PAGE_ROWS)
        write_rows(scene, view, frame, &size);
    else
        write_page(scene, view, frame, &size);
    write_keys(view, frame);
    *ret = size;
}
