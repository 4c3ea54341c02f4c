/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of events in a configuration: positions and signatures, checks against a machine, and a callback for each
 * event.
 */
#include <stdio.h>

#include "config/config.h"
#include "tests/unit/captured.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

static struct config *parse(const char *text)
{
    struct config *config = NULL;
    struct error error = {0};

    if (config_parse(text, strlen(text), &config, &error) < 0)
        fail_msg("%u:%u: %s", error.line, error.column, error.message);
    return config;
}

TEST(test_positions)
{
    _cleanup_(config_freep) struct config *config = parse("collectors:\n"
                                                          "  cpu:\n"
                                                          "    groups:\n"
                                                          "      - name: a\n"
                                                          "        events: \"{cycles,instructions}\"\n"
                                                          "      - {name: ä, events: [cs, {event: r11}]}\n"
                                                          "      - 'sw{cs,faults}, irq:{r12}:k'\n"
                                                          "      - {name: c, events: '{r13},x{r14}'}\n");
    static const struct {
        unsigned group, event, out_line, out_column;
    } cases[] = {{0, 0, 5, 19}, {0, 1, 5, 26}, {1, 0, 6, 28}, {1, 1, 6, 40}, {2, 0, 7, 13},
                 {2, 1, 7, 16}, {3, 0, 7, 30}, {4, 0, 8, 29}, {5, 0, 8, 36}};
    static const struct {
        const char *out_name;
        unsigned out_line, out_column;
    } names[] = {{"a", 4, 15}, {"ä", 6, 16}, {"sw", 7, 10}, {"irq", 7, 25}, {"c-1", 8, 16}, {"x", 8, 34}};

    assert_int_equal(config->cpu.groups.n, ARRAY_SIZE(names));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const struct config_group *group = &config->cpu.groups.items[i];
        if (!str_equal(group->name, names[i].out_name) || group->line != names[i].out_line ||
            group->column != names[i].out_column)
            fail_msg("group %zu: %s at %u:%u", i, group->name, group->line, group->column);
    }
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct config_event *event = &config->cpu.groups.items[cases[i].group].events[cases[i].event];
        assert_int_equal(event->line, cases[i].out_line);
        assert_int_equal(event->column, cases[i].out_column);
    }
}

/* Returns the signature of `group`, which is the only group of a configuration. */
static char *signature(const char *group)
{
    char text[512];

    snprintf(text, sizeof(text), "collectors: {cpu: {groups: [%s]}}", group);
    _cleanup_(config_freep) struct config *config = parse(text);
    return strdup(config->cpu.groups.items[0].signature);
}

TEST(test_signatures)
{
    static const struct {
        const char *one, *other;
        bool out_equal;
    } cases[] = {
        {"{name: a, events: 'cycles,instructions'}", "{name: a, events: '{cycles,instructions}'}", true},
        {"{name: a, events: 'cycles,instructions'}", "{strict: false, events: [cycles, instructions], name: a}", true},
        {"{name: a, events: 'cycles,instructions'}", "'a{cycles,instructions}'", true},
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

#define CPU(events) "collectors: {cpu: {groups: [{name: a, events: " events "}]}}"
#define PMU(events) "collectors:\n  pmu:\n    groups:\n    - {name: a, events: '" events "'}\n"
#define SAMPLER(event) "sampler: {event: " event "}"

/* An event that cannot exist on any machine is an error in the file; an event that only this machine lacks is not. */
static const struct {
    const char *in;
    const char *out; /* a part of the error message; NULL: no error */
    unsigned out_line, out_column;
} checks[] = {
    {CPU("'{cycles,instructions}'"), NULL, 0, 0},
    {CPU("l2d_cache_refill"), NULL, 0, 0}, /* sysfs lists this name */
    {CPU("no_such_pmu/event=1/"), NULL, 0, 0},
    {CPU("armv8_cortex_a55/no_such_event/"), NULL, 0, 0},
    {CPU("'no_such:tracepoint'"), NULL, 0, 0},
    {CPU("'{cycles,cycels}'"), "did you mean \"cycles\"", 1, 56},
    {CPU("[cycles, {event: l2d_cache_refil}]"), "did you mean \"l2d_cache_refill\"", 1, 64},
    {CPU("qqqqqqqqqqqq"), "qqqqqqqqqqqq", 1, 47},
    {SAMPLER("auto"), NULL, 0, 0},
    {SAMPLER("'{cycles,l2d_cache_refill}'"), NULL, 0, 0},
    {SAMPLER("cpu-clock:u"), NULL, 0, 0},
    {SAMPLER("no_such_pmu/event=1/"), NULL, 0, 0},
    {SAMPLER("cycels"), "sampler.event: there is no event \"cycels\"; did you mean \"cycles\"", 0, 0},
    {SAMPLER("'{cycles,qqqqqqqqqqqq}'"), "sampler.event: there is no event \"qqqqqqqqqqqq\"", 0, 0},
    {PMU("cycles"), "\"cycles\" is counted on each CPU: it belongs to collectors.cpu", 4, 26},
    {PMU("energy-pkg,r11"), "\"r11\" is counted on each CPU: it belongs to collectors.cpu", 4, 37},
    {PMU("sched:sched_switch"), "it belongs to collectors.cpu", 4, 26},
    {PMU("mem:0x1000:w"), "it belongs to collectors.cpu", 4, 26},
    {PMU("energy-pgk"), "there is no event \"energy-pgk\"; did you mean \"energy-pkg\"", 4, 26},
    {PMU("energy-pkg"), NULL, 0, 0},
    {PMU("amd_l3/event=1/"), NULL, 0, 0},
};

TEST(test_check_events)
{
    struct fake_sys *big_little = fake_machine_big_little(), *hybrid = captured_intel_hybrid();
    struct machine *machine = NULL, *hybrid_machine = machine_of(&hybrid->sys);
    assert_int_equal(machine_load(&big_little->sys, &machine, NULL), 0);

    for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
        _cleanup_(config_freep) struct config *config = parse(checks[i].in);
        bool of_pmu = strstr(checks[i].in, "pmu:");
        struct sys *sys = of_pmu ? &hybrid->sys : &big_little->sys;
        const struct machine *on = of_pmu ? hybrid_machine : machine;
        struct error error = {0};
        int r = config_check_events(config, sys, on, &error);
        if (r != (checks[i].out ? -EINVAL : 0) || !strstr(error.message, checks[i].out ?: "") ||
            error.line != checks[i].out_line || error.column != checks[i].out_column)
            fail_msg("%s: %d, %u:%u: %s", checks[i].in, r, error.line, error.column, error.message);
        assert_int_equal(config_check_events(config, sys, on, NULL), r);
    }
    machine_free(machine);
    machine_free(hybrid_machine);
    fake_sys_free(big_little);
    fake_sys_free(hybrid);
}

struct visits {
    char text[512];
    int refusal; /* result of the callback for the event "cpu-clock" */
};

static int note_event(void *userdata, const struct event *event, bool samples)
{
    struct visits *visits = userdata;
    size_t size = strlen(visits->text);

    snprintf(visits->text + size, sizeof(visits->text) - size, "%s%s%s", size ? " " : "", event->text,
             samples ? "(samples)" : "");
    return str_equal(event->text, "cpu-clock") ? visits->refusal : 0;
}

/* The callback is called for the events of all collectors, and for the events that the sampler may open. */
TEST(test_each_event)
{
#define ONLY_CPU "pmu: {groups: []}, cgroup: {groups: []}}"
    static const struct {
        const char *in, *out;
        int out_result;
    } cases[] = {
        {"collectors: {cpu: {groups: []}, pmu: {groups: []}, cgroup: {groups: []}}", "", 0},
        {"collectors: {cpu: {groups: [{name: a, events: cycles}, {name: p, events: ['kprobe/addr=0x10/']}]}, " ONLY_CPU,
         "cycles kprobe/addr=0x10/", 0},
        {"collectors: {cpu: {groups: [{name: a, events: cpu-clock}, {name: b, events: cs}]}, " ONLY_CPU, "cpu-clock",
         -EBUSY},
        {"collectors: {cpu: {groups: []}, pmu: {groups: []}, cgroup: {groups: [{name: p, events: "
         "'{cycles,kprobe/func=f,offset=1/}'}]}}",
         "cycles kprobe/func=f,offset=1/", 0},
        {"{collectors: {cpu: {groups: []}, pmu: {groups: []}, cgroup: {groups: []}}, sampler: {event: 'cycles:u', "
         "tracepoints: ['sched:sched_switch', 'a:b']}}",
         "cycles:u(samples) sched:sched_switch(samples) a:b(samples)", 0},
        {"{collectors: {cpu: {groups: []}, pmu: {groups: []}, cgroup: {groups: []}}, sampler: {event: cpu-clock, "
         "tracepoints: ['a:b']}}",
         "cpu-clock(samples)", -EINVAL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(config_freep) struct config *config = NULL;
        struct visits visits = {.refusal = cases[i].out_result};
        struct error error = {0};
        if (config_parse(cases[i].in, strlen(cases[i].in), &config, &error) < 0)
            fail_msg("%s: %s", cases[i].in, error.message);
        assert_int_equal(config_each_event(config, note_event, &visits), cases[i].out_result);
        assert_string_equal(visits.text, cases[i].out);
    }
}

TEST_MAIN(NULL, NULL)
