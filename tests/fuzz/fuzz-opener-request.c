/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses arbitrary bytes as a request to the opener: nothing outside of the packet is read. A permitted request only
 * counts, points into the packet, and names no process but the daemon; if samples are permitted, none contains a
 * process's data. The first byte is the number of descriptors; its highest bit permits samples.
 */
#include "opener/protocol.h"
#include "tests/fuzz/fuzz.h"

#define SAMPLING 0x80

enum { CPUS = 4, SLOTS = 256 };

/* The checks are written independently of the tested code. */
static void check_counting(const struct perf_event_attr *attr)
{
    assert(!attr->sample_period && !attr->inherit && !attr->use_clockid && !attr->exclude_callchain_kernel);
}

/* Without a sample period, no sample field may be requested. Memory and registers of a task are never sampled. */
static void check_sample(const struct perf_event_attr *attr)
{
    bool samples = attr->sample_period;

    assert(samples || (!attr->sample_type && !attr->freq && !attr->precise_ip && !attr->wakeup_events && !attr->mmap &&
                       !attr->mmap2 && !attr->comm && !attr->task && !attr->ksymbol && !attr->watermark));
    assert(!(attr->sample_type &
             (PERF_SAMPLE_RAW | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR |
              PERF_SAMPLE_STACK_USER | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_DATA_SRC)));
    assert(!attr->branch_sample_type && !attr->sample_regs_user && !attr->sample_stack_user && !attr->aux_watermark);
    assert(!attr->context_switch && !attr->bpf_event && !attr->sigtrap && !attr->enable_on_exec && !attr->mmap_data);
}

static void check_event(const struct perf_event_attr *attr, const char *text, bool sampling, const char *packet,
                        size_t size)
{
    bool probe = attr->type == 6 || attr->type == 7;

    assert(attr->size >= PERF_ATTR_SIZE_VER0 && attr->size <= sizeof(*attr));
    check_sample(attr);
    if (!sampling)
        check_counting(attr);
    assert(probe || attr->type == PERF_TYPE_TRACEPOINT || attr->type <= PERF_TYPE_RAW);
    assert(attr->type != PERF_TYPE_TRACEPOINT || attr->config == 310);
    if (!probe) {
        assert(!text);
        return;
    }
    assert(attr->config1 == 0 && attr->config2 == 0x1234 && str_equal(text, "/bin/true"));
    assert(text > packet && text < packet + size);
}

static void check_group(const struct opener_request *request, bool sampling, const char *packet, size_t size,
                        size_t n_fds)
{
    const struct opener_group_packet *group = request->group;
    bool in_cgroup = group->flags & PERF_FLAG_PID_CGROUP;

    assert(group->n_events >= 1 && group->n_events <= OPENER_EVENTS_MAX);
    assert(n_fds == (size_t)in_cgroup + group->leader);
    assert(group->pid == -1 ? group->cpu >= 0 : !in_cgroup && group->pid > 0);
    if (group->pid != -1 && group->pid != 4711)
        assert(sampling && (group->leader || request->events[0].attr.sample_period));
    for (size_t i = 0; i < group->n_events; i++)
        check_event(&request->events[i].attr, opener_request_text(request, i), sampling, packet, size);
}

static void check_file(const char *path, bool sampling)
{
    assert(!strstr(path, "..") && !strstr(path, "//"));
    if (str_equal(path, "web.yml"))
        return;
    assert(str_starts(path, "/sys/kernel/") || (sampling && str_starts(path, "/proc/")));
    for (size_t i = 0; i < 4; i++) {
        static const char *const never[] = {"mem", "environ", "root", "fd/"};
        assert(str_starts(path, "/sys/") || !strstr(path, never[i]));
    }
}

/* The path is one of a few files in a few directories; a user's file belongs to that user, who is not root. */
static void check_state(const struct state_request *request)
{
    char path[STATE_PATH_MAX] = "";

    assert(state_request_path(request, path, sizeof(path)) == 0);
    const char *name = strrchr(path, '/');
    assert(name && !strstr(path, "/../"));
    assert(str_equal(name, "/config.v2.json") || str_equal(name, "/config.json") ||
           str_equal(name, "/containers.json") || str_equal(name, "/volatile-containers.json"));
    assert(request->user || str_starts(path, "/var/lib/") || str_starts(path, "/var/snap/") ||
           str_starts(path, "/run/"));
    assert(request->user || !*request->home);
}

/* The packet has one descriptor per counter, or only that of the cgroup; no size exceeds the limits. */
static void check_bpf(const struct opener_bpf_packet *bpf, size_t n_fds)
{
    size_t n = 0;

    for (size_t i = 0; i < BPF_EVENTS_MAX; i++) {
        n += bpf->events[i].source == SOURCE_READ;
        assert(bpf->events[i].group < BPF_GROUPS_MAX && bpf->events[i].source <= SOURCE_SWITCHES);
    }
    assert(n_fds == n + (bpf->call == OPENER_BPF_ASSIGN));
    assert(n == 0 || bpf->call == OPENER_BPF_SET_CPU);
    assert(bpf->shape.slots <= SLOTS && bpf->shape.events <= BPF_EVENTS_MAX);
    assert(bpf->shape.groups <= BPF_GROUPS_MAX);
    assert(bpf->shape.cpus == (bpf->call == OPENER_BPF_START ? CPUS : 0));
    assert(bpf->number < (bpf->call == OPENER_BPF_ASSIGN ? SLOTS : CPUS));
    assert(bpf->call != OPENER_BPF_ASSIGN || bpf->number > 0);
}

static void check_request(const struct opener_request *request, bool sampling, const char *packet, size_t size,
                          size_t n_fds)
{
    switch (request->kind) {
    case OPENER_REQUEST_GROUP:
        check_group(request, sampling, packet, size, n_fds);
        break;
    case OPENER_REQUEST_FILE:
        assert(n_fds == 0);
        check_file(request->path, sampling);
        break;
    case OPENER_REQUEST_STATE:
        assert(n_fds == 0);
        check_state(request->state);
        break;
    case OPENER_REQUEST_BPF:
        check_bpf(request->bpf, n_fds);
        break;
    case OPENER_REQUEST_FINDER:
        assert(n_fds == 0 && sampling);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct opener_request request;

    if (size < 1)
        return 0;
    bool sampling = data[0] & SAMPLING;
    uint32_t counting[] = {0, 1, 3, 4}, probing[] = {6, 7};
    struct opener_permitted_event permitted[] = {
        {.type = 7, .config2 = 0x1234, .text = (char *)"/bin/true", .samples = true},
        {.type = PERF_TYPE_TRACEPOINT, .config = 310}};
    char *files[] = {(char *)"web.yml"};
    const struct opener_rules rules = {
        .daemon = 4711,
        .permissions = {.sampling = sampling,
                        .events = permitted,
                        .n_events = 2,
                        .files = files,
                        .n_files = 1,
                        .bpf_slots = SLOTS},
        .n_cpus = CPUS,
        .counting = {counting, ARRAY_SIZE(counting)},
        .probing = {probing, ARRAY_SIZE(probing)},
    };
    size_t n_fds = data[0] & ~SAMPLING;
    _cleanup_(freep) char *packet = copy_exact(data + 1, size - 1);
    if (opener_request_parse(packet, size - 1, n_fds, &request) < 0 || opener_request_check(&request, &rules) < 0)
        return 0;
    check_request(&request, sampling, packet, size - 1, n_fds);
    return 0;
}
