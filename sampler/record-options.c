/* SPDX-License-Identifier: Apache-2.0 */
/* The spec of a capture: see spec.h. The fields of perf_event_attr are those of perf_event_open(2). */
#include "sampler/record-options.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "perf/reason.h"

void spec_done(struct spec *spec)
{
    event_list_done(&spec->events);
    cpuset_done(&spec->cpus);
    free(spec->cgroup);
    closep(&spec->cgroup_fd);
    *spec = (struct spec){.cgroup_fd = -1};
}

static bool events_equal(const struct event_list *a, const struct event_list *b)
{
    bool equal = a->n == b->n;

    for (size_t i = 0; i < a->n && equal; i++)
        equal = str_equal(a->events[i].text, b->events[i].text) && a->events[i].modifiers == b->events[i].modifiers &&
                a->events[i].precise == b->events[i].precise;
    return equal;
}

bool spec_equal(const struct spec *a, const struct spec *b)
{
    return events_equal(&a->events, &b->events) && a->frequency == b->frequency && a->period == b->period &&
           a->callchain == b->callchain && a->read == b->read && a->user_only == b->user_only &&
           a->ring_pages == b->ring_pages && cpuset_equal(&a->cpus, &b->cpus) && a->pid == b->pid &&
           !a->cgroup == !b->cgroup && a->cgroup_inode == b->cgroup_inode;
}

/* Fields of the leader, which samples. */
static void attr_make_leader(const struct spec *spec, size_t ring_pages, struct perf_event_attr *attr)
{
    attr->freq = spec->frequency != 0;
    attr->sample_period = spec->frequency ? spec->frequency : spec->period;
    attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                        PERF_SAMPLE_PERIOD | (spec->callchain ? PERF_SAMPLE_CALLCHAIN : 0) |
                        (spec->read ? PERF_SAMPLE_READ : 0);
    attr->disabled = 1;
    attr->sample_id_all = 1;
    attr->mmap = attr->mmap2 = 1;
    attr->comm = attr->comm_exec = 1;
    attr->task = 1;
    attr->ksymbol = !spec->user_only;
    attr->watermark = 1;
    attr->wakeup_watermark = (uint32_t)(ring_pages * (size_t)sysconf(_SC_PAGESIZE) / 4);
}

/* Fields of every event. Before Linux 6.12, inherited events cannot be read in samples: later threads are left out. */
static void attr_make_member(const struct spec *spec, struct perf_event_attr *attr)
{
    attr->size = sizeof(*attr);
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->exclude_kernel |= spec->user_only;
    attr->exclude_callchain_kernel = spec->user_only;
    attr->inherit = spec->pid && !spec->read;
    if (spec->read)
        attr->read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

int spec_bind(const struct spec *spec, struct sys *sys, const struct machine *machine, unsigned cpu,
              struct spec_group *ret, struct error *error)
{
    struct attr attr;
    size_t limit = spec->read ? GROUP_MEMBERS_MAX : 1;

    ret->n = 0;
    ret->ring_pages = spec->ring_pages;
    for (size_t i = 0; i < spec->events.n && ret->n < limit; i++) {
        const struct pmu *pmu = attr_pmu(machine, &spec->events.events[i], cpu);
        if (!pmu)
            continue;
        int r = attr_build(sys, machine, &spec->events.events[i], pmu, &attr, error);
        if (r < 0)
            return r;
        attr_make_member(spec, &attr.kernel);
        if (ret->n == 0) {
            attr_make_leader(spec, spec->ring_pages, &attr.kernel);
            ret->pmu = pmu;
        } else {
            /* Only samples are precise; pinned and exclusive are flags of whole groups. */
            attr.kernel.precise_ip = 0;
            attr.kernel.pinned = attr.kernel.exclusive = 0;
        }
        ret->events[ret->n] = (uint8_t)i;
        ret->texts[ret->n] = attr.text;
        ret->attrs[ret->n++] = attr.kernel;
    }
    return 0;
}

/* Events of a process or a cgroup give its records on every CPU. */
bool spec_tracks(const struct spec *spec)
{
    return !spec->pid && !spec->cgroup;
}

void spec_bind_tracking(const struct spec *spec, struct spec_group *ret)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};
    size_t pages = MIN(spec->ring_pages, TRACKING_PAGES);

    attr_make_member(spec, &attr);
    attr_make_leader(spec, pages, &attr);
    attr.freq = 0;
    attr.sample_period = 1; /* of an event that never happens */
    *ret = (struct spec_group){.n = 1, .attrs = {attr}, .ring_pages = pages};
}

/* A cgroup that was removed is a directory without files. */
static bool cgroup_is_gone(const struct spec *spec)
{
    return spec->cgroup && faccessat(spec->cgroup_fd, "cgroup.procs", F_OK, 0) < 0 && errno == ENOENT;
}

int spec_refused(const struct spec *spec, const struct machine *machine, const struct pmu *pmu, unsigned cpu, int code,
                 struct error *error)
{
    char reason[480];

    if (code == -ESRCH && spec->pid)
        return error_set(error, -ENOENT, "there is no process %" PRIu32, spec->pid);
    if (code == -ENOENT && cgroup_is_gone(spec))
        return error_set(error, -ENOENT, "there is no cgroup %.256s any more", spec->cgroup);
    if (code == -EUNATCH) /* from the opener */
        return error_set(error, -EOPNOTSUPP,
                         "the sampler was enabled after perfcountd had started; restart perfcountd");
    if ((code == -EOPNOTSUPP || code == -EINVAL) && pmu && !pmu->absent && spec->events.events[0].precise) {
        return error_set(error, -EINVAL, "cpu %u %s: the PMU has no samples as precise as that (%s); ask for fewer p",
                         cpu, spec->events.events[0].text, reason_name(code));
    }
    reason_format(machine, pmu, code, reason, sizeof(reason));
    error_set(error, code, "cpu %u %s: %s", cpu, spec->events.events[0].text, reason);
    switch (code) {
    case -ENOENT: /* there is no such event; clients get -ENOENT for a process or cgroup */
    case -EOPNOTSUPP:
    case -ENODEV:
    case -ENXIO:
    case -E2BIG:
        return -EINVAL;
    case -ENOPKG:
    case -ENOKEY:
        return -EOPNOTSUPP;
    }
    return code;
}
