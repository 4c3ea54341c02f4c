/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of log messages that an operator may want to find or to act on, and their severity. A kind has a MESSAGE_ID
 * in the journal (systemd.journal-fields(7)), which never changes; doc/perfcountd.8 lists them.
 */
#ifndef DAEMON_LOG_KIND_H
#define DAEMON_LOG_KIND_H

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

#endif
