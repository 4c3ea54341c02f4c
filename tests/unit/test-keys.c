/* SPDX-License-Identifier: Apache-2.0 */
/* perfcountd.yaml(5) documents every key with its default, and every example in it is a valid configuration. */
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "config/config.h"
#include "config/event-groups.h"
#include "config/keys.h"
#include "config/schema.h"
#include "config/web-config.h"
#include "config/web-keys.h"
#include "tests/unit/test.h"
#include "tests/unit/testdata.h"

static const struct option_table *const tables[] = {&config_options, &group_options, &event_options, &web_options};

TEST(test_manual_has_each_key)
{
    _cleanup_(freep) char *manual = testdata_read("doc/perfcountd.yaml.5");

    for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct option *row = &tables[t]->rows[i];
            char heading[128];
            snprintf(heading, sizeof(heading), "\n.It Ic %s\n", row->path);
            const char *entry = strstr(manual, heading);
            if (!entry)
                fail_msg("perfcountd.yaml.5 has no \".It Ic %s\"", row->path);
            /* The page shows long lists as literal blocks. */
            if (!row->default_yaml || row->type == &option_groups || strlen(row->default_yaml) > 120)
                continue;
            const char *end = strstr(entry + strlen(heading), "\n.Sh ");
            _cleanup_(freep) char *text = strndup(entry, (size_t)(end - entry) + 1);
            char *next = strstr(text + strlen(heading), "\n.It Ic "), fallback[160];
            if (next)
                next[1] = '\0';
            snprintf(fallback, sizeof(fallback), "; default %s.\n", row->default_yaml);
            if (!strstr(text, fallback))
                fail_msg("perfcountd.yaml.5 does not say \"default %s.\" for %s", row->default_yaml, row->path);
        }
}

/* The literal block with the default lists each default pattern on its own line, and nothing else. */
TEST(test_manual_has_default_cgroups)
{
    _cleanup_(freep) char *manual = testdata_read("doc/perfcountd.yaml.5");
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

/* Each literal block that starts with a top-level section is a valid configuration. */
TEST(test_manual_examples)
{
    static const char begin[] = "\n.Bd -literal -offset indent\n", end[] = "\n.Ed\n";
    _cleanup_(freep) char *manual = testdata_read("doc/perfcountd.yaml.5");
    unsigned n = 0, n_web = 0;

    for (const char *block = manual; (block = strstr(block, begin));) {
        block += strlen(begin);
        size_t size = (size_t)(strstr(block, end) - block);
        _cleanup_(config_freep) struct config *config = NULL;
        _cleanup_(web_config_freep) struct web_config *web = NULL;
        struct error error = {0};
        int r = 0;
        if (str_starts(block, "web:\n") || str_starts(block, "collectors:\n")) {
            r = config_parse(block, size, &config, &error);
            n++;
        } else if (str_starts(block, "tls_server_config:\n")) {
            r = web_config_parse(block, size, ".", &web, &error);
            n_web++;
        }
        if (r < 0)
            fail_msg("%u:%u: %s in\n%.*s", error.line, error.column, error.message, (int)size, block);
    }
    assert_true(n >= 4 && n_web >= 1);
}

TEST_MAIN(NULL, NULL)
