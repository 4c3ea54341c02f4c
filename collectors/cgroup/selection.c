/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of the cgroups that are watched: see selection.h. */
#include "collectors/cgroup/selection.h"

#include "base/cleanup.h"
#include "base/glob.h"
#include "collectors/names/path.h"

/* What a pattern is compared with. */
struct subject {
    const char *path;
    const struct names *names; /* NULL: none is known */
};

typedef bool (*pattern_test)(const char *pattern, const struct subject *subject);

static bool any_matches(char *const *patterns, size_t n, const struct subject *subject, pattern_test test)
{
    for (size_t i = 0; i < n; i++)
        if (test(patterns[i], subject))
            return true;
    return false;
}

static bool is_of_name(const char *pattern, const struct subject *subject)
{
    enum name_kind kind;
    const char *glob;

    (void)subject;
    return name_kind_parse(pattern, &kind, &glob) == 0;
}

/* No path matches a pattern of a name. */
static bool matches_path(const char *pattern, const struct subject *subject)
{
    return glob_match(pattern, subject->path);
}

static bool matches_name(const char *pattern, const struct subject *subject)
{
    enum name_kind kind;
    const char *glob;

    return subject->names && name_kind_parse(pattern, &kind, &glob) == 0 && subject->names->texts[kind] &&
           glob_match_last(glob, subject->names->texts[kind]);
}

static bool matches(const char *pattern, const struct subject *subject)
{
    return matches_path(pattern, subject) || matches_name(pattern, subject);
}

static bool may_match(const char *pattern, const struct subject *subject)
{
    return is_of_name(pattern, subject) || matches_path(pattern, subject);
}

static bool may_match_below(const char *pattern, const struct subject *subject)
{
    return is_of_name(pattern, subject) || glob_may_match_below(pattern, subject->path);
}

static bool matches_all_below(const char *pattern, const struct subject *subject)
{
    return glob_match_all_below(pattern, subject->path);
}

/* Whether the path says no more than its parent's: what is in such a cgroup is inside of the one that has the names. */
static bool is_inside(const char *path)
{
    _cleanup_(names_done) struct names own = {0}, outer = {0};
    const char *slash = strrchr(path, '/');
    _cleanup_(freep) char *parent = strndup(path, slash ? (size_t)(slash - path) : 0);

    return parent && names_from_path(&own, path) == 0 && names_from_path(&outer, parent) == 0 &&
           names_equal(&own, &outer);
}

bool cgroup_rules_want(const struct cgroup_rules *rules, const char *path, const struct names *names)
{
    const struct subject subject = {path, names};
    bool included = any_matches(rules->include, rules->n_include, &subject, matches_path) ||
                    (any_matches(rules->include, rules->n_include, &subject, matches_name) && !is_inside(path));

    return included && !(names && names->is_pause) && !any_matches(rules->exclude, rules->n_exclude, &subject, matches);
}

bool cgroup_rules_may_want(const struct cgroup_rules *rules, const char *path)
{
    const struct subject subject = {.path = path};

    return any_matches(rules->include, rules->n_include, &subject, may_match) &&
           !any_matches(rules->exclude, rules->n_exclude, &subject, matches_path);
}

bool cgroup_rules_want_below(const struct cgroup_rules *rules, const char *path)
{
    const struct subject subject = {.path = path};

    return any_matches(rules->include, rules->n_include, &subject, may_match_below) &&
           !any_matches(rules->exclude, rules->n_exclude, &subject, matches_all_below);
}

bool cgroup_rules_use_names(const struct cgroup_rules *rules)
{
    return any_matches(rules->include, rules->n_include, NULL, is_of_name) ||
           any_matches(rules->exclude, rules->n_exclude, NULL, is_of_name);
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
        if (!cgroup_rules_want(rules, candidate->path, candidate->names)) {
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
