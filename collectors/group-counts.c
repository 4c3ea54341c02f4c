/* SPDX-License-Identifier: Apache-2.0 */
/* A configured group counted on one target: see group-counts.h. */
#include "collectors/group-counts.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "collectors/group-rows.h"
#include "collectors/unavailable.h"
#include "perf/partition.h"
#include "perf/reason.h"

#define ALL_EVENTS UINT64_MAX

struct tally {
    /* Held once for all tallies of the group, by the snapshot; `pmu` as place_pmu_name() has it. */
    const char *signature, *name, *pmu;
    uint32_t n_parts;
    bool stale;
    bool awaits; /* a CPU that is there and cannot be counted on yet */
    struct part *parts;
    struct sums sums;
    struct missings missings;
};

/* What opening needs beside the tally. */
struct opening {
    struct tally *tally;
    const struct collector_context *context;
    const struct config_group *group;
    struct binding *binding;
    uint64_t counted; /* events that have parts at this place */
    size_t n_refused; /* at this place, before anything was opened */
};

struct tally *tally_free(struct tally *tally, struct snapshot *snapshot)
{
    if (!tally)
        return NULL;
    for (size_t i = 0; i < tally->n_parts; i++)
        part_done(&tally->parts[i]);
    sums_done(&tally->sums, snapshot);
    missings_done(&tally->missings, snapshot);
    free(tally->parts);
    free(tally);
    return NULL;
}

static struct tally *tally_new(const struct collector_context *context, const struct config_group *group,
                               const struct place *places, size_t n, bool summed)
{
    struct intern *texts = &context->snapshot->texts;
    struct tally *tally = calloc(1, sizeof(*tally));

    if (!tally)
        return NULL;
    sums_init(&tally->sums, context->machine, group, summed);
    tally->signature = intern_text(texts, group->signature);
    tally->name = intern_text(texts, group->name);
    tally->pmu = intern_text(texts, n == 1 ? place_pmu_name(&places[0]) : "");
    if (!tally->signature || !tally->name || !tally->pmu)
        return tally_free(tally, NULL);
    return tally;
}

/* What is missing */

/* `missing` says which event, why and how long; `pmu` is NULL where none was found. */
static int add_missing(struct opening *opening, const struct place *place, const struct pmu *pmu,
                       struct missing missing)
{
    const struct config_event *config = &opening->group->events[missing.event];
    int cpu = place->target.cpu;

    missing.pmu = (char *)(pmu ? pmu->name : config->event.pmu ? config->event.pmu : "");
    missing.cpu = opening->tally->sums.summed ? -1 : cpu;
    opening->n_refused++;
    return missings_add(&opening->tally->missings, config, &missing, cpu);
}

/* What this machine lacks does not come by itself; a file that could not be read may be read later. */
static int add_unbound(void *userdata, const struct place *place, size_t event, const struct pmu *pmu, int error,
                       const char *message)
{
    enum reason_span span = error == -ENODEV ? REASON_LASTS : reason_span(error);

    return add_missing(userdata, place, pmu,
                       (struct missing){.event = event, .error = error, .span = span, .message = (char *)message});
}

/* `culprit` is the bound event because of which a strict group was left out, or -1. */
static int add_refused(struct opening *opening, const struct place *place, size_t i, int error, ssize_t culprit)
{
    const struct binding *binding = opening->binding;
    const struct pmu *pmu = binding->attrs[i].pmu;
    char message[512], whole[1024];
    struct missing missing = {
        .event = binding->events[i], .error = error, .span = reason_span(error), .message = message};

    reason_format(opening->context->machine, pmu, error, message, sizeof(message));
    if (culprit >= 0 && (size_t)culprit != i) {
        snprintf(whole, sizeof(whole), "left out with its strict group, because of %s: %s",
                 opening->group->events[binding->events[culprit]].event.text, message);
        missing.message = whole;
    }
    return add_missing(opening, place, pmu, missing);
}

/* The i-th bound event goes with its strict group, another event of which cannot be bound. */
static int add_left_out(struct opening *opening, const struct place *place, size_t i)
{
    char message[] = "left out with its strict group, another event of which is not there";
    const struct missing missing = {
        .event = opening->binding->events[i], .error = -ENOENT, .span = REASON_LASTS, .message = message};

    return add_missing(opening, place, opening->binding->attrs[i].pmu, missing);
}

/* Opening */

/*
 * A group some of which is refused for what passes leaves none open: it is tried again as a whole, so that its events
 * stay together. What another profiler holds may last, and the rest does without.
 */
static int lack_that_passes(const struct partition *partition, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (partition->errors[i] != -EBUSY && reason_span(partition->errors[i]) != REASON_LASTS)
            return partition->errors[i];
    return 0;
}

/* What is opened while counting is paused waits for its end. */
static struct group_target target_of(const struct opening *opening, const struct place *place)
{
    struct group_target target = place->target;

    target.paused = opening->context->paused;
    return target;
}

/* What is bound and has no part yet. */
struct wanted {
    size_t n;
    size_t bound[GROUP_MEMBERS_MAX]; /* which of the binding's */
    struct attr attrs[GROUP_MEMBERS_MAX];
};

static void choose_wanted(const struct opening *opening, struct wanted *ret)
{
    const struct binding *binding = opening->binding;

    ret->n = 0;
    for (size_t i = 0; i < binding->n; i++) {
        if (opening->counted & event_bit(binding->events[i]))
            continue;
        ret->attrs[ret->n] = binding->attrs[i];
        ret->bound[ret->n++] = i;
    }
}

static int add_part(struct opening *opening, const struct place *place, const struct wanted *wanted,
                    struct partition_group *opened)
{
    struct tally *tally = opening->tally;
    uint64_t members = 0;
    int r = array_grow(&tally->parts, tally->n_parts);

    if (r < 0)
        return r;
    for (size_t i = 0; i < opened->n; i++)
        members |= event_bit(opening->binding->events[wanted->bound[opened->members[i]]]);
    tally->parts[tally->n_parts] = (struct part){
        .group = steal(opened->group),
        .scale = scale_new(opened->n),
        .members = members,
        .cpu = place->target.cpu,
        .paused = opening->context->paused,
        .next = SUM_END,
    };
    tally->n_parts++;
    if (!tally->parts[tally->n_parts - 1].scale)
        return -ENOMEM;
    return sums_add_part(&tally->sums, opening->context, opening->binding, place, tally->parts, tally->n_parts - 1);
}

static int open_bound(struct opening *opening, const struct place *place)
{
    struct group_target target = target_of(opening, place);
    _cleanup_(partition_done) struct partition partition = {0};
    bool strict = opening->group->strict;
    struct wanted wanted;

    choose_wanted(opening, &wanted);
    if (wanted.n == 0)
        return 0;
    int r = partition_open(opening->context->sys, wanted.attrs, wanted.n, strict, &target, &partition);
    if (r < 0)
        return r;
    int lack = lack_that_passes(&partition, wanted.n);
    for (size_t i = 0; i < partition.n_groups && r == 0 && !lack; i++)
        r = add_part(opening, place, &wanted, &partition.groups[i]);
    for (size_t i = 0; i < wanted.n && r == 0; i++)
        if (lack || partition.errors[i] < 0)
            r = add_refused(opening, place, wanted.bound[i], lack ? lack : partition.errors[i],
                            strict ? (ssize_t)wanted.bound[partition.culprit] : -1);
    return r;
}

static int bind_at(struct opening *opening, const struct place *place)
{
    struct binding_listener listener = {.userdata = opening, .refused = add_unbound};

    opening->n_refused = 0;
    return binding_bind(opening->binding, opening->context, opening->group, place, &listener);
}

static int open_at(struct opening *opening, const struct place *place)
{
    const struct binding *binding = opening->binding;
    int r = bind_at(opening, place);
    bool refused = opening->group->strict && opening->n_refused > 0;

    if (r == 0 && binding->n > 0 && !refused)
        r = open_bound(opening, place);
    for (size_t i = 0; refused && r == 0 && i < binding->n; i++)
        r = add_left_out(opening, place, i);
    return r;
}

static int show_missing(const struct opening *opening, const char *cgroup)
{
    struct tally *tally = opening->tally;
    int r = 0;

    missings_sweep(&tally->missings, opening->context->snapshot);
    for (size_t i = 0; i < tally->missings.n && r == 0; i++) {
        struct missing *missing = &tally->missings.items[i];
        /* Where CPUs of one kind differ the row that sums them shows what there is. */
        bool counted = sums_have(&tally->sums, missing->event, missing->cpu, missing->pmu);
        r = missing_show(missing, opening->context, tally->name, cgroup, !counted);
    }
    return r;
}

int tally_open(const struct collector_context *context, const struct config_group *group, const struct place *places,
               size_t n, bool summed, struct tally **ret)
{
    _cleanup_(freep) struct binding *binding = calloc(1, sizeof(*binding));
    struct tally *tally = tally_new(context, group, places, n, summed);
    struct opening opening = {.tally = tally, .context = context, .group = group, .binding = binding};
    int r = tally && binding ? 0 : -ENOMEM;

    for (size_t i = 0; i < n && r == 0; i++)
        if (!places[i].away)
            r = open_at(&opening, &places[i]);
    if (r == 0)
        r = show_missing(&opening, places[0].cgroup);
    if (r < 0 || (tally->n_parts == 0 && tally->missings.n == 0)) {
        tally_free(tally, context->snapshot);
        tally = NULL;
    }
    if (r == 0)
        *ret = tally;
    return r;
}

/* Reading */

size_t tally_collect(struct tally *tally, struct sys *sys)
{
    size_t readable = 0;
    bool quiet = true;

    tally->stale = false;
    for (size_t i = 0; i < tally->n_parts; i++) {
        struct part *part = &tally->parts[i];
        readable += part_read(part, sys) == 0;
        tally->stale |= part->news == PART_STALE;
        quiet &= part->news == PART_IDLE || part->news == PART_AWAY;
    }
    sums_update(&tally->sums, tally->parts, quiet);
    return readable;
}

bool tally_is_stale(const struct tally *tally)
{
    return tally->stale;
}

int tally_pause(struct tally *tally, bool paused)
{
    int r = 0;

    for (size_t i = 0; i < tally->n_parts; i++) {
        int error = part_pause(&tally->parts[i], paused);
        r = r < 0 ? r : error;
    }
    return r;
}

/* Closing and opening anew */

void tally_end(struct tally *tally)
{
    for (size_t i = 0; i < tally->n_parts; i++)
        part_close(&tally->parts[i]);
    tally->stale = false;
}

static bool has_left(const struct collector_context *context, const struct place *place)
{
    return place->away || (place->target.cpu >= 0 && cpuset_has(context->left, (unsigned)place->target.cpu));
}

/*
 * What is open is dead, or may be: it is closed. Where the CPU is there it may never have left, as after messages that
 * were lost, and has counted up to now.
 */
static void leave(const struct collector_context *context, struct part *part, const struct place *place)
{
    if (!place->away && part->news != PART_STALE)
        part_read(part, context->sys);
    part_park(part);
}

static int revive_part(struct opening *opening, struct part *part, const struct place *place)
{
    struct group_target target = target_of(opening, place);
    struct attr attrs[GROUP_MEMBERS_MAX];
    int r = bind_at(opening, place);

    missings_forget(&opening->tally->missings, part->members, part->cpu);
    if (r == 0)
        r = binding_select(opening->binding, part->members, attrs);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    int error = part_reopen(part, opening->context->sys, attrs, &target);
    opening->tally->awaits |= error == -ENODEV;
    for (size_t i = 0; i < opening->binding->n && r == 0 && error < 0 && error != -ENODEV; i++)
        if (part->members & event_bit(opening->binding->events[i]))
            r = add_refused(opening, place, i, error, -1);
    return r;
}

/* Nothing of the group is left to be tried: a strict one is there whole, where it is there. */
static bool is_complete(const struct opening *opening)
{
    size_t n = opening->group->n_events;
    uint64_t all = n < 64 ? event_bit(n) - 1 : ALL_EVENTS;

    return opening->counted == all || (opening->group->strict && opening->counted);
}

static int resume_at(struct opening *opening, const struct place *place)
{
    struct tally *tally = opening->tally;
    int r = 0;

    opening->counted = 0;

    for (size_t i = 0; i < tally->n_parts && r == 0; i++) {
        struct part *part = &tally->parts[i];
        if (part->cpu != place->target.cpu)
            continue;
        opening->counted |= part->members;
        if (part->news == PART_STALE || has_left(opening->context, place))
            leave(opening->context, part, place);
        if (!part->group && !place->away)
            r = revive_part(opening, part, place);
    }
    if (r < 0 || is_complete(opening))
        return r;
    missings_forget(&tally->missings, ~opening->counted, place->target.cpu);
    return place->away ? 0 : open_at(opening, place);
}

int tally_resume(struct tally *tally, const struct collector_context *context, const struct config_group *group,
                 const struct place *places, size_t n)
{
    _cleanup_(freep) struct binding *binding = calloc(1, sizeof(*binding));
    struct opening opening = {.tally = tally, .context = context, .group = group, .binding = binding};
    int r = binding ? 0 : -ENOMEM;

    tally->awaits = false;
    for (size_t i = 0; i < n && r == 0; i++)
        r = resume_at(&opening, &places[i]);
    sums_check(&tally->sums, tally->parts);
    return r < 0 ? r : show_missing(&opening, places[0].cgroup);
}

void tally_leave(struct tally *tally, const struct collector_context *context)
{
    for (size_t i = 0; i < tally->n_parts; i++) {
        struct part *part = &tally->parts[i];
        struct place place = {
            .target = {.cpu = part->cpu},
            .away = !cpuset_has(&context->machine->online, (unsigned)part->cpu),
        };
        if (has_left(context, &place))
            leave(context, part, &place);
    }
    sums_check(&tally->sums, tally->parts);
}

/* What it is */

int tally_report(const struct tally *tally, const struct collector_context *context, struct failures *failures)
{
    if (tally->awaits)
        failures_note(failures, REASON_BRIEF);
    return missings_report(&tally->missings, context, tally->name, failures);
}

bool tally_counts(const struct tally *tally, const char *signature)
{
    return str_equal(tally->signature, signature);
}

bool tally_goes_on(const struct tally *tally, const char *signature, const struct place *place)
{
    return tally->n_parts > 0 && tally->parts[0].cpu == place->target.cpu &&
           str_equal(tally->pmu, place_pmu_name(place)) && tally_counts(tally, signature);
}

void tally_count(const struct tally *tally, size_t counts[N_ROW_STATES])
{
    sums_count(&tally->sums, counts);
    if (tally->sums.n == 0)
        counts[ROW_UNAVAILABLE]++;
}

size_t tally_descriptors(const struct tally *tally)
{
    size_t n = 0;

    for (size_t i = 0; i < tally->n_parts; i++)
        n += tally->parts[i].group ? group_size(tally->parts[i].group) : 0;
    return n;
}
