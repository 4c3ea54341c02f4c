/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of log messages that an operator may want to find or to act on, and their severity. A kind has a MESSAGE_ID
 * in the journal (systemd.journal-fields(7)), which never changes; doc/perfcountd.8 lists them.
 *
 * The log: one line for each event, to standard error or to the journal. It is the project's one mutable global: its
 * level, its format, and how much of each kind was logged.
 */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

#include "base/timer.h"

/* The numbers of syslog(3): a smaller one is more severe. */
enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7 };

enum log_kind {
    LOG_KIND_START_FAILED,
    LOG_KIND_CONFIG_BAD,
    LOG_KIND_CONFIG_DEPRECATED,
    LOG_KIND_LISTEN_FAILED,
    LOG_KIND_RELOADED,
    LOG_KIND_RELOAD_FAILED,
    LOG_KIND_EVENTS_UNAVAILABLE,
    LOG_KIND_CGROUPS_DROPPED,
    LOG_KIND_CGROUPS_UNSEEN,
    LOG_KIND_COLLECTOR_FAILED,
    LOG_KIND_WEB,
    LOG_KIND_OPENER_LOST,
    LOG_KIND_CPUS_CHANGED,
    LOG_KIND_CPUS_LOST,
    LOG_KIND_CHANGES_UNHEARD,
    LOG_KIND_ADDRESSES_IGNORED,
    LOG_KIND_PAUSED,
    LOG_KIND_RESUMED,
    LOG_KIND_COUNTING,
    N_LOG_KINDS
};

struct log_kind_facts {
    const char *name; /* in JSON, and PERFCOUNTD_KIND in the journal */
    const char *message_id;
    enum log_level level;
};

/* The row of a kind. */
const struct log_kind_facts *log_kind_facts(enum log_kind kind);

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
void log_event(enum log_kind kind, const struct log_field *fields, size_t n, const char *format, ...) PRINTF_LIKE(4, 5);
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* All zero at first. */
struct log_quota {
    struct token_bucket bucket;
    unsigned left_out;
};

/* Whether a message may be logged now, and then how many were left out before it. Pure: it is given the time. */
bool log_quota_take(struct log_quota *quota, uint64_t now_ns, unsigned *ret_left_out);

#endif
