/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log writes one line per event to standard error or to the journal. The level, the format and the quotas of the
 * log are the only mutable global state of the project.
 *
 * A kind groups messages that an operator may want to search for or act on. Each kind has a severity and a MESSAGE_ID
 * for the journal (systemd.journal-fields(7)), which never changes. doc/perfcountd.8 lists the kinds.
 */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

#include "base/timer.h"

/* Message levels, with the numbers of syslog(3): smaller is more severe. */
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
    const char *name; /* name of the kind: the field `kind` in JSON, PERFCOUNTD_KIND in the journal */
    const char *message_id;
    enum log_level level;
};

const struct log_kind_facts *log_kind_facts(enum log_kind kind);

enum log_format { LOG_FORMAT_AUTO, LOG_FORMAT_TEXT, LOG_FORMAT_JSON, LOG_FORMAT_JOURNAL };

/*
 * Parse the name of a level or of a format. The levels are "debug", "info", "warning" (or "warn") and "error"; the
 * formats are "auto", "text", "json" and "journal". Return -EINVAL for an unknown name.
 */
int log_parse_level(const char *text, enum log_level *ret);
int log_parse_format(const char *text, enum log_format *ret);

/*
 * LOG_FORMAT_AUTO means the journal if standard error is connected to the journal, and text otherwise. On a terminal,
 * text is coloured and has no timestamps.
 */
void log_configure(enum log_level level, enum log_format format);

void log_write(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * A structured field, shown only in JSON and in the journal. In the journal, the name "collector" becomes
 * PERFCOUNTD_COLLECTOR.
 */
struct log_field {
    const char *name, *value;
};
void log_event(enum log_kind kind, const struct log_field *fields, size_t n, const char *format, ...) PRINTF_LIKE(4, 5);
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* The rate limit of one kind of message; zero-initialised. */
struct log_quota {
    struct token_bucket bucket;
    unsigned left_out;
};

/*
 * Returns whether a message may be logged now; if so, *ret_left_out is the number of messages suppressed since the last
 * logged one. Pure: the caller passes the current time (CLOCK_MONOTONIC).
 */
bool log_quota_take(struct log_quota *quota, uint64_t now_ns, unsigned *ret_left_out);

#endif
