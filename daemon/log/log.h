/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log: one line an event, to standard error or to the journal. The level, the format and how much was logged of
 * each kind (quota.h) are the one mutable global.
 */
#ifndef DAEMON_LOG_LOG_H
#define DAEMON_LOG_LOG_H

#include "base/util.h"
#include "daemon/log/kind.h"

enum log_format { LOG_FORMAT_AUTO, LOG_FORMAT_TEXT, LOG_FORMAT_JSON, LOG_FORMAT_JOURNAL };

/* "debug", "info", "warning", "error"; "auto", "text", "json", "journal". -EINVAL. */
int log_parse_level(const char *text, enum log_level *ret);
int log_parse_format(const char *text, enum log_format *ret);

/*
 * LOG_FORMAT_AUTO is the journal where standard error is connected to it; on a terminal text without the time, its
 * level in colour; else text.
 */
void log_configure(enum log_level level, enum log_format format);

void log_write(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/* What belongs to an entry: "collector" is PERFCOUNTD_COLLECTOR in the journal. Only the journal and JSON show it. */
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

#endif
