/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files: each tests/config/good-*.yaml becomes the .json beside it, each bad-*.yaml gives the error
 * beside it. Then what no fixture can hold: flags, defaults.
 */
#include <stdio.h>

#include "config/config.h"
#include "tests/unit/fixture.h"
#include "tests/unit/test.h"

static json_t *parse_json(const char *text)
{
    struct error error = {0};
    _cleanup_(config_freep) struct config *config = NULL;

    if (config_parse(text, strlen(text), &config, &error) < 0)
        fail_msg("%u:%u: %s: %s", error.line, error.column, error.message, text);
    return config_json(config);
}

static void check_good(const char *path)
{
    _cleanup_(config_freep) struct config *config = NULL;
    struct error error = {0};

    if (config_load(NULL, path, &config, &error) < 0)
        fail_msg("%s:%u:%u: %s", path, error.line, error.column, error.message);
    assert_string_equal(config->file, path);
    _cleanup_(json_decrefp) json_t *json = config_json(config);
    _cleanup_(freep) char *text = json_dumps(json, JSON_INDENT(2));
    fixture_expect(path, ".json", text);
    /* The shown configuration can be loaded again, and is the same. */
    _cleanup_(json_decrefp) json_t *again = parse_json(text);
    assert_true(json_equal(again, json));
}

static void test_good_files(void **state)
{
    (void)state;
    assert_true(fixture_each("tests/config/good-*.yaml", check_good) >= 15);
}

static int load(const char *path, struct error *error)
{
    struct config *config = NULL;
    int r = config_load(NULL, path, &config, error);

    assert_true(r == 0 || !config);
    config_free(config);
    return r;
}

static void check_bad(const char *path)
{
    fixture_refused(path, load);
}

static void test_bad_files(void **state)
{
    (void)state;
    assert_true(fixture_each("tests/config/bad-*.yaml", check_bad) >= 80);
}

static const struct {
    const char *name, *text, *first, *last;
} default_groups[] = {
    {"overview", NULL, "cycles", "cache_misses"},
    {"software", "{context-switches,cpu-migrations,minor-faults,major-faults}", "context_switches", "major_faults"},
};

static void assert_default(const struct config *config)
{
    assert_int_equal(config->web.n_listen, 1);
    assert_string_equal(config->web.listen[0], ":10298");
    assert_string_equal(config->web.telemetry_path, "/metrics");
    assert_int_equal(config->web.min_interval_ns, 100 * NSEC_PER_MSEC);
    assert_string_equal(config->web.config_file, "");
    assert_int_equal(config->web.limits.connections, 512);
    assert_int_equal(config->web.limits.connections_per_address, 128);
    assert_int_equal(config->web.limits.header_size, 16384);
    assert_int_equal(config->web.limits.request_timeout_ns, 10 * NSEC_PER_SEC);
    assert_int_equal(config->web.limits.idle_timeout_ns, 300 * NSEC_PER_SEC);
    assert_int_equal(config->web.limits.response_timeout_ns, 60 * NSEC_PER_SEC);
    assert_true(config->cpu.enabled);
    assert_string_equal(config->cpu.cpus, "all");
    assert_true(config->self_enabled);
    assert_true(config->cgroup.enabled);
    assert_int_equal(config->cgroup.n_include, 23);
    assert_string_equal(config->cgroup.include[0], "/*.slice");
    assert_string_equal(config->cgroup.include[22], "/lxc/*");
    assert_int_equal(config->cgroup.n_exclude, 1);
    assert_string_equal(config->cgroup.exclude[0], "/**-conmon-*");
    assert_true(config->cgroup.engine == ENGINE_AUTO && config->cgroup.max_cgroups == MAX_CGROUPS_AUTO);
    assert_false(config->cgroup.per_cpu);
    assert_int_equal(config->cgroup.linger_ns, 60 * NSEC_PER_SEC);
    assert_int_equal(config->cgroup.groups.n, 2);
    assert_string_equal(config->cgroup.groups.items[0].events[0].event.metric, "task_clock");
    assert_int_equal(config->pmu.groups.n, 2);
    assert_string_equal(config->pmu.groups.items[0].name, "memory");
    assert_string_equal(config->pmu.groups.items[1].name, "energy");
    assert_int_equal(config->cpu.groups.n, ARRAY_SIZE(default_groups));
    for (size_t i = 0; i < ARRAY_SIZE(default_groups); i++) {
        const struct config_group *group = &config->cpu.groups.items[i];
        assert_string_equal(group->name, default_groups[i].name);
        assert_true((group->text == NULL) == (group->preset != NULL));
        assert_true(group->text ? str_equal(group->text, default_groups[i].text) : !default_groups[i].text);
        assert_false(group->strict);
        assert_int_equal(group->line, 0);
        assert_int_equal(group->events[0].line, 0);
        assert_string_equal(group->events[0].event.metric, default_groups[i].first);
        assert_string_equal(group->events[group->n_events - 1].event.metric, default_groups[i].last);
    }
}

static void test_default(void **state)
{
    (void)state;
    _cleanup_(config_freep) struct config *config = NULL;

    assert_int_equal(config_default(&config, NULL), 0);
    assert_null(config->file);
    assert_default(config);
    config_free(NULL);
}

static struct config *parse(const char *text)
{
    struct config *config = NULL;
    struct error error = {0};

    if (config_parse(text, strlen(text), &config, &error) < 0)
        fail_msg("%u:%u: %s", error.line, error.column, error.message);
    return config;
}

static void test_positions(void **state)
{
    (void)state;
    _cleanup_(config_freep) struct config *config = parse("collectors:\n"
                                                          "  cpu:\n"
                                                          "    groups:\n"
                                                          "      - name: a\n"
                                                          "        events: \"{cycles,instructions}\"\n"
                                                          "      - {name: ä, events: [cs, {event: r11}]}\n");
    static const struct {
        unsigned group, event, out_line, out_column;
    } cases[] = {{0, 0, 5, 19}, {0, 1, 5, 26}, {1, 0, 6, 28}, {1, 1, 6, 40}};

    assert_int_equal(config->cpu.groups.items[0].line, 4);
    assert_int_equal(config->cpu.groups.items[0].column, 15);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct config_event *event = &config->cpu.groups.items[cases[i].group].events[cases[i].event];
        assert_int_equal(event->line, cases[i].out_line);
        assert_int_equal(event->column, cases[i].out_column);
    }
}

/* The signature of the group that stands for `%s` in a list of one. */
static char *signature(const char *group)
{
    char text[512];

    snprintf(text, sizeof(text), "collectors: {cpu: {groups: [%s]}}", group);
    _cleanup_(config_freep) struct config *config = parse(text);
    return strdup(config->cpu.groups.items[0].signature);
}

static void test_signatures(void **state)
{
    (void)state;
    static const struct {
        const char *one, *other;
        bool out_equal;
    } cases[] = {
        {"{name: a, events: 'cycles,instructions'}", "{name: a, events: '{cycles,instructions}'}", true},
        {"{name: a, events: 'cycles,instructions'}", "{strict: false, events: [cycles, instructions], name: a}", true},
        {"{name: a, events: cycles}", "{name: b, events: cycles}", false},
        {"{name: a, events: cycles}", "{name: a, events: cycles, strict: true}", false},
        {"{name: a, events: 'cycles,instructions'}", "{name: a, events: 'instructions,cycles'}", false},
        {"{name: a, events: '{cycles,instructions}'}", "{name: a, events: '{cycles,instructions}:u'}", false},
        {"{name: a, events: 'cycles'}", "{name: a, events: 'cycles:u'}", false},
        {"{name: a, events: 'cycles'}", "{name: a, events: 'cycles:p'}", false},
        {"{name: a, events: ['cycles']}", "{name: a, events: [{event: cycles, name: x}]}", false},
        {"{name: a, events: ['cycles']}", "{name: a, events: [{event: cycles, help: x}]}", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(freep) char *one = signature(cases[i].one), *other = signature(cases[i].other);
        if (str_equal(one, other) != cases[i].out_equal)
            fail_msg("%s %s:\n%s\n%s", cases[i].one, cases[i].other, one, other);
    }
}

static void test_override(void **state)
{
    (void)state;
    static const struct {
        const char *path, *value, *out_error;
    } cases[] = {
        {"web.telemetry_path", "/m", NULL},
        {"web.telemetry_path", "m", "\"m\" does not start with \"/\""},
        {"web.telemetry_path", "/\xff", "the value has a control character or is not UTF-8"},
        {"web.min_interval", "5s", NULL},
        {"web.min_interval", "5",
         "expected a duration, a number with its unit (ns, us, ms, s, m, h, d) as in 100ms, "
         "found \"5\""},
        {"web.min_interval", "2m", "2m is out of range, 0s to 60s"},
        {"collectors.self.enabled", "false", NULL},
        {"collectors.self.enabled", "no", "expected true or false, found \"no\""},
        {"collectors.cpu.cpus", "0-1", NULL},
        {"collectors.cpu.groups", "x", "the configuration has no key \"collectors.cpu.groups\" that a flag could set"},
        {"web.nothing", "x", "the configuration has no key \"web.nothing\" that a flag could set"},
    };
    _cleanup_(config_freep) struct config *config = NULL;

    assert_int_equal(config_default(&config, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error error = {0};
        int r = config_override(config, cases[i].path, cases[i].value, &error);
        assert_int_equal(r, cases[i].out_error ? -EINVAL : 0);
        assert_string_equal(error.message, cases[i].out_error ? cases[i].out_error : "");
    }
    assert_string_equal(config->web.telemetry_path, "/m");
    assert_int_equal(config->web.min_interval_ns, 5 * NSEC_PER_SEC);
    assert_false(config->self_enabled);
    assert_string_equal(config->cpu.cpus, "0-1");
}

static void test_override_listen(void **state)
{
    (void)state;
    _cleanup_(config_freep) struct config *config = NULL;

    assert_int_equal(config_default(&config, NULL), 0);
    config_clear_listen(config);
    assert_int_equal(config->web.n_listen, 0);
    assert_int_equal(config_override(config, "web.listen", "127.0.0.1:1", NULL), 0);
    assert_int_equal(config_override(config, "web.listen", "unix:/x", NULL), 0);
    assert_int_equal(config_override(config, "web.listen", "unix:/x", NULL), -EINVAL);
    assert_int_equal(config_override(config, "web.listen", "x", NULL), -EINVAL);
    assert_int_equal(config->web.n_listen, 2);
    assert_string_equal(config->web.listen[0], "127.0.0.1:1");
    assert_string_equal(config->web.listen[1], "unix:/x");
}

static void test_format_error(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        struct error error;
        const char *out;
    } cases[] = {
        {"f", {.line = 3, .column = 4, .message = "m"}, "f:3:4: m"},
        {"f", {.line = 3, .message = "m"}, "f:3: m"},
        {"f", {.message = "m"}, "f: m"},
        {NULL, {.line = 3, .column = 4, .message = "m"}, "3:4: m"},
        {NULL, {.message = "m"}, "m"},
    };
    char text[32];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(config_format_error(cases[i].file, &cases[i].error, text, sizeof(text)), cases[i].out);
    assert_string_equal(config_format_error("file", &cases[0].error, text, 8), "file:3:");
}

static const struct {
    const char *in;
    enum standing out_operates, out_admits;
    const char *out_warning; /* with its position; NULL: none */
} standings[] = {
    {"", STANDING_OPERATOR, STANDING_OPERATOR, NULL},
    {"web: {local_operators: true}", STANDING_LOCAL, STANDING_LOCAL, NULL},
    {"sampler: {allow: local}", STANDING_OPERATOR, STANDING_LOCAL, NULL},
    {"sampler: {allow: everybody}", STANDING_OPERATOR, STANDING_EVERYBODY, NULL},
    {"{web: {local_operators: true}, sampler: {allow: everybody}}", STANDING_LOCAL, STANDING_EVERYBODY, NULL},
    {"sampler: {allow_remote: true}", STANDING_OPERATOR, STANDING_EVERYBODY,
     "file:1:25: sampler.allow_remote is deprecated, and a later version will refuse it: write \"allow: everybody\""},
    {"sampler:\n  allow_remote: false", STANDING_OPERATOR, STANDING_OPERATOR,
     "file:2:17: sampler.allow_remote is deprecated, and a later version will refuse it: write \"allow: operators\""},
};

static void test_standings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(standings); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        struct error warning = {0};
        char text[256];
        assert_int_equal(config_parse(standings[i].in, strlen(standings[i].in), &config, NULL), 0);
        assert_int_equal(config_standing_to_operate(config), standings[i].out_operates);
        assert_int_equal(config_standing_to_sample(config), standings[i].out_admits);
        assert_int_equal(config_has_deprecated_key(config, &warning), standings[i].out_warning != NULL);
        if (standings[i].out_warning)
            assert_string_equal(config_format_error("file", &warning, text, sizeof(text)), standings[i].out_warning);
    }
}

static void test_max_cgroups(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        uint64_t out_perf, out_bpf;
    } cases[] = {
        {"", 256, 4096},
        {"collectors: {cgroup: {max_cgroups: auto}}", 256, 4096},
        {"collectors: {cgroup: {max_cgroups: \"auto\"}}", 256, 4096},
        {"collectors: {cgroup: {max_cgroups: 0}}", 0, 0},
        {"collectors: {cgroup: {max_cgroups: 1000}}", 1000, 1000},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = parse(cases[i].in);
        assert_int_equal(config_max_cgroups(config, ENGINE_PERF), cases[i].out_perf);
        assert_int_equal(config_max_cgroups(config, ENGINE_BPF), cases[i].out_bpf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standings),    cmocka_unit_test(test_max_cgroups), cmocka_unit_test(test_good_files),
        cmocka_unit_test(test_bad_files),    cmocka_unit_test(test_default),     cmocka_unit_test(test_positions),
        cmocka_unit_test(test_signatures),   cmocka_unit_test(test_override),    cmocka_unit_test(test_override_listen),
        cmocka_unit_test(test_format_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
