/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/metrics.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"

/* The suffix that replaces _total in the name of a counter's creation time. */
#define CREATED_SUFFIX "_created"

/* --- families --- */

/* Maximum size of the value and the line feed in a sample line. */
#define VALUE_SIZE_MAX (NUMBER_SIZE_MAX + 1)

/*
 * The type in the TYPE line of both formats, and the suffix that OpenMetrics appends to the family's name for its
 * samples. In the text format, a family has the same name as its samples.
 */
static const struct {
    const char *text, *openmetrics, *suffix;
} types[] = {
    [METRIC_COUNTER] = {"counter", "counter", "_total"},
    [METRIC_GAUGE] = {"gauge", "gauge", ""},
    [METRIC_INFO] = {"gauge", "info", "_info"},
};

static bool ends_with(const char *text, size_t size, const char *suffix)
{
    size_t n = strlen(suffix);

    return size > n && memcmp(text + size - n, suffix, n) == 0;
}

/* Returns the length of a counter's name without _total; 0 if the metric is not a counter or lacks the suffix. */
static size_t counter_size(const struct metric *metric)
{
    const char *suffix = types[METRIC_COUNTER].suffix;
    size_t size = strlen(metric->name);

    return metric->type == METRIC_COUNTER && ends_with(metric->name, size, suffix) ? size - strlen(suffix) : 0;
}

static char *render_text_header(const struct metric *metric)
{
    _cleanup_(buffer_done) struct buffer header = {0};

    buffer_appendf(&header, "# HELP %s ", metric->name);
    escape_append(&header, metric->help, ESCAPE_TEXT_HELP);
    buffer_appendf(&header, "\n# TYPE %s %s\n", metric->name, types[metric->type].text);
    return buffer_string(&header);
}

static char *render_openmetrics_header(const struct metric *metric)
{
    _cleanup_(buffer_done) struct buffer header = {0};
    const char *suffix = types[metric->type].suffix, *type = types[metric->type].openmetrics;
    size_t size = strlen(metric->name), unit = strlen(metric->unit);

    /* OpenMetrics requires the type's suffix; the type "unknown" allows any name. */
    if (*suffix && ends_with(metric->name, size, suffix))
        size -= strlen(suffix);
    else if (*suffix)
        type = "unknown";
    buffer_appendf(&header, "# TYPE %.*s %s\n", (int)size, metric->name, type);
    /* OpenMetrics requires the family's name to end with the unit. */
    if (unit && ends_with(metric->name, size, metric->unit) && metric->name[size - unit - 1] == '_')
        buffer_appendf(&header, "# UNIT %.*s %s\n", (int)size, metric->name, metric->unit);
    buffer_appendf(&header, "# HELP %.*s ", (int)size, metric->name);
    escape_append(&header, metric->help, ESCAPE_OPENMETRICS_HELP);
    buffer_append_char(&header, '\n');
    return buffer_string(&header);
}

/*
 * Memory for several series of one family. New blocks grow with the number of series in the family, up to a page, so
 * that a small family takes little memory even after many reloads. A series larger than a page has its own block.
 */
struct block {
    struct family *family;
    uint32_t n; /* number of series in the block, including removed series */
    uint32_t used, capacity;
    _Alignas(struct series) char data[];
};
#define BLOCK_SIZE_MIN 256
#define BLOCK_SIZE_MAX 4096
#define BLOCK_HEAD (sizeof(struct block) + sizeof(size_t)) /* the size_t is malloc(3)'s own overhead */

/* Value of `collector` in a removed series that is still in its family; no collector has this number. */
#define REMOVED UINT8_MAX

static struct block *block_of(struct series *series)
{
    return (struct block *)((char *)series - series->offset - offsetof(struct block, data));
}

static struct block *block_new(struct family *family, size_t size)
{
    size_t more = family->n * size / 4; /* limits unused memory to a fifth of the family's memory */
    size_t capacity = MIN(BLOCK_SIZE_MIN + more, (size_t)BLOCK_SIZE_MAX) - BLOCK_HEAD;

    capacity = MAX(capacity, size);
    struct block *block = malloc(sizeof(*block) + capacity);
    if (!block)
        return NULL;
    *block = (struct block){.family = family, .capacity = (uint32_t)capacity};
    return block;
}

/* Returns a zeroed series with room for its text, or NULL when out of memory. */
static struct series *block_take(struct family *family, size_t text_size)
{
    size_t align = _Alignof(struct series);
    size_t size = (offsetof(struct series, text) + text_size + align - 1) / align * align;
    struct block *block = family->last;

    if (!block || block->capacity - block->used < size) {
        block = block_new(family, size);
        if (!block)
            return NULL;
        family->last = block;
    }
    struct series *series = (struct series *)(block->data + block->used);
    *series = (struct series){.offset = (uint16_t)block->used};
    block->used += (uint32_t)size;
    block->n++;
    return series;
}

/* Returns a series to its memory block, and frees the block if no series is left in it. */
static void block_give_back(struct series *series)
{
    struct block *block = block_of(series);

    if (--block->n > 0)
        return;
    if (block->family->last == block)
        block->family->last = NULL;
    free(block);
}

static struct family *family_free(struct family *family)
{
    if (!family)
        return NULL;
    for (size_t i = 0; i < family->n; i++)
        block_give_back(family->series[i]);
    free(family->series);
    free(family->name);
    free(family->text_header);
    free(family->openmetrics_header);
    free(family);
    return NULL;
}
DEFINE_CLEANUP(struct family *, family_free);

/* Renders the family's headers, and replaces the previous headers if there are any. */
static int family_describe(struct family *family, const struct metric *metric)
{
    _cleanup_(freep) char *text = render_text_header(metric), *openmetrics = render_openmetrics_header(metric);

    if (!text || !openmetrics)
        return -ENOMEM;
    free(family->text_header);
    free(family->openmetrics_header);
    family->text_header = steal(text);
    family->openmetrics_header = steal(openmetrics);
    family->text_header_size = strlen(family->text_header);
    family->openmetrics_header_size = strlen(family->openmetrics_header);
    return 0;
}

static struct family *family_new(const struct metric *metric)
{
    _cleanup_(family_freep) struct family *family = calloc(1, sizeof(*family));

    if (!family)
        return NULL;
    family->name = strdup(metric->name);
    family->name_size = strlen(metric->name);
    family->counter_size = counter_size(metric);
    if (!family->name || family_describe(family, metric) < 0)
        return NULL;
    return steal(family);
}

static size_t family_header_size(const struct family *family)
{
    return MAX(family->text_header_size, family->openmetrics_header_size);
}

/* Returns the family's index, or metrics->n if there is no such family. */
static size_t metrics_find_family(const struct metrics *metrics, const char *name)
{
    size_t i;

    for (i = 0; i < metrics->n; i++)
        if (str_equal(metrics->families[i]->name, name))
            break;
    return i;
}

/* After a reload, the first HELP of the new configuration replaces the old one. */
static int family_follow_edition(struct metrics *metrics, struct family *family, const struct metric *metric)
{
    if (family->edition == metrics->edition)
        return 0;
    size_t before = family_header_size(family);
    int r = family_describe(family, metric);
    if (r < 0)
        return r;
    metrics->text_size += family_header_size(family) - before;
    family->edition = metrics->edition;
    return 0;
}

static struct family *metrics_find_or_add_family(struct metrics *metrics, const struct metric *metric)
{
    size_t i = metrics_find_family(metrics, metric->name);

    if (i < metrics->n)
        return family_follow_edition(metrics, metrics->families[i], metric) < 0 ? NULL : metrics->families[i];
    if (array_grow(&metrics->families, metrics->n) < 0)
        return NULL;
    struct family *family = family_new(metric);
    if (!family)
        return NULL;
    family->edition = metrics->edition;
    metrics->families[metrics->n++] = family;
    metrics->text_size += family_header_size(family);
    return family;
}

static void metrics_remove_family(struct metrics *metrics, size_t i)
{
    metrics->text_size -= family_header_size(metrics->families[i]);
    family_free(metrics->families[i]);
    metrics->n--;
    memmove(&metrics->families[i], &metrics->families[i + 1], (metrics->n - i) * sizeof(metrics->families[0]));
}

/* Appends seconds with up to three decimals. */
static void buffer_append_created(struct buffer *text, uint64_t created_ns)
{
    char *to = buffer_reserve(text, VALUE_SIZE_MAX);

    if (!to)
        return;
    buffer_advance(text, number_write_fixed(to, created_ns / NSEC_PER_MSEC, 3));
    buffer_append_char(text, '\n');
}

static struct series *series_new(struct family *family, const struct label *labels, size_t n_labels,
                                 uint64_t created_ns)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    for (size_t i = 0; i < n_labels; i++) {
        buffer_appendf(&text, "%c%s=\"", i == 0 ? '{' : ',', labels[i].name);
        escape_append(&text, labels[i].value, ESCAPE_LABEL);
        buffer_append_char(&text, '"');
    }
    buffer_append_text(&text, n_labels ? "} " : " ");
    size_t size = text.size;
    if (created_ns && family->counter_size)
        buffer_append_created(&text, created_ns);
    struct series *series = text.failed ? NULL : block_take(family, text.size);
    if (!series)
        return NULL;
    memcpy(series->text, text.data, text.size);
    series->size = (uint32_t)size;
    series->created_size = (uint8_t)(text.size - size);
    return series;
}

/* Returns an upper bound of the size of the series' sample line. */
static size_t series_line_size(const struct family *family, const struct series *series)
{
    return family->name_size + series->size + VALUE_SIZE_MAX;
}

/* Returns the size of the _created line: the metric's name with _created, the labels, and the creation time. */
static size_t series_created_line_size(const struct family *family, const struct series *series)
{
    size_t name_size = family->counter_size + strlen(CREATED_SUFFIX);

    return series->created_size ? name_size + series->size + series->created_size : 0;
}

size_t metrics_text_size(const struct metrics *metrics, uint32_t mask, bool created)
{
    size_t size = 0;

    if (mask == UINT32_MAX)
        return metrics->text_size + (created ? metrics->created_text_size : 0);
    for (size_t i = 0; i < metrics->n; i++) {
        const struct family *family = metrics->families[i];
        size += family_header_size(family);
        for (size_t k = 0; k < family->n; k++)
            if (mask >> family->series[k]->collector & 1)
                size += series_line_size(family, family->series[k]) +
                        (created ? series_created_line_size(family, family->series[k]) : 0);
    }
    return size;
}

struct series *metrics_add(struct metrics *metrics, const struct metric *metric, unsigned collector, unsigned decimals,
                           const struct label *labels, size_t n_labels)
{
    return metrics_add_created(metrics, metric, collector, decimals, labels, n_labels, 0);
}

struct series *metrics_add_created(struct metrics *metrics, const struct metric *metric, unsigned collector,
                                   unsigned decimals, const struct label *labels, size_t n_labels, uint64_t created_ns)
{
    struct family *family = metrics_find_or_add_family(metrics, metric);
    struct series *series = NULL;

    if (!family)
        return NULL;
    if (array_grow(&family->series, family->n) == 0)
        series = series_new(family, labels, n_labels, created_ns);
    if (!series) {
        if (family->n == 0)
            metrics_remove_family(metrics, metrics->n - 1);
        return NULL;
    }
    series->collector = (uint8_t)collector;
    series->decimals = (uint8_t)decimals;
    metrics->text_size += series_line_size(family, series);
    metrics->created_text_size += series_created_line_size(family, series);
    return family->series[family->n++] = series;
}

/* Drops the removed series of a family. The remaining series keep their order. */
static void family_settle(struct family *family)
{
    size_t n = 0;

    if (family->n_removed == 0)
        return;
    for (size_t i = 0; i < family->n; i++) {
        struct series *series = family->series[i];
        if (series->collector == REMOVED)
            block_give_back(series);
        else
            family->series[n++] = series;
    }
    family->n = n;
    family->n_removed = 0;
}

/* Drops all removed series, and the families that have become empty. */
static void metrics_settle(struct metrics *metrics)
{
    size_t n = 0;

    if (metrics->n_removed == 0)
        return;
    for (size_t i = 0; i < metrics->n; i++) {
        struct family *family = metrics->families[i];
        family_settle(family);
        if (family->n > 0) {
            metrics->families[n++] = family;
            continue;
        }
        metrics->text_size -= family_header_size(family);
        family_free(family);
    }
    metrics->n = n;
    metrics->n_removed = 0;
}

void metrics_remove(struct metrics *metrics, struct series *series)
{
    if (!series)
        return;
    struct family *family = block_of(series)->family;
    metrics->text_size -= series_line_size(family, series);
    metrics->created_text_size -= series_created_line_size(family, series);
    series->collector = REMOVED;
    family->n_removed++;
    metrics->n_removed++;
    if (!metrics->held)
        metrics_settle(metrics);
}

void metrics_begin_removals(struct metrics *metrics)
{
    metrics->held++;
}

void metrics_end_removals(struct metrics *metrics)
{
    if (--metrics->held == 0)
        metrics_settle(metrics);
}

void metrics_done(struct metrics *metrics)
{
    for (size_t i = 0; i < metrics->n; i++)
        family_free(metrics->families[i]);
    free(metrics->families);
    *metrics = (struct metrics){0};
}

/* --- exposition --- */

#define OPENMETRICS_END "# EOF\n"

static char *write_series(char *to, const struct family *family, const struct series *series)
{
    to = put_bytes(to, family->name, family->name_size);
    to = put_bytes(to, series->text, series->size);
    if (series->decimals == 0)
        to += number_write_u64(to, series->value);
    else if (series->decimals == SERIES_REAL)
        to += number_write_real(to, series_real(series));
    else
        to += number_write_fixed(to, series->value, series->decimals);
    *to++ = '\n';
    return to;
}

/*
 * Writes the _created line directly after its sample, because OpenMetrics requires the samples of a label set to be
 * adjacent.
 */
static char *write_created(char *to, const struct family *family, const struct series *series)
{
    to = put_bytes(to, family->name, family->counter_size);
    to = put_text(to, CREATED_SUFFIX);
    return put_bytes(to, series->text, (size_t)series->size + series->created_size);
}

static bool family_is_shown(const struct family *family, uint32_t mask, uint32_t failed)
{
    for (size_t i = 0; i < family->n; i++)
        if (series_is_shown(family->series[i], mask, failed))
            return true;
    return false;
}

/* A family without any visible series has no header. */
static char *write_family(char *to, const struct family *family, uint32_t mask, uint32_t failed, enum exposition format)
{
    bool openmetrics = format == EXPOSITION_OPENMETRICS;

    if (!family_is_shown(family, mask, failed))
        return to;
    if (openmetrics)
        to = put_bytes(to, family->openmetrics_header, family->openmetrics_header_size);
    else
        to = put_bytes(to, family->text_header, family->text_header_size);
    for (size_t i = 0; i < family->n; i++) {
        const struct series *series = family->series[i];
        if (!series_is_shown(series, mask, failed))
            continue;
        to = write_series(to, family, series);
        if (openmetrics && series->created_size)
            to = write_created(to, family, series);
    }
    return to;
}

int exposition_write(struct buffer *buffer, const struct metrics *metrics, uint32_t mask, enum exposition format)
{
    bool openmetrics = format == EXPOSITION_OPENMETRICS;
    size_t size = metrics_text_size(metrics, mask, openmetrics) + (openmetrics ? strlen(OPENMETRICS_END) : 0);
    char *start = buffer_reserve(buffer, size), *to = start;

    if (!start)
        return -ENOMEM;
    for (size_t i = 0; i < metrics->n; i++)
        to = write_family(to, metrics->families[i], mask, metrics->failed, format);
    if (format == EXPOSITION_OPENMETRICS)
        to = put_text(to, OPENMETRICS_END);
    buffer_advance(buffer, (size_t)(to - start));
    return 0;
}
