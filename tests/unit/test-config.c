/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files: tables of refused and accepted files, and tests for what such tables cannot express. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "config/config.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"
#include "tests/unit/testdata.h"

static int load(const char *path, struct error_list *errors, struct error *error)
{
    struct config *config = NULL;
    int r = config_load(NULL, path, errors, &config, error);

    assert_true(r == 0 || !config);
    config_free(config);
    return r;
}

static void check_refused(const struct testdata_case *test)
{
    testdata_refused(test, load);
}

TEST(test_refused)
{
    testdata_cases("tests/config/errors.txt", check_refused);
}

static struct config *parse(const char *text)
{
    struct config *config = NULL;
    struct error error = {0};

    if (config_parse(text, strlen(text), &config, &error) < 0)
        fail_msg("%u:%u: %s", error.line, error.column, error.message);
    return config;
}

/* The expected JSON contains only the differences from the default. */
static void check_accepted(const struct testdata_case *test)
{
    _cleanup_(config_freep) struct config *fallback = NULL, *config = NULL;
    struct error error = {0};

    assert_int_equal(config_default(&fallback, NULL), 0);
    if (config_parse(test->input, test->size, &config, &error) < 0)
        fail_msg("%s: %u:%u: %s", test->name, error.line, error.column, error.message);
    _cleanup_(json_decrefp) json_t *json = config_json(config), *expected = config_json(fallback),
                                   *changes = json_loads(test->expected, 0, NULL);
    assert_int_equal(json_object_update_recursive(expected, changes), 0);
    _cleanup_(freep) char *text = json_dumps(json, JSON_INDENT(2));
    if (!json_equal(json, expected))
        fail_msg("%s: got\n%s\nexpected the default with\n%s", test->name, text, test->expected);
    /* The configuration that the daemon shows can be loaded again, with the same result. */
    _cleanup_(config_freep) struct config *shown = parse(text);
    _cleanup_(json_decrefp) json_t *again = config_json(shown);
    assert_true(json_equal(again, json));
}

TEST(test_accepted)
{
    testdata_cases("tests/config/accepted.txt", check_accepted);
}

TEST(test_override)
{
    static const struct {
        const char *path, *value, *out_error;
    } cases[] = {
        {"web.telemetry_path", "/m", NULL},
        {"web.telemetry_path", "m", "\"m\" does not start with \"/\""},
        {"web.telemetry_path", "/\xff", "the value contains a control character or is not UTF-8"},
        {"web.min_interval", "5s", NULL},
        {"web.min_interval", "5",
         "expected a duration with a unit (ns, us, ms, s, m, h or d), such as 100ms, "
         "found \"5\""},
        {"web.min_interval", "2m", "2m is out of range (0s to 60s)"},
        {"collectors.self.enabled", "false", NULL},
        {"collectors.self.enabled", "no", "expected true or false, found \"no\""},
        {"collectors.cpu.cpus", "0-1", NULL},
        {"collectors.cpu.groups", "x", "the configuration has no key \"collectors.cpu.groups\" for a flag"},
        {"web.nothing", "x", "the configuration has no key \"web.nothing\" for a flag"},
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

/* The groups of a collector as "NAME: EVENTS, EVENTS; ...". */
static void format_groups(const struct config_groups *groups, bool enabled, struct buffer *text)
{
    for (size_t i = 0; enabled && i < groups->n; i++) {
        const struct config_group *group = &groups->items[i];
        buffer_appendf(text, "%s%s:", i ? "; " : "", group->name);
        for (size_t k = 0; k < group->n_events && !group->preset; k++)
            buffer_appendf(text, " %s", group->events[k].event.metric);
        buffer_append_text(text, group->preset ? " preset" : "");
    }
    buffer_append_char(text, '\0');
}

/* The configuration keys and groups set by the events of a command-line flag. */
TEST(test_set_events)
{
    static const struct {
        const char *in;
        enum config_scope in_scope;
        const char *out_error, *out_cpu, *out_pmu, *out_cgroup;
    } cases[] = {
        {"cycles,instructions:u", SCOPE_MACHINE, "", "events: cycles instructions_user", "", ""},
        {"cycles,instructions", SCOPE_CGROUPS, "", "", "", "events: cycles instructions"},
        {"{cycles,branches}:k,page-faults", SCOPE_COMMAND, "",
         "events: cycles_kernel branches_kernel; events_2: page_faults", "", ""},
        {"core{cycles,branches}", SCOPE_MACHINE, "", "core: cycles branches", "", ""},
        {"overview,page-faults", SCOPE_MACHINE, "", "overview: preset; events: page_faults", "", ""},
        {"cycles,power/energy-pkg/,energy", SCOPE_MACHINE, "", "events: cycles", "energy: preset; events: energy_pkg",
         ""},
        {"cycles,power/energy-pkg/", SCOPE_COMMAND, "", "events: cycles energy_pkg", "", ""},
        {"cpu/event=0x3c,umask=0x0/", SCOPE_MACHINE, "", "events: event_0x3c_umask_0x0", "", ""},
        {"cycles,", SCOPE_MACHINE, "an event is missing at the end", "", "", ""},
        {"energy", SCOPE_COMMAND, "preset \"energy\" counts on system-wide PMUs: it belongs to collectors.pmu", "", "",
         ""},
    };
    struct fake_sys *fake = fake_machine_one_pmu();
    struct machine *machine = machine_of(&fake->sys);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(buffer_done) struct buffer cpu = {0}, pmu = {0}, cgroup = {0};
        _cleanup_(config_freep) struct config *config = NULL;
        struct error error = {0};
        assert_int_equal(config_default(&config, NULL), 0);
        int r = config_set_events(config, cases[i].in, machine, cases[i].in_scope, &error);
        assert_string_equal(error.message, cases[i].out_error);
        assert_int_equal(r, cases[i].out_error[0] ? -EINVAL : 0);
        if (r < 0)
            continue;
        format_groups(&config->cpu.groups, config->cpu.enabled, &cpu);
        format_groups(&config->pmu.groups, config->pmu.enabled, &pmu);
        format_groups(&config->cgroup.groups, config->cgroup.enabled, &cgroup);
        assert_string_equal(cpu.data, cases[i].out_cpu);
        assert_string_equal(pmu.data, cases[i].out_pmu);
        assert_string_equal(cgroup.data, cases[i].out_cgroup);
    }
    machine_free(machine);
    fake_sys_free(fake);
}

TEST(test_override_listen)
{
    _cleanup_(config_freep) struct config *config = NULL;

    assert_int_equal(config_default(&config, NULL), 0);
    config_clear_list(config, "web.listen");
    assert_int_equal(config->web.n_listen, 0);
    assert_int_equal(config_override(config, "web.listen", "127.0.0.1:1", NULL), 0);
    assert_int_equal(config_override(config, "web.listen", "unix:/x", NULL), 0);
    assert_int_equal(config_override(config, "web.listen", "unix:/x", NULL), -EINVAL);
    assert_int_equal(config_override(config, "web.listen", "x", NULL), -EINVAL);
    assert_int_equal(config->web.n_listen, 2);
    assert_string_equal(config->web.listen[0], "127.0.0.1:1");
    assert_string_equal(config->web.listen[1], "unix:/x");
}

TEST(test_format_error)
{
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
    enum trust out_operates, out_admits;
    const char *out_warning; /* the warning, which begins with its position; NULL: none */
} trusts[] = {
    {"", TRUST_OPERATOR, TRUST_OPERATOR, NULL},
    {"web: {local_operators: true}", TRUST_LOCAL, TRUST_LOCAL, NULL},
    {"sampler: {allow: local}", TRUST_OPERATOR, TRUST_LOCAL, NULL},
    {"sampler: {allow: everybody}", TRUST_OPERATOR, TRUST_EVERYBODY, NULL},
    {"{web: {local_operators: true}, sampler: {allow: everybody}}", TRUST_LOCAL, TRUST_EVERYBODY, NULL},
    {"sampler: {allow_remote: true}", TRUST_OPERATOR, TRUST_EVERYBODY,
     "file:1:25: sampler.allow_remote is deprecated, and a later version will refuse it: write \"allow: everybody\""},
    {"sampler:\n  allow_remote: false", TRUST_OPERATOR, TRUST_OPERATOR,
     "file:2:17: sampler.allow_remote is deprecated, and a later version will refuse it: write \"allow: operators\""},
};

TEST(test_trusts)
{
    for (size_t i = 0; i < ARRAY_SIZE(trusts); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        struct error warning = {0};
        char text[256];
        assert_int_equal(config_parse(trusts[i].in, strlen(trusts[i].in), &config, NULL), 0);
        assert_int_equal(config_trust_to_operate(config), trusts[i].out_operates);
        assert_int_equal(config_trust_to_sample(config), trusts[i].out_admits);
        assert_int_equal(config_has_deprecated_key(config, &warning), trusts[i].out_warning != NULL);
        if (trusts[i].out_warning)
            assert_string_equal(config_format_error("file", &warning, text, sizeof(text)), trusts[i].out_warning);
    }
}

TEST(test_max_cgroups)
{
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

    assert_int_equal(config_load(NULL, path, NULL, &config, &error), code);
    assert_string_equal(error.message, message);
    assert_int_equal(error.line, 0);
    assert_null(config);
}

TEST_WITH(test_odd_files, make_directory, remove_directory)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/f", (char *)*state);
    assert_load_error(path, -ENOENT, "there is no such file");
    assert_load_error(*state, -EISDIR, "this is a directory, but a file is expected");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_load_error(path, -ESPIPE, "this is a pipe or socket, but a file is expected");
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
    assert_load_error(path, -EFBIG, "the file is larger than 1 MiB, which is too large for a configuration");
    unlink(path);
}

/* A path in the file is relative to the directory of the file; a path in a flag is not. */
TEST_WITH(test_web_config_file, make_directory, remove_directory)
{
    static const struct {
        const char *in, *out; /* the expected path is `out` in the directory; NULL: no file */
    } cases[] = {{"web.yml", "/web.yml"}, {"../web.yml", "/../web.yml"}, {"\"\"", NULL}};
    char path[64], expected[128];

    snprintf(path, sizeof(path), "%s/f", (char *)*state);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fprintf(file, "web: {config_file: %s}\n", cases[i].in);
        fclose(file);
        assert_int_equal(config_load(NULL, path, NULL, &config, NULL), 0);
        snprintf(expected, sizeof(expected), "%s%s", (char *)*state, cases[i].out ? cases[i].out : "");
        assert_string_equal(config->web.config_file, cases[i].out ? expected : "");
        assert_int_equal(config_override(config, "web.config_file", "x.yml", NULL), 0);
        assert_string_equal(config->web.config_file, "x.yml");
    }
    unlink(path);
}

/* Size limits, and input that would expand inside the YAML parser. */
TEST(test_limits)
{
    static const struct {
        const char *head, *format, *tail; /* `format` is repeated `n` times, each with its number */
        unsigned n;
        const char *out; /* NULL: accepted */
    } cases[] = {
#define GROUPS "collectors: {cpu: {groups: ["
        {GROUPS, "{name: g%u, events: cycles}, ", "]}}", 256, NULL},
        {GROUPS, "{name: g%u, events: cycles}, ", "]}}", 257, "more than 256 groups"},
        {GROUPS "{name: a, events: [", "r%x, ", "]}]}}", 64, NULL},
        {GROUPS "{name: a, events: [", "r%x, ", "]}]}}", 65, "more than 64 events in a group"},
        {GROUPS "{name: a, events: 'cycles", ",r%x", "'}]}}", 64, "a group has at most 64 events"},
        /* libyaml compares each anchor with all earlier ones: a file full of anchors would take minutes. */
        {"collectors: {cgroup: {exclude: [", "&a%x /%1$x, ", "]}}", 60, NULL},
        {"collectors: {cgroup: {exclude: [", "&a%x /%1$x, ", "]}}", 257, "there are more than 256 anchors"},
        {"collectors: {cgroup: {exclude: [", "&a%x /%1$x, ", "]}}", 80000, "there are more than 256 anchors"},
        {"", "[", "", 10000, "lists and maps are nested more than 32 levels deep"},
        {"", "{a: ", "", 10000, "lists and maps are nested more than 32 levels deep"},
        {"", "[", "]", 100000, "lists and maps are nested more than 32 levels deep"},
        {"", "- ", "x", 100000, "lists and maps are nested more than 32 levels deep"},
        {"", "? ", "x", 100000, "lists and maps are nested more than 32 levels deep"},
        {"web: {listen: ", "[", "", 10000, "lists and maps are nested more than 32 levels deep"},
        {"a: &a [x]\nb: &b [", "*a,", "]\nc: [*b,*b]\n", 100000, ""},
        {"", "a: 1\n", "", 100000, ""},
        {"", "#\n", "", 500000, NULL},
        {"collectors: {cpu: {cpus: \"0", ",1", "\"}}", 100000, NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        struct buffer buffer = {0};
        struct error error = {0};
        buffer_append_text(&buffer, cases[i].head);
        for (unsigned k = 0; k < cases[i].n; k++)
            buffer_appendf(&buffer, cases[i].format, k);
        buffer_append_text(&buffer, cases[i].tail);
        _cleanup_(freep) char *text = buffer_string(&buffer);
        int r = config_parse(text, strlen(text), &config, &error);
        if (r != (cases[i].out ? -EINVAL : 0) || !strstr(error.message, cases[i].out ?: ""))
            fail_msg("case %zu: %d, %u:%u: %s", i, r, error.line, error.column, error.message);
    }
}

/* Parsing stops when the list of errors is full, since comparing each key with all others would take too long. */
TEST(test_full_list)
{
    _cleanup_(error_list_done) struct error_list errors = {0};
    char path[] = "/tmp/test-error-list.XXXXXX";
    struct error error;
    int fd = mkstemp(path);

    for (unsigned i = 0; i < 20000; i++)
        dprintf(fd, "key%u: 1\n", i);
    close(fd);
    assert_int_equal(load(path, &errors, &error), -EINVAL);
    assert_int_equal(errors.n, ERROR_LIST_MAX);
    assert_int_equal(errors.items[ERROR_LIST_MAX - 1].line, ERROR_LIST_MAX);
    unlink(path);
}

TEST_MAIN(NULL, NULL)
