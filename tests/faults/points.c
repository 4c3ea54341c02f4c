/* SPDX-License-Identifier: Apache-2.0 */
/* The points of a scenario: see points.h. */
#include "tests/faults/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/faults/seam.h"

static const char *const kind_names[N_FAULT_KINDS] = {
    [FAULT_NONE] = "none",
    [FAULT_CALL] = "call",
    [FAULT_CALLS_FROM] = "calls-from",
    [FAULT_ALLOCATION] = "allocation",
    [FAULT_ALLOCATIONS_FROM] = "allocations-from",
};

const char *fault_kind_name(enum fault_kind kind)
{
    return kind_names[kind];
}

static void points_add(struct points *points, enum fault_kind kind, size_t k, unsigned variant)
{
    if (points->n % 1024 == 0)
        points->faults = reallocarray(points->faults, points->n + 1024, sizeof(points->faults[0]));
    if (!points->faults)
        abort();
    points->faults[points->n++] = (struct fault){.kind = kind, .k = k, .variant = variant};
}

struct points points_make(const struct fault_counts *counts)
{
    struct points points = {0};

    for (size_t k = 0; k < counts->n_calls; k++) {
        for (unsigned i = 0; i < seam_count_variants(counts->calls[k]); i++)
            points_add(&points, FAULT_CALL, k, i);
        points_add(&points, FAULT_CALLS_FROM, k, 0);
    }
    for (size_t k = 0; k < counts->n_allocations; k++) {
        points_add(&points, FAULT_ALLOCATION, k, 0);
        points_add(&points, FAULT_ALLOCATIONS_FROM, k, 0);
    }
    return points;
}

void points_done(struct points *points)
{
    free(points->faults);
    *points = (struct points){0};
}

void point_name(const struct fault *fault, const struct fault_counts *counts, char name[POINT_NAME_MAX])
{
    if (fault->kind != FAULT_CALL) {
        snprintf(name, POINT_NAME_MAX, "%s:%zu", kind_names[fault->kind], fault->k);
        return;
    }
    enum seam_call call = counts->calls[fault->k];
    snprintf(name, POINT_NAME_MAX, "call:%zu:%s-%s", fault->k, seam_call_name(call),
             seam_variant(call, fault->variant)->name);
}

/* FNV-1a. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Gives the bits of the last bytes to all others: splitmix64's end. */
static uint64_t hash_mix(uint64_t hash)
{
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

struct chosen {
    uint64_t rank;
    struct fault fault;
};

static int compare_ranks(const void *a, const void *b)
{
    const struct chosen *x = a, *y = b;

    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

void points_choose(struct points *points, const char *text, size_t n)
{
    struct chosen *all = calloc(points->n + 1, sizeof(*all));

    if (!all)
        abort();
    for (size_t i = 0; i < points->n; i++) {
        uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), text, strlen(text));
        all[i] = (struct chosen){hash_mix(hash_bytes(hash, &i, sizeof(i))), points->faults[i]};
    }
    qsort(all, points->n, sizeof(*all), compare_ranks);
    points->n = MIN(points->n, n);
    for (size_t i = 0; i < points->n; i++)
        points->faults[i] = all[i].fault;
    free(all);
}

void points_find(struct points *points, const struct fault_counts *counts, const char *name)
{
    char other[POINT_NAME_MAX];

    for (size_t i = 0; i < points->n; i++) {
        point_name(&points->faults[i], counts, other);
        if (!str_equal(name, other))
            continue;
        points->faults[0] = points->faults[i];
        points->n = 1;
        return;
    }
    points->n = 0;
}
