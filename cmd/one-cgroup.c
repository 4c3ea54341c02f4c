/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/one-cgroup.h"

#include <poll.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/text.h"
#include "cgroups/cgroupfs.h"
#include "cgroups/resolver.h"
#include "cgroups/selection.h"
#include "cgroups/tree.h"

#define ANSWER_NS (10 * NSEC_PER_SEC)
#define SHOWN_MAX 4 /* cgroups in a sentence */
/* The names of containers arrive late. They are waited for until none has come for SILENCE_MS, or SETTLE_NS are over.
 */
#define SILENCE_MS 100
#define SETTLE_NS (2 * NSEC_PER_SEC)

bool cgroup_is_path(const char *pattern)
{
    return pattern[0] == '/' && !strpbrk(pattern, "*?[");
}

bool cgroup_is_name(const char *pattern)
{
    enum name_kind kind;
    const char *glob;

    return name_kind_parse(pattern, &kind, &glob) == 0;
}

int cgroup_pattern_check(const char *pattern, struct error *error)
{
    const char *glob = pattern;
    enum name_kind kind;

    (void)name_kind_parse(pattern, &kind, &glob);
    int r = glob_check(glob, error);
    if (r < 0)
        error_prefix(error, "--cgroup");
    return r;
}

static bool matches(const char *pattern, const char *path, const struct names *names)
{
    char *include[] = {(char *)pattern};
    const struct cgroup_rules rules = {.include = include, .n_include = 1};

    return cgroup_is_name(pattern) ? cgroup_rules_want(&rules, path, names) : glob_match_last(pattern, path);
}

/* --- matches --- */

struct found {
    const char *pattern;
    char **paths;
    size_t n;
    bool failed; /* out of memory */
};

static void found_clear(struct found *found)
{
    strings_free(found->paths, found->n);
    *found = (struct found){.pattern = found->pattern};
}

static void found_consider(struct found *found, const char *path, const struct names *names)
{
    if (!matches(found->pattern, path, names))
        return;
    char *copy = strdup(path);
    if (!copy || array_grow(&found->paths, found->n) < 0) {
        free(copy);
        found->failed = true;
        return;
    }
    found->paths[found->n++] = copy;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes the path of the only match. */
static int found_take(struct found *found, const char *who, char **ret, struct error *error)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    if (found->failed)
        return error_oom(error);
    if (found->n == 1) {
        *ret = steal(found->paths[0]);
        return 0;
    }
    if (found->n > 1)
        qsort(found->paths, found->n, sizeof(found->paths[0]), compare_paths);
    escape_append_printable(&text, found->pattern);
    if (found->n)
        buffer_appendf(&text, " matches %zu cgroups", found->n);
    else
        buffer_appendf(&text, " matches no cgroup%s", who);
    for (size_t i = 0; i < MIN(found->n, (size_t)SHOWN_MAX); i++) {
        buffer_append_text(&text, i == 0 ? found->n > SHOWN_MAX ? ", such as " : ": " : ", ");
        escape_append_printable(&text, found->paths[i]);
    }
    buffer_append_text(&text, found->n ? "; name one, those inside it are included" : "");
    buffer_append_char(&text, '\0');
    if (text.failed)
        return error_oom(error);
    return error_set(error, found->n ? -EINVAL : -ENOENT, "--cgroup: %s", text.data);
}

/* --- this machine --- */

static bool wants_all(void *userdata, const char *path)
{
    (void)userdata;
    (void)path;
    return true;
}

static void ignore_node(void *userdata, struct cgroup_node *node)
{
    (void)userdata;
    (void)node;
}

static void ignore_added(void *userdata, struct cgroup_node *node, int fd)
{
    (void)userdata;
    (void)node;
    (void)fd;
}

static void consider_all(struct found *found, const struct cgroup_tree *tree, struct resolver *resolver)
{
    const struct cgroup_node *node;

    found_clear(found);
    for (size_t i = 0; (node = cgroup_tree_node(tree, i)); i++) {
        _cleanup_(names_done) struct names names = {0};
        found->failed |= resolver && resolver_find(resolver, node->path, &names) < 0;
        found_consider(found, node->path, &names);
    }
}

/* Asks again when names have arrived. */
static void settle(struct found *found, struct session *session, const struct cgroup_tree *tree,
                   struct resolver *resolver)
{
    uint64_t end = sys_now(&session->sys, CLOCK_MONOTONIC) + SETTLE_NS;
    struct pollfd ready[RESOLVER_FDS];
    int fds[RESOLVER_FDS];

    while (sys_now(&session->sys, CLOCK_MONOTONIC) < end) {
        size_t n = resolver_fds(resolver, fds);
        for (size_t i = 0; i < n; i++)
            ready[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
        if (poll(ready, n, SILENCE_MS) <= 0)
            return;
        if (resolver_dispatch(resolver))
            consider_all(found, tree, resolver);
    }
}

int one_cgroup_here(struct session *session, const char *pattern, char **ret, struct error *error)
{
    const struct cgroup_listener listener = {
        .wants = wants_all, .wants_below = wants_all, .added = ignore_added, .removed = ignore_node};
    struct found found = {.pattern = pattern};
    struct hierarchy hierarchy = {0};
    struct cgroup_tree *tree = NULL;
    struct resolver *resolver = NULL;

    int r = hierarchy_find(&session->sys, &hierarchy, error);
    if (r == 0)
        r = cgroup_tree_new(hierarchy.path, &listener, &tree, error);
    if (r == 0 && cgroup_is_name(pattern) && resolver_new(&session->sys, &session->state_files, &resolver) < 0)
        r = error_oom(error);
    if (r == 0)
        consider_all(&found, tree, resolver);
    if (r == 0 && resolver && session->has_reader)
        settle(&found, session, tree, resolver);
    if (r == 0)
        r = found_take(&found, "", ret, error);
    found_clear(&found);
    resolver_free(resolver);
    cgroup_tree_free(tree);
    hierarchy_done(&hierarchy);
    return r;
}

/* --- a daemon --- */

int one_cgroup_of(const json_t *document, const char *pattern, char **ret, struct error *error)
{
    struct found found = {.pattern = pattern};
    const json_t *cgroup;
    size_t i;

    json_array_foreach (json_object_get(document, "cgroups"), i, cgroup) {
        _cleanup_(names_done) struct names names = {0};
        const char *path = json_string_value(json_object_get(cgroup, "cgroup"));
        for (enum name_kind kind = 0; kind < N_NAME_KEYS; kind++) {
            const char *text = json_string_value(json_object_get(cgroup, name_kind_text(kind)));
            found.failed |= text && names_set(&names, kind, text, strlen(text)) < 0;
        }
        if (path)
            found_consider(&found, path, &names);
    }
    int r = found_take(&found, " that the daemon counts", ret, error);
    found_clear(&found);
    return r;
}

int one_cgroup_there(const struct top_address *address, const char *pattern, char **ret, struct error *error)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    json_t *document = NULL;

    int r = top_get(address, "/api/v1/cgroups", ANSWER_NS, &text, &document, error);
    if (r == 0)
        r = one_cgroup_of(document, pattern, ret, error);
    json_decref(document);
    return r;
}
