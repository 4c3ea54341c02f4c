/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files: each tests/config/good-*.yaml becomes the .json beside it, each bad-*.yaml gives the error
 * beside it. Then what no fixture can hold: large and odd files, flags, defaults.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "config/config.h"
#include "tests/unit/fake-sys.h"
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
    /* What is shown can be loaded again, and is the same. */
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

static void assert_default(const struct config *config)
{
    static const struct {
        const char *name, *text, *first, *last;
    } groups[] = {
        {"core", "{cycles,instructions}", "cycles", "instructions"},
        {"cache", "{cache-references,cache-misses}", "cache_references", "cache_misses"},
        {"branch", "{branches,branch-misses}", "branches", "branch_misses"},
        {"software", "{context-switches,cpu-migrations,minor-faults,major-faults}", "context_switches", "major_faults"},
    };

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
    assert_int_equal(config->cgroup.n_include, 3);
    assert_string_equal(config->cgroup.include[0], "/*.slice");
    assert_string_equal(config->cgroup.include[1], "/system.slice/*.service");
    assert_string_equal(config->cgroup.include[2], "/system.slice/*.slice/*.service");
    assert_int_equal(config->cgroup.n_exclude, 0);
    assert_int_equal(config->cgroup.max_cgroups, 256);
    assert_false(config->cgroup.per_cpu);
    assert_int_equal(config->cgroup.linger_ns, 60 * NSEC_PER_SEC);
    assert_int_equal(config->cgroup.groups.n, 2);
    assert_string_equal(config->cgroup.groups.items[1].events[0].event.metric, "task_clock");
    assert_int_equal(config->cpu.groups.n, ARRAY_SIZE(groups));
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        const struct config_group *group = &config->cpu.groups.items[i];
        assert_string_equal(group->name, groups[i].name);
        assert_string_equal(group->text, groups[i].text);
        assert_false(group->strict);
        assert_int_equal(group->line, 0);
        assert_int_equal(group->events[0].line, 0);
        assert_string_equal(group->events[0].event.metric, groups[i].first);
        assert_string_equal(group->events[group->n_events - 1].event.metric, groups[i].last);
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

static void test_places(void **state)
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

static int make_directory(void **state)
{
    static char path[32];

    strcpy(path, "/tmp/test-config-XXXXXX");
    *state = path;
    return mkdtemp(path) ? 0 : -1;
}

static int remove_directory(void **state)
{
    return rmdir(*state);
}

static void assert_load_error(const char *path, int code, const char *message)
{
    struct config *config = NULL;
    struct error error = {0};

    assert_int_equal(config_load(NULL, path, &config, &error), code);
    assert_string_equal(error.message, message);
    assert_int_equal(error.line, 0);
    assert_null(config);
}

static void test_odd_files(void **state)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/f", (char *)*state);
    assert_load_error(path, -ENOENT, "there is no such file");
    assert_load_error(*state, -EISDIR, "this is a directory, where a file is expected");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_load_error(path, -ESPIPE, "this is a pipe or socket, where a file is expected");
    unlink(path);
    assert_int_equal(symlink("f", path), 0);
    assert_load_error(path, -ELOOP, "the file cannot be read: Too many levels of symbolic links");
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0);
    assert_int_equal(ftruncate(fd, 100 * 1024 * 1024), 0);
    close(fd);
    if (geteuid() != 0)
        assert_load_error(path, -EACCES, "permission denied: this user may not read the file");
    chmod(path, 0600);
    assert_load_error(path, -EFBIG, "the file is larger than 1 MiB, which no configuration is");
    unlink(path);
}

/* The path in the file is relative to where the file is, that of a flag is not. */
static void test_web_config_file(void **state)
{
    static const struct {
        const char *in, *out; /* `out` is behind the directory where it is relative */
    } cases[] = {{"web.yml", "/web.yml"}, {"../web.yml", "/../web.yml"}, {"\"\"", NULL}};
    char path[64], expected[128];

    snprintf(path, sizeof(path), "%s/f", (char *)*state);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fprintf(file, "web: {config_file: %s}\n", cases[i].in);
        fclose(file);
        assert_int_equal(config_load(NULL, path, &config, NULL), 0);
        snprintf(expected, sizeof(expected), "%s%s", (char *)*state, cases[i].out ? cases[i].out : "");
        assert_string_equal(config->web.config_file, cases[i].out ? expected : "");
        assert_int_equal(config_override(config, "web.config_file", "x.yml", NULL), 0);
        assert_string_equal(config->web.config_file, "x.yml");
    }
    unlink(path);
}

/* `n` times the text; the caller frees it. */
static char *repeat(const char *text, size_t n)
{
    struct buffer buffer = {0};

    for (size_t i = 0; i < n; i++)
        buffer_append_text(&buffer, text);
    return buffer_string(&buffer);
}

/* Texts that grow in the reader: all are refused or read, at once and without harm. */
/* Each is compared with all before it, so that as many as fit into a file would take minutes. */
static void test_anchors(void **state)
{
    static const struct {
        unsigned n;
        const char *out; /* NULL: it is a configuration */
    } cases[] = {{60, NULL}, {257, "there are more than 256 anchors"}, {80000, "there are more than 256 anchors"}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        struct buffer buffer = {0};
        struct error error = {0};
        buffer_append_text(&buffer, "collectors: {cgroup: {exclude: [");
        for (unsigned k = 0; k < cases[i].n; k++)
            buffer_appendf(&buffer, "&a%x /%x, ", k, k);
        buffer_append_text(&buffer, "/x]}}");
        _cleanup_(freep) char *text = buffer_string(&buffer);
        int r = config_parse(text, strlen(text), &config, &error);
        if (r != (cases[i].out ? -EINVAL : 0) || !str_equal(error.message, cases[i].out ?: ""))
            fail_msg("%u: %d, %u:%u: %s", cases[i].n, r, error.line, error.column, error.message);
    }
}

static void test_bombs(void **state)
{
    (void)state;
    static const struct {
        const char *head, *repeated, *tail;
        size_t n;
        int out;
    } cases[] = {
        {"", "[", "", 10000, -EINVAL},
        {"", "{a: ", "", 10000, -EINVAL},
        {"", "[", "]", 100000, -EINVAL},
        {"", "- ", "x", 100000, -EINVAL},
        {"", "? ", "x", 100000, -EINVAL},
        {"web: {listen: ", "[", "", 10000, -EINVAL},
        {"collectors: {cpu: {groups: [{name: a, events: ", "{event: ", "", 10000, -EINVAL},
        {"a: &a [x]\nb: &b [", "*a,", "]\nc: [*b,*b]\n", 100000, -EINVAL},
        {"", "a: 1\n", "", 100000, -EINVAL},
        {"", "#\n", "", 500000, 0},
        {"collectors: {cpu: {cpus: \"0", ",1", "\"}}", 100000, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        _cleanup_(freep) char *middle = repeat(cases[i].repeated, cases[i].n);
        struct buffer buffer = {0};
        struct error error = {0};
        buffer_appendf(&buffer, "%s%s%s", cases[i].head, middle, cases[i].tail);
        _cleanup_(freep) char *text = buffer_string(&buffer);
        int r = config_parse(text, strlen(text), &config, &error);
        if (r != cases[i].out)
            fail_msg("case %zu: %d, %u:%u: %s", i, r, error.line, error.column, error.message);
    }
}

/* Of a configuration with that event between head and tail; who wants no message gets the same result. */
static int check_events(struct fake_sys *fake, const struct machine *machine, const char *head, const char *events,
                        const char *tail, struct error *error)
{
    char text[256];

    snprintf(text, sizeof(text), "%s%s%s", head, events, tail);
    _cleanup_(config_freep) struct config *config = parse(text);
    int r = config_check_events(config, &fake->sys, machine, error);
    assert_int_equal(config_check_events(config, &fake->sys, machine, NULL), r);
    return r;
}

static void test_check_events(void **state)
{
    (void)state;
    static const struct {
        const char *in_events, *out_error; /* NULL: they pass */
        unsigned out_column;
    } cases[] = {
        {"'{cycles,instructions}'", NULL, 0},
        {"l2d_cache_refill", NULL, 0}, /* a name of sysfs */
        {"no_such_pmu/event=1/", NULL, 0},
        {"armv8_cortex_a55/no_such_event/", NULL, 0},
        {"'no_such:tracepoint'", NULL, 0},
        {"'{cycles,cycels}'", "did you mean \"cycles\"", 56},
        {"[cycles, {event: l2d_cache_refil}]", "did you mean \"l2d_cache_refill\"", 64},
        {"qqqqqqqqqqqq", "qqqqqqqqqqqq", 47},
    };
    struct fake_sys *fake = fake_machine_big_little();
    struct machine *machine = NULL;
    assert_int_equal(machine_load(&fake->sys, &machine, NULL), 0);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error error = {0};
        int r = check_events(fake, machine, "collectors: {cpu: {groups: [{name: a, events: ", cases[i].in_events,
                             "}]}}", &error);
        if (r != (cases[i].out_error ? -EINVAL : 0))
            fail_msg("%s: %d, %s", cases[i].in_events, r, error.message);
        if (r == 0) {
            assert_string_equal(error.message, "");
            continue;
        }
        if (!strstr(error.message, cases[i].out_error) || error.line != 1 || error.column != cases[i].out_column)
            fail_msg("%u:%u: %s", error.line, error.column, error.message);
    }
    machine_free(machine);
    fake_sys_free(fake);
}

/* What samples is held against the machine too. */
static void test_check_sampled(void **state)
{
    (void)state;
    static const struct {
        const char *in_event, *out_error; /* NULL: it passes */
    } cases[] = {
        {"auto", NULL},
        {"'{cycles,l2d_cache_refill}'", NULL},
        {"no_such_pmu/event=1/", NULL},
        {"cycels", "sampler.event: there is no event \"cycels\"; did you mean \"cycles\""},
        {"'{cycles,qqqqqqqqqqqq}'", "sampler.event: there is no event \"qqqqqqqqqqqq\""},
    };
    struct fake_sys *fake = fake_machine_big_little();
    struct machine *machine = NULL;
    assert_int_equal(machine_load(&fake->sys, &machine, NULL), 0);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error error = {0};
        int r = check_events(fake, machine, "sampler: {event: ", cases[i].in_event, "}", &error);
        if (r != (cases[i].out_error ? -EINVAL : 0) || !str_starts(error.message, cases[i].out_error ?: ""))
            fail_msg("%s: %d, %s", cases[i].in_event, r, error.message);
    }
    machine_free(machine);
    fake_sys_free(fake);
}

struct visits {
    char text[512];
};

static int note_event(void *userdata, const struct event *event, bool samples)
{
    struct visits *visits = userdata;
    size_t size = strlen(visits->text);

    snprintf(visits->text + size, sizeof(visits->text) - size, "%s%s%s", size ? " " : "", event->text,
             samples ? "(samples)" : "");
    return str_equal(event->text, "cpu-clock") ? -EBUSY : 0;
}

/* All events of a configuration, and which of them the sampler may open. */
static void test_each_event(void **state)
{
#define ONLY_CPU "pmu: {enabled: false}, cgroup: {groups: []}}"
    static const struct {
        const char *in, *out;
        int out_result;
    } cases[] = {
        {"collectors: {cpu: {groups: []}, cgroup: {groups: []}}", "", 0},
        {"collectors: {cpu: {groups: [{name: a, events: cycles}, {name: p, events: ['kprobe/addr=0x10/']}]}, " ONLY_CPU,
         "cycles kprobe/addr=0x10/", 0},
        {"collectors: {cpu: {groups: [{name: a, events: cpu-clock}, {name: b, events: cs}]}, " ONLY_CPU, "cpu-clock",
         -EBUSY},
        {"collectors: {cpu: {groups: []}, cgroup: {groups: [{name: p, events: '{cycles,kprobe/func=f,offset=1/}'}]}}",
         "cycles kprobe/func=f,offset=1/", 0},
        {"{collectors: {cpu: {groups: []}, cgroup: {groups: []}}, sampler: {event: 'cycles:u', "
         "tracepoints: ['sched:sched_switch', 'a:b']}}",
         "cycles:u(samples) sched:sched_switch(samples) a:b(samples)", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        struct visits visits = {0};
        struct error error = {0};
        if (config_parse(cases[i].in, strlen(cases[i].in), &config, &error) < 0)
            fail_msg("%s: %s", cases[i].in, error.message);
        assert_int_equal(config_each_event(config, note_event, &visits), cases[i].out_result);
        assert_string_equal(visits.text, cases[i].out);
    }
}

static const struct {
    const char *in;
    enum standing out_operates, out_admits;
    const char *out_warning; /* with its place; NULL: none */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standings),
        cmocka_unit_test(test_good_files),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_signatures),
        cmocka_unit_test(test_override),
        cmocka_unit_test(test_override_listen),
        cmocka_unit_test(test_format_error),
        cmocka_unit_test_setup_teardown(test_odd_files, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(test_web_config_file, make_directory, remove_directory),
        cmocka_unit_test(test_check_events),
        cmocka_unit_test(test_check_sampled),
        cmocka_unit_test(test_each_event),
        cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_bombs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
