/* SPDX-License-Identifier: Apache-2.0 */
/* Metric families and their series, each rendered once: see metric.h. */
#include "collectors/metric.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/number.h"

/* The digits and the line feed that a scrape writes behind a series. */
#define VALUE_SIZE_MAX (NUMBER_SIZE_MAX + 1)

/*
 * What a type is called in the TYPE line, and what a sample's name has behind the family's name in OpenMetrics; the
 * text format knows no such difference.
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

/* The size of a counter's name without _total; 0 for what is no counter or has another name. */
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

    /* A sample without its type's suffix would be a syntax error; "unknown" takes any name. */
    if (*suffix && ends_with(metric->name, size, suffix))
        size -= strlen(suffix);
    else if (*suffix)
        type = "unknown";
    buffer_appendf(&header, "# TYPE %.*s %s\n", (int)size, metric->name, type);
    /* The specification wants the unit at the end of the family's name. */
    if (unit && ends_with(metric->name, size, metric->unit) && metric->name[size - unit - 1] == '_')
        buffer_appendf(&header, "# UNIT %.*s %s\n", (int)size, metric->name, metric->unit);
    buffer_appendf(&header, "# HELP %.*s ", (int)size, metric->name);
    escape_append(&header, metric->help, ESCAPE_OPENMETRICS_HELP);
    buffer_append_char(&header, '\n');
    return buffer_string(&header);
}

static struct family *family_free(struct family *family)
{
    if (!family)
        return NULL;
    for (size_t i = 0; i < family->n; i++)
        free(family->series[i]);
    free(family->series);
    free(family->name);
    free(family->text_header);
    free(family->openmetrics_header);
    free(family);
    return NULL;
}
DEFINE_CLEANUP(struct family *, family_free);

static struct family *family_new(const struct metric *metric)
{
    _cleanup_(family_freep) struct family *family = calloc(1, sizeof(*family));

    if (!family)
        return NULL;
    family->name = strdup(metric->name);
    family->counter_size = counter_size(metric);
    family->text_header = render_text_header(metric);
    family->openmetrics_header = render_openmetrics_header(metric);
    if (!family->name || !family->text_header || !family->openmetrics_header)
        return NULL;
    return steal(family);
}

static size_t family_header_size(const struct family *family)
{
    return MAX(strlen(family->text_header), strlen(family->openmetrics_header));
}

/* The place of the family whose name is the first `size` bytes of `name`; metrics->n where there is none. */
static size_t find_family(const struct metrics *metrics, const char *name, size_t size)
{
    size_t i;

    for (i = 0; i < metrics->n; i++)
        if (strncmp(metrics->families[i]->name, name, size) == 0 && !metrics->families[i]->name[size])
            break;
    return i;
}

static struct family *find_or_add_family(struct metrics *metrics, const struct metric *metric)
{
    size_t i = find_family(metrics, metric->name, strlen(metric->name));

    if (i < metrics->n)
        return metrics->families[i];
    if (array_grow(&metrics->families, metrics->n) < 0)
        return NULL;
    struct family *family = family_new(metric);
    if (!family)
        return NULL;
    metrics->families[metrics->n++] = family;
    metrics->text_size += family_header_size(family);
    return family;
}

static void remove_family(struct metrics *metrics, size_t i)
{
    metrics->text_size -= family_header_size(metrics->families[i]);
    family_free(metrics->families[i]);
    metrics->n--;
    memmove(&metrics->families[i], &metrics->families[i + 1], (metrics->n - i) * sizeof(metrics->families[0]));
}

/* Seconds, as precise as anything can tell. */
static void append_created(struct buffer *text, uint64_t created_ns)
{
    char *to = buffer_reserve(text, VALUE_SIZE_MAX);

    if (!to)
        return;
    buffer_advance(text, number_write_fixed(to, created_ns / NSEC_PER_MSEC, 3));
    buffer_append_char(text, '\n');
}

static struct series *series_new(const char *name, const struct label *labels, size_t n_labels, uint64_t created_ns)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    buffer_append_text(&text, name);
    for (size_t i = 0; i < n_labels; i++) {
        buffer_appendf(&text, "%c%s=\"", i == 0 ? '{' : ',', labels[i].name);
        escape_append(&text, labels[i].value, ESCAPE_LABEL);
        buffer_append_char(&text, '"');
    }
    buffer_append_text(&text, n_labels ? "} " : " ");
    size_t size = text.size;
    if (created_ns)
        append_created(&text, created_ns);
    struct series *series = text.failed ? NULL : calloc(1, sizeof(*series) + text.size);
    if (!series)
        return NULL;
    memcpy(series->text, text.data, text.size);
    series->size = (uint32_t)size;
    series->created_size = (uint8_t)(text.size - size);
    return series;
}

/* Its _created line: the series' text with another suffix in the name, and what stands behind that text. */
static size_t created_line_size(const struct series *series)
{
    size_t longer = strlen(CREATED_SUFFIX) - strlen(types[METRIC_COUNTER].suffix);

    return series->created_size ? series->size + longer + series->created_size : 0;
}

struct series *metrics_add(struct metrics *metrics, const struct metric *metric, unsigned collector, unsigned decimals,
                           const struct label *labels, size_t n_labels)
{
    return metrics_add_created(metrics, metric, collector, decimals, labels, n_labels, 0);
}

struct series *metrics_add_created(struct metrics *metrics, const struct metric *metric, unsigned collector,
                                   unsigned decimals, const struct label *labels, size_t n_labels, uint64_t created_ns)
{
    _cleanup_(freep) struct series *series =
        series_new(metric->name, labels, n_labels, counter_size(metric) ? created_ns : 0);
    struct family *family = series ? find_or_add_family(metrics, metric) : NULL;

    if (!family)
        return NULL;
    if (array_grow(&family->series, family->n) < 0) {
        if (family->n == 0)
            remove_family(metrics, metrics->n - 1);
        return NULL;
    }
    series->collector = (uint8_t)collector;
    series->decimals = (uint8_t)decimals;
    metrics->text_size += series->size + VALUE_SIZE_MAX;
    metrics->created_text_size += created_line_size(series);
    return family->series[family->n++] = steal(series);
}

static void family_remove_series(struct family *family, size_t i)
{
    free(family->series[i]);
    family->n--;
    memmove(&family->series[i], &family->series[i + 1], (family->n - i) * sizeof(family->series[0]));
}

void metrics_remove(struct metrics *metrics, struct series *series)
{
    if (!series)
        return;
    size_t name_size = 0;
    while (series->text[name_size] != '{' && series->text[name_size] != ' ')
        name_size++;
    size_t at = find_family(metrics, series->text, name_size);
    if (at == metrics->n)
        return;
    struct family *family = metrics->families[at];
    for (size_t i = 0; i < family->n; i++) {
        if (family->series[i] != series)
            continue;
        metrics->text_size -= series->size + VALUE_SIZE_MAX;
        metrics->created_text_size -= created_line_size(series);
        family_remove_series(family, i);
        break;
    }
    if (family->n == 0)
        remove_family(metrics, at);
}

void metrics_done(struct metrics *metrics)
{
    for (size_t i = 0; i < metrics->n; i++)
        family_free(metrics->families[i]);
    free(metrics->families);
    *metrics = (struct metrics){0};
}
