/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a descriptor of each kind that this configuration has, and has the accomplice try every row of the table. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "opener/descriptor-powers.h"
#include "perf/event/parse.h"
#include "perf/group.h"
#include "perf/hierarchy.h"
#include "perf/tally/tally.h"
#include "tests/impostor/ask.h"
#include "tests/impostor/helper.h"

struct subject {
    const char *name;
    enum descriptor_kind kind;
    const struct perf_event_attr *attr;
    int fd;
};

static const struct order *order_of(const struct impostor *impostor, const struct subject *subject,
                                    enum descriptor_operation operation, struct order *order)
{
    *order = (struct order){
        .kind = ORDER_POWER,
        .number = operation,
        .pid = impostor->witness ? impostor->witness->pid : 0,
        .attr = *subject->attr,
        .address = impostor->known.kernel_function,
    };
    return order;
}

static long try_operation(struct impostor *impostor, const struct subject *subject, enum descriptor_operation operation)
{
    struct order order;

    order_of(impostor, subject, operation, &order);
    if (operation != OPERATION_SIGNAL)
        return helper_order(impostor->accomplice, &order, subject->fd);
    if (!impostor->witness)
        return impostor_skip(impostor, "no process of root's was started before the split");
    unsigned before = atomic_load(&impostor->witness->signals);
    long got = helper_order(impostor->accomplice, &order, subject->fd);
    if (atomic_load(&impostor->witness->signals) != before)
        return -EINTR;
    /* A security module may refuse even what has no effect. */
    return got == -EPERM || got == -EACCES ? 0 : got;
}

static void judge_operation(struct impostor *impostor, const struct subject *subject,
                            enum descriptor_operation operation)
{
    const struct descriptor_power *power = descriptor_power_find(subject->kind, operation);
    long got = try_operation(impostor, subject, operation);
    struct must must = MUST_WORK;
    char name[320];
    bool may_work = false;
    size_t n = 0;

    for (size_t i = 0; i < power->n_errors; i++)
        if (power->errors[i])
            must.errors[n++] = power->errors[i];
        else
            may_work = true;
    if (may_work && got >= 0)
        must = (struct must)MUST_WORK;
    snprintf(name, sizeof(name), "a stranger with %s (%s): %s", subject->name, descriptor_kind_name(subject->kind),
             descriptor_operation_name(operation));
    impostor_judge(impostor, name, got, &must);
}

static void try_subject(struct impostor *impostor, const struct subject *subject)
{
    for (int i = 0; i < N_DESCRIPTOR_OPERATIONS; i++)
        judge_operation(impostor, subject, (enum descriptor_operation)i);
}

static enum descriptor_kind kind_of(const struct event *event)
{
    if (event->kind == EVENT_TRACEPOINT)
        return DESCRIPTOR_TRACEPOINT;
    if (event->kind == EVENT_BREAKPOINT)
        return DESCRIPTOR_BREAKPOINT;
    return event->pmu && (str_equal(event->pmu, "uprobe") || str_equal(event->pmu, "kprobe")) ? DESCRIPTOR_TRACEPOINT
                                                                                              : DESCRIPTOR_COUNTER;
}

static int build(struct impostor *impostor, const struct event *event, struct attr *ret)
{
    const struct pmu *pmu = attr_pmu(impostor->machine, event, 0);

    return pmu ? attr_build(&impostor->sys, impostor->machine, event, pmu, ret, NULL) : -ENODEV;
}

static void skip_subject(struct impostor *impostor, const char *what, int error)
{
    char name[320];

    snprintf(name, sizeof(name), "a stranger with %s", what);
    impostor_skip(impostor, "it cannot be opened here (%s)", error_name(error));
    impostor_judge(impostor, name, ATTEMPT_SKIPPED, NULL);
}

/* As group.c opens it; which a stranger can read. */
static struct perf_event_attr guess_attr(const struct attr *attr)
{
    struct perf_event_attr kernel = attr->kernel;

    kernel.read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    kernel.disabled = 1;
    return kernel;
}

/* With a descriptor of its own, since one that took a filter takes no other. */
static void try_oracle(struct impostor *impostor, const struct attr *attr, const struct group_target *target)
{
    static const struct must must = MUST(EEXIST);
    const struct order order = {.kind = ORDER_ORACLE};
    struct group *group;
    int r = group_open(&impostor->sys, attr, target, &group);

    if (r < 0) {
        skip_subject(impostor, "reading memory through a filter", r);
        return;
    }
    impostor_judge(impostor, "a stranger with sys_enter_openat: reading memory through a filter",
                   helper_order(impostor->accomplice, &order, group_fd(group, 0)), &must);
    group_free(group);
}

static void try_counted_at(struct impostor *impostor, const char *name, const struct event *event,
                           const struct group_target *target)
{
    struct group *group = NULL;
    struct attr attr;
    int r = build(impostor, event, &attr);

    if (r == 0 && strstr(name, "sys_enter_openat"))
        try_oracle(impostor, &attr, target);
    if (r == 0)
        r = group_open(&impostor->sys, &attr, target, &group);
    if (r < 0) {
        skip_subject(impostor, name, r);
        return;
    }
    const struct perf_event_attr guessed = guess_attr(&attr);
    const struct subject subject = {name, kind_of(event), &guessed, group_fd(group, 0)};
    try_subject(impostor, &subject);
    group_free(group);
}

static void try_counted(struct impostor *impostor, const struct event *event)
{
    const struct group_target target = {.pid = -1, .cpu = 0};

    try_counted_at(impostor, event->text, event, &target);
}

static void try_groups(struct impostor *impostor, const struct config_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; k < groups->items[i].n_events; k++)
            try_counted(impostor, &groups->items[i].events[k].event);
}

/* As sampler/spec.c samples. */
static void make_sampling(struct perf_event_attr *attr)
{
    attr->freq = 1;
    attr->sample_period = 99;
    attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                        PERF_SAMPLE_PERIOD;
    attr->disabled = 1;
    attr->sample_id_all = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
}

/* The record of a tracepoint is what programs hand to the kernel. */
static void try_raw(struct impostor *impostor, const char *what, struct perf_event_attr attr)
{
    static const struct must refused = REFUSED;
    char name[320];

    attr.sample_type |= PERF_SAMPLE_RAW;
    snprintf(name, sizeof(name), "request: %s, with raw data", what);
    impostor_judge(impostor, name, ask_event(impostor, &attr, -1, 0, 0, -1, -1, NULL), &refused);
}

static void try_sampled(struct impostor *impostor, const char *text)
{
    struct attr attr = {0};
    struct event event;
    int fd = -EINVAL;
    char name[160];

    if (event_parse(text, &event, NULL) < 0)
        return;
    int r = build(impostor, &event, &attr);
    if (r == 0) {
        make_sampling(&attr.kernel);
        fd = r = impostor->sys.perf_event_open(&impostor->sys, &attr.kernel, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    }
    snprintf(name, sizeof(name), "samples of %.120s", text);
    if (r < 0) {
        skip_subject(impostor, name, r);
    } else {
        const struct subject subject = {
            name, kind_of(&event) == DESCRIPTOR_TRACEPOINT ? DESCRIPTOR_SAMPLED_TRACEPOINT : DESCRIPTOR_SAMPLER,
            &attr.kernel, fd};
        try_subject(impostor, &subject);
        try_raw(impostor, name, attr.kernel);
        close(fd);
    }
    event_done(&event);
}

static void try_cgroup(struct impostor *impostor)
{
    static const char name[] = "context-switches of a cgroup";
    struct hierarchy hierarchy;
    struct event event;
    int r = hierarchy_find(&impostor->sys, &hierarchy, NULL);

    if (r < 0) {
        skip_subject(impostor, name, r);
        return;
    }
    _cleanup_(closep) int directory = open(hierarchy.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct group_target target = {.pid = directory, .cpu = 0, .flags = PERF_FLAG_PID_CGROUP};
    if (directory >= 0 && event_parse("context-switches", &event, NULL) == 0) {
        try_counted_at(impostor, name, &event, &target);
        event_done(&event);
    }
    hierarchy_done(&hierarchy);
}

static void try_map(struct impostor *impostor, const char *name, int fd)
{
    static const struct perf_event_attr none;
    const struct subject subject = {name, DESCRIPTOR_TALLY, &none, fd};

    try_subject(impostor, &subject);
    close(fd);
}

/* It has no counters of its own, and nothing is attached: the maps are there from the start. */
static void try_tally(struct impostor *impostor)
{
    const struct tally_shape shape = {.cpus = impostor->client->rules.n_cpus, .slots = 3, .events = 1, .groups = 1};
    static const struct must no_address = MUST_WORK;
    struct tally_maps maps;
    struct error error;
    struct sys *sys = &impostor->sys;

    if (sys->tally->start(sys, &shape, &maps, &error) < 0) {
        impostor_skip(impostor, "%s", error.message);
        impostor_judge(impostor, "a stranger with the maps of a tally", ATTEMPT_SKIPPED, NULL);
        return;
    }
    const struct order order = {.kind = ORDER_ADDRESS, .number = shape.cpus};
    for (unsigned cpu = 0; cpu < shape.cpus; cpu++)
        sys->tally->set_cpu(sys, cpu, &(struct tally_event){.source = TALLY_SWITCHES}, &(int){-1});
    sys->tally->attach(sys, true);
    impostor_judge(impostor, "a stranger with the records of a tally: an address of the kernel's",
                   helper_order(impostor->accomplice, &order, maps.records), &no_address);
    try_map(impostor, "counts of cgroups", maps.counts);
    try_map(impostor, "records of CPUs", maps.records);
    sys->tally->stop(sys);
}

void powers_run(struct impostor *impostor)
{
    if (impostor->accomplice < 0) {
        impostor_skip(impostor, "there is no other account to which descriptors could be passed");
        impostor_judge(impostor, "descriptors in the hands of a stranger", ATTEMPT_SKIPPED, NULL);
        return;
    }
    try_groups(impostor, &impostor->config->cpu.groups);
    try_groups(impostor, &impostor->config->pmu.groups);
    try_cgroup(impostor);
    try_tally(impostor);
    if (!impostor->config->sampler.enabled)
        return;
    try_sampled(impostor, "cpu-clock");
    try_sampled(impostor, "cycles");
    if (!str_equal(impostor->config->sampler.event, "auto"))
        try_sampled(impostor, impostor->config->sampler.event);
    for (size_t i = 0; i < impostor->config->sampler.n_tracepoints; i++)
        try_sampled(impostor, impostor->config->sampler.tracepoints[i]);
}
