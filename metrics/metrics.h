/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metric families and their series, and the exposition for Prometheus.
 *
 * Labels are rendered once: a series stores its "{labels} " as text, so that a scrape only copies the family's name and
 * this text, and appends the digits. The sample lines are the same in the text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/) and in OpenMetrics 1.0.0; only a family's comment
 * lines differ.
 *
 * The series of a family are adjacent in blocks of memory, in the order in which a scrape writes them. Pure.
 */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include "base/buffer.h"
#include "base/util.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO };

struct metric {
    const char *name; /* sample name; ends in _total for a counter, and in _info for an info metric */
    const char *help;
    const char *unit; /* Prometheus base unit that is part of the name, or "" */
    enum metric_type type;
};

struct label {
    const char *name;  /* a valid label name */
    const char *value; /* any bytes; escaped when the series is added (base/text.h) */
};

/* Value of `decimals` for a series whose `value` holds the bits of a double. */
#define SERIES_REAL 255

struct series {
    uint64_t value;       /* an exact number of units of 10^-decimals, or the bits of a double */
    uint32_t size;        /* size of "{labels} " in `text` */
    uint16_t offset;      /* offset of the series in its block */
    uint8_t decimals;     /* 0 for counts, 9 for nanoseconds, or SERIES_REAL */
    uint8_t collector;    /* bit number of the collector that owns the series */
    bool visible;         /* false if the value is unknown; the exposition then omits the series */
    bool lasting;         /* the series is still exposed while its collector fails */
    uint8_t created_size; /* size of the rest of `text`, the creation time; 0 for most series */
    char text[];          /* "{labels} ", followed by the creation time "1700000000.123\n" for counters that have one;
                           * no NUL */
};

struct block;

/* All series of one metric name. Only writers of an exposition access a family; collectors do not. */
struct family {
    char *name;
    char *text_header;        /* "# HELP ...\n# TYPE ...\n" */
    char *openmetrics_header; /* OpenMetrics headers, with "# UNIT ...\n" if the metric has a unit */
    size_t text_header_size, openmetrics_header_size;
    size_t name_size;
    size_t counter_size; /* length of `name` without _total; 0 if its series have no _created line */
    struct series **series;
    size_t n;
    size_t n_removed;   /* number of removed series that are still in `series` */
    struct block *last; /* newest memory block, which may have room for more series; may be NULL */
    unsigned edition;   /* edition of the configuration that the headers come from */
};

struct metrics {
    struct family **families; /* families in order of creation */
    size_t n;
    size_t text_size;         /* upper bound of an exposition, without OpenMetrics' _created lines and last line */
    size_t created_text_size; /* upper bound of all _created lines */
    size_t n_removed;         /* number of removed series that are still in their families */
    unsigned held;            /* nesting depth of metrics_begin_removals() */
    unsigned edition;         /* number of the current configuration; the owner increments it on reload */
    uint32_t failed;          /* mask of failing collectors: only their lasting series are exposed */
};

void metrics_done(struct metrics *metrics);
/*
 * Adds a series to the family with the metric's name, and creates the family if it does not exist. Within one edition
 * of the configuration, the first HELP of a family is kept. The series belongs to `metrics`, and is invisible with
 * value 0 at first. Returns NULL when out of memory.
 */
struct series *metrics_add(struct metrics *metrics, const struct metric *metric, unsigned collector, unsigned decimals,
                           const struct label *labels, size_t n_labels);
/*
 * Like metrics_add(), for a counter whose target may come and go. `created_ns` is the CLOCK_REALTIME at which the
 * counter started at 0. OpenMetrics exposes this time as NAME_created if it is not 0 and the family is a counter
 * NAME_total.
 */
struct series *metrics_add_created(struct metrics *metrics, const struct metric *metric, unsigned collector,
                                   unsigned decimals, const struct label *labels, size_t n_labels, uint64_t created_ns);
/* Removes a series, and removes the family with its last series. Ignores NULL. */
void metrics_remove(struct metrics *metrics, struct series *series);
/*
 * Upper bound, in bytes, of an exposition of the collectors in `mask`, without OpenMetrics' last line. If `created` is
 * true, the size includes the _created lines.
 */
size_t metrics_text_size(const struct metrics *metrics, uint32_t mask, bool created);
/*
 * Series removed between the two calls are dropped together at the end, so that removing many series takes linear time.
 * No exposition may be written between the two calls. Calls of metrics_begin_removals() and metrics_end_removals() may
 * be nested.
 */
void metrics_begin_removals(struct metrics *metrics);
void metrics_end_removals(struct metrics *metrics);

static inline void series_set(struct series *series, uint64_t value)
{
    series->value = value;
    series->visible = true;
}

static inline void series_set_real(struct series *series, double value)
{
    memcpy(&series->value, &value, sizeof(value));
    series->decimals = SERIES_REAL;
    series->visible = true;
}

/*
 * Returns whether an exposition of the collectors in `mask` includes the series if the collectors in `failed` have
 * failed.
 */
static inline bool series_is_shown(const struct series *series, uint32_t mask, uint32_t failed)
{
    return series->visible && ((series->lasting ? mask : mask & ~failed) >> series->collector & 1);
}

/* Returns the value of a series whose `decimals` is SERIES_REAL. */
static inline double series_real(const struct series *series)
{
    double value;

    memcpy(&value, &series->value, sizeof(value));
    return value;
}

enum exposition { EXPOSITION_TEXT, EXPOSITION_OPENMETRICS };

/* Appends the visible series of the collectors in `mask`. Returns -ENOMEM on failure. */
int exposition_write(struct buffer *buffer, const struct metrics *metrics, uint32_t mask, enum exposition format);

#endif
