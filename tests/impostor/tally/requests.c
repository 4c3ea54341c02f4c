/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for a tally that is larger than the rules say, of things that are no counters and no cgroups, and of many.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "perf/hierarchy.h"
#include "perf/tally/tally.h"
#include "tests/impostor/ask.h"

/* More than may be in memory at the same time. */
#define HOARD 8
/* Of 10 ms, until the kernel has freed them. */
#define GONE_TRIES 300

static struct tally_shape smallest(const struct impostor *impostor)
{
    return (struct tally_shape){.cpus = impostor->client->rules.n_cpus, .slots = 3, .events = 1, .groups = 1};
}

static long start(struct impostor *impostor, const struct tally_shape *shape, struct tally_maps *ret)
{
    struct error error;
    long r = impostor->sys.tally->start(&impostor->sys, shape, ret, &error);

    if (r < 0)
        impostor_skip(impostor, "%.250s", error.message);
    return r;
}

static long try_shape(struct impostor *impostor, const struct attempt *attempt)
{
    struct tally_shape shape = smallest(impostor);
    struct tally_maps maps;
    uint32_t *const fields[] = {&shape.cpus, &shape.slots, &shape.events, &shape.groups};

    *fields[attempt->number >> 32] = (uint32_t)attempt->number;
    long r = start(impostor, &shape, &maps);
    if (r == 0) {
        close(maps.counts);
        close(maps.records);
    }
    return r;
}

static long try_slots(struct impostor *impostor, const struct attempt *attempt)
{
    const struct attempt one_more = {.number =
                                         UINT64_C(1) << 32 | (impostor->client->rules.permissions.tally_slots + 1)};

    (void)attempt;
    return try_shape(impostor, &one_more);
}

/* Another descriptor in the place of a counter. */
static long try_counter(struct impostor *impostor, const struct attempt *attempt)
{
    static const struct tally_event event = {.source = TALLY_READ, .gives_times = 1};
    _cleanup_(closep) int fd =
        attempt->text ? open(attempt->text, O_RDONLY | O_CLOEXEC) : dup(impostor->client->socket);
    const struct tally_shape shape = smallest(impostor);
    struct tally_maps maps;
    long r = start(impostor, &shape, &maps);

    if (r < 0)
        return ATTEMPT_SKIPPED;
    r = impostor->sys.tally->set_cpu(&impostor->sys, (unsigned)attempt->number, &event, &fd);
    close(maps.counts);
    close(maps.records);
    impostor->sys.tally->stop(&impostor->sys);
    return r;
}

/* Any directory, or the cgroups' own, which has no slot that nobody may have. */
static long try_cgroup(struct impostor *impostor, const struct attempt *attempt)
{
    struct hierarchy hierarchy;
    uint64_t id;

    if (hierarchy_find(&impostor->sys, &hierarchy, NULL) < 0)
        return impostor_skip(impostor, "there are no cgroups");
    _cleanup_(closep) int fd = open(attempt->text ?: hierarchy.path, O_RDONLY | O_CLOEXEC);
    hierarchy_done(&hierarchy);
    if (fd < 0)
        return impostor_skip(impostor, "there is no %s", attempt->text);
    return impostor->sys.tally->assign(&impostor->sys, fd, (uint32_t)attempt->number, &id);
}

/* Each has memory of the kernel's for as long as somebody has its descriptor. */
static long try_hoard(struct impostor *impostor, const struct attempt *attempt)
{
    const struct tally_shape shape = smallest(impostor);
    struct tally_maps maps[HOARD];
    size_t n = 0;
    long r = 0;

    (void)attempt;
    while (n < HOARD && r == 0) {
        r = start(impostor, &shape, &maps[n]);
        n += r == 0;
    }
    for (size_t i = 0; i < n; i++) {
        close(maps[i].counts);
        close(maps[i].records);
    }
    impostor->sys.tally->stop(&impostor->sys);
    return n == 0 ? ATTEMPT_SKIPPED : r;
}

/*
 * They are gone from memory, so that another may be there; soon, since the kernel frees a program, which holds its
 * maps, after a grace period (bpf_prog_put()).
 */
static long try_again(struct impostor *impostor, const struct attempt *attempt)
{
    const struct tally_shape shape = smallest(impostor);
    struct tally_maps maps;
    long r = start(impostor, &shape, &maps);

    (void)attempt;
    for (int i = 0; i < GONE_TRIES && r == -EBUSY; i++) {
        usleep(10000);
        r = start(impostor, &shape, &maps);
    }
    if (r < 0)
        return r == -EBUSY ? r : ATTEMPT_SKIPPED;
    close(maps.counts);
    close(maps.records);
    impostor->sys.tally->stop(&impostor->sys);
    return 0;
}

#define SHAPE(field, value) (uint64_t)(field) << 32 | (value)
enum { CPUS, SLOTS, EVENTS, GROUPS };

void tally_requests_run(struct impostor *impostor)
{
    static const struct attempt attempts[] = {
        {"request: a tally with more slots than the configuration has", try_slots, REFUSED, NULL, 0},
        {"request: a tally with endless slots", try_shape, REFUSED, NULL, SHAPE(SLOTS, UINT32_MAX)},
        {"request: a tally without slots", try_shape, REFUSED, NULL, SHAPE(SLOTS, 0)},
        {"request: a tally of a CPU that there cannot be", try_shape, REFUSED, NULL, SHAPE(CPUS, 100000)},
        {"request: a tally of more events than there may be", try_shape, REFUSED, NULL,
         SHAPE(EVENTS, TALLY_EVENTS_MAX + 1)},
        {"request: a tally of more groups than there may be", try_shape, REFUSED, NULL,
         SHAPE(GROUPS, TALLY_GROUPS_MAX + 1)},
        {"request: a tally without events", try_shape, REFUSED, NULL, SHAPE(EVENTS, 0)},
        {"request: /tmp in a tally", try_cgroup, REFUSED, "/tmp", 2},
        {"request: /proc in a tally", try_cgroup, REFUSED, "/proc", 2},
        {"request: a file in a tally", try_cgroup, REFUSED, "/dev/null", 2},
        {"request: the slot of the unknown", try_cgroup, REFUSED, NULL, TALLY_SLOT_UNKNOWN},
        {"request: the slot that is none", try_cgroup, REFUSED, NULL, TALLY_SLOT_NONE},
        {"request: a file as a counter of a tally", try_counter, MUST(EINVAL, EBADF), "/proc/self/stat", 0},
        {"request: a socket as a counter of a tally", try_counter, MUST(EINVAL, EBADF), NULL, 0},
        {"request: a counter of a CPU that there cannot be", try_counter, REFUSED, "/dev/null", 100000},
        {"request: tallies whose descriptors are kept", try_hoard, MUST(EBUSY), NULL, 0},
        {"request: a tally after they are closed", try_again, MUST_WORK, NULL, 0},
    };

    impostor_try(impostor, attempts, ARRAY_SIZE(attempts));
}
