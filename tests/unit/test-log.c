/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on standard error, which the test redirects into a file. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "daemon/log/log.h"
#include "tests/unit/test.h"

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
    log_event(LOG_KIND_COLLECTOR_FAILED, fields, ARRAY_SIZE(fields), "b \"%s\"\n", "2");
    log_debug("not logged");
}

static void test_text(void **state)
{
    char level[16], message[16], time[64];

    (void)state;
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_AUTO); /* a file is no terminal and no journal */
    _cleanup_(freep) char *text = written_by(write_three);
    assert_int_equal(sscanf(text, "%63s %15s %15[^\n]", time, level, message), 3);
    assert_int_equal(strlen(time), strlen("2026-11-21T14:42:37.123Z"));
    assert_string_equal(level, "info");
    assert_string_equal(message, "a 1");
    assert_non_null(strstr(text, " warning b \"2\"\n"));
    assert_null(strstr(text, "not logged"));
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

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

/* Messages that a loop causes do not fill the log, and keep no other kind out of it. */
static void test_loop(void **state)
{
    (void)state;
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_AUTO);
    _cleanup_(freep) char *text = written_by(write_many);
    assert_in_range(count(text, " r "), 99, 101);
    assert_int_equal(count(text, " another kind\n"), 1);
    assert_in_range(count(text, " w "), 90, 101);
    assert_int_equal(count(text, " no warning\n"), 1);
}

static void test_json(void **state)
{
    (void)state;
    log_configure(LOG_LEVEL_WARNING, LOG_FORMAT_JSON);
    _cleanup_(freep) char *text = written_by(write_three);
    json_t *line = json_loads(text, 0, NULL);
    const char *level, *kind, *message, *collector, *reason, *time;

    assert_non_null(line);
    assert_int_equal(json_unpack_ex(line, NULL, JSON_STRICT, "{s:s, s:s, s:s, s:s, s:s, s:s}", "time", &time, "level",
                                    &level, "kind", &kind, "message", &message, "collector", &collector, "reason",
                                    &reason),
                     0);
    assert_string_equal(level, "warning");
    assert_string_equal(kind, "collector-failed");
    assert_string_equal(message, "b \"2\"\n");
    assert_string_equal(collector, "cpu");
    assert_string_equal(reason, "EN\"ENT");
    json_decref(line);
}

static void write_path(void)
{
    log_warning("/etc/p\xe4th.yaml: not found");
}

/* A path may be any bytes, and a line without its message says nothing. */
static void test_json_of_any_bytes(void **state)
{
    (void)state;
    log_configure(LOG_LEVEL_WARNING, LOG_FORMAT_JSON);
    _cleanup_(freep) char *text = written_by(write_path);
    json_t *line = json_loads(text, 0, NULL);

    assert_non_null(line);
    assert_string_equal(json_string_value(json_object_get(line, "message")), "/etc/p\xef\xbf\xbdth.yaml: not found");
    json_decref(line);
}

static void test_level_of_kind(void **state)
{
    (void)state;
    log_configure(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
    _cleanup_(freep) char *text = written_by(write_three);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),          cmocka_unit_test(test_json), cmocka_unit_test(test_json_of_any_bytes),
        cmocka_unit_test(test_level_of_kind), cmocka_unit_test(test_loop), /* after which there is little left to log */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
