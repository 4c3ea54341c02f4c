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
 * What a tally depends on, as texts to compare. If `wanted` changes, other groups must be opened; if `words` changes,
 * the groups stay but another tally must be started.
 */
struct tally_layout {
    char *wanted; /* groups that the configuration asks for */
    char *words;
};

/*
 * Credits what a slot accrued to the cgroup that owns it and to the watched cgroups above it. Must be zeroed before the
 * first use.
 */
struct crediting {
    struct slots slots;
    struct tallied_counts **chain; /* counts to credit at once: the owner, then the cgroups above it */
    size_t chain_room;
    uint32_t events, groups; /* layout of the words, as in struct tally_shape */
    struct unknown_time unknown;
};

static int cgroup_tally_check(const struct cgroup_tally *tally, struct error *error);

/* --- tally layout --- */

static char *describe_words(const struct tally_groups *groups)
{
    char *text = strdup("");

    for (size_t i = 0; i < groups->collector.n && text; i++) {
        const struct tally_span *span = &groups->spans[i];
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

/* Describes the current groups. Returns -ENOMEM on failure. tally_layout_done() must be called in either case. */
static int tally_layout_init(struct tally_layout *layout, const struct tally_groups *groups,
                             const struct collector_context *context)
{
    *layout = (struct tally_layout){
        .wanted = describe_wanted(&context->config->cgroup),
        .words = describe_words(groups),
    };
    return layout->wanted && layout->words ? 0 : -ENOMEM;
}

static void tally_layout_done(struct tally_layout *layout)
{
    free(layout->wanted);
    free(layout->words);
    *layout = (struct tally_layout){0};
}

/* Returns whether the configuration still asks for the same groups, or -ENOMEM. */
static int tally_layout_is_wanted(const struct tally_layout *layout, const struct collector_context *context)
{
    _cleanup_(freep) char *wanted = describe_wanted(&context->config->cgroup);

    return wanted ? str_equal(wanted, layout->wanted) : -ENOMEM;
}

/* --- crediting --- */

static void crediting_done(struct crediting *crediting)
{
    slots_done(&crediting->slots);
    free(crediting->chain);
    *crediting = (struct crediting){0};
}

/* A chain has at most one entry for each component of the path, and one for the root. */
static int crediting_make_room(struct crediting *crediting, const char *path)
{
    size_t n = 2;

    for (const char *p = path; *p; p++)
        n += *p == '/';
    if (n <= crediting->chain_room)
        return 0;
    struct tallied_counts **chain = realloc(crediting->chain, n * sizeof(chain[0]));
    if (!chain)
        return -ENOMEM;
    crediting->chain = chain;
    crediting->chain_room = n;
    return 0;
}

static struct cgroup_counts *crediting_find_above(const struct cgroup_counts *counts)
{
    struct cgroup_counts *above = cgroup_counts_above(counts);

    while (above && !above->slot)
        above = cgroup_counts_above(above);
    return above;
}

/*
 * CPU time of a delta: the largest enabled time. A perf group that is always open has all of it; others may have been
 * opened later.
 */
static uint64_t time_of(const struct crediting *crediting, const uint64_t *delta)
{
    uint64_t time = 0;

    for (uint32_t i = 0; i < crediting->groups; i++)
        time = MAX(time, delta[crediting->events + 2 * i]);
    return time;
}

/* Implements tally_credit; `userdata` is the struct crediting. */
static void crediting_add(void *userdata, uint32_t slot, unsigned cpu, const uint64_t *delta)
{
    struct crediting *crediting = userdata;
    const struct cgroup_counts *counts = crediting->slots.items[slot].counts;
    size_t n = 0;

    if (slot == TALLY_SLOT_UNKNOWN)
        crediting->unknown.ns += time_of(crediting, delta);
    for (; counts && n < crediting->chain_room; counts = crediting_find_above(counts))
        crediting->chain[n++] = counts->tallied;
    if (n > 0)
        tallied_counts_credit(crediting->chain, n, cpu, delta);
}

/* --- tally --- */

struct cgroup_tally {
    struct sys *sys;
    struct tally_groups groups;
    struct tally_rows *rows;
    struct tally_layout layout;
    struct crediting crediting;
    struct tally_run *counting, *started; /* `started` is not NULL until it takes over from `counting` */
    unsigned n_runs;                      /* number of tallies started so far; identifies the last one */
    uint32_t cpus;
    bool namespaced, paused;
    bool unsettled; /* slots were assigned or given up, or tasks were moved: the CPUs must look up their slots again */
    bool behind;    /* not all CPUs' counters have been passed to the program yet */
    struct error error;
};

struct cgroup_tally *cgroup_tally_free(struct cgroup_tally *tally, const struct collector_context *context)
{
    if (!tally)
        return NULL;
    if (tally->sys->tally) /* NULL if the opener has ended */
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

/* Records of a lost program are frozen: what the counters advanced since would be charged to the slot that ran last. */
static size_t tally_read_slots(struct cgroup_tally *tally, uint32_t first, uint32_t last)
{
    if (!tally->counting || cgroup_tally_is_lost(tally))
        return 0;
    return tally_run_read(tally->counting, &tally->groups, first, last, crediting_add, &tally->crediting);
}

/*
 * Reads all slots. Only this function flushes after tasks were moved, so that a user who moves tasks all the time
 * causes at most one flush per reading.
 */
static size_t cgroup_tally_read(struct cgroup_tally *tally)
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

/* Reads the slot of one cgroup, without those of inner cgroups. */
static size_t cgroup_tally_read_one(struct cgroup_tally *tally, const struct cgroup_counts *counts)
{
    size_t n = counts->slot ? tally_read_slots(tally, counts->slot, counts->slot) : 0;

    tally_rows_update(tally->rows);
    return n;
}

/* Starts another tally with at least `slots` slots. All cgroups must then be assigned slots in it. */
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

/* --- takeover --- */

/* Reads the counting tally a last time. In the kernel it runs on until another one is attached. */
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

/* Returns false if a call failed and must be retried. -ENOENT only means that the cgroup is not in this tally. */
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

/* On -ETIMEDOUT the opener did not answer; cgroup_tally_settle() retries at the next reading. */
static int tally_set_cpus(struct cgroup_tally *tally, struct error *error)
{
    int r = tally->counting ? tally_run_set_cpus(tally->counting, &tally->groups, error) : 0;

    tally->behind = r == -ETIMEDOUT;
    tally->unsettled |= r > 0;
    return tally->behind ? 0 : MIN(r, 0);
}

/* Failed calls are retried at the next reading. */
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

/* Must be called after the groups were configured. */
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

/* Replaces the groups. The old groups count until the new groups and their tally are ready, which takes a while. */
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

/* Keeps the groups, except on CPUs that left or came. */
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
 * Counters are stopped before the program is detached, and started after it is attached again, so that nothing is lost
 * in between. A program that was lost with its opener need not be detached.
 */
static int cgroup_tally_pause(struct cgroup_tally *tally, const struct collector_context *context)
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

/* --- watching --- */

/* The kernel's root cgroup is not assigned: TALLY_SLOT_ROOT accrues what no other slot has. */
static bool is_root(const struct cgroup_tally *tally, const struct cgroup_counts *counts)
{
    return !tally->namespaced && str_equal(counts->path, "/");
}

static int take_slot(struct cgroup_tally *tally, struct cgroup_counts *counts)
{
    uint32_t slot = slots_take(&tally->crediting.slots, counts);

    /* A reading may free slots that were given up. */
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

/*
 * Assigns a slot to the cgroup of the directory `fd`, and credits `counts` from now on. Does nothing if it already has
 * a slot in the current tally. Returns -ENOSPC if no slot is free, the errors of tally_calls.assign(), or -ENOMEM.
 */
static int cgroup_tally_watch(struct cgroup_tally *tally, struct cgroup_counts *counts, int fd)
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

/*
 * Gives up the slot, after its last reading. Tasks that are still in the cgroup count for the nearest cgroup above that
 * has a slot.
 */
static void cgroup_tally_unwatch(struct cgroup_tally *tally, struct cgroup_counts *counts)
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

/* Must be called before the counts are freed. */
static void cgroup_tally_forget(struct cgroup_tally *tally, const struct cgroup_counts *counts)
{
    slots_forget(&tally->crediting.slots, counts);
}

/* --- state --- */

/* Returns -EBADE with the sentence of an earlier error, after which nothing was counted any more; otherwise 0. */
static int cgroup_tally_check(const struct cgroup_tally *tally, struct error *error)
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

static const struct tally_rows *cgroup_tally_rows(const struct cgroup_tally *tally)
{
    return tally->rows;
}

static int cgroup_tally_report(const struct cgroup_tally *tally, const struct collector_context *context,
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

/* --- engine --- */

static size_t bpf_needs(const struct collector_context *context)
{
    (void)context;
    return 0;
}

static int resume_rows(struct cgroup_counts *counts, const struct collector_context *context)
{
    const struct tally_rows *rows = cgroup_tally_rows(counts->engine->tally);

    if (!counts->tallied)
        return tallied_counts_new(rows, context, counts->label, &counts->names, &counts->tallied);
    return tallied_counts_resume(counts->tallied, rows, context, counts->label, &counts->names);
}

/* Records why an existing cgroup gets no slot, unless slots or memory ran out. */
static void note_refused(struct cgroup_engine *engine, const struct collector_context *context, int error)
{
    char text[sizeof(engine->no_room.message)];

    if (error == -ENOSPC || error == -ENOMEM || cgroup_directory_is_gone(error))
        return;
    reason_format(context->machine, NULL, error, text, sizeof(text));
    error_set(&engine->no_room, error, "%s", text);
}

static int bpf_resume(struct cgroup_counts *counts, const struct collector_context *context, int fd)
{
    int r = resume_rows(counts, context);

    if (r < 0)
        return r;
    r = cgroup_tally_watch(counts->engine->tally, counts, fd);
    if (r < 0)
        note_refused(counts->engine, context, r);
    return r;
}

/* The cgroup keeps its slot; only its rows follow the new plan. */
static void bpf_leave(struct cgroup_counts *counts, const struct collector_context *context)
{
    resume_rows(counts, context);
}

static void bpf_close(struct cgroup_counts *counts)
{
    cgroup_tally_unwatch(counts->engine->tally, counts);
}

static void bpf_free(struct cgroup_counts *counts, struct snapshot *snapshot)
{
    cgroup_tally_forget(counts->engine->tally, counts);
    counts->tallied = tallied_counts_free(counts->tallied, snapshot);
}

static size_t bpf_read(struct cgroup_counts *counts, struct sys *sys)
{
    size_t n = cgroup_tally_read_one(counts->engine->tally, counts);

    (void)sys;
    /*
     * Also shows the cgroups above: a scrape that reuses the last reading must not see a cgroup with less than one
     * inside it.
     */
    for (const struct cgroup_counts *above = counts; above; above = crediting_find_above(above))
        tallied_counts_update(above->tallied);
    return n;
}

static void bpf_add_states(const struct cgroup_counts *counts, size_t states[N_ROW_STATES])
{
    tallied_counts_add_states(counts->tallied, states);
}

static size_t bpf_descriptors(const struct cgroup_counts *counts)
{
    (void)counts;
    return 0;
}

static int bpf_read_all(struct cgroup_engine *engine, const struct collector_context *context,
                        struct cgroup_counts *const *counts, size_t n, struct error *error)
{
    if (cgroup_tally_is_lost(engine->tally))
        return error_set(error, -EPIPE,
                         "the opener is gone, and with it the program in the kernel that counts cgroups; restart "
                         "perfcountd");
    cgroup_tally_read(engine->tally);
    for (size_t i = 0; i < n; i++)
        if (counts[i]->node)
            tallied_counts_update(counts[i]->tallied);
    *context->stale |= cgroup_tally_is_stale(engine->tally);
    return cgroup_tally_check(engine->tally, error);
}

/* The perf groups are common to all cgroups, and so are their failures. */
static int bpf_report_all(const struct cgroup_engine *engine, const struct collector_context *context,
                          struct cgroup_counts *const *counts, size_t n, struct failures *failures)
{
    _cleanup_(failures_done) struct failures own = {0};
    size_t n_watched = 0;

    for (size_t i = 0; i < n; i++)
        n_watched += !counts[i]->ended;
    int r = n_watched > 0 ? cgroup_tally_report(engine->tally, context, &own) : 0;
    return r < 0 ? r : failures_add_cgroups(failures, &own, n_watched);
}

static int bpf_pause(struct cgroup_engine *engine, const struct collector_context *context,
                     struct cgroup_counts *const *counts, size_t n)
{
    (void)counts;
    (void)n;
    return cgroup_tally_pause(engine->tally, context);
}

const struct cgroup_engine_type cgroup_engine_bpf = {
    .number = ENGINE_BPF,
    .needs = bpf_needs,
    .resume = bpf_resume,
    .leave = bpf_leave,
    .close = bpf_close,
    .free = bpf_free,
    .read = bpf_read,
    .add_states = bpf_add_states,
    .descriptors = bpf_descriptors,
    .read_all = bpf_read_all,
    .report_all = bpf_report_all,
    .pause = bpf_pause,
};
