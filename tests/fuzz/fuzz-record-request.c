/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses arbitrary bytes as a stream's query, such as "event=cycles&cpu=0&frequency=99", on a machine with tracepoints,
 * probes and breakpoints, up to the request to the opener. Nothing crashes, and no descriptor is left open. The opener
 * accepts the request, which contains no text, probe or breakpoint, and no tracepoint but the configured one.
 */
#include "opener/protocol.h"
#include "sampler/record-options.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/wrap-calls.h"

#define KPROBE 6
#define UPROBE 7

static struct {
    struct fake_sys *fake;
    struct machine *machine;
    struct opener_rules rules;
    struct sys_calls calls; /* the simulated machine's functions */
} world;

/* The opener copies the packet to aligned memory of its own. */
static int judge(const struct buffer *packet, size_t n_fds)
{
    _cleanup_(freep) char *copy = copy_exact(packet->data, packet->size);
    struct opener_request request;

    assert(opener_request_parse(copy, packet->size, n_fds, &request) == 0);
    for (size_t i = 0; i < request.group->n_events; i++) {
        const struct perf_event_attr *attr = &request.events[i].attr;
        assert(!opener_request_text(&request, i));
        assert(attr->type != KPROBE && attr->type != UPROBE && attr->type != PERF_TYPE_BREAKPOINT);
        assert(attr->type != PERF_TYPE_TRACEPOINT || attr->config == 311);
    }
    return opener_request_check(&request, &world.rules);
}

/* Writes the group as the daemon does, in as many packets as needed. */
static int ask(const struct sys_group *group)
{
    size_t n_fds = (group->flags & PERF_FLAG_PID_CGROUP ? 1U : 0U) + (group->leader >= 0);
    int r = 0;

    for (size_t done = 0, n = 0; done < group->n && r == 0; done += n) {
        _cleanup_(buffer_done) struct buffer packet = {0};
        r = opener_request_write(&world.rules, group, done, &packet, &n);
        if (r == 0)
            r = judge(&packet, n_fds);
    }
    return r;
}

static void asking_open_group(struct sys *sys, const struct sys_group *group, int *ret)
{
    int r = ask(group);

    if (r == 0)
        world.calls.open_group(sys, group, ret);
    for (size_t i = 0; r < 0 && i < group->n; i++)
        ret[i] = r;
}

static int asking_perf_event_open(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                                  unsigned long flags)
{
    const struct sys_group group = {.attrs = attr, .n = 1, .pid = pid, .cpu = cpu, .leader = group_fd, .flags = flags};
    int r = ask(&group);

    return r < 0 ? r : world.calls.perf_event_open(sys, attr, pid, cpu, group_fd, flags);
}

static void add_probes(struct fake_sys *fake)
{
    fake_add_pmu(fake, "breakpoint", PERF_TYPE_BREAKPOINT, NULL, "0-3")->software = true;
    fake_add_pmu(fake, "kprobe", KPROBE, NULL, "0-3")->software = true;
    fake_add_pmu(fake, "uprobe", UPROBE, NULL, "0-3")->software = true;
    fake_pmu_file(fake, "kprobe", "format/retprobe", "config:0");
    fake_pmu_file(fake, "uprobe", "format/retprobe", "config:0");
    fake_pmu_file(fake, "uprobe", "format/ref_ctr_offset", "config:32-63");
}

static void leave(void)
{
    machine_free(world.machine);
    opener_rules_done(&world.rules);
    fake_sys_free(world.fake);
}

static void enter(void)
{
    struct fake_sys *fake = fake_machine_one_pmu();
    struct opener_permissions permissions = {.sampling = true};
    struct error error;

    add_probes(fake);
    fake_file(fake, "/proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
    fake_file(fake, "/proc/42/task/42/comm", "x\n");
    fake_file(fake, "/sys/kernel/tracing/events/sched/sched_switch/id", "311\n");
    assert(machine_load(&fake->sys, &world.machine, &error) == 0);
    assert(opener_rules_init(&world.rules, &fake->sys, &permissions) == 0);
    world.fake = fake;
    world.calls = fake->sys.calls;
    atexit(leave);
}

/* Opens the events with the same calls as a capture. */
static void open_all(const struct record_options *options)
{
    struct sys *sys = &world.fake->sys;
    struct record_group group;
    int fds[GROUP_MEMBERS_MAX];

    CPUSET_FOREACH (cpu, &options->cpus) {
        if (record_options_bind(options, sys, world.machine, (unsigned)cpu, &group, NULL) < 0 || group.n == 0)
            continue;
        sys_open_group(sys,
                       &(struct sys_group){
                           .attrs = group.attrs,
                           .texts = group.texts,
                           .n = group.n,
                           .pid = options->pid ? (pid_t)options->pid : -1,
                           .cpu = cpu,
                           .leader = -1,
                           .flags = PERF_FLAG_FD_CLOEXEC,
                           .whole = true,
                       },
                       fds);
        for (size_t i = group.n; i-- > 0;)
            if (fds[i] >= 0)
                sys_close(sys, fds[i]);
    }
}

/* Sets the parameters of a query, whose values are not escaped. */
static void set_parameters(struct record_request *request, char *query)
{
    char *rest = query, *parameter;

    while ((parameter = strsep(&rest, "&"))) {
        char *value = strchr(parameter, '=');
        struct error error = {0};
        if (!value)
            continue;
        *value++ = '\0';
        assert(record_request_set(request, parameter, value, &error) == 0 || error.message[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *tracepoints[] = {(char *)"sched:sched_switch"};
    const struct config_sampler config = {.enabled = true,
                                          .event = (char *)"auto",
                                          .frequency = 99,
                                          .callchain = true,
                                          .ring_pages = 8,
                                          .tracepoints = tracepoints,
                                          .n_tracepoints = ARRAY_SIZE(tracepoints)};
    _cleanup_(freep) char *query = copy_text(data, size);
    _cleanup_(record_request_done) struct record_request request = {0};
    struct error error = {0};
    struct record_options options;

    if (!world.fake)
        enter();
    struct sys *sys = &world.fake->sys;
    wrap_calls(sys, (struct sys_calls){.perf_event_open = asking_perf_event_open, .open_group = asking_open_group});
    set_parameters(&request, query);
    if (record_options_make(sys, world.machine, &config, &request, &options, &error) < 0) {
        assert(error.message[0]);
    } else {
        open_all(&options);
        record_options_done(&options);
    }
    sys->calls = world.calls;
    assert(world.fake->n_open == 0);
    world.fake->n_events = 0; /* the simulated machine never reuses descriptor numbers, and would run out of them */
    return 0;
}
