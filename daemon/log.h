/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log: one line for each event, to standard error or to the journal. It is the project's one mutable global: its
 * level, its format, and how much of each kind was logged.
 */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

#include "base/token-bucket.h"
#include "daemon/log-kind.h"

enum log_format { LOG_FORMAT_AUTO, LOG_FORMAT_TEXT, LOG_FORMAT_JSON, LOG_FORMAT_JOURNAL };

/* "debug", "info", "warning", "error"; "auto", "text", "json", "journal". -EINVAL. */
int log_parse_level(const char *text, enum log_level *ret);
int log_parse_format(const char *text, enum log_format *ret);

/*
 * LOG_FORMAT_AUTO is the journal where standard error is connected to it; on a terminal, text without the time and with
 * the level in colour; else text.
 */
void log_configure(enum log_level level, enum log_format format);

void log_write(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/* A field of an entry: "collector" is PERFCOUNTD_COLLECTOR in the journal. Only the journal and JSON show it. */
struct log_field {
    const char *name, *value;
};

/* An entry of a kind, at the kind's level. At most LOG_FIELDS_MAX fields. */
#define LOG_FIELDS_MAX 6
void log_event(enum log_kind kind, const struct log_field *fields, size_t n, const char *format, ...) PRINTF_LIKE(4, 5);

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/*
 * How often messages of a kind are logged, whatever causes them (a client that reloads in a loop, cgroups that come and
 * go): LOG_QUOTA_BURST at once, and one in LOG_QUOTA_INTERVAL_NS in the long run.
 */
#define LOG_QUOTA_BURST 100
#define LOG_QUOTA_INTERVAL_NS (60 * NSEC_PER_SEC)

/* All zero at first. */
struct log_quota {
    struct token_bucket bucket;
    unsigned left_out;
};

/* Whether a message may be logged now, and then how many were left out before it. Pure: it is given the time. */
bool log_quota_take(struct log_quota *quota, uint64_t now_ns, unsigned *ret_left_out);

#endif
