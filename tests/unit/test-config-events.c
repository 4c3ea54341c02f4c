/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a configuration, checked against a machine and visited. */
#include <stdio.h>

#include "config/config.h"
#include "tests/unit/captured.h"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

/* Checks a configuration with that event between head and tail; the result is the same without an error to fill. */
static int check_events(struct fake_sys *fake, const struct machine *machine, const char *head, const char *events,
                        const char *tail, struct error *error)
{
    char text[256];

    snprintf(text, sizeof(text), "%s%s%s", head, events, tail);
    _cleanup_(config_freep) struct config *config = NULL;
    assert_int_equal(config_parse(text, strlen(text), &config, NULL), 0);
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

/* The event that samples is checked against the machine too. */
static void test_check_sampled(void **state)
{
    (void)state;
    static const struct {
        const char *in_event, *out_error; /* NULL: it passes */
    } cases[] = {
        {"auto", NULL},
        {"'{cycles,l2d_cache_refill}'", NULL},
        {"cpu-clock:u", NULL},
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

/* All events of a configuration, and the events that the sampler may open. */
static void test_each_event(void **state)
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

/* An event that no machine could count there is an error in the file; an event that this machine lacks is none. */
static void test_check_pmu_events(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"cycles", "\"cycles\" is counted on each CPU: it belongs to collectors.cpu"},
        {"energy-pkg,r11", "\"r11\" is counted on each CPU: it belongs to collectors.cpu"},
        {"sched:sched_switch", "it belongs to collectors.cpu"},
        {"mem:0x1000:w", "it belongs to collectors.cpu"},
        {"energy-pgk", "there is no event \"energy-pgk\"; did you mean \"energy-pkg\""},
        {"energy-pkg", NULL},
        {"amd_l3/event=1/", NULL},
    };
    struct fake_sys *fake = captured_intel_hybrid();
    struct machine *machine = machine_of(&fake->sys);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error error = {0};
        int r = check_events(fake, machine, "collectors:\n  pmu:\n    groups:\n    - {name: a, events: '", cases[i].in,
                             "'}\n", &error);
        assert_int_equal(r, cases[i].out ? -EINVAL : 0);
        if (cases[i].out && (error.line != 4 || !strstr(error.message, cases[i].out)))
            fail_msg("line %u: %s", error.line, error.message);
    }
    machine_free(machine);
    fake_sys_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_events),
        cmocka_unit_test(test_check_pmu_events),
        cmocka_unit_test(test_check_sampled),
        cmocka_unit_test(test_each_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
