/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/selection.h"

#include "base/cleanup.h"
#include "base/glob.h"
#include "cgroups/path.h"

/* Type of a function that matches a pattern against a cgroup; `names` is NULL if no names of the cgroup are known. */
typedef bool (*pattern_test)(const char *pattern, const char *path, const struct names *names);

static bool any_matches(char *const *patterns, size_t n, const char *path, const struct names *names, pattern_test test)
{
    for (size_t i = 0; i < n; i++)
        if (test(patterns[i], path, names))
            return true;
    return false;
}

static bool is_of_names(const char *pattern, const char *path, const struct names *names)
{
    enum name_kind kind;
    const char *glob;

    (void)path;
    (void)names;
    return name_kind_parse(pattern, &kind, &glob) == 0;
}

/* Name patterns are never matched against paths: paths begin with "/". */
static bool matches_path(const char *pattern, const char *path, const struct names *names)
{
    (void)names;
    return glob_match(pattern, path);
}

static bool matches_name(const char *pattern, const char *path, const struct names *names)
{
    enum name_kind kind;
    const char *glob;

    (void)path;
    return names && name_kind_parse(pattern, &kind, &glob) == 0 && names->texts[kind] &&
           glob_match_last(glob, names->texts[kind]);
}

static bool excludes(const char *pattern, const char *path, const struct names *names)
{
    return matches_path(pattern, path, names) || matches_name(pattern, path, names);
}

static bool may_match(const char *pattern, const char *path, const struct names *names)
{
    return matches_path(pattern, path, names) || is_of_names(pattern, path, names);
}

static bool may_match_below(const char *pattern, const char *path, const struct names *names)
{
    return glob_may_match_below(pattern, path) || is_of_names(pattern, path, names);
}

static bool matches_all_below(const char *pattern, const char *path, const struct names *names)
{
    (void)names;
    return glob_match_all_below(pattern, path);
}

/*
 * Whether two paths give the same unit if `first` is NAME_UNIT, or the same container if `first` is NAME_CONTAINER_ID.
 * All other names that are derived from a path depend on its unit or its container alone.
 */
static bool paths_agree(const struct names *a, const struct names *b, enum name_kind first)
{
    bool any = false;

    for (size_t i = first; i < first + 2; i++) {
        const char *one = a->texts[i], *other = b->texts[i];
        if (!one != !other || (one && !str_equal(one, other)))
            return false;
        any |= one != NULL;
    }
    return any;
}

/*
 * Returns whether the parent cgroup has the same unit and slice, if `kind` is one of these, or else the same container.
 * If so, the cgroup is only inside the unit or container that the name of this kind refers to.
 */
static bool is_inside(const char *path, enum name_kind kind)
{
    _cleanup_(names_done) struct names own = {0}, outer = {0};
    const char *slash = strrchr(path, '/');
    _cleanup_(freep) char *parent = strndup(path, slash ? (size_t)(slash - path) : 0);

    return parent && names_from_path(&own, path) == 0 && names_from_path(&outer, parent) == 0 &&
           paths_agree(&own, &outer, kind <= NAME_SLICE ? NAME_UNIT : NAME_CONTAINER_ID);
}

static bool includes(const char *pattern, const char *path, const struct names *names)
{
    enum name_kind kind = NAME_UNIT;
    const char *glob;

    return matches_path(pattern, path, names) ||
           (matches_name(pattern, path, names) && name_kind_parse(pattern, &kind, &glob) == 0 &&
            !is_inside(path, kind));
}

bool cgroup_rules_want(const struct cgroup_rules *rules, const char *path, const struct names *names)
{
    return any_matches(rules->include, rules->n_include, path, names, includes) &&
           !any_matches(rules->exclude, rules->n_exclude, path, names, excludes);
}

bool cgroup_rules_may_want(const struct cgroup_rules *rules, const char *path)
{
    return any_matches(rules->include, rules->n_include, path, NULL, may_match) &&
           !any_matches(rules->exclude, rules->n_exclude, path, NULL, matches_path);
}

bool cgroup_rules_want_below(const struct cgroup_rules *rules, const char *path)
{
    return any_matches(rules->include, rules->n_include, path, NULL, may_match_below) &&
           !any_matches(rules->exclude, rules->n_exclude, path, NULL, matches_all_below);
}

bool cgroup_rules_use_names(const struct cgroup_rules *rules)
{
    return any_matches(rules->include, rules->n_include, NULL, NULL, is_of_names) ||
           any_matches(rules->exclude, rules->n_exclude, NULL, NULL, is_of_names);
}

/* Returns how many times `each` fits into the budget. */
static uint64_t times_in(uint64_t budget, uint64_t each)
{
    return each ? budget / each : UINT64_MAX;
}

uint64_t cgroup_rules_room(const struct cgroup_rules *rules)
{
    uint64_t room = MIN(rules->max_cgroups, times_in(rules->descriptor_budget, rules->descriptors_per_cgroup));

    return MIN(room, times_in(rules->memory_budget, rules->memory_per_cgroup));
}

bool cgroup_rules_want_memory(const struct cgroup_rules *rules)
{
    return times_in(rules->memory_budget, rules->memory_per_cgroup) <
           MIN(rules->max_cgroups, times_in(rules->descriptor_budget, rules->descriptors_per_cgroup));
}

static int compare_candidates(const void *a, const void *b)
{
    const struct cgroup_candidate *first = a, *second = b;

    if (first->depth != second->depth)
        return first->depth < second->depth ? -1 : 1;
    return strcmp(first->path, second->path);
}

struct cgroup_selection cgroup_select(const struct cgroup_rules *rules, struct cgroup_candidate *candidates, size_t n)
{
    uint64_t room = cgroup_rules_room(rules);
    struct cgroup_selection selection = {0};

    if (n > 0) /* qsort() does not accept NULL */
        qsort(candidates, n, sizeof(*candidates), compare_candidates);
    for (size_t i = 0; i < n; i++) {
        struct cgroup_candidate *candidate = &candidates[i];
        if (!candidate->wanted) {
            candidate->choice = CGROUP_UNWANTED;
        } else if (selection.watched < room) {
            candidate->choice = CGROUP_WATCHED;
            selection.watched++;
        } else {
            candidate->choice = CGROUP_DROPPED;
            selection.dropped++;
        }
    }
    return selection;
}
