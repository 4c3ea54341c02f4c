/* SPDX-License-Identifier: Apache-2.0 */
/* bpf(2): see bpf-call.h. */
#include "bpf/bpf-call.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

static __u64 address_of(const void *pointer)
{
    return (__u64)(uintptr_t)pointer;
}

static int bpf_call(enum bpf_cmd command, union bpf_attr *attr, size_t size)
{
    int r = (int)syscall(SYS_bpf, command, attr, size);

    return r < 0 ? -errno : r;
}

int bpf_call_update(int map, const void *key, const void *value)
{
    union bpf_attr attr = {.map_fd = (__u32)map, .key = address_of(key), .value = address_of(value)};

    return bpf_call(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr));
}

int bpf_call_delete(int map, const void *key)
{
    union bpf_attr attr = {.map_fd = (__u32)map, .key = address_of(key)};

    return bpf_call(BPF_MAP_DELETE_ELEM, &attr, sizeof(attr));
}

int bpf_call_freeze(int map)
{
    union bpf_attr attr = {.map_fd = (__u32)map};

    return bpf_call(BPF_MAP_FREEZE, &attr, sizeof(attr));
}

int bpf_call_attach(int program, const char *name)
{
    union bpf_attr attr = {.raw_tracepoint = {.name = address_of(name), .prog_fd = (__u32)program}};

    return bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

int bpf_call_run_on(int program, unsigned cpu)
{
    const __u64 arguments[4] = {0};
    union bpf_attr attr = {.test = {.prog_fd = (__u32)program,
                                    .ctx_in = address_of(arguments),
                                    .ctx_size_in = sizeof(arguments),
                                    .flags = BPF_F_TEST_RUN_ON_CPU,
                                    .cpu = cpu}};
    int r = bpf_call(BPF_PROG_TEST_RUN, &attr, sizeof(attr));

    return r < 0 ? r : (int)attr.test.retval;
}
