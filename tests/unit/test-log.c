/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines on standard error, which the test redirects into a file; their rate limit; and the kinds of entries, which
 * the manual and the journal's catalog document.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "daemon/changes.h"
#include "daemon/log.h"
#include "tests/unit/test.h"
#include "tests/unit/testdata.h"

static unsigned take(struct log_quota *quota, uint64_t now_ns, unsigned n, unsigned *ret_left_out)
{
    unsigned logged = 0;

    for (unsigned i = 0; i < n; i++)
        logged += log_quota_take(quota, now_ns, ret_left_out);
    return logged;
}

/* A hundred lines are logged at once, then one per minute; suppressed lines are counted. */
TEST(test_quota)
{
    struct log_quota quota = {.left_out = 0};
    uint64_t now_ns = 5 * NSEC_PER_SEC;
    unsigned left_out = 77;

    assert_int_equal(take(&quota, now_ns, 100, &left_out), 100);
    assert_int_equal(left_out, 0);
    assert_int_equal(take(&quota, now_ns + 59 * NSEC_PER_SEC, 1000, &left_out), 0);
    assert_int_equal(take(&quota, now_ns + 60 * NSEC_PER_SEC, 10, &left_out), 1);
    assert_int_equal(left_out, 1000);
    assert_int_equal(take(&quota, now_ns + 180 * NSEC_PER_SEC, 10, &left_out), 2);
    assert_int_equal(left_out, 0);
    assert_int_equal(quota.left_out, 8);
    /* After a long time without lines, the full burst is available again. */
    assert_int_equal(take(&quota, now_ns + 86400 * NSEC_PER_SEC, 500, &left_out), 100);
}

TEST(test_unique)
{
    for (int i = 0; i < N_LOG_KINDS; i++) {
        const struct log_kind_facts *facts = log_kind_facts((enum log_kind)i);
        assert_non_null(facts->name);
        assert_int_equal(strlen(facts->message_id), 32);
        assert_int_equal(strspn(facts->message_id, "0123456789abcdef"), 32);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(facts->name, log_kind_facts((enum log_kind)k)->name);
            assert_string_not_equal(facts->message_id, log_kind_facts((enum log_kind)k)->message_id);
        }
    }
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

TEST(test_documented)
{
    _cleanup_(freep) char *manual = testdata_read("doc/perfcountd.8"),
                          *catalog = testdata_read("systemd/perfcountd.catalog");

    for (int i = 0; i < N_LOG_KINDS; i++) {
        const struct log_kind_facts *facts = log_kind_facts((enum log_kind)i);
        char entry[128], heading[64];
        snprintf(entry, sizeof(entry), "\n.It Ql %s\n.Ql %s ,\n", facts->name, facts->message_id);
        snprintf(heading, sizeof(heading), "\n-- %s\nSubject: ", facts->message_id);
        if (!strstr(manual, entry))
            fail_msg("doc/perfcountd.8 has no \"%s\"", entry + 1);
        if (!strstr(catalog, heading))
            fail_msg("systemd/perfcountd.catalog has no \"%s\" (%s)", heading + 1, facts->name);
    }
    assert_int_equal(count(catalog, "\n-- "), N_LOG_KINDS);
}

static char *written_by(void (*write)(void))
{
    char path[] = "/tmp/perfcountd-log.XXXXXX", text[65536];
    int fd = mkstemp(path), before = dup(STDERR_FILENO);

    assert_true(fd >= 0 && before >= 0);
    unlink(path);
    fflush(stderr);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    write();
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    close(fd);
    assert_true(n >= 0);
    return strndup(text, (size_t)n);
}

static const struct log_field fields[] = {{"collector", "cpu"}, {"reason", "EN\"ENT"}};

static void write_three(void)
{
    log_info("a %d", 1);
    log_event(LOG_KIND_COLLECTOR_FAILED, fields, ARRAY_SIZE(fields), "b \"%s\"", "2\033[m\n");
    log_debug("not logged");
}

TEST(test_text)
{
    char level[16], message[16], time[64];

    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_AUTO); /* a file is neither a terminal nor the journal */
    _cleanup_(freep) char *text = written_by(write_three);
    assert_int_equal(sscanf(text, "%63s %15s %15[^\n]", time, level, message), 3);
    assert_int_equal(strlen(time), strlen("2026-11-21T14:42:37.123Z"));
    assert_string_equal(level, "info");
    assert_string_equal(message, "a 1");
    assert_non_null(strstr(text, " warning b \"2\xef\xbf\xbd[m\xef\xbf\xbd\"\n"));
    assert_null(strstr(text, "not logged"));
}

static void have_troubles(void)
{
    static const int results[] = {0, -EIO, -EIO, 1, 0, -ENOMEM};
    struct troubles of_cpus = {0}, of_retry = {0};

    for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
        trouble_set(&of_cpus, TROUBLE_CPUS_UNREAD, results[i], "no CPUs %zu", i);
        assert_int_equal(of_cpus.now[TROUBLE_CPUS_UNREAD], results[i] < 0);
        assert_false(troubles_need_retry(&of_cpus)); /* the next read of the CPUs retries, not the timer */
        trouble_set(&of_retry, TROUBLE_RETRY_FAILED, results[i], "no retry %zu", i);
        assert_int_equal(troubles_need_retry(&of_retry), results[i] < 0);
    }
}

/* A lasting problem is logged when it begins, and again when it recurs, but not in between. */
TEST(test_troubles)
{
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_JSON);
    _cleanup_(freep) char *text = written_by(have_troubles);
    assert_int_equal(count(text, "\n"), 4);
    assert_int_equal(count(text, "\"kind\":\"changes-unheard\",\"message\":\"no CPUs 1\"}"), 1);
    assert_int_equal(count(text, "\"level\":\"warning\",\"message\":\"no retry 1\"}"), 1);
    assert_non_null(strstr(text, "no CPUs 5"));
    assert_non_null(strstr(text, "no retry 5"));
}

static void write_many(void)
{
    for (int i = 0; i < 1000; i++)
        log_event(LOG_KIND_RELOADED, NULL, 0, "r %d", i);
    log_event(LOG_KIND_RELOAD_FAILED, NULL, 0, "another kind");
    for (int i = 0; i < 1000; i++)
        log_warning("w %d", i);
    log_info("no warning");
}

/* Messages repeated in a loop do not flood the log and do not suppress messages of other kinds. */
TEST(test_loop)
{
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_AUTO);
    _cleanup_(freep) char *text = written_by(write_many);
    /* The quota grows by one line per minute, and a minute may end at any time. */
    assert_in_range(count(text, " r "), 90, 200);
    assert_int_equal(count(text, " another kind\n"), 1);
    assert_in_range(count(text, " w "), 90, 200);
    assert_int_equal(count(text, " no warning\n"), 1);
}

static void write_event(void)
{
    log_event(LOG_KIND_COLLECTOR_FAILED, fields, ARRAY_SIZE(fields), "b \"%s\": /etc/p\xe4th.yaml\n", "2");
}

/* A message with invalid UTF-8, for example from a path, is still logged. */
TEST(test_json)
{
    const char *level, *kind, *message, *collector, *reason, *time;

    log_configure(LOG_LEVEL_WARNING, LOG_FORMAT_JSON);
    _cleanup_(freep) char *text = written_by(write_event);
    json_t *line = json_loads(text, 0, NULL);
    assert_non_null(line);
    assert_int_equal(json_unpack_ex(line, NULL, JSON_STRICT, "{s:s, s:s, s:s, s:s, s:s, s:s}", "time", &time, "level",
                                    &level, "kind", &kind, "message", &message, "collector", &collector, "reason",
                                    &reason),
                     0);
    assert_string_equal(level, "warning");
    assert_string_equal(kind, "collector-failed");
    assert_string_equal(message, "b \"2\": /etc/p\xef\xbf\xbdth.yaml\xef\xbf\xbd");
    assert_string_equal(collector, "cpu");
    assert_string_equal(reason, "EN\"ENT");
    json_decref(line);
}

TEST(test_level_of_kind)
{
    log_configure(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    _cleanup_(freep) char *text = written_by(write_three);
    assert_string_equal(text, "");
}

TEST_MAIN(NULL, NULL)
