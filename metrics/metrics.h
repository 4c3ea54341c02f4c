/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metric families and their series, rendered once, and the exposition as text and OpenMetrics.
 *
 * Metric families and their series, each rendered once: a series holds its `{labels} ` as text, and a scrape writes the
 * name of its family before it and digits behind it. The sample lines of the Prometheus text format 0.0.4 and of
 * OpenMetrics 1.0.0 are the same; only the comment lines of a family differ.
 *
 * The series of a family lie one behind the other in blocks of memory, in the order in which they are written.
 *
 * The metrics for Prometheus: text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/) and OpenMetrics 1.0.0. Pure.
 */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include "base/buffer.h"
#include "base/util.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_INFO };

struct metric {
    const char *name; /* of the sample: with _total for a counter, with _info for an info */
    const char *help;
    const char *unit; /* Prometheus base unit that the name contains, or "" */
    enum metric_type type;
};

struct label {
    const char *name;  /* a valid label name */
    const char *value; /* any UTF-8; escaped here */
};

/* `decimals` of a series whose value is a double, stored by its bits. */
#define SERIES_REAL 255

struct series {
    uint64_t value;       /* in 10^-decimals of the unit, exact; or the bits of a double */
    uint32_t size;        /* of `text` */
    uint16_t offset;      /* within its block */
    uint8_t decimals;     /* 0 for counts, 9 for nanoseconds, or SERIES_REAL */
    uint8_t collector;    /* bit number of the collector it belongs to */
    bool visible;         /* false leaves it out of the exposition: its value is not known */
    bool lasting;         /* shown also while its collector fails */
    uint8_t created_size; /* of the part of `text` behind its `size` bytes; 0 for most series */
    char text[]; /* "{labels} ", not NUL-terminated; then "1700000000.123\n", the time when the counter was 0 */
};

struct block;

/* Opaque to collectors; the writers read it. */
struct family {
    char *name;
    char *text_header;        /* "# HELP ...\n# TYPE ...\n" */
    char *openmetrics_header; /* the same, with "# UNIT ...\n" where there is one */
    size_t name_size;
    size_t counter_size; /* of `name` without _total; 0 where its series have no _created */
    struct series **series;
    size_t n;
    size_t n_removed;   /* series that are removed and still in `series` */
    struct block *last; /* may have room for more series; NULL */
    unsigned edition;   /* of its headers */
};

struct metrics {
    struct family **families; /* in order of creation */
    size_t n;
    size_t text_size;         /* no exposition is larger, without OpenMetrics' _created lines and its last line */
    size_t created_text_size; /* no exposition has more in its _created lines */
    unsigned held;            /* removed series stay in their families while it is not 0 */
    unsigned edition;         /* of the configuration */
    uint32_t failed;          /* bit mask of the collectors that fail: only their lasting series are shown */
};

void metrics_done(struct metrics *metrics);
/*
 * Adds a series to the family of that name, which is made where it is missing; the first HELP of an edition stays. The
 * series belongs to `metrics`. NULL when out of memory. Starts invisible, with value 0.
 */
struct series *metrics_add(struct metrics *metrics, const struct metric *metric, unsigned collector, unsigned decimals,
                           const struct label *labels, size_t n_labels);
/*
 * The same, for a counter that comes and goes: `created_ns` (CLOCK_REALTIME) is when it started from 0. OpenMetrics has
 * it as NAME_created, unless it is 0 or the family is no counter NAME_total.
 */
struct series *metrics_add_created(struct metrics *metrics, const struct metric *metric, unsigned collector,
                                   unsigned decimals, const struct label *labels, size_t n_labels, uint64_t created_ns);
/* NULL is ignored. A family is removed with its last series. */
void metrics_remove(struct metrics *metrics, struct series *series);
/* No exposition of the collectors in `mask` is larger, without OpenMetrics' last line; `created`: with _created lines.
 */
size_t metrics_text_size(const struct metrics *metrics, uint32_t mask, bool created);
/*
 * Series that are removed between the two calls are gone at the end, all at once: the time does not grow with the
 * square of their number. Nothing may be written meanwhile. The calls may be nested.
 */
void metrics_hold(struct metrics *metrics);
void metrics_release(struct metrics *metrics);

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

/* Whether the series is part of the exposition. */
static inline bool series_is_shown(const struct metrics *metrics, const struct series *series)
{
    return series->visible && (series->lasting || !(metrics->failed >> series->collector & 1));
}

static inline double series_real(const struct series *series)
{
    double value;

    memcpy(&value, &series->value, sizeof(value));
    return value;
}

enum exposition { EXPOSITION_TEXT, EXPOSITION_OPENMETRICS };

/* Appends the visible series of the collectors whose bits are in `mask`. -ENOMEM. */
int exposition_write(struct buffer *buffer, const struct metrics *metrics, uint32_t mask, enum exposition format);

#endif
