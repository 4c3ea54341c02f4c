/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of the cgroups that are watched: see selection.h. */
#include "collectors/cgroup/selection.h"

#include "base/glob.h"

static bool any_matches(char *const *patterns, size_t n, const char *path,
                        bool (*match)(const char *pattern, const char *path))
{
    for (size_t i = 0; i < n; i++)
        if (match(patterns[i], path))
            return true;
    return false;
}

bool cgroup_rules_want(const struct cgroup_rules *rules, const char *path)
{
    return any_matches(rules->include, rules->n_include, path, glob_match) &&
           !any_matches(rules->exclude, rules->n_exclude, path, glob_match);
}

bool cgroup_rules_want_below(const struct cgroup_rules *rules, const char *path)
{
    return any_matches(rules->include, rules->n_include, path, glob_may_match_below) &&
           !any_matches(rules->exclude, rules->n_exclude, path, glob_match_all_below);
}

uint64_t cgroup_rules_room(const struct cgroup_rules *rules)
{
    if (rules->descriptors_per_cgroup == 0)
        return rules->max_cgroups;
    return MIN(rules->max_cgroups, rules->descriptor_budget / rules->descriptors_per_cgroup);
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

    if (n > 0) /* qsort() takes no NULL */
        qsort(candidates, n, sizeof(*candidates), compare_candidates);
    for (size_t i = 0; i < n; i++) {
        struct cgroup_candidate *candidate = &candidates[i];
        if (!cgroup_rules_want(rules, candidate->path)) {
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
