/* SPDX-License-Identifier: Apache-2.0 */
/* Counting cgroups by BPF: see tally.h. */
#include "collectors/cgroup/tally-engine.h"

#include "base/cleanup.h"
#include "collectors/cgroup/bpf-counts.h"
#include "collectors/cgroup/bpf-rows.h"
#include "collectors/cgroup/tally-layout.h"
#include "collectors/cgroup/tally-run.h"
#include "perf/sys.h"

struct cgroup_tally {
    struct sys *sys;
    struct tally_groups groups;
    struct tally_rows *rows;
    struct tally_layout layout;
    struct crediting crediting;
    struct tally_run *counting, *started; /* `started` takes over; else NULL */
    unsigned n_runs;                      /* how many were started: the number of the last */
    uint32_t cpus;
    bool namespaced, paused;
    bool unsettled; /* slots are new or given up, or tasks were moved: the CPUs have to look again */
    bool behind;    /* the program does not have the counters of all CPUs yet */
    struct error error;
};

struct cgroup_tally *cgroup_tally_free(struct cgroup_tally *tally, const struct collector_context *context)
{
    if (!tally)
        return NULL;
    if (tally->sys->tally) /* the opener may be gone before */
        tally->sys->tally->stop(tally->sys);
    tally_run_free(tally->counting);
    tally_run_free(tally->started);
    tally_rows_free(tally->rows);
    tally_groups_done(&tally->groups, context);
    crediting_done(&tally->crediting);
    tally_layout_done(&tally->layout);
    free(tally);
    return NULL;
}

/* --- reading --- */

bool cgroup_tally_is_lost(const struct cgroup_tally *tally)
{
    const struct tally_calls *calls = tally->sys->tally;

    return !calls || (calls->is_lost && calls->is_lost(tally->sys));
}

static bool is_slot_idle(const void *userdata, uint32_t slot)
{
    return tally_run_is_idle(userdata, slot);
}

/* Records that stand still say nothing: what runs has not run since. */
static size_t tally_read_slots(struct cgroup_tally *tally, uint32_t first, uint32_t last)
{
    if (!tally->counting || cgroup_tally_is_lost(tally))
        return 0;
    return tally_run_read(tally->counting, &tally->groups, first, last, crediting_add, &tally->crediting);
}

/*
 * Only this function makes the CPUs look again after tasks were moved, so that a user who moves tasks all the time
 * causes at most one flush per reading.
 */
size_t cgroup_tally_read(struct cgroup_tally *tally)
{
    if (tally->counting && tally_reader_saw_moves(tally->counting->reader))
        tally->unsettled = true;
    cgroup_tally_settle(tally);
    size_t n = tally_read_slots(tally, 0, UINT32_MAX);
    if (tally->counting)
        slots_sweep(&tally->crediting.slots, is_slot_idle, tally->counting);
    tally_rows_update(tally->rows);
    return n;
}

size_t cgroup_tally_read_one(struct cgroup_tally *tally, const struct cgroup_counts *counts)
{
    size_t n = counts->slot ? tally_read_slots(tally, counts->slot, counts->slot) : 0;

    tally_rows_update(tally->rows);
    return n;
}

/* --- starting another --- */

/* Starts another tally, of at least that many slots. All cgroups get their slots in it again. */
static int tally_start(struct cgroup_tally *tally, const struct tally_groups *groups, uint32_t slots,
                       struct error *error)
{
    struct tally_shape shape = {
        .cpus = tally->cpus, .slots = slots, .events = groups->events, .groups = groups->groups};
    struct tally_run *run = NULL;

    if (slots_reserve(&tally->crediting.slots, slots) < 0)
        return error_oom(error);
    int r = tally_run_new(tally->sys, &shape, groups, &run, error);
    if (r < 0)
        return r;
    tally_run_free(tally->started);
    tally->started = run;
    tally->n_runs++;
    slots_use(&tally->crediting.slots, slots);
    return 0;
}

int cgroup_tally_make_room(struct cgroup_tally *tally, uint64_t n, uint64_t max, struct error *error)
{
    uint32_t slots = slots_for(n + tally->crediting.slots.n_given_up, max);

    if (n + tally->crediting.slots.n_given_up + TALLY_SLOT_FIRST <= tally->crediting.slots.n ||
        slots <= tally->crediting.slots.n)
        return 0;
    int r = tally_start(tally, &tally->groups, slots, error);
    return r < 0 ? r : 1;
}

/* --- taking over --- */

/* Its last reading. In the kernel it goes on until another one is attached. */
static void tally_end_counting(struct cgroup_tally *tally)
{
    tally_read_slots(tally, 0, UINT32_MAX);
    tally->counting = tally_run_free(tally->counting);
}

static int tally_take_over(struct cgroup_tally *tally, struct error *error)
{
    tally_end_counting(tally);
    int r = tally->sys->tally->attach(tally->sys, true);
    if (r < 0)
        return error_set(error, r, "cannot attach the program that counts cgroups to the kernel's switches: %s",
                         strerror(-r));
    tally->counting = steal(tally->started);
    tally->unsettled = false;
    slots_free_others(&tally->crediting.slots, tally->n_runs);
    r = tally_run_test(tally->counting, &tally->groups, crediting_add, &tally->crediting, error);
    if (r == 0 && tally->paused)
        r = tally->sys->tally->attach(tally->sys, false);
    return r;
}

/* -ENOENT: it is not in this tally. */
static bool withdraw_given_up(struct cgroup_tally *tally)
{
    for (uint32_t i = TALLY_SLOT_FIRST; i < tally->crediting.slots.n && tally->crediting.slots.n_given_up; i++) {
        struct slot *slot = &tally->crediting.slots.items[i];
        if (slot->state != SLOT_GIVEN_UP)
            continue;
        int r = tally->sys->tally->withdraw(tally->sys, slot->id);
        if (r < 0 && r != -ENOENT)
            return false;
    }
    return true;
}

/* An opener that does not answer is asked again at the next reading. */
static int tally_set_cpus(struct cgroup_tally *tally, struct error *error)
{
    int r = tally->counting ? tally_run_set_cpus(tally->counting, &tally->groups, error) : 0;

    tally->behind = r == -ETIMEDOUT;
    tally->unsettled |= r > 0;
    return tally->behind ? 0 : MIN(r, 0);
}

/* A call that fails is tried again at the next reading. */
void cgroup_tally_settle(struct cgroup_tally *tally)
{
    struct error error = {0};

    if ((tally->started && tally_take_over(tally, &error) < 0) || (tally->behind && tally_set_cpus(tally, &error) < 0))
        tally->error = error;
    if (!tally->unsettled || !withdraw_given_up(tally) || tally->sys->tally->flush(tally->sys) < 0)
        return;
    slots_settle(&tally->crediting.slots);
    tally->unsettled = false;
}

/* --- opening --- */

/* After the groups were configured. */
static int tally_describe(struct cgroup_tally *tally, const struct collector_context *context, struct error *error)
{
    tally_layout_done(&tally->layout);
    int r = tally_layout_init(&tally->layout, &tally->groups, context);
    if (r == 0)
        r = tally_rows_resume(&tally->rows, context, &tally->groups);
    tally->crediting.events = tally->groups.events;
    tally->crediting.groups = tally->groups.groups;
    return r < 0 ? error_oom(error) : 0;
}

int cgroup_tally_new(const struct collector_context *context, bool namespaced, struct cgroup_tally **ret,
                     struct error *error)
{
    struct cgroup_tally *tally = calloc(1, sizeof(*tally));

    if (!tally)
        return error_oom(error);
    *tally = (struct cgroup_tally){.sys = context->sys,
                                   .cpus = cpuset_end(&context->machine->possible),
                                   .namespaced = namespaced,
                                   .paused = context->paused};
    tally->crediting.unknown.created_ns = tally->sys->now(tally->sys, CLOCK_REALTIME);
    int r = tally_groups_configure(&tally->groups, context, error);
    if (r == 0)
        r = tally_describe(tally, context, error);
    if (r == 0)
        r = tally_start(tally, &tally->groups, SLOTS_MIN, error);
    if (r == 0)
        r = tally_take_over(tally, error);
    if (r < 0) {
        cgroup_tally_free(tally, context);
        return r;
    }
    *ret = tally;
    return 0;
}

/* The groups before are counted until the others and their tally are there, which takes a while. */
static int tally_replace(struct cgroup_tally *tally, const struct collector_context *context, struct error *error)
{
    struct tally_groups groups = {0};
    int r = tally_groups_configure(&groups, context, error);

    if (r == 0)
        r = tally_start(tally, &groups, tally->crediting.slots.n, error);
    if (r == 0)
        tally_end_counting(tally);
    tally_groups_done(r == 0 ? &tally->groups : &groups, context);
    if (r < 0)
        return r;
    tally->groups = groups;
    return tally_describe(tally, context, error);
}

/* The groups go on, but for those on CPUs that left or came. */
static int tally_go_on(struct cgroup_tally *tally, const struct collector_context *context, struct error *error)
{
    _cleanup_(tally_layout_done) struct tally_layout before = {0};

    cgroup_tally_read(tally);
    int r = tally_groups_configure(&tally->groups, context, error);
    before = tally->layout;
    tally->layout = (struct tally_layout){0};
    if (r == 0)
        r = tally_describe(tally, context, error);
    if (r < 0)
        return r;
    if (!str_equal(tally->layout.words, before.words)) {
        tally->counting = tally_run_free(tally->counting);
        return tally_start(tally, &tally->groups, tally->crediting.slots.n, error);
    }
    return tally_set_cpus(tally, error);
}

int cgroup_tally_resume(struct cgroup_tally *tally, const struct collector_context *context, struct error *error)
{
    int r = tally_layout_is_wanted(&tally->layout, context);

    if (r < 0)
        return error_oom(error);
    cgroup_tally_settle(tally);
    int failed = cgroup_tally_check(tally, error);
    if (failed < 0)
        return failed;
    return r ? tally_go_on(tally, context, error) : tally_replace(tally, context, error);
}

/*
 * The counters are stopped before the program is detached, and started after it is attached again, so that nothing is
 * lost in between. A program that was lost with its opener needs no detaching.
 */
int cgroup_tally_pause(struct cgroup_tally *tally, const struct collector_context *context)
{
    bool lost = cgroup_tally_is_lost(tally);
    int r = 0;

    tally->paused = context->paused;
    if (!context->paused && !lost)
        r = tally->sys->tally->attach(tally->sys, true);
    int error = group_collector_pause(context, &tally->groups.collector);
    r = r < 0 ? r : error;
    if (context->paused && !lost) {
        error = tally->sys->tally->attach(tally->sys, false);
        r = r < 0 ? r : error;
    }
    return r;
}

/* --- which are watched --- */

/* Of the kernel's root there is nothing to assign: it has what no other has. */
static bool is_root(const struct cgroup_tally *tally, const struct cgroup_counts *counts)
{
    return !tally->namespaced && str_equal(counts->path, "/");
}

static int take_slot(struct cgroup_tally *tally, struct cgroup_counts *counts)
{
    uint32_t slot = slots_take(&tally->crediting.slots, counts);

    if (slot == TALLY_SLOT_NONE && tally->crediting.slots.n_given_up) {
        cgroup_tally_read(tally);
        slot = slots_take(&tally->crediting.slots, counts);
    }
    if (slot == TALLY_SLOT_NONE)
        return -ENOSPC;
    counts->slot = slot;
    return 0;
}

static void set_root(struct cgroup_tally *tally, struct cgroup_counts *counts)
{
    tally->crediting.slots.items[TALLY_SLOT_UNKNOWN].counts = tally->crediting.slots.items[TALLY_SLOT_ROOT].counts =
        counts;
}

int cgroup_tally_watch(struct cgroup_tally *tally, struct cgroup_counts *counts, int fd)
{
    bool had_one = counts->slot;
    int r = crediting_make_room(&tally->crediting, counts->path);

    if (r == 0 && is_root(tally, counts)) {
        counts->slot = TALLY_SLOT_ROOT;
        set_root(tally, counts);
        return 0;
    }
    if (r == 0 && !had_one)
        r = take_slot(tally, counts);
    if (r < 0)
        return r;
    struct slot *slot = &tally->crediting.slots.items[counts->slot];
    if (slot->run == tally->n_runs)
        return 0;
    r = tally->sys->tally->assign(tally->sys, fd, counts->slot, &slot->id);
    if (r < 0) {
        if (!had_one)
            slots_free(&tally->crediting.slots, counts->slot);
        counts->slot = had_one ? counts->slot : 0;
        return r;
    }
    slot->run = tally->n_runs;
    tally->unsettled = true;
    return 0;
}

void cgroup_tally_unwatch(struct cgroup_tally *tally, struct cgroup_counts *counts)
{
    struct cgroup_counts *heir = crediting_find_above(counts);
    uint32_t slot = counts->slot;

    if (!slot)
        return;
    tallied_counts_end(counts->tallied, heir ? heir->tallied : NULL);
    counts->slot = 0;
    if (slot == TALLY_SLOT_ROOT)
        set_root(tally, NULL);
    else
        slots_end(&tally->crediting.slots, slot, heir);
    tally->unsettled = true;
}

void cgroup_tally_forget(struct cgroup_tally *tally, const struct cgroup_counts *counts)
{
    slots_forget(&tally->crediting.slots, counts);
}

/* --- what it says --- */

int cgroup_tally_check(const struct cgroup_tally *tally, struct error *error)
{
    if (!tally->error.message[0])
        return 0;
    *error = tally->error;
    return -EBADE;
}

bool cgroup_tally_is_stale(const struct cgroup_tally *tally)
{
    return tally->error.message[0] || tally_groups_are_stale(&tally->groups);
}

const struct tally_rows *cgroup_tally_rows(const struct cgroup_tally *tally)
{
    return tally->rows;
}

int cgroup_tally_report(const struct cgroup_tally *tally, const struct collector_context *context,
                        struct failures *failures)
{
    return group_collector_report(context, &tally->groups.collector, failures);
}

size_t cgroup_tally_descriptors(const struct cgroup_tally *tally)
{
    return group_collector_descriptors(&tally->groups.collector);
}

const struct unknown_time *cgroup_tally_unknown(const struct cgroup_tally *tally)
{
    return &tally->crediting.unknown;
}
