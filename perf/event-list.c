/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/event-list.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "perf/event-parse.h"
#include "perf/generic-events.h"
#include "perf/group.h"
#include "perf/pfm.h"
#include "perf/reason.h"

/* A generic event that the kernel accepts on a PMU. */
struct generic_offer {
    const char *kind;
    size_t pmu; /* index in machine->pmus */
    char *name, *help;
};

struct offered_events {
    struct machine *machine;
    char **cpus; /* the CPUs of each PMU, as text */
    struct generic_offer *offers;
    size_t n_offers, n_others; /* the first n_others offers are not cache events */
    char *tracepoints_text;
    char **tracepoints; /* "system:event", in order */
    size_t n_tracepoints;
    char note[384];
};

struct offered_events *offered_events_free(struct offered_events *offered)
{
    if (!offered)
        return NULL;
    for (size_t i = 0; offered->cpus && i < offered->machine->n_pmus; i++)
        free(offered->cpus[i]);
    free(offered->cpus);
    for (size_t i = 0; i < offered->n_offers; i++) {
        free(offered->offers[i].name);
        free(offered->offers[i].help);
    }
    free(offered->offers);
    free(offered->tracepoints_text);
    free(offered->tracepoints);
    machine_free(offered->machine);
    free(offered);
    return NULL;
}
DEFINE_CLEANUP(struct offered_events *, offered_events_free);

/* --- Gathering --- */

/*
 * Whether the kernel accepts the event on the PMU. Also true if this process may not open the event or if the refusal
 * is temporary, because the list is cached for a long time.
 */
static bool is_offered(struct sys *sys, const struct machine *machine, const struct event *event, const struct pmu *pmu)
{
    struct group_target target = {.pid = -1, .cpu = cpuset_next(&pmu->cpus, -1)};
    struct group *group = NULL;
    struct attr attr;

    if (pmu->absent || target.cpu < 0)
        return false;
    int r = attr_build(sys, machine, event, pmu, &attr, NULL);
    if (r == 0)
        r = group_open(sys, &attr, &target, &group);
    group_free(group);
    return r == 0 || r == -EACCES || r == -EPERM || reason_span(r) != REASON_LASTS;
}

static int add_offer(struct offered_events *offered, const struct generic_offer *offer, const char *help)
{
    if (array_grow(&offered->offers, offered->n_offers) < 0)
        return -ENOMEM;
    struct generic_offer *added = &offered->offers[offered->n_offers++];
    *added = (struct generic_offer){.kind = offer->kind, .pmu = offer->pmu};
    added->name = strdup(offer->name);
    added->help = strdup(help);
    return added->name && added->help ? 0 : -ENOMEM;
}

static int try_generic(struct offered_events *offered, struct sys *sys, const struct generic_offer *offer)
{
    const struct pmu *pmu = offered->machine->pmus[offer->pmu];
    struct event event;
    int r = 0;

    r = event_parse(offer->name, &event, NULL);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    _cleanup_(freep) char *help = event_help(&event);
    if (!help)
        r = -ENOMEM;
    else if (is_offered(sys, offered->machine, &event, pmu))
        r = add_offer(offered, offer, help);
    event_done(&event);
    return r;
}

static bool serves(const struct generic_event *event, const struct pmu *pmu)
{
    if (event->type == PERF_TYPE_SOFTWARE)
        return str_equal(pmu->name, "software");
    return event->type == PERF_TYPE_HARDWARE && pmu->scope == PMU_CORE;
}

static int gather_generic(struct offered_events *offered, struct sys *sys)
{
    const struct machine *machine = offered->machine;
    int r = 0;

    for (size_t i = 0; i < n_generic_events; i++)
        for (size_t k = 0; k < machine->n_pmus && r == 0; k++) {
            const char *kind = generic_events[i].type == PERF_TYPE_SOFTWARE ? "software" : "hardware";
            const struct generic_offer offer = {.kind = kind, .pmu = k, .name = (char *)generic_events[i].name};
            if (serves(&generic_events[i], machine->pmus[k]))
                r = try_generic(offered, sys, &offer);
        }
    offered->n_others = offered->n_offers;
    return r;
}

static int gather_cache(struct offered_events *offered, struct sys *sys)
{
    const struct machine *machine = offered->machine;
    char name[64];
    uint64_t config;
    int r = 0;

    for (size_t k = 0; k < machine->n_pmus; k++) {
        const struct generic_offer offer = {.kind = "cache", .pmu = k, .name = name};
        if (machine->pmus[k]->scope != PMU_CORE || machine->pmus[k]->absent)
            continue;
        for (size_t i = 0; r == 0 && generic_find_cache(i, name, sizeof(name), &config); i++)
            r = try_generic(offered, sys, &offer);
    }
    return r;
}

static int gather_cpus(struct offered_events *offered)
{
    const struct machine *machine = offered->machine;

    offered->cpus = calloc(machine->n_pmus + 1, sizeof(*offered->cpus));
    if (!offered->cpus)
        return -ENOMEM;
    for (size_t i = 0; i < machine->n_pmus; i++) {
        offered->cpus[i] = cpuset_format(&machine->pmus[i]->cpus);
        if (!offered->cpus[i])
            return -ENOMEM;
    }
    return 0;
}

/* Sorts by system, then by event, because a colon sorts before any other character. */
static int compare_tracepoints(const void *a, const void *b)
{
    const unsigned char *x = *(unsigned char *const *)a, *y = *(unsigned char *const *)b;

    while (*x && *x == *y)
        x++, y++;
    return (*x == ':' ? 1 : *x) - (*y == ':' ? 1 : *y);
}

static int split_tracepoints(struct offered_events *offered)
{
    char *next = offered->tracepoints_text, *line;

    while ((line = strsep(&next, "\n"))) {
        if (!strchr(line, ':'))
            continue;
        if (array_grow(&offered->tracepoints, offered->n_tracepoints) < 0)
            return -ENOMEM;
        offered->tracepoints[offered->n_tracepoints++] = line;
    }
    if (offered->n_tracepoints > 0)
        qsort(offered->tracepoints, offered->n_tracepoints, sizeof(*offered->tracepoints), compare_tracepoints);
    return 0;
}

/* If the file with all tracepoints cannot be read, none are listed, and the note says why. */
static int gather_tracepoints(struct offered_events *offered, struct sys *sys)
{
    const struct machine *machine = offered->machine;

    if (!machine_find_pmu(machine, "tracepoint"))
        return 0;
    if (!machine->tracefs) {
        snprintf(offered->note, sizeof(offered->note),
                 "tracepoints are not listed, since tracefs is not mounted: sudo mount -t tracefs tracefs "
                 "/sys/kernel/tracing");
        return 0;
    }
    int r = machine_list_tracepoints(sys, machine, &offered->tracepoints_text);
    if (r == 0)
        r = split_tracepoints(offered);
    if (r < 0 && reason_span(r) != REASON_LASTS)
        return r;
    if (r < 0)
        snprintf(offered->note, sizeof(offered->note),
                 "tracepoints are not listed, since %s/available_events cannot be read: %s%s", machine->tracefs,
                 strerror(-r), r == -EACCES ? "; run perfcountd with sudo" : "");
    return 0;
}

int offered_events_new(struct sys *sys, struct machine *machine, struct offered_events **ret)
{
    _cleanup_(offered_events_freep) struct offered_events *offered = calloc(1, sizeof(*offered));

    if (!offered)
        return -ENOMEM;
    offered->machine = machine_ref(machine);
    pfm_load();
    int r = gather_cpus(offered);
    if (r == 0)
        r = gather_generic(offered, sys);
    if (r == 0)
        r = gather_cache(offered, sys);
    if (r == 0)
        r = gather_tracepoints(offered, sys);
    if (r < 0)
        return r;
    *ret = steal(offered);
    return 0;
}

/* --- Visiting --- */

struct visit {
    const struct offered_events *offered;
    size_t pmu;
    offered_events_visit visit;
    void *userdata;
};

static void show(const struct visit *visit, const char *kind, const char *name, const char *description)
{
    const struct offered_event event = {
        .name = name,
        .pmu = visit->offered->machine->pmus[visit->pmu]->name,
        .cpus = visit->offered->cpus[visit->pmu],
        .kind = kind,
        .description = description,
    };

    visit->visit(visit->userdata, &event);
}

static void show_offer(struct visit *visit, const struct generic_offer *offer)
{
    visit->pmu = offer->pmu;
    show(visit, offer->kind, offer->name, offer->help);
}

static void show_named(const struct visit *visit)
{
    const struct pmu *pmu = visit->offered->machine->pmus[visit->pmu];

    for (size_t i = 0; i < pmu->n_events; i++) {
        char name[256], description[512];
        const struct pmu_event *event = &pmu->events[i];
        snprintf(name, sizeof(name), "%s/%s/", pmu->name, event->name);
        snprintf(description, sizeof(description), "%s%s%s", event->terms, event->unit[0] ? ", in " : "", event->unit);
        show(visit, "pmu", name, description);
    }
}

static void show_pfm_event(void *userdata, const char *name, const char *description)
{
    show(userdata, "libpfm4", name, description);
}

static void show_tracepoints(struct visit *visit)
{
    const struct offered_events *offered = visit->offered;

    for (visit->pmu = 0; visit->pmu < offered->machine->n_pmus; visit->pmu++)
        if (str_equal(offered->machine->pmus[visit->pmu]->name, "tracepoint"))
            break;
    for (size_t i = 0; i < offered->n_tracepoints; i++)
        show(visit, "tracepoint", offered->tracepoints[i], "Kernel tracepoint.");
}

void offered_events_each(const struct offered_events *offered, offered_events_visit visit, void *userdata)
{
    struct visit all = {.offered = offered, .visit = visit, .userdata = userdata};
    const struct machine *machine = offered->machine;
    size_t at = offered->n_others;

    for (size_t i = 0; i < offered->n_others; i++)
        show_offer(&all, &offered->offers[i]);
    for (size_t i = 0; i < machine->n_pmus; i++) {
        while (at < offered->n_offers && offered->offers[at].pmu == i)
            show_offer(&all, &offered->offers[at++]);
        all.pmu = i;
        show_named(&all);
        pfm_list(machine->pmus[i], show_pfm_event, &all);
    }
    show_tracepoints(&all);
}

const char *offered_events_note(const struct offered_events *offered)
{
    return offered->note;
}

/* --- JSON --- */

static void write_member(struct buffer *content, const char *name, const char *value, const char *end)
{
    buffer_appendf(content, "    \"%s\": \"", name);
    escape_append(content, value, ESCAPE_JSON);
    buffer_appendf(content, "\"%s\n", end);
}

static void write_event(void *userdata, const struct offered_event *event)
{
    struct buffer *content = userdata;

    buffer_append_text(content, content->size > 1 ? ",\n  {\n" : "\n  {\n");
    write_member(content, "name", event->name, ",");
    write_member(content, "pmu", event->pmu, ",");
    write_member(content, "cpus", event->cpus, ",");
    write_member(content, "kind", event->kind, ",");
    write_member(content, "description", event->description, "");
    buffer_append_text(content, "  }");
}

void offered_events_write(const struct offered_events *offered, struct buffer *content)
{
    const struct offered_event note = {
        .name = "", .pmu = "tracepoint", .cpus = "", .kind = "note", .description = offered->note};

    buffer_append_char(content, '[');
    offered_events_each(offered, write_event, content);
    if (offered->note[0])
        write_event(content, &note);
    buffer_append_text(content, content->size > 1 ? "\n]\n" : "]\n");
}
