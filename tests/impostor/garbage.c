/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that are no requests; after each of them the opener still answers. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/impostor/ask.h"

/* A request that is right, which each attempt spoils in its own way. */
struct packet {
    struct opener_group_packet group;
    struct opener_packet_event events[2];
    char text[64];
};

static struct packet make_packet(void)
{
    struct packet packet;

    memset(&packet, 0, sizeof(packet));
    packet.group = (struct opener_group_packet){
        .header = {.version = OPENER_VERSION, .kind = OPENER_REQUEST_GROUP, .size = sizeof(packet)},
        .pid = -1,
        .n_events = 2,
        .text_size = sizeof(packet.text),
    };
    for (size_t i = 0; i < ARRAY_SIZE(packet.events); i++)
        packet.events[i].attr = (struct perf_event_attr){.size = sizeof(struct perf_event_attr),
                                                         .type = PERF_TYPE_SOFTWARE,
                                                         .config = PERF_COUNT_SW_CPU_CLOCK,
                                                         .disabled = 1};
    return packet;
}

/* Writes a 32-bit number over the request, at `offset`. */
struct spoiled {
    const char *name;
    size_t offset, size; /* size: what is sent, 0 for all */
    uint32_t value;
    size_t n_fds;
};

#define AT(member) offsetof(struct packet, member)

static const struct spoiled spoiled[] = {
    {"one byte", AT(group.n_events), 1, 2, 0},
    {"a header alone", AT(group.n_events), sizeof(struct opener_packet_header), 2, 0},
    {"half a group", AT(group.n_events), sizeof(struct opener_group_packet) / 2, 2, 0},
    {"half an event", AT(group.n_events), sizeof(struct opener_group_packet) + 20, 2, 0},
    {"a version of 0 and a kind of 0", AT(group.header.version), 0, 0, 0},
    {"a version that is none", AT(group.header.version), 0, 0x0001ffff, 0},
    {"a kind that is none", AT(group.header.version), 0, OPENER_VERSION | 0x7fff0000U, 0},
    {"a size that is larger", AT(group.header.size), 0, sizeof(struct packet) + 1, 0},
    {"a size that is smaller", AT(group.header.size), 0, sizeof(struct packet) - 1, 0},
    {"a size of 0", AT(group.header.size), 0, 0, 0},
    {"the greatest size", AT(group.header.size), 0, UINT32_MAX, 0},
    {"no event", AT(group.n_events), 0, 0, 0},
    {"one event more", AT(group.n_events), 0, 3, 0},
    {"65 events", AT(group.n_events), 0, 65, 0},
    {"events whose size overflows", AT(group.n_events), 0, 0x80000000U, 0},
    {"the greatest number of events", AT(group.n_events), 0, UINT32_MAX, 0},
    {"text that is not there", AT(group.text_size), 0, 65, 0},
    {"the most text", AT(group.text_size), 0, UINT32_MAX, 0},
    {"a leader that is missing", AT(group.leader), 0, 1, 0},
    {"two leaders", AT(group.leader), 0, 2, 0},
    {"a leader that nobody announced", AT(group.leader), 0, 0, 1},
    {"three descriptors", AT(group.leader), 0, 0, 3},
    {"60 descriptors", AT(group.leader), 0, 0, 60},
    {"a cgroup that is missing", AT(group.flags), 0, PERF_FLAG_PID_CGROUP, 0},
    {"text beside a software event", AT(events[0].text), 0, 1, 0},
    {"text that begins behind its end", AT(events[1].text), 0, 200, 0},
    {"whole is 2", AT(group.whole), 0, 2, 0},
};

static void judge_packet(struct impostor *impostor, const char *what, long got)
{
    static const struct must refused = REFUSED;
    char name[160];

    snprintf(name, sizeof(name), "packet: %s", what);
    impostor_judge(impostor, name, got, &refused);
}

static void try_spoiled(struct impostor *impostor, const struct spoiled *row)
{
    struct packet packet = make_packet();
    struct fd_list fds = {.n = row->n_fds};

    for (size_t i = 0; i < fds.n; i++)
        fds.fds[i] = STDOUT_FILENO;
    memcpy((char *)&packet + row->offset, &row->value, sizeof(row->value));
    judge_packet(impostor, row->name, ask_raw(impostor, &packet, row->size ? row->size : sizeof(packet), &fds, NULL));
}

static long ask_packet(struct impostor *impostor, const struct packet *packet)
{
    return ask_raw(impostor, packet, sizeof(*packet), &(struct fd_list){0}, NULL);
}

static long try_large(struct impostor *impostor, const struct attempt *attempt)
{
    _cleanup_(freep) char *bytes = calloc(1, attempt->number);

    return bytes ? ask_raw(impostor, bytes, attempt->number, &(struct fd_list){0}, NULL) : -ENOMEM;
}

static long try_path_without_end(struct impostor *impostor, const struct attempt *attempt)
{
    struct {
        struct opener_file_packet file;
        char path[24];
    } packet = {.file = {.header = {.version = OPENER_VERSION, .kind = OPENER_REQUEST_FILE, .size = sizeof(packet)}}};

    memset(packet.path, 'x', sizeof(packet.path));
    memcpy(packet.path, "/proc/kallsyms", strlen("/proc/kallsyms") + attempt->number);
    return ask_raw(impostor, &packet, sizeof(packet), &(struct fd_list){0}, NULL);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Any outcome is well but the end of the opener. */
static long try_random(struct impostor *impostor, const struct attempt *attempt)
{
    uint64_t state = attempt->number;

    for (int i = 0; i < 3000; i++) {
        struct packet packet = make_packet();
        for (uint64_t n = next_random(&state) % 4; n < 4; n++)
            ((unsigned char *)&packet)[sizeof(struct opener_packet_header) +
                                       next_random(&state) % (sizeof(packet) - sizeof(struct opener_packet_header))] ^=
                1U << next_random(&state) % 8;
        long got = ask_packet(impostor, &packet);
        if (got == -EPIPE || got == -ECONNRESET || got == -EAGAIN)
            return got;
    }
    return 0;
}

static long try_counter(struct impostor *impostor, const struct attempt *attempt)
{
    struct packet packet = make_packet();

    (void)attempt;
    packet.group.text_size = 0;
    packet.group.header.size = offsetof(struct packet, text);
    return ask_raw(impostor, &packet, offsetof(struct packet, text), &(struct fd_list){0}, NULL);
}

static const struct attempt attempts[] = {
    {"packet: 64 KiB of zeros", try_large, .must = REFUSED, .number = 65536},
    {"packet: 150 KiB of zeros", try_large, .must = MUST(EBADMSG, EBADRQC, EMSGSIZE), .number = 150000},
    {"packet: a path without an end", try_path_without_end, .must = REFUSED, .number = 0},
    {"packet: a path with two ends", try_path_without_end, .must = REFUSED, .number = 1},
    {"packet: 3,000 with bits that are flipped", try_random, .must = MUST_WORK, .number = 88172645463325252},
    {"after all that, a counter is opened", try_counter, .must = MUST_WORK},
};

void garbage_run(struct impostor *impostor)
{
    for (size_t i = 0; i < ARRAY_SIZE(spoiled); i++)
        try_spoiled(impostor, &spoiled[i]);
    impostor_try(impostor, attempts, ARRAY_SIZE(attempts));
}
