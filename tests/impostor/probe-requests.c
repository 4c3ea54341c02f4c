/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for probes: in other programs, in the middle of an instruction, in the kernel. */
#include <stdio.h>
#include <unistd.h>

#include "tests/impostor/ask.h"
#include "tests/impostor/helper.h"

#define UPROBE_REF_CTR_SHIFT 32
#define RETPROBE 1

/* The probe is kept for a while, so that it hurts. */
static long keep_a_while(long got, int fd)
{
    if (fd >= 0) {
        usleep(200000);
        close(fd);
    }
    return got;
}

static long ask_uprobe(struct impostor *impostor, uint64_t config, const char *path, uint64_t offset)
{
    int fd = -1;

    if (impostor->known.uprobe_type < 0)
        return impostor_skip(impostor, "this kernel has no uprobes");
    return keep_a_while(ask_probe(impostor, (uint32_t)impostor->known.uprobe_type, config, path, offset, &fd), fd);
}

/* In the witness: `number` bytes behind the beginning of its function. */
static long try_victim(struct impostor *impostor, const struct attempt *attempt)
{
    return ask_uprobe(impostor, 0, impostor->known.program, impostor->known.victim_offset + attempt->number);
}

static long try_witness(struct impostor *impostor, const struct attempt *attempt)
{
    (void)attempt;
    if (!impostor->witness)
        return impostor_skip(impostor, "no process of root's was started before the split");
    return witness_lives(impostor->witness) ? 0 : -EFAULT;
}

static long try_uprobe(struct impostor *impostor, const struct attempt *attempt)
{
    return ask_uprobe(impostor, attempt->number, attempt->text, 0x1000);
}

/* The first uprobe of the configuration: "uprobe/path=P,offset=O/". NULL where there is none. */
static const char *configured_uprobe(const struct impostor *impostor, uint64_t *ret_offset)
{
    const struct config_groups *groups = &impostor->config->cpu.groups;

    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; k < groups->items[i].n_events; k++) {
            const struct event *event = &groups->items[i].events[k].event;
            const char *path = NULL;
            for (size_t t = 0; t < event->n_terms; t++)
                if (str_equal(event->terms[t].name, "path"))
                    path = event->terms[t].text;
                else if (str_equal(event->terms[t].name, "offset"))
                    *ret_offset = event->terms[t].value;
            if (path && event->pmu && str_equal(event->pmu, "uprobe"))
                return path;
        }
    return NULL;
}

/* The same, but elsewhere or otherwise. */
static long try_configured(struct impostor *impostor, const struct attempt *attempt)
{
    uint64_t offset = 0;
    const char *path = configured_uprobe(impostor, &offset);

    if (!path)
        return impostor_skip(impostor, "no uprobe is configured");
    return ask_uprobe(impostor, attempt->number, path, offset + (attempt->text ? 1 : 0));
}

/* An account that the program belongs to puts a link to another in its place. */
static long try_replaced(struct impostor *impostor, const struct attempt *attempt)
{
    struct order order = {.kind = ORDER_REPLACE};
    uint64_t offset = 0;
    const char *path = configured_uprobe(impostor, &offset);

    (void)attempt;
    if (!path || impostor->accomplice < 0)
        return impostor_skip(impostor, "no uprobe is configured, or there is no other account");
    snprintf(order.path, sizeof(order.path), "%s", path);
    long r = helper_order(impostor->accomplice, &order, -1);
    return r < 0 ? r : ask_uprobe(impostor, 0, path, offset);
}

static long try_kprobe(struct impostor *impostor, const struct attempt *attempt)
{
    int fd = -1;

    if (impostor->known.kprobe_type < 0)
        return impostor_skip(impostor, "this kernel has no kprobes");
    return keep_a_while(
        ask_probe(impostor, (uint32_t)impostor->known.kprobe_type, attempt->number, attempt->text, 0, &fd), fd);
}

/* Without a name the offset is the address. */
static long try_kernel_address(struct impostor *impostor, const struct attempt *attempt)
{
    int fd = -1;

    if (impostor->known.kprobe_type < 0)
        return impostor_skip(impostor, "this kernel has no kprobes");
    return keep_a_while(ask_probe(impostor, (uint32_t)impostor->known.kprobe_type, 0, NULL,
                                  impostor->known.kernel_function + attempt->number, &fd),
                        fd);
}

/* config1 as a number, which is a pointer where it arrives. */
static long try_pointer(struct impostor *impostor, const struct attempt *attempt)
{
    struct {
        struct opener_group_packet group;
        struct opener_packet_event event;
    } packet;

    if (impostor->known.uprobe_type < 0)
        return impostor_skip(impostor, "this kernel has no uprobes");
    memset(&packet, 0, sizeof(packet));
    packet.group = (struct opener_group_packet){
        .header = {.version = OPENER_VERSION, .kind = OPENER_REQUEST_GROUP, .size = sizeof(packet)},
        .pid = -1,
        .n_events = 1};
    packet.event.attr = (struct perf_event_attr){.size = sizeof(struct perf_event_attr),
                                                 .type = (uint32_t)impostor->known.uprobe_type,
                                                 .config1 = attempt->number};
    return ask_raw(impostor, &packet, sizeof(packet), &(struct fd_list){0}, NULL);
}

static const struct attempt attempts[] = {
    {"request: a uprobe in root's process, in the middle of an instruction", try_victim, .must = REFUSED, .number = 1},
    {"request: a uprobe in root's process, two bytes into it", try_victim, .must = REFUSED, .number = 2},
    {"root's process lives, and its function is right", try_witness, .must = MUST_WORK},
    {"request: a uprobe in /bin/sh", try_uprobe, .must = REFUSED, .text = "/bin/sh", .number = 0},
    {"request: a uprobe with its return in /bin/sh", try_uprobe, .must = REFUSED, .text = "/bin/sh",
     .number = RETPROBE},
    {"request: a uprobe with a counter in memory", try_uprobe, .must = REFUSED, .text = "/bin/sh",
     .number = UINT64_C(0x2000) << UPROBE_REF_CTR_SHIFT},
    {"request: a uprobe in /etc/shadow", try_uprobe, .must = REFUSED, .text = "/etc/shadow", .number = 0},
    {"request: a uprobe without a path", try_uprobe, .must = REFUSED, .text = "", .number = 0},
    {"request: the configured uprobe, one byte further", try_configured, .must = REFUSED, .text = "further",
     .number = 0},
    {"request: the configured uprobe, at its return", try_configured, .must = REFUSED, .number = RETPROBE},
    {"request: the configured uprobe, with a counter in memory", try_configured, .must = REFUSED,
     .number = UINT64_C(0x2000) << UPROBE_REF_CTR_SHIFT},
    {"request: the configured uprobe, with unknown bits", try_configured, .must = REFUSED, .number = 2},
    {"request: the configured uprobe, in a program that a stranger put in its place", try_replaced,
     .must = MUST(EACCES, EPERM, EROFS, EBADRQC)},
    {"request: a kprobe", try_kprobe, .must = REFUSED, .text = "vfs_read", .number = 0},
    {"request: a kprobe at a return", try_kprobe, .must = REFUSED, .text = "do_nanosleep", .number = RETPROBE},
    {"request: a kprobe at an address", try_kernel_address, .must = REFUSED, .number = 0},
    {"request: a kprobe behind the beginning of a function", try_kernel_address, .must = REFUSED, .number = 4},
    {"request: a pointer as a probe's path", try_pointer, .must = REFUSED, .number = 0x41414141},
    {"request: a pointer to the kernel as a probe's path", try_pointer, .must = REFUSED, .number = UINT64_MAX << 40},
    {"request: no path at all", try_pointer, .must = REFUSED, .number = 0},
};

void probe_requests_run(struct impostor *impostor)
{
    impostor_try(impostor, attempts, ARRAY_SIZE(attempts));
}
