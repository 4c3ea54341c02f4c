/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of keys: their rows are complete, and the manual page has each key with its default. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "config/config.h"
#include "config/events.h"
#include "config/groups.h"
#include "config/option-types.h"
#include "config/options.h"
#include "config/web-options.h"
#include "tests/unit/fixture.h"
#include "tests/unit/test.h"

static const struct option_table *const tables[] = {&config_options, &group_options, &event_options};

static void test_rows(void **state)
{
    (void)state;
    for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct option *row = &tables[t]->rows[i];
            assert_non_null(row->path);
            assert_non_null(row->type);
            assert_non_null(row->range);
            assert_non_null(row->help);
            assert_non_null(row->type->read);
            assert_true(row->type->json || row->type == &option_deprecated_bool);
            assert_non_null(row->type->done);
            assert_true(row->help[strlen(row->help) - 1] != '.');
            /* A key that no file has gets its value from the row. */
            assert_true(tables[t] != &config_options || row->default_yaml);
            assert_ptr_equal(option_table_find(tables[t], row->path), row); /* no path is there twice */
        }
    assert_null(option_table_find(&config_options, "web"));
    assert_null(option_table_find(&config_options, "web.lis"));
    assert_null(option_table_find(&config_options, ""));
}

/* The types of secrets cannot be shown. */
static void test_web_rows(void **state)
{
    (void)state;
    static const int secrets[] = {WEB_CERT, WEB_KEY, WEB_CLIENT_CA, WEB_USERS};

    for (size_t i = 0; i < web_options.n; i++) {
        const struct option *row = &web_options.rows[i];
        assert_non_null(row->path);
        assert_non_null(row->range);
        assert_non_null(row->help);
        assert_non_null(row->type->read);
        assert_non_null(row->type->done);
        assert_true(row->help[strlen(row->help) - 1] != '.');
        assert_ptr_equal(option_table_find(&web_options, row->path), row);
        assert_int_equal(i < WEB_TLS_OPTIONS, str_starts(row->path, "tls_server_config."));
    }
    for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
        assert_null(web_options.rows[secrets[i]].type->json);
}

/* A key is not a map as well: "a.b" and "a.b.c" cannot both be. */
static void test_paths(void **state)
{
    (void)state;
    for (size_t i = 0; i < config_options.n; i++)
        for (size_t k = 0; k < config_options.n; k++) {
            const char *path = config_options.rows[i].path, *other = config_options.rows[k].path;
            assert_true(strlen(strrchr(path, '.') ? strrchr(path, '.') + 1 : path) <
                        32); /* option-table.c has room for this */
            if (i != k && str_starts(other, path))
                assert_true(other[strlen(path)] != '.');
        }
}

/* The default of each key, written in a file, is the default. */
static void test_defaults(void **state)
{
    (void)state;
    _cleanup_(config_freep) struct config *expected = NULL;
    assert_int_equal(config_default(&expected, NULL), 0);

    for (size_t i = 0; i < config_options.n; i++) {
        const struct option *row = &config_options.rows[i];
        _cleanup_(config_freep) struct config *config = NULL;
        struct buffer buffer = {0};
        unsigned depth = 0;
        for (const char *c = row->path; *c; c++)
            if (*c == '.') {
                buffer_append_text(&buffer, ": {");
                depth++;
            } else {
                buffer_append_char(&buffer, *c);
            }
        buffer_appendf(&buffer, ": %s", row->default_yaml);
        while (depth--)
            buffer_append_char(&buffer, '}');
        _cleanup_(freep) char *text = buffer_string(&buffer);
        struct error error = {0};
        if (config_parse(text, strlen(text), &config, &error) < 0)
            fail_msg("%s: %s", text, error.message);
        json_t *one = config_json(config), *other = config_json(expected);
        assert_true(json_equal(one, other));
        json_decref(one);
        json_decref(other);
    }
}

/* The default as mdoc writes it: quotes are escaped. */
static char *as_manual(const char *fallback)
{
    struct buffer text = {0};

    buffer_append_text(&text, ".Ql ");
    for (const char *c = fallback; *c; c++)
        if (*c == '"')
            buffer_append_text(&text, "\\(dq");
        else
            buffer_append_char(&text, *c);
    buffer_append_char(&text, '\n');
    return buffer_string(&text);
}

static void test_manual_has_each_key(void **state)
{
    (void)state;
    _cleanup_(freep) char *manual = fixture_read("doc/perfcountd.yaml.5");

    for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct option *row = &tables[t]->rows[i];
            char heading[128];
            snprintf(heading, sizeof(heading), "\n.It Ic %s\n", row->path);
            const char *entry = strstr(manual, heading);
            if (!entry)
                fail_msg("perfcountd.yaml.5 has no \".It Ic %s\"", row->path);
            /* Long lists are shown as blocks. */
            if (!row->default_yaml || row->type == &option_groups || strlen(row->default_yaml) > 120)
                continue;
            const char *end = strstr(entry + strlen(heading), "\n.Sh ");
            _cleanup_(freep) char *text = strndup(entry, (size_t)(end - entry) + 1),
                                  *fallback = as_manual(row->default_yaml);
            char *next = strstr(text + strlen(heading), "\n.It Ic ");
            if (next)
                next[1] = '\0';
            const char *said = strstr(text, "\nDefault:\n");
            if (!said || !str_starts(said + strlen("\nDefault:\n"), fallback))
                fail_msg("perfcountd.yaml.5 does not say \"Default:\" and \"%s\" for %s", row->default_yaml, row->path);
        }
}

/* The block of the default has its patterns, a line each, and no other. */
static void test_manual_has_default_cgroups(void **state)
{
    (void)state;
    _cleanup_(freep) char *manual = fixture_read("doc/perfcountd.yaml.5");
    _cleanup_(config_freep) struct config *config = NULL;
    struct buffer block = {0};

    assert_int_equal(config_default(&config, NULL), 0);
    buffer_append_text(&block, "\nDefault:\n.Bd -literal -offset indent\n");
    for (size_t i = 0; i < config->cgroup.n_include; i++)
        buffer_appendf(&block, "%s\n", config->cgroup.include[i]);
    buffer_append_text(&block, ".Ed\n");
    _cleanup_(freep) char *text = buffer_string(&block);
    const char *entry = strstr(manual, "\n.It Ic collectors.cgroup.include\n");
    assert_non_null(entry);
    assert_non_null(strstr(entry, text));
}

/* Each literal block of the page that begins with one of our maps is a file that is taken. */
static void test_manual_examples(void **state)
{
    (void)state;
    static const char begin[] = "\n.Bd -literal -offset indent\n", end[] = "\n.Ed\n";
    _cleanup_(freep) char *manual = fixture_read("doc/perfcountd.yaml.5");
    unsigned n = 0;

    for (const char *block = manual; (block = strstr(block, begin));) {
        block += strlen(begin);
        size_t size = (size_t)(strstr(block, end) - block);
        _cleanup_(config_freep) struct config *config = NULL;
        struct error error = {0};
        if (!str_starts(block, "web:\n") && !str_starts(block, "collectors:\n"))
            continue;
        if (config_parse(block, size, &config, &error) < 0)
            fail_msg("%u:%u: %s in\n%.*s", error.line, error.column, error.message, (int)size, block);
        n++;
    }
    assert_true(n >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_web_rows),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_manual_has_each_key),
        cmocka_unit_test(test_manual_has_default_cgroups),
        cmocka_unit_test(test_manual_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
