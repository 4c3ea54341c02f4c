/* SPDX-License-Identifier: Apache-2.0 */
/* The log: see log.h. */
#include "daemon/log.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "base/cleanup.h"

static enum log_level current_level = LOG_LEVEL_INFO;
static enum log_format current_format = LOG_FORMAT_TEXT;

static const struct {
    const char *name;
    enum log_level level;
} levels[] = {
    {"debug", LOG_LEVEL_DEBUG},
    {"info", LOG_LEVEL_INFO},
    {"warning", LOG_LEVEL_WARNING},
    {"error", LOG_LEVEL_ERROR},
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

/* systemd says in JOURNAL_STREAM which device and inode the journal's stream has (systemd.exec(5)). */
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
    current_level = level;
    current_format = format;
    if (format == LOG_FORMAT_AUTO)
        current_format = is_journal() ? LOG_FORMAT_JOURNAL : LOG_FORMAT_TEXT;
}

static const char *level_name(enum log_level level)
{
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
        if (levels[i].level == level)
            return levels[i].name;
    return "info";
}

static void write_json(enum log_level level, const char *time, const char *message)
{
    json_t *line = json_pack("{s:s, s:s, s:s}", "time", time, "level", level_name(level), "message", message);
    _cleanup_(freep) char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;

    if (text)
        fprintf(stderr, "%s\n", text);
    json_decref(line);
}

void log_write(enum log_level level, const char *format, ...)
{
    char message[1024], time_text[64];
    struct timespec now;
    struct tm utc;
    va_list args;

    if (level > current_level)
        return;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (current_format == LOG_FORMAT_JOURNAL) {
        sd_journal_send("MESSAGE=%s", message, "PRIORITY=%i", (int)level, NULL);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(time_text, sizeof(time_text), "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(time_text + n, sizeof(time_text) - n, ".%03ldZ", now.tv_nsec / 1000000);
    if (current_format == LOG_FORMAT_JSON)
        write_json(level, time_text, message);
    else
        fprintf(stderr, "%s %-7s %s\n", time_text, level_name(level), message);
}
