/* SPDX-License-Identifier: Apache-2.0 */
/* The share of descriptors for counting and sampling: see descriptors.h. */
#include "perf/descriptors.h"

#include "base/cleanup.h"

enum descriptor_use { USE_NONE, USE_COUNTING, USE_SAMPLING };

/* a - b, or 0. */
static uint64_t saturating_sub(uint64_t a, uint64_t b)
{
    return a - MIN(a, b);
}

/* Every sampling event has a sample_type, and no counting one. */
static enum descriptor_use use_of(const struct sys_group *group)
{
    return group->n > 0 && group->attrs[0].sample_type ? USE_SAMPLING : USE_COUNTING;
}

/* How many more may be opened for `use`. Neither use takes the room of the other. */
static uint64_t room_for(const struct descriptors *descriptors, enum descriptor_use use)
{
    const struct descriptor_limits *limits = &descriptors->limits;
    uint64_t room =
        saturating_sub(limits->counting + limits->sampling, descriptors->n_counting + descriptors->n_sampling);

    if (use == USE_COUNTING)
        return MIN(room, saturating_sub(limits->counting, descriptors->n_counting));
    return limits->sampling ? room : 0;
}

static void change_count(struct descriptors *descriptors, unsigned char use, int by)
{
    if (use == USE_COUNTING)
        descriptors->n_counting += (uint64_t)by;
    if (use == USE_SAMPLING)
        descriptors->n_sampling += (uint64_t)by;
}

static int grow_uses(struct descriptors *descriptors, size_t fd)
{
    size_t n = MAX(2 * descriptors->n_uses, fd + 1);

    if (fd < descriptors->n_uses)
        return 0;
    unsigned char *uses = realloc(descriptors->uses, n);
    if (!uses)
        return -ENOMEM;
    memset(uses + descriptors->n_uses, USE_NONE, n - descriptors->n_uses);
    descriptors->uses = uses;
    descriptors->n_uses = n;
    return 0;
}

/* Records a new descriptor. If its number is recorded already, the older descriptor was closed. */
static int record_use(struct descriptors *descriptors, int fd, enum descriptor_use use)
{
    int r = grow_uses(descriptors, (size_t)fd);

    if (r < 0)
        return r;
    change_count(descriptors, descriptors->uses[fd], -1);
    descriptors->uses[fd] = (unsigned char)use;
    change_count(descriptors, (unsigned char)use, 1);
    return 0;
}

/* Closes all but `keep` descriptors, the last first, since a leader is closed after its siblings. */
static void close_excess(struct sys *sys, int *fds, size_t n, uint64_t keep)
{
    uint64_t opened = 0;

    for (size_t i = 0; i < n; i++)
        opened += fds[i] >= 0;
    for (size_t i = n; i-- > 0 && opened > keep;) {
        if (fds[i] < 0)
            continue;
        sys->descriptors->close(sys, fds[i]);
        fds[i] = -EMFILE;
        opened--;
    }
}

/*
 * The room is checked after the kernel has opened the events: one that the machine does not have needs no room, and
 * must not be reported as one without room. This thread does nothing else in between.
 */
static void limited_open_group(struct sys *sys, const struct sys_group *group, int *ret)
{
    struct descriptors *descriptors = sys->descriptors;
    enum descriptor_use use = use_of(group);

    descriptors->open_group(sys, group, ret);
    close_excess(sys, ret, group->n, room_for(descriptors, use));
    for (size_t i = 0; i < group->n; i++) {
        if (ret[i] < 0 || record_use(descriptors, ret[i], use) == 0)
            continue;
        descriptors->close(sys, ret[i]);
        ret[i] = -ENOMEM;
    }
}

static int limited_close(struct sys *sys, int fd)
{
    struct descriptors *descriptors = sys->descriptors;

    if (fd >= 0 && (size_t)fd < descriptors->n_uses) {
        change_count(descriptors, descriptors->uses[fd], -1);
        descriptors->uses[fd] = USE_NONE;
    }
    return descriptors->close(sys, fd);
}

void descriptors_attach(struct descriptors *descriptors, struct sys *sys, const struct descriptor_limits *limits)
{
    *descriptors = (struct descriptors){.limits = *limits, .open_group = sys->open_group, .close = sys->close};
    sys->descriptors = descriptors;
    sys->open_group = limited_open_group;
    sys->close = limited_close;
}

void descriptors_done(struct descriptors *descriptors, struct sys *sys)
{
    if (!descriptors || !descriptors->open_group)
        return;
    sys->open_group = descriptors->open_group;
    sys->close = descriptors->close;
    sys->descriptors = NULL;
    free(descriptors->uses);
    *descriptors = (struct descriptors){0};
}

int descriptors_keep(struct sys *sys, const int *fds, size_t n)
{
    struct descriptors *descriptors = sys->descriptors;

    if (!descriptors)
        return 0;
    if (room_for(descriptors, USE_COUNTING) < n)
        return -EMFILE;
    for (size_t i = 0; i < n; i++)
        if (grow_uses(descriptors, (size_t)fds[i]) < 0)
            return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        record_use(descriptors, fds[i], USE_COUNTING);
    return 0;
}

uint64_t descriptors_room(const struct sys *sys, uint64_t own)
{
    const struct descriptors *descriptors = sys->descriptors;

    return descriptors ? saturating_sub(descriptors->limits.counting, saturating_sub(descriptors->n_counting, own))
                       : UINT64_MAX;
}
