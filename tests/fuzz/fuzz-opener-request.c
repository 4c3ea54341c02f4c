/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a request to the opener: nothing outside of the packet is read, and what is allowed only counts, points
 * into the packet, and names nobody but the daemon. The first byte is the number of descriptors.
 */
#undef NDEBUG
#include <assert.h>

#include "base/cleanup.h"
#include "opener/opener-request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct opener_rules rules = {.daemon = 4711, .probe_types = {6, 7}};

/* Said in other words than the code under test says it. */
static void check_event(const struct perf_event_attr *attr, const char *packet, size_t size)
{
    bool probe = attr->type == 6 || attr->type == 7;
    uintptr_t begin = (uintptr_t)packet, text = (uintptr_t)attr->config1;

    assert(attr->size >= PERF_ATTR_SIZE_VER0 && attr->size <= sizeof(*attr));
    assert(!attr->sample_period && !attr->sample_type && !attr->freq && !attr->precise_ip && !attr->wakeup_events);
    assert(!attr->mmap && !attr->mmap2 && !attr->comm && !attr->task && !attr->inherit && !attr->sigtrap);
    assert(!attr->branch_sample_type && !attr->sample_regs_user && !attr->sample_stack_user && !attr->aux_watermark);
    if (!probe || !attr->config1)
        return;
    assert(text > begin && text < begin + size);
    assert(memchr((const char *)text, '\0', begin + size - text));
}

static void check_group(const struct opener_request *request, const char *packet, size_t size, size_t n_fds)
{
    const struct opener_group *group = request->group;
    bool in_cgroup = group->flags & PERF_FLAG_PID_CGROUP;

    assert(group->n_events >= 1 && group->n_events <= OPENER_EVENTS_MAX);
    assert(n_fds == (size_t)in_cgroup + group->leader);
    assert(group->pid == 4711 ? !in_cgroup : group->pid == -1 && group->cpu >= 0);
    for (size_t i = 0; i < group->n_events; i++) {
        struct perf_event_attr attr = opener_request_attr(request, i);
        check_event(&attr, packet, size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct opener_request request;

    if (size < 1)
        return 0;
    size_t n_fds = data[0];
    _cleanup_(freep) char *packet = malloc(MAX(size - 1, 1)); /* exactly that large, for AddressSanitizer */
    assert(packet);
    memcpy(packet, data + 1, size - 1);
    if (opener_request_parse(packet, size - 1, n_fds, &request) < 0 || opener_request_check(&request, &rules) < 0)
        return 0;
    if (request.kind == OPENER_GROUP) {
        check_group(&request, packet, size - 1, n_fds);
        return 0;
    }
    assert(str_starts(request.path, "/sys/kernel/") && !strstr(request.path, "..") && n_fds == 0);
    return 0;
}
