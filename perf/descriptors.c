/* SPDX-License-Identifier: Apache-2.0 */
/* How many descriptors counting and sampling may hold: see descriptors.h. */
#include "perf/descriptors.h"

#include "base/cleanup.h"

enum use { USE_NONE, USE_COUNTING, USE_SAMPLING };

static uint64_t less(uint64_t a, uint64_t b)
{
    return a - MIN(a, b);
}

/* What a sample is to contain is said by whatever samples, and by nothing that counts. */
static enum use use_of(const struct sys_group *group)
{
    return group->n > 0 && group->attrs[0].sample_type ? USE_SAMPLING : USE_COUNTING;
}

/* How many more may be opened. Neither of the two takes what is left to the other. */
static uint64_t room_for(const struct descriptors *descriptors, enum use use)
{
    const struct descriptor_limits *limits = &descriptors->limits;
    uint64_t room = less(limits->counting + limits->sampling, descriptors->n_counting + descriptors->n_sampling);

    if (use == USE_COUNTING)
        return MIN(room, less(limits->counting, descriptors->n_counting));
    return limits->sampling ? room : 0;
}

static void change(struct descriptors *descriptors, unsigned char use, int by)
{
    if (use == USE_COUNTING)
        descriptors->n_counting += (uint64_t)by;
    if (use == USE_SAMPLING)
        descriptors->n_sampling += (uint64_t)by;
}

static int make_place(struct descriptors *descriptors, size_t fd)
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

/* Takes a descriptor in. One that has the number of another is the proof that the other was closed. */
static int note(struct descriptors *descriptors, int fd, enum use use)
{
    int r = make_place(descriptors, (size_t)fd);

    if (r < 0)
        return r;
    change(descriptors, descriptors->uses[fd], -1);
    descriptors->uses[fd] = (unsigned char)use;
    change(descriptors, (unsigned char)use, 1);
    return 0;
}

/* Closes what is more than `keep`, from the last that opened, since a leader is closed behind its siblings. */
static void give_back(struct sys *sys, int *fds, size_t n, uint64_t keep)
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
 * Whether there is room is asked when it is known what the kernel has: an event that the machine lacks needs none, and
 * is not to be reported as one that found none. Nothing else of this thread happens meanwhile.
 */
static void limited_open_group(struct sys *sys, const struct sys_group *group, int *ret)
{
    struct descriptors *descriptors = sys->descriptors;
    enum use use = use_of(group);

    descriptors->open_group(sys, group, ret);
    give_back(sys, ret, group->n, room_for(descriptors, use));
    for (size_t i = 0; i < group->n; i++) {
        if (ret[i] < 0 || note(descriptors, ret[i], use) == 0)
            continue;
        descriptors->close(sys, ret[i]);
        ret[i] = -ENOMEM;
    }
}

static int limited_close(struct sys *sys, int fd)
{
    struct descriptors *descriptors = sys->descriptors;

    if (fd >= 0 && (size_t)fd < descriptors->n_uses) {
        change(descriptors, descriptors->uses[fd], -1);
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

uint64_t descriptors_room(const struct sys *sys, uint64_t own)
{
    const struct descriptors *descriptors = sys->descriptors;

    return descriptors ? less(descriptors->limits.counting, less(descriptors->n_counting, own)) : UINT64_MAX;
}

uint64_t descriptors_files(const struct sys *sys)
{
    return sys->descriptors ? sys->descriptors->limits.files : UINT64_MAX;
}
