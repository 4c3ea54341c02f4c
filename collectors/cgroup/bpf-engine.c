/* SPDX-License-Identifier: Apache-2.0 */
#include "collectors/cgroup/bpf-engine.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "cgroups/cgroupfs.h"
#include "collectors/cgroup/bpf-counts.h"
#include "collectors/cgroup/bpf-groups.h"
#include "collectors/cgroup/bpf-rows.h"
#include "collectors/cgroup/bpf-slots.h"
#include "perf/reason.h"
#include "perf/sys.h"

/*
 * Two strings that describe what a run of the BPF program depends on, to detect changes. If `wanted` changes, other
 * groups must be opened. If only `words` changes, the groups stay open, but a new run must be started.
 */
struct engine_layout {
    char *wanted; /* describes the groups that the configuration asks for */
    char *words;
};

/*
 * Attributes the increments of a slot to the cgroup that owns it and to the watched cgroups above it. Must be zeroed
 * before the first use.
 */
struct attribution {
    struct slots slots;
    struct bpf_counts **chain; /* counts to increment: those of the slot's owner, then of the cgroups above it */
    size_t chain_room;
    uint32_t events, groups; /* numbers of events and groups, as in struct bpf_shape */
    struct unknown_time unknown;
};

static int bpf_engine_check(const struct bpf_engine *bpf, struct error *error);

/* --- layout --- */

static char *describe_words(const struct bpf_groups *groups)
{
    char *text = strdup("");

    for (size_t i = 0; i < groups->set.n && text; i++) {
        const struct bpf_span *span = &groups->spans[i];
        _cleanup_(freep) char *before = text;
        if (asprintf(&text, "%s%" PRIx64 " %u %u %s\n", before, span->events, span->first_event, span->first_times,
                     span->group->signature) < 0)
            text = NULL;
    }
    return text;
}

static char *describe_wanted(const struct config_cgroup *config)
{
    char *text = strdup(config->per_cpu ? "per_cpu\n" : "");

    for (size_t i = 0; i < config->groups.n && text; i++) {
        _cleanup_(freep) char *before = text;
        if (asprintf(&text, "%s%s\n", before, config->groups.items[i].signature) < 0)
            text = NULL;
    }
    return text;
}

/*
 * Describes the groups that are open now. Returns -ENOMEM on failure. engine_layout_done() must be called in either
 * case.
 */
static int engine_layout_init(struct engine_layout *layout, const struct bpf_groups *groups,
                              const struct collector_env *env)
{
    *layout = (struct engine_layout){
        .wanted = describe_wanted(&env->config->cgroup),
        .words = describe_words(groups),
    };
    return layout->wanted && layout->words ? 0 : -ENOMEM;
}

static void engine_layout_done(struct engine_layout *layout)
{
    free(layout->wanted);
    free(layout->words);
    *layout = (struct engine_layout){0};
}

/* Returns whether the configuration still asks for the same groups, or -ENOMEM. */
static int engine_layout_is_wanted(const struct engine_layout *layout, const struct collector_env *env)
{
    _cleanup_(freep) char *wanted = describe_wanted(&env->config->cgroup);

    return wanted ? str_equal(wanted, layout->wanted) : -ENOMEM;
}

/* --- attribution --- */

static void attribution_done(struct attribution *attribution)
{
    slots_done(&attribution->slots);
    free(attribution->chain);
    *attribution = (struct attribution){0};
}

/* A chain of cgroups has at most one entry per path component, and one for the root. */
static int attribution_make_room(struct attribution *attribution, const char *path)
{
    size_t n = 2;

    for (const char *p = path; *p; p++)
        n += *p == '/';
    if (n <= attribution->chain_room)
        return 0;
    struct bpf_counts **chain = realloc(attribution->chain, n * sizeof(chain[0]));
    if (!chain)
        return -ENOMEM;
    attribution->chain = chain;
    attribution->chain_room = n;
    return 0;
}

static struct cgroup_counts *attribution_find_above(const struct cgroup_counts *counts)
{
    struct cgroup_counts *above = cgroup_counts_above(counts);

    while (above && !above->slot)
        above = cgroup_counts_above(above);
    return above;
}

/*
 * Returns the CPU time of an increment, which is the largest enabled time of its perf groups. A perf group that was
 * open throughout was enabled for all of the CPU time; other groups may have been opened later.
 */
static uint64_t time_of(const struct attribution *attribution, const uint64_t *delta)
{
    uint64_t time = 0;

    for (uint32_t i = 0; i < attribution->groups; i++)
        time = MAX(time, delta[attribution->events + 2 * i]);
    return time;
}

/* A bpf_attribute whose `userdata` is a struct attribution. */
static void attribution_add(void *userdata, uint32_t slot, unsigned cpu, const uint64_t *delta)
{
    struct attribution *attribution = userdata;
    const struct cgroup_counts *counts = attribution->slots.items[slot].counts;
    size_t n = 0;

    if (slot == BPF_SLOT_UNKNOWN)
        attribution->unknown.ns += time_of(attribution, delta);
    for (; counts && n < attribution->chain_room; counts = attribution_find_above(counts))
        attribution->chain[n++] = counts->bpf;
    if (n > 0)
        bpf_counts_attribute(attribution->chain, n, cpu, delta);
}

/* --- the engine --- */

struct bpf_engine {
    struct sys *sys;
    const struct bpf_calls *calls;
    struct bpf_groups groups;
    struct bpf_rows *rows;
    struct engine_layout layout;
    struct attribution attribution;
    struct bpf_run *run; /* NULL only while the engine is being opened */
    uint32_t cpus;
    bool namespaced, paused;
    bool resting;       /* no cgroup is watched, so the program has no counters and is detached */
    bool untested;      /* the run is new; it is not read until all cgroups have rows for its groups */
    bool unsettled;     /* slots were assigned or given up, or tasks were moved, so CPUs must look up slots again */
    bool behind;        /* the BPF program does not have the counters of all CPUs yet */
    struct error error; /* the error that ended counting */
};

struct bpf_engine *bpf_engine_free(struct bpf_engine *bpf, const struct collector_env *env)
{
    if (!bpf)
        return NULL;
    if (bpf_is_available(bpf->calls)) /* false if the opener process has exited */
        bpf->calls->stop(bpf->calls->owner);
    bpf_run_free(bpf->run);
    bpf_rows_free(bpf->rows);
    bpf_groups_done(&bpf->groups, env);
    attribution_done(&bpf->attribution);
    engine_layout_done(&bpf->layout);
    free(bpf);
    return NULL;
}

/* --- reading --- */

bool bpf_engine_is_lost(const struct bpf_engine *bpf)
{
    const struct bpf_calls *calls = bpf->calls;

    return !bpf_is_available(calls) || (calls->is_lost && calls->is_lost(calls->owner));
}

static bool is_slot_idle(const void *userdata, uint32_t slot)
{
    return bpf_run_is_idle(userdata, slot);
}

/*
 * A BPF program that was lost is not read: it no longer updates its records, so all later counts would be charged to
 * the slot that ran last.
 */
static size_t engine_read_slots(struct bpf_engine *bpf, uint32_t first, uint32_t last)
{
    if (bpf->untested || bpf->resting || bpf_engine_is_lost(bpf))
        return 0;
    return bpf_run_read(bpf->run, &bpf->groups, first, last, attribution_add, &bpf->attribution);
}

/*
 * Reads all slots. After tasks were moved, only this function makes the CPUs look up their slots again. A user who
 * keeps moving tasks therefore causes at most one round of lookups per reading.
 */
static size_t bpf_engine_read(struct bpf_engine *bpf)
{
    if (bpf_reader_saw_moves(bpf->run->reader))
        bpf->unsettled = true;
    bpf_engine_settle(bpf);
    size_t n = engine_read_slots(bpf, 0, UINT32_MAX);
    slots_sweep(&bpf->attribution.slots, is_slot_idle, bpf->run);
    bpf_rows_update(bpf->rows);
    return n;
}

/* Reads the slot of one cgroup, but not the slots of the cgroups inside it. */
static size_t bpf_engine_read_one(struct bpf_engine *bpf, const struct cgroup_counts *counts)
{
    size_t n = counts->slot ? engine_read_slots(bpf, counts->slot, counts->slot) : 0;

    bpf_rows_update(bpf->rows);
    return n;
}

static int engine_attach(const struct bpf_engine *bpf, bool attached, struct error *error)
{
    int r = bpf->calls->attach(bpf->calls->owner, attached);

    return r == 0 ? 0
                  : error_set(error, r, "cannot %s the BPF program that counts cgroups: %s",
                              attached ? "attach" : "detach", strerror(-r));
}

/*
 * Starts a BPF program with at least `slots` slots. The new program replaces the program that counts now. The last
 * counts of the old BPF program are attributed to the current rows, and all cgroups keep their slots.
 * bpf_engine_settle() must be called before the next reading.
 */
static int engine_start(struct bpf_engine *bpf, const struct bpf_groups *groups, uint32_t slots, struct error *error)
{
    struct bpf_shape shape = {.cpus = bpf->cpus, .slots = slots, .events = groups->events, .groups = groups->groups};
    struct bpf_run *run = NULL;

    if (slots_reserve(&bpf->attribution.slots, slots) < 0)
        return error_oom(error);
    int r = bpf_run_new(bpf->sys, bpf->calls, &shape, groups, &run, error);
    if (!run)
        return r;
    if (r == 0)
        r = engine_attach(bpf, true, error);
    if (r < 0) {
        bpf_run_free(run);
        bpf->error = *error;
        return r;
    }
    if (bpf->run)
        bpf_run_read_last(bpf->run, attribution_add, &bpf->attribution);
    bpf_run_free(bpf->run);
    bpf->run = run;
    bpf->untested = true;
    bpf->resting = false;
    slots_use(&bpf->attribution.slots, slots);
    return 0;
}

int bpf_engine_make_room(struct bpf_engine *bpf, uint64_t n, uint64_t max, struct error *error)
{
    uint32_t slots = slots_for(n + bpf->attribution.slots.n_given_up, max);

    if (n + bpf->attribution.slots.n_given_up + BPF_SLOT_FIRST <= bpf->attribution.slots.n ||
        slots <= bpf->attribution.slots.n)
        return 0;
    return engine_start(bpf, &bpf->groups, slots, error);
}

/* --- settling --- */

static int engine_test(struct bpf_engine *bpf, struct error *error)
{
    bpf->untested = false;
    int r = bpf_run_test(bpf->run, &bpf->groups, attribution_add, &bpf->attribution, error);
    return r == 0 && bpf->paused ? engine_attach(bpf, false, error) : r;
}

/*
 * Returns false if a call failed and must be retried. -ENOENT is not a failure: it means that the cgroup id has no
 * slot.
 */
static bool withdraw_given_up(struct bpf_engine *bpf)
{
    for (uint32_t i = BPF_SLOT_FIRST; i < bpf->attribution.slots.n && bpf->attribution.slots.n_given_up; i++) {
        struct slot *slot = &bpf->attribution.slots.items[i];
        if (slot->state != SLOT_GIVEN_UP)
            continue;
        int r = bpf->calls->withdraw(bpf->calls->owner, slot->id);
        if (r < 0 && r != -ENOENT)
            return false;
    }
    return true;
}

/* -ETIMEDOUT means that the opener did not answer; bpf_engine_settle() then retries at the next reading. */
static int engine_set_cpus(struct bpf_engine *bpf, struct error *error)
{
    int r = bpf_run_set_cpus(bpf->run, &bpf->groups, error);

    bpf->behind = r == -ETIMEDOUT;
    bpf->unsettled |= r > 0;
    return bpf->behind ? 0 : MIN(r, 0);
}

static bool is_anything_watched(const struct bpf_engine *bpf)
{
    const struct slots *slots = &bpf->attribution.slots;

    return slots->n_used > 0 || slots->n_given_up > 0 || slots->items[BPF_SLOT_ROOT].counts;
}

/*
 * Detaches the program while no cgroup is watched, because an attached program slows down every context switch. The
 * program's counters are removed first, so that nothing is charged for the time until it is attached again. A failure
 * is harmless, because nobody reads the program's counts.
 */
static void engine_rest(struct bpf_engine *bpf)
{
    bpf_run_clear_cpus(bpf->run);
    bpf->resting = true;
    bpf->behind = false;
    if (!bpf->paused)
        (void)bpf->calls->attach(bpf->calls->owner, false);
}

/* After -ETIMEDOUT the BPF program stays detached until the next reading. */
static int engine_wake(struct bpf_engine *bpf, struct error *error)
{
    int r = engine_set_cpus(bpf, error);

    if (r == 0 && !bpf->paused)
        r = engine_attach(bpf, true, error);
    bpf->resting = r == -ETIMEDOUT;
    return bpf->resting ? 0 : r;
}

static int engine_update(struct bpf_engine *bpf, struct error *error)
{
    int r = bpf->untested ? engine_test(bpf, error) : 0;

    if (r == 0 && bpf->resting && is_anything_watched(bpf))
        r = engine_wake(bpf, error);
    if (r == 0 && bpf->behind && !bpf->resting)
        r = engine_set_cpus(bpf, error);
    return r;
}

/* Failed calls are retried at the next reading. */
void bpf_engine_settle(struct bpf_engine *bpf)
{
    struct error error = {0};

    if (engine_update(bpf, &error) < 0)
        bpf->error = error;
    if (!bpf->untested && !bpf->resting && !is_anything_watched(bpf))
        engine_rest(bpf);
    if (!bpf->unsettled || !withdraw_given_up(bpf) || bpf->calls->flush(bpf->calls->owner) < 0)
        return;
    slots_settle(&bpf->attribution.slots);
    bpf->unsettled = false;
}

/* --- opening --- */

/* Must be called after the groups were configured. */
static int engine_describe(struct bpf_engine *bpf, const struct collector_env *env, struct error *error)
{
    engine_layout_done(&bpf->layout);
    int r = engine_layout_init(&bpf->layout, &bpf->groups, env);
    if (r == 0)
        r = bpf_rows_resume(&bpf->rows, env, &bpf->groups);
    bpf->attribution.events = bpf->groups.events;
    bpf->attribution.groups = bpf->groups.groups;
    return r < 0 ? error_oom(error) : 0;
}

int bpf_engine_new(const struct collector_env *env, bool namespaced, struct bpf_engine **ret, struct error *error)
{
    struct bpf_engine *bpf = calloc(1, sizeof(*bpf));

    if (!bpf)
        return error_oom(error);
    *bpf = (struct bpf_engine){.sys = env->sys,
                               .calls = env->bpf,
                               .cpus = cpuset_end(&env->machine->possible),
                               .namespaced = namespaced,
                               .paused = env->paused};
    bpf->attribution.unknown.created_ns = sys_now(bpf->sys, CLOCK_REALTIME);
    int r = bpf_groups_configure(&bpf->groups, env, error);
    if (r == 0)
        r = engine_describe(bpf, env, error);
    if (r == 0)
        r = engine_start(bpf, &bpf->groups, SLOTS_MIN, error);
    if (r == 0)
        r = engine_test(bpf, error);
    if (r < 0) {
        bpf_engine_free(bpf, env);
        return r;
    }
    *ret = bpf;
    return 0;
}

/*
 * It takes a while until the new groups and their BPF program are ready; until then the old groups continue to count.
 */
static int engine_replace(struct bpf_engine *bpf, const struct collector_env *env, struct error *error)
{
    struct bpf_groups groups = {0};
    int r = bpf_groups_configure(&groups, env, error);

    if (r == 0)
        r = engine_start(bpf, &groups, bpf->attribution.slots.n, error);
    bpf_groups_done(r == 0 ? &bpf->groups : &groups, env);
    if (r < 0)
        return r;
    bpf->groups = groups;
    return engine_describe(bpf, env, error);
}

/* Continues with the same groups, except on CPUs that went offline or came online. */
static int engine_go_on(struct bpf_engine *bpf, const struct collector_env *env, struct error *error)
{
    bpf_engine_read(bpf);
    int r = bpf_groups_configure(&bpf->groups, env, error);
    _cleanup_(freep) char *words = describe_words(&bpf->groups);
    bool others = words && !str_equal(bpf->layout.words, words);
    if (r == 0 && others)
        r = engine_start(bpf, &bpf->groups, bpf->attribution.slots.n, error);
    if (r == 0)
        r = engine_describe(bpf, env, error);
    return r < 0 || others || bpf->resting ? r : engine_set_cpus(bpf, error);
}

int bpf_engine_resume(struct bpf_engine *bpf, const struct collector_env *env, struct error *error)
{
    int r = engine_layout_is_wanted(&bpf->layout, env);

    if (r < 0)
        return error_oom(error);
    bpf_engine_settle(bpf);
    int failed = bpf_engine_check(bpf, error);
    if (failed < 0)
        return failed;
    return r ? engine_go_on(bpf, env, error) : engine_replace(bpf, env, error);
}

/*
 * Counters are stopped before the BPF program is detached, and started after the program is attached again, so that no
 * counts are lost in between. A program whose opener has exited need not be detached.
 */
static int bpf_engine_pause(struct bpf_engine *bpf, const struct collector_env *env)
{
    bool lost = bpf_engine_is_lost(bpf);
    int r = 0;

    bpf->paused = env->paused;
    if (!env->paused && !lost && !bpf->resting)
        r = bpf->calls->attach(bpf->calls->owner, true);
    int error = group_set_pause(env, &bpf->groups.set);
    r = r < 0 ? r : error;
    if (env->paused && !lost) {
        error = bpf->calls->attach(bpf->calls->owner, false);
        r = r < 0 ? r : error;
    }
    return r;
}

/* --- watching --- */

/* The kernel's root cgroup needs no slot of its own: BPF_SLOT_ROOT accrues everything that belongs to no other slot. */
static bool is_root(const struct bpf_engine *bpf, const struct cgroup_counts *counts)
{
    return !bpf->namespaced && str_equal(counts->path, "/");
}

static int take_slot(struct bpf_engine *bpf, struct cgroup_counts *counts)
{
    uint32_t slot = slots_take(&bpf->attribution.slots, counts);

    /* A reading may free slots that were given up, so the slots are read before the allocation is tried again. */
    if (slot == BPF_SLOT_NONE && bpf->attribution.slots.n_given_up && !bpf->untested) {
        bpf_engine_read(bpf);
        slot = slots_take(&bpf->attribution.slots, counts);
    }
    if (slot == BPF_SLOT_NONE)
        return -ENOSPC;
    counts->slot = slot;
    return 0;
}

static void set_root(struct bpf_engine *bpf, struct cgroup_counts *counts)
{
    bpf->attribution.slots.items[BPF_SLOT_UNKNOWN].counts = bpf->attribution.slots.items[BPF_SLOT_ROOT].counts = counts;
}

/*
 * Assigns a slot to the cgroup of the directory `fd`, and attributes the slot to `counts` from now on. Does nothing if
 * the cgroup already has a slot. Returns -ENOSPC if no slot is free, the errors of bpf_calls.assign(), or -ENOMEM.
 */
static int bpf_engine_watch(struct bpf_engine *bpf, struct cgroup_counts *counts, int fd)
{
    int r = attribution_make_room(&bpf->attribution, counts->path);

    if (r == 0 && is_root(bpf, counts)) {
        counts->slot = BPF_SLOT_ROOT;
        set_root(bpf, counts);
        return 0;
    }
    if (r < 0 || counts->slot)
        return r;
    r = take_slot(bpf, counts);
    if (r < 0)
        return r;
    r = bpf->calls->assign(bpf->calls->owner, fd, counts->slot, &bpf->attribution.slots.items[counts->slot].id);
    if (r < 0) {
        slots_free(&bpf->attribution.slots, counts->slot);
        counts->slot = 0;
        return r;
    }
    bpf->unsettled = true;
    return 0;
}

/*
 * Gives up the slot of the cgroup after a last reading. The counts of tasks that are still in the cgroup go to the
 * nearest cgroup above that has a slot.
 */
static void bpf_engine_unwatch(struct bpf_engine *bpf, struct cgroup_counts *counts)
{
    struct cgroup_counts *parent = attribution_find_above(counts);
    uint32_t slot = counts->slot;

    if (!slot)
        return;
    bpf_counts_end(counts->bpf, parent ? parent->bpf : NULL);
    counts->slot = 0;
    if (slot == BPF_SLOT_ROOT)
        set_root(bpf, NULL);
    else
        slots_end(&bpf->attribution.slots, slot, parent);
    bpf->unsettled = true;
}

/* Must be called before the counts are freed. */
static void bpf_engine_forget(struct bpf_engine *bpf, const struct cgroup_counts *counts)
{
    slots_forget(&bpf->attribution.slots, counts);
}

/* --- state --- */

/* Returns -EBADE with the message of an earlier error that ended counting; otherwise 0. */
static int bpf_engine_check(const struct bpf_engine *bpf, struct error *error)
{
    if (!bpf->error.message[0])
        return 0;
    *error = bpf->error;
    return -EBADE;
}

bool bpf_engine_is_stale(const struct bpf_engine *bpf)
{
    return bpf->error.message[0] || bpf_groups_are_stale(&bpf->groups);
}

static const struct bpf_rows *bpf_engine_rows(const struct bpf_engine *bpf)
{
    return bpf->rows;
}

static int bpf_engine_report(const struct bpf_engine *bpf, const struct collector_env *env, struct failures *failures)
{
    return group_set_report(env, &bpf->groups.set, failures);
}

size_t bpf_engine_descriptors(const struct bpf_engine *bpf)
{
    return group_set_descriptors(&bpf->groups.set);
}

const struct unknown_time *bpf_engine_unknown(const struct bpf_engine *bpf)
{
    return &bpf->attribution.unknown;
}

/* --- engine --- */

static size_t bpf_needs(const struct collector_env *env)
{
    (void)env;
    return 0;
}

static int resume_rows(struct cgroup_counts *counts, const struct collector_env *env)
{
    const struct bpf_rows *rows = bpf_engine_rows(counts->engine->bpf);

    if (!counts->bpf)
        return bpf_counts_new(rows, env, counts->label, &counts->names, &counts->bpf);
    return bpf_counts_resume(counts->bpf, rows, env, counts->label, &counts->names);
}

/* Records why an existing cgroup gets no slot. A lack of slots or memory is not recorded. */
static void note_refused(struct cgroup_engine *engine, const struct collector_env *env, int error)
{
    char text[sizeof(engine->no_room.message)];

    if (error == -ENOSPC || error == -ENOMEM || cgroup_directory_is_gone(error))
        return;
    reason_format(env->machine, NULL, error, text, sizeof(text));
    error_set(&engine->no_room, error, "%s", text);
}

/*
 * If the cgroup's directory cannot be opened, the cgroup keeps its slot, and only its rows are updated to the new plan.
 */
static int bpf_resume(struct cgroup_counts *counts, const struct collector_env *env, int fd)
{
    int r = resume_rows(counts, env);

    if (r < 0 || fd < 0)
        return r;
    r = bpf_engine_watch(counts->engine->bpf, counts, fd);
    if (r < 0)
        note_refused(counts->engine, env, r);
    return r;
}

static void bpf_close(struct cgroup_counts *counts)
{
    bpf_engine_unwatch(counts->engine->bpf, counts);
}

static void bpf_free(struct cgroup_counts *counts, struct snapshot *snapshot)
{
    bpf_engine_forget(counts->engine->bpf, counts);
    counts->bpf = bpf_counts_free(counts->bpf, snapshot);
}

static size_t bpf_read(struct cgroup_counts *counts, struct sys *sys)
{
    size_t n = bpf_engine_read_one(counts->engine->bpf, counts);

    (void)sys;
    /*
     * The cgroups above are updated as well, because a scrape that reuses the last reading must never show lower counts
     * for a cgroup than for a cgroup inside it.
     */
    for (const struct cgroup_counts *above = counts; above; above = attribution_find_above(above))
        bpf_counts_update(above->bpf);
    return n;
}

static int bpf_read_all(struct cgroup_engine *engine, const struct collector_env *env,
                        struct cgroup_counts *const *counts, size_t n, struct collected *ret, struct error *error)
{
    (void)env;
    if (bpf_engine_is_lost(engine->bpf))
        return error_set(error, -EPIPE, REASON_OPENER_GONE "; " REASON_OPENER_GONE_REMEDY);
    bpf_engine_read(engine->bpf);
    for (size_t i = 0; i < n; i++)
        if (counts[i]->node) {
            bpf_counts_update(counts[i]->bpf);
            if (!counts[i]->ended)
                bpf_counts_add_states(counts[i]->bpf, ret->groups);
        }
    ret->stale |= bpf_engine_is_stale(engine->bpf);
    return bpf_engine_check(engine->bpf, error);
}

/* Reports the failures once for all cgroups, because all cgroups share the perf groups. */
static int bpf_report_all(const struct cgroup_engine *engine, const struct collector_env *env,
                          struct cgroup_counts *const *counts, size_t n, struct failures *failures)
{
    _cleanup_(failures_done) struct failures own = {0};
    size_t n_watched = 0;

    for (size_t i = 0; i < n; i++)
        n_watched += !counts[i]->ended;
    int r = n_watched > 0 ? bpf_engine_report(engine->bpf, env, &own) : 0;
    return r < 0 ? r : failures_add_cgroups(failures, &own, n_watched);
}

static int bpf_pause(struct cgroup_engine *engine, const struct collector_env *env, struct cgroup_counts *const *counts,
                     size_t n)
{
    (void)counts;
    (void)n;
    return bpf_engine_pause(engine->bpf, env);
}

const struct cgroup_engine_type cgroup_engine_bpf = {
    .number = ENGINE_BPF,
    .needs = bpf_needs,
    .resume = bpf_resume,
    .close = bpf_close,
    .free = bpf_free,
    .read = bpf_read,
    .read_all = bpf_read_all,
    .report_all = bpf_report_all,
    .pause = bpf_pause,
};
