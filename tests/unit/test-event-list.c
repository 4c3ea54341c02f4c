/* SPDX-License-Identifier: Apache-2.0 */
/* The document that lists all events of a simulated machine. */
#include <jansson.h>

#include "base/cleanup.h"
#include "perf/event-list.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

static const char *const tracepoints[] = {"fib:fib_table_lookup", "fib6:fib6_table_lookup", "sched:sched_switch",
                                          "sched:sched_wakeup", "syscalls:sys_enter_openat"};

/* The list of tracepoints in tracefs is not sorted. */
static void put_tracepoints(struct fake_sys *fake)
{
    fake_file(fake, "/sys/kernel/tracing/available_events",
              "syscalls:sys_enter_openat\nfib6:fib6_table_lookup\nsched:sched_wakeup\nfib:fib_table_lookup\n"
              "sched:sched_switch\n");
}

static char *text_of(struct fake_sys *fake)
{
    struct offered_events *events;
    struct machine *machine;
    struct buffer content = {0};
    struct error error;

    assert_int_equal(machine_load(&fake->sys, &machine, &error), 0);
    assert_int_equal(offered_events_new(&fake->sys, machine, &events), 0);
    /* The list can still be written after the machine is freed. */
    machine_free(machine);
    assert_int_equal(fake->n_open, 0);
    offered_events_write(events, &content);
    offered_events_free(events);
    return buffer_string(&content);
}

static size_t count(const json_t *events, const char *kind)
{
    const json_t *event;
    size_t i, n = 0;

    json_array_foreach (events, i, event)
        n += str_equal(json_string_value(json_object_get(event, "kind")), kind);
    return n;
}

/* The text is byte for byte what jansson writes. */
TEST(test_text)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_big_little();

    put_tracepoints(fake);
    _cleanup_(freep) char *text = text_of(fake);
    json_t *events = json_loads(text, 0, NULL);
    assert_non_null(events);
    _cleanup_(freep) char *dumped = json_dumps(events, JSON_INDENT(2));
    assert_int_equal(strncmp(text, dumped, strlen(dumped)), 0);
    assert_string_equal(text + strlen(dumped), "\n");
    assert_true(count(events, "software") > 5 && count(events, "hardware") >= 4 && count(events, "cache") >= 2);
    assert_int_equal(count(events, "tracepoint"), ARRAY_SIZE(tracepoints));
    assert_int_equal(count(events, "note"), 0);
    size_t first = json_array_size(events) - ARRAY_SIZE(tracepoints);
    for (size_t i = 0; i < ARRAY_SIZE(tracepoints); i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(events, first + i), "name")),
                            tracepoints[i]);
    json_decref(events);
}

/* An event that the kernel refuses temporarily is still listed, since the list is cached for a long time. */
TEST(test_refused_for_a_moment)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_big_little();

    _cleanup_(freep) char *whole = text_of(fake);
    fake_fail(fake, (struct fake_failure){.call = FAKE_OPEN, .error = ENFILE, .after = 10, .times = 5});
    _cleanup_(freep) char *text = text_of(fake);
    assert_string_equal(text, whole);
}

TEST_MAIN(NULL, NULL)
