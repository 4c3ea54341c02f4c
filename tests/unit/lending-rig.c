/* SPDX-License-Identifier: Apache-2.0 */
/* A rig whose machine has the collector cpu and the perf groups of a tally: see lending-rig.h. */
#include "tests/unit/lending-rig.h"

#include "tests/unit/test.h"

void lending_rig_resume(struct lending_rig *rig)
{
    void *previous = steal(rig->cpu);

    if (rig->rig.config->cpu.enabled)
        assert_int_equal(collector_cpu.open(&rig->rig.context, previous, &rig->cpu, NULL), 0);
    else
        collector_cpu.close(&rig->rig.context, previous);
    rig->rig.context.cpu = rig->cpu;
    assert_int_equal(tally_groups_configure(&rig->groups, &rig->rig.context, NULL), 0);
}

void lending_rig_init(struct lending_rig *rig, struct fake_sys *fake, const char *config)
{
    *rig = (struct lending_rig){0};
    rig_init_collector(&rig->rig, fake, "cgroup", config);
    lending_rig_resume(rig);
}

void lending_rig_configure(struct lending_rig *rig, const char *config)
{
    rig_configure(&rig->rig, config);
    lending_rig_resume(rig);
}

void lending_rig_rescan(struct lending_rig *rig, const char *left)
{
    rig_rescan(&rig->rig, left);
    lending_rig_resume(rig);
}

void lending_rig_done(struct lending_rig *rig)
{
    collector_cpu.close(&rig->rig.context, rig->cpu);
    tally_groups_done(&rig->groups, &rig->rig.context);
    rig_done(&rig->rig);
}

const char *lending_rig_describe(const struct lending_rig *rig, unsigned cpu)
{
    static const char letters[] = {
        [TALLY_NONE] = '-', [TALLY_READ] = 'R', [TALLY_RUNNING] = 'T', [TALLY_SWITCHES] = 'S'};
    static char text[128];
    struct tally_sources sources;
    size_t n = 0;

    tally_groups_describe(&rig->groups, cpu, &sources);
    text[0] = '\0';
    for (size_t i = 0; i < rig->groups.events; i++) {
        const struct tally_event *event = &sources.events[i];
        bool is_read = event->source == TALLY_READ;
        text[n++] = letters[event->source];
        if (event->source != TALLY_NONE)
            text[n++] = (char)('0' + event->group);
        if (event->gives_times)
            text[n++] = '+';
        text[n++] = i + 1 < rig->groups.events ? ' ' : '\0';
        assert_int_equal(is_read, sources.fds[i] >= 0);
        assert_int_equal(is_read, sources.ids[i] != 0);
        assert_true(!event->gives_times || is_read);
    }
    for (size_t i = rig->groups.events; i < TALLY_EVENTS_MAX; i++)
        assert_int_equal(sources.events[i].source, TALLY_NONE);
    return text;
}

size_t lending_rig_descriptors(const struct lending_rig *rig)
{
    return group_collector_descriptors(&rig->groups.collector);
}
