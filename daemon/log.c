/* SPDX-License-Identifier: Apache-2.0 */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include "daemon/log.h"

#include <ctype.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

/* An entry of a kind, at the kind's level. At most LOG_FIELDS_MAX fields. */
#define LOG_FIELDS_MAX 6

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)

/*
 * How often messages of a kind are logged, whatever causes them (a client that reloads in a loop, cgroups that come and
 * go): LOG_QUOTA_BURST at once, and one in LOG_QUOTA_INTERVAL_NS in the long run.
 */
#define LOG_QUOTA_BURST 100
#define LOG_QUOTA_INTERVAL_NS (60 * NSEC_PER_SEC)

/* --- The kinds of log messages. A new kind is a row here, in the manual and in the journal's catalog --- */

/* Made by systemd-id128(1). */
static const struct log_kind_facts kinds[N_LOG_KINDS] = {
    [LOG_KIND_START_FAILED] = {"start-failed", "c3ebffe0f1f54d10920f918e56e4c559", LOG_LEVEL_ERROR},
    [LOG_KIND_CONFIG_BAD] = {"configuration-bad", "3508f198a00549779c2d8e1d5b82b01f", LOG_LEVEL_ERROR},
    [LOG_KIND_CONFIG_DEPRECATED] = {"configuration-deprecated", "32d1c1ce6ad744c2bd166b1f93769c4f", LOG_LEVEL_WARNING},
    [LOG_KIND_LISTEN_FAILED] = {"listen-failed", "5d8270c44ac14504a7cc112a1ca15064", LOG_LEVEL_ERROR},
    [LOG_KIND_RELOADED] = {"reloaded", "08e4098f79894d9580231d50b9812484", LOG_LEVEL_INFO},
    [LOG_KIND_RELOAD_FAILED] = {"reload-failed", "8533ddab6c9748c38c1d3a244cba5765", LOG_LEVEL_ERROR},
    [LOG_KIND_EVENTS_UNAVAILABLE] = {"events-unavailable", "0982c9f38683418b9c0e27eea3f6f746", LOG_LEVEL_WARNING},
    [LOG_KIND_CGROUPS_DROPPED] = {"cgroups-dropped", "5c63a03060324c2cafa120127a8489b0", LOG_LEVEL_WARNING},
    [LOG_KIND_CGROUPS_UNSEEN] = {"cgroups-unseen", "7fbc5422f9f449c186415ed7d437ba3f", LOG_LEVEL_WARNING},
    [LOG_KIND_COLLECTOR_FAILED] = {"collector-failed", "15657d7596b54f2ca0026ba25763106b", LOG_LEVEL_WARNING},
    [LOG_KIND_WEB] = {"web", "6c198da51a9b48aeab2ba1fa3f7442f4", LOG_LEVEL_WARNING},
    [LOG_KIND_OPENER_LOST] = {"opener-lost", "bb14e0be056341bc8a732281f32e5d89", LOG_LEVEL_ERROR},
    [LOG_KIND_CPUS_CHANGED] = {"cpus-changed", "fd12b014a7df4d7daa191340cd8a193f", LOG_LEVEL_INFO},
    [LOG_KIND_CPUS_LOST] = {"cpus-lost", "b2cf71ae98b44e94800490876cabceec", LOG_LEVEL_ERROR},
    [LOG_KIND_CHANGES_UNHEARD] = {"changes-unheard", "8396e16e97e54ff99ceaa6703b9b767d", LOG_LEVEL_WARNING},
    [LOG_KIND_ADDRESSES_IGNORED] = {"addresses-ignored", "93d5513b2874491db9311f7e29609d12", LOG_LEVEL_WARNING},
    [LOG_KIND_PAUSED] = {"paused", "cdc2e8d759ce4478ba80796977e56bf4", LOG_LEVEL_INFO},
    [LOG_KIND_RESUMED] = {"resumed", "79711cac1dab4ab0abf044f8fb1947c3", LOG_LEVEL_INFO},
    [LOG_KIND_COUNTING] = {"counting", "9ac8a6c1ce9e4f21b39418671bed95d4", LOG_LEVEL_INFO},
};

const struct log_kind_facts *log_kind_facts(enum log_kind kind)
{
    return &kinds[kind];
}

/* --- The log --- */

/* The quota of warnings without a kind is the last one. */
static struct {
    enum log_level level;
    enum log_format format;
    bool is_terminal;
    bool is_cut; /* the last line could not be written, or not to its end: the disk is full */
    struct log_quota quotas[N_LOG_KINDS + 1];
} current = {.level = LOG_LEVEL_INFO, .format = LOG_FORMAT_TEXT};

#define MESSAGE_SIZE 1024
#define TIME_SIZE 64
#define JOURNAL_FIELDS_MAX (4 + LOG_FIELDS_MAX)

/* One event. */
struct entry {
    enum log_level level;
    const struct log_kind_facts *kind; /* may be NULL */
    const struct log_field *fields;
    size_t n;
    const char *message;
};

static const struct {
    const char *name;
    enum log_level level;
} levels[] = {
    {"debug", LOG_LEVEL_DEBUG},
    {"info", LOG_LEVEL_INFO},
    {"warning", LOG_LEVEL_WARNING},
    {"error", LOG_LEVEL_ERROR},
    /* As other exporters spell it. The first name of a level is the one that is written. */
    {"warn", LOG_LEVEL_WARNING},
};

static const struct {
    const char *name;
    enum log_format format;
} formats[] = {
    {"auto", LOG_FORMAT_AUTO},
    {"text", LOG_FORMAT_TEXT},
    {"json", LOG_FORMAT_JSON},
    {"journal", LOG_FORMAT_JOURNAL},
};

int log_parse_level(const char *text, enum log_level *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
        if (str_equal(levels[i].name, text)) {
            *ret = levels[i].level;
            return 0;
        }
    return -EINVAL;
}

int log_parse_format(const char *text, enum log_format *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
        if (str_equal(formats[i].name, text)) {
            *ret = formats[i].format;
            return 0;
        }
    return -EINVAL;
}

/* JOURNAL_STREAM has the device and the inode of the journal's stream (systemd.exec(5)). */
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat status;

    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &status) == 0 &&
           status.st_dev == device && status.st_ino == inode;
}

void log_configure(enum log_level level, enum log_format format)
{
    current.level = level;
    current.format = format;
    current.is_terminal = false;
    if (format != LOG_FORMAT_AUTO)
        return;
    current.format = is_journal() ? LOG_FORMAT_JOURNAL : LOG_FORMAT_TEXT;
    current.is_terminal = isatty(STDERR_FILENO);
}

static const char *level_name(enum log_level level)
{
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
        if (levels[i].level == level)
            return levels[i].name;
    return "info";
}

static void format_now(char text[TIME_SIZE])
{
    struct timespec now;
    struct tm utc;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, TIME_SIZE - n, ".%03ldZ", now.tv_nsec / 1000000);
}

/* The line behind one that was cut off begins on a line of its own. */
static void PRINTF_LIKE(1, 2) print_line(const char *format, ...)
{
    va_list args;

    if (current.is_cut && fputc('\n', stderr) == EOF)
        return;
    va_start(args, format);
    current.is_cut = vfprintf(stderr, format, args) < 0;
    va_end(args);
}

static void write_text(const struct entry *entry)
{
    char now[TIME_SIZE];

    format_now(now);
    print_line("%s %-7s %s\n", now, level_name(entry->level), entry->message);
}

/* Without the time. NO_COLOR: see no-color.org. */
static void write_terminal(const struct entry *entry)
{
    const char *no_color = getenv("NO_COLOR");
    const char *color = no_color && *no_color               ? ""
                        : entry->level == LOG_LEVEL_ERROR   ? "\033[1;31m"
                        : entry->level == LOG_LEVEL_WARNING ? "\033[33m"
                                                            : "";

    print_line("%s%-7s%s %s\n", color, level_name(entry->level), *color ? "\033[0m" : "", entry->message);
}

static void write_json(const struct entry *entry)
{
    char now[TIME_SIZE];

    format_now(now);
    json_t *line = json_pack("{s:s, s:s}", "time", now, "level", level_name(entry->level));
    if (line && entry->kind)
        json_object_set_new(line, "kind", json_string(entry->kind->name));
    if (line)
        json_object_set_new(line, "message", json_text(entry->message));
    for (size_t i = 0; line && i < entry->n; i++)
        json_object_set_new(line, entry->fields[i].name, json_text(entry->fields[i].value));
    _cleanup_(freep) char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    if (text)
        print_line("%s\n", text);
    json_decref(line);
}

struct journal {
    struct iovec fields[JOURNAL_FIELDS_MAX];
    int n;
};

static void journal_add(struct journal *journal, const char *name, const char *value)
{
    char *text;
    int size = asprintf(&text, "%s=%s", name, value);

    if (size >= 0)
        journal->fields[journal->n++] = (struct iovec){text, (size_t)size};
}

static void journal_add_own(struct journal *journal, const char *name, const char *value)
{
    char own[64];
    int size = snprintf(own, sizeof(own), "PERFCOUNTD_%s", name);

    for (int i = 0; i < MIN(size, (int)sizeof(own) - 1); i++)
        own[i] = (char)toupper((unsigned char)own[i]);
    journal_add(journal, own, value);
}

/* See systemd.journal-fields(7). Without a journal the message goes to standard error. */
static void write_journal(const struct entry *entry)
{
    struct journal journal = {0};
    char priority[16];

    snprintf(priority, sizeof(priority), "%d", (int)entry->level);
    journal_add(&journal, "MESSAGE", entry->message);
    journal_add(&journal, "PRIORITY", priority);
    if (entry->kind) {
        journal_add(&journal, "MESSAGE_ID", entry->kind->message_id);
        journal_add_own(&journal, "kind", entry->kind->name);
    }
    for (size_t i = 0; i < entry->n; i++)
        journal_add_own(&journal, entry->fields[i].name, entry->fields[i].value);
    if (sd_journal_sendv(journal.fields, journal.n) < 0)
        print_line("<%s>%s\n", priority, entry->message);
    for (int i = 0; i < journal.n; i++)
        free(journal.fields[i].iov_base);
}

static void write_entry(const struct entry *from)
{
    char message[MESSAGE_SIZE];
    struct entry entry = *from;

    /* Names in a message are a stranger's: without controls, no name makes a second line or escapes to a terminal. */
    utf8_copy_printable(message, sizeof(message), from->message, strlen(from->message));
    entry.message = message;
    switch (current.format) {
    case LOG_FORMAT_JOURNAL:
        write_journal(&entry);
        break;
    case LOG_FORMAT_JSON:
        write_json(&entry);
        break;
    case LOG_FORMAT_AUTO:
    case LOG_FORMAT_TEXT:
        if (current.is_terminal)
            write_terminal(&entry);
        else
            write_text(&entry);
    }
}

bool log_quota_take(struct log_quota *quota, uint64_t now_ns, unsigned *ret_left_out)
{
    uint64_t wait_ns;

    token_bucket_configure(&quota->bucket, LOG_QUOTA_INTERVAL_NS, LOG_QUOTA_BURST, now_ns);
    if (!token_bucket_take(&quota->bucket, now_ns, &wait_ns)) {
        quota->left_out++;
        return false;
    }
    *ret_left_out = quota->left_out;
    quota->left_out = 0;
    return true;
}

static bool is_in_quota(struct log_quota *quota, unsigned *ret_left_out)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return log_quota_take(quota, (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec, ret_left_out);
}

static void append_left_out(char message[MESSAGE_SIZE], unsigned left_out)
{
    size_t n = strlen(message);

    if (left_out)
        snprintf(message + n, MESSAGE_SIZE - n, " (%u more messages of this kind were left out before)", left_out);
}

void log_write(enum log_level level, const char *format, ...)
{
    char message[MESSAGE_SIZE];
    unsigned left_out = 0;
    va_list args;

    if (level > current.level || (level == LOG_LEVEL_WARNING && !is_in_quota(&current.quotas[N_LOG_KINDS], &left_out)))
        return;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    append_left_out(message, left_out);
    write_entry(&(struct entry){.level = level, .message = message});
}

void log_event(enum log_kind kind, const struct log_field *fields, size_t n, const char *format, ...)
{
    const struct log_kind_facts *facts = log_kind_facts(kind);
    char message[MESSAGE_SIZE];
    unsigned left_out;
    va_list args;

    if (facts->level > current.level || !is_in_quota(&current.quotas[kind], &left_out))
        return;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    append_left_out(message, left_out);
    write_entry(&(struct entry){
        .level = facts->level,
        .kind = facts,
        .fields = fields,
        .n = MIN(n, (size_t)LOG_FIELDS_MAX),
        .message = message,
    });
}
