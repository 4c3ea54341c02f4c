/* SPDX-License-Identifier: Apache-2.0 */
/* All errors of a configuration, and of a web configuration, as `perfcountd check-config` prints them. */
#include "config/error-list.h"

#include <stdio.h>

#include "base/buffer.h"
#include "config/config.h"
#include "config/web-config.h"
#include "tests/unit/fixture.h"
#include "tests/unit/test.h"

/* Both loaders; without a list the first error is the result. */
static int load_config(const char *path, struct error_list *errors, struct error *error)
{
    struct config *config = NULL;
    int r = config_load_all(NULL, path, errors, &config, error);

    config_free(config);
    return r;
}

static int load_web_config(const char *path, struct error_list *errors, struct error *error)
{
    struct web_config *config = NULL;
    int r = web_config_load_all(NULL, path, errors, &config, error);

    web_config_free(config);
    return r;
}

static int (*load)(const char *path, struct error_list *errors, struct error *error);

/* In the order of their positions. */
static void check_many(const char *path)
{
    _cleanup_(error_list_done) struct error_list errors = {0};
    _cleanup_(buffer_done) struct buffer text = {0};
    struct error error;
    char line[1024];

    assert_int_equal(load(path, &errors, &error), 0);
    error_list_sort(&errors);
    for (size_t i = 0; i < errors.n; i++)
        buffer_appendf(&text, "%s%s", i ? "\n" : "", config_format_error(NULL, &errors.items[i], line, sizeof(line)));
    buffer_append_char(&text, '\0');
    fixture_expect(path, ".errors", text.data);
}

/* The error that would end the reading is among those that are collected. */
static void check_same(const char *path)
{
    _cleanup_(error_list_done) struct error_list errors = {0};
    struct error error, rest;
    size_t i = 0;

    assert_int_equal(load(path, NULL, &error), -EINVAL);
    if (load(path, &errors, &rest) < 0)
        assert_int_equal(error_list_add(&errors, &rest), 0);
    while (i < errors.n && !str_equal(errors.items[i].message, error.message))
        i++;
    print_message("%s: %s\n", path, error.message);
    assert_true(i < errors.n && errors.items[i].line == error.line && errors.items[i].column == error.column);
}

static void test_config(void **state)
{
    (void)state;
    load = load_config;
    assert_true(fixture_each("tests/config/many-*.yaml", check_many) > 0);
    assert_true(fixture_each("tests/config/bad-*.yaml", check_same) > 100);
}

static void test_web_config(void **state)
{
    (void)state;
    load = load_web_config;
    assert_true(fixture_each("tests/web-config/many-*.yml", check_many) > 0);
    assert_true(fixture_each("tests/web-config/*.bad.yml", check_same) > 80);
}

/* A file of nothing but errors ends when the list is full, long before each key was compared with all others. */
static void test_full(void **state)
{
    _cleanup_(error_list_done) struct error_list errors = {0};
    char path[] = "/tmp/test-error-list.XXXXXX";
    struct error error;
    int fd = mkstemp(path);

    (void)state;
    for (unsigned i = 0; i < 20000; i++)
        dprintf(fd, "key%u: 1\n", i);
    close(fd);
    assert_int_equal(load_config(path, &errors, &error), -EINVAL);
    assert_int_equal(errors.n, ERROR_LIST_MAX);
    assert_int_equal(errors.items[ERROR_LIST_MAX - 1].line, ERROR_LIST_MAX);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_web_config),
        cmocka_unit_test(test_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
