/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sharing-rig.h"

#include "tests/unit/test.h"

void sharing_rig_resume(struct sharing_rig *rig)
{
    struct opened opened = {.fd = -1};
    void *previous = steal(rig->cpu);

    if (rig->rig.config->cpu.enabled)
        assert_int_equal(collector_cpu.open(&rig->rig.env, previous, &opened, NULL), 0);
    else
        collector_cpu.close(&rig->rig.env, previous);
    rig->rig.env.shared = rig->cpu = opened.state;
    assert_int_equal(bpf_groups_configure(&rig->groups, &rig->rig.env, NULL), 0);
}

void sharing_rig_init(struct sharing_rig *rig, struct fake_sys *fake, const char *config)
{
    *rig = (struct sharing_rig){0};
    rig_init_collector(&rig->rig, fake, "cgroup", config);
    sharing_rig_resume(rig);
}

void sharing_rig_configure(struct sharing_rig *rig, const char *config)
{
    rig_configure(&rig->rig, config);
    sharing_rig_resume(rig);
}

void sharing_rig_rescan(struct sharing_rig *rig, const char *went_offline)
{
    rig_rescan(&rig->rig, went_offline);
    sharing_rig_resume(rig);
}

void sharing_rig_done(struct sharing_rig *rig)
{
    collector_cpu.close(&rig->rig.env, rig->cpu);
    bpf_groups_done(&rig->groups, &rig->rig.env);
    rig_done(&rig->rig);
}

const char *sharing_rig_describe(const struct sharing_rig *rig, unsigned cpu)
{
    static const char letters[] = {
        [SOURCE_NONE] = '-', [SOURCE_READ] = 'R', [SOURCE_RUNNING] = 'T', [SOURCE_SWITCHES] = 'S'};
    static char text[128];
    struct cpu_source sources;
    size_t n = 0;

    bpf_groups_describe(&rig->groups, cpu, &sources);
    text[0] = '\0';
    for (size_t i = 0; i < rig->groups.events; i++) {
        const struct bpf_event *event = &sources.events[i];
        bool is_read = event->source == SOURCE_READ;
        text[n++] = letters[event->source];
        if (event->source != SOURCE_NONE)
            text[n++] = (char)('0' + event->group);
        if (event->gives_times)
            text[n++] = '+';
        text[n++] = i + 1 < rig->groups.events ? ' ' : '\0';
        assert_int_equal(is_read, sources.fds[i] >= 0);
        assert_int_equal(is_read, sources.ids[i] != 0);
        assert_true(!event->gives_times || is_read);
    }
    for (size_t i = rig->groups.events; i < BPF_EVENTS_MAX; i++)
        assert_int_equal(sources.events[i].source, SOURCE_NONE);
    return text;
}

size_t sharing_rig_descriptors(const struct sharing_rig *rig)
{
    return group_set_descriptors(&rig->groups.set);
}
