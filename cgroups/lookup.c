/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroups/lookup.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/text.h"
#include "cgroups/cgroupfs.h"
#include "cgroups/path.h"

#define BUCKETS 1024
#define PROCESSES 1024 /* slots of a hash table; a power of two */
/* How long the cgroup of a process is cached if samples have no cgroup id. Processes rarely move except around exec. */
#define PROCESS_AGE_NS (10 * NSEC_PER_SEC)
/* The first and the longest wait before the next search for an unknown cgroup; the wait doubles each time. */
#define AGAIN_MIN_NS NSEC_PER_SEC
#define AGAIN_MAX_NS (60 * NSEC_PER_SEC)
/* At most 1/SCAN_PARTS of the time is spent on searches of all directories. */
#define SCAN_PARTS 50
#define SHOWN_MAX 4 /* maximum number of cgroups that a message lists */

struct seen_process {
    uint32_t pid;
    uint64_t seen_ns; /* time at which the process was looked up; 0: look it up again */
    struct found_cgroup *cgroup;
};

struct cgroup_lookup {
    struct sys *sys;
    struct hierarchy hierarchy; /* hierarchy.path is NULL if the machine has none */
    cgroup_namer namer;
    void *namer_userdata;
    LIST_HEAD(found_bucket, found_cgroup) buckets[BUCKETS];
    TAILQ_HEAD(, found_cgroup) used; /* the least recently used first */
    size_t n, bytes;
    uint64_t scan_ns;                         /* earliest time of the next search of all directories */
    struct seen_process processes[PROCESSES]; /* by pid */
};

DEFINE_CLEANUP(struct found_cgroup *, found_cgroup_unref);

/* --- cgroups --- */

struct found_cgroup *found_cgroup_ref(struct found_cgroup *cgroup)
{
    cgroup->refs++;
    return cgroup;
}

struct found_cgroup *found_cgroup_unref(struct found_cgroup *cgroup)
{
    if (!cgroup || --cgroup->refs > 0)
        return NULL;
    free(cgroup->path);
    free(cgroup->label);
    free(cgroup);
    return NULL;
}

static size_t found_cgroup_bytes(const struct found_cgroup *cgroup)
{
    return sizeof(*cgroup) + (cgroup->path ? strlen(cgroup->path) + strlen(cgroup->label) + 2 : 0);
}

static struct found_bucket *bucket_of(struct cgroup_lookup *lookup, uint64_t id)
{
    return &lookup->buckets[id % BUCKETS];
}

static struct found_cgroup *get_known(struct cgroup_lookup *lookup, uint64_t id)
{
    struct found_cgroup *cgroup;

    LIST_FOREACH (cgroup, bucket_of(lookup, id), bucket)
        if (cgroup->id == id)
            return cgroup;
    return NULL;
}

static void forget(struct cgroup_lookup *lookup, struct found_cgroup *cgroup)
{
    LIST_REMOVE(cgroup, bucket);
    TAILQ_REMOVE(&lookup->used, cgroup, use);
    lookup->n--;
    lookup->bytes -= found_cgroup_bytes(cgroup);
    found_cgroup_unref(cgroup);
}

static void use(struct cgroup_lookup *lookup, struct found_cgroup *cgroup)
{
    TAILQ_REMOVE(&lookup->used, cgroup, use);
    TAILQ_INSERT_TAIL(&lookup->used, cgroup, use);
}

/* Adds a cgroup, in place of any with the same id. `path` is NULL if it is unknown. Returns NULL when out of memory. */
static struct found_cgroup *add(struct cgroup_lookup *lookup, uint64_t id, const char *path)
{
    _cleanup_(found_cgroup_unrefp) struct found_cgroup *cgroup = calloc(1, sizeof(*cgroup));
    struct found_cgroup *old = get_known(lookup, id);

    if (!cgroup)
        return NULL;
    cgroup->refs = 1;
    cgroup->id = id;
    cgroup->path = path ? strdup(path) : NULL;
    if (path && (!cgroup->path || cgroup_label(path, CGROUP_LABEL_PLAIN, &cgroup->label) < 0))
        return NULL;
    if (old)
        forget(lookup, old);
    lookup->n++;
    lookup->bytes += found_cgroup_bytes(cgroup);
    LIST_INSERT_HEAD(bucket_of(lookup, id), cgroup, bucket);
    TAILQ_INSERT_TAIL(&lookup->used, cgroup, use);
    while (lookup->n > 1 && (lookup->n > LOOKUP_CGROUPS_MAX || lookup->bytes > LOOKUP_BYTES_MAX))
        forget(lookup, TAILQ_FIRST(&lookup->used));
    return steal(cgroup);
}

/* In cgroup v1, a cgroup can be renamed. */
static struct found_cgroup *learn(struct cgroup_lookup *lookup, uint64_t id, const char *path)
{
    struct found_cgroup *known = get_known(lookup, id);

    if (!known || !known->path || !str_equal(known->path, path))
        return add(lookup, id, path);
    use(lookup, known);
    return known;
}

/* --- lifetime --- */

int cgroup_lookup_new(struct sys *sys, struct cgroup_lookup **ret)
{
    struct cgroup_lookup *lookup = calloc(1, sizeof(*lookup));
    struct error error;

    if (!lookup)
        return -ENOMEM;
    lookup->sys = sys;
    TAILQ_INIT(&lookup->used);
    (void)hierarchy_find(sys, &lookup->hierarchy, &error);
    *ret = lookup;
    return 0;
}

struct cgroup_lookup *cgroup_lookup_free(struct cgroup_lookup *lookup)
{
    if (!lookup)
        return NULL;
    for (size_t i = 0; i < PROCESSES; i++)
        found_cgroup_unref(lookup->processes[i].cgroup);
    while (lookup->n > 0)
        forget(lookup, TAILQ_FIRST(&lookup->used));
    hierarchy_done(&lookup->hierarchy);
    free(lookup);
    return NULL;
}

size_t cgroup_lookup_bytes(const struct cgroup_lookup *lookup)
{
    return lookup ? sizeof(*lookup) + lookup->bytes : 0;
}

/* --- processes --- */

static struct seen_process *seen_process_of(struct cgroup_lookup *lookup, uint32_t pid)
{
    return &lookup->processes[pid % PROCESSES];
}

/* Whether a line of /proc/PID/cgroup (cgroups(7)), "NUMBER:CONTROLLERS:PATH", is for the hierarchy. */
static bool is_line_of(const struct hierarchy *hierarchy, const char *controllers, size_t size)
{
    static const char wanted[] = "perf_event";
    const size_t length = sizeof(wanted) - 1;

    if (hierarchy->kind == HIERARCHY_V2)
        return size == 0;
    for (const char *at = controllers, *end = controllers + size; at + length <= end; at++)
        if (memcmp(at, wanted, length) == 0 && (at == controllers || at[-1] == ',') &&
            (at + length == end || at[length] == ','))
            return true;
    return false;
}

/*
 * Returns the path in the text of /proc/PID/cgroup, which is modified in place, or NULL if the cgroup is outside the
 * mounted hierarchy.
 */
static const char *path_in(const struct hierarchy *hierarchy, char *text)
{
    char *line;

    while ((line = strsep(&text, "\n"))) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (path && path[1] == '/' && is_line_of(hierarchy, controllers + 1, (size_t)(path - controllers - 1)))
            return str_starts(path + 1, "/..") ? NULL : path + 1;
    }
    return NULL;
}

/* Reads and remembers the cgroup of a process. Returns NULL if the process or its cgroup no longer exists. */
static struct found_cgroup *look_at_process(struct cgroup_lookup *lookup, uint32_t pid)
{
    _cleanup_(freep) char *text = NULL, *directory = NULL;
    struct stat status;

    if (pid == 0 || pid > INT_MAX || sys_read_filef(lookup->sys, &text, "/proc/%u/cgroup", pid) < 0)
        return NULL;
    const char *path = path_in(&lookup->hierarchy, text);
    if (!path)
        return NULL;
    if (asprintf(&directory, "%s%s", lookup->hierarchy.path, path) < 0) {
        directory = NULL;
        return NULL;
    }
    return stat(directory, &status) < 0 ? NULL : learn(lookup, status.st_ino, path);
}

static struct found_cgroup *sample_by_process(struct cgroup_lookup *lookup, uint32_t pid)
{
    struct seen_process *seen = seen_process_of(lookup, pid);
    uint64_t now = sys_now(lookup->sys, CLOCK_MONOTONIC);

    if (seen->pid == pid && seen->seen_ns && now - seen->seen_ns < PROCESS_AGE_NS)
        return seen->cgroup;
    struct found_cgroup *found = look_at_process(lookup, pid);
    if (found || seen->pid != pid) { /* for a process that has exited, its last cgroup is kept */
        found_cgroup_unref(seen->cgroup);
        seen->cgroup = found ? found_cgroup_ref(found) : NULL;
    }
    seen->pid = pid;
    seen->seen_ns = now;
    return seen->cgroup;
}

/* --- ids --- */

struct scan {
    struct cgroup_lookup *lookup;
    uint64_t id; /* the id to look for; 0: none */
};

/*
 * Remembers a cgroup that the search has found. Cgroups other than the wanted one are remembered only while there is
 * room.
 */
static bool learn_directory(void *userdata, const char *path, uint64_t inode)
{
    const struct scan *scan = userdata;
    struct cgroup_lookup *lookup = scan->lookup;

    if (inode == scan->id || (lookup->n < LOOKUP_CGROUPS_MAX && lookup->bytes < LOOKUP_BYTES_MAX))
        (void)learn(lookup, inode, path);
    return true;
}

static void scan_for(struct cgroup_lookup *lookup, uint64_t id)
{
    uint64_t begun = sys_now(lookup->sys, CLOCK_MONOTONIC);

    if (!lookup->hierarchy.path)
        return;
    (void)cgroup_walk(lookup->hierarchy.path, learn_directory, &(struct scan){lookup, id});
    uint64_t now = sys_now(lookup->sys, CLOCK_MONOTONIC);
    lookup->scan_ns = now + MAX(NSEC_PER_SEC, SCAN_PARTS * (now - begun));
}

void cgroup_lookup_scan(struct cgroup_lookup *lookup)
{
    scan_for(lookup, 0);
}

void cgroup_lookup_each(const struct cgroup_lookup *lookup,
                        void (*visit)(void *userdata, const struct found_cgroup *cgroup), void *userdata)
{
    const struct found_cgroup *cgroup;

    TAILQ_FOREACH (cgroup, &lookup->used, use)
        if (cgroup->path)
            visit(userdata, cgroup);
}

/* Looks for an unknown cgroup in /proc/PID/cgroup of the process that ran in it, then in all directories. */
static struct found_cgroup *look_for(struct cgroup_lookup *lookup, uint64_t id, uint32_t pid)
{
    struct found_cgroup *found = look_at_process(lookup, pid);

    if (found && found->id == id)
        return found;
    if (sys_now(lookup->sys, CLOCK_MONOTONIC) >= lookup->scan_ns)
        scan_for(lookup, id);
    found = get_known(lookup, id);
    return found && found->path ? found : NULL;
}

static struct found_cgroup *sample_by_id(struct cgroup_lookup *lookup, uint64_t id, uint32_t pid)
{
    struct found_cgroup *known = get_known(lookup, id);
    uint64_t now, wait = known ? known->wait_ns : AGAIN_MIN_NS;

    if (known && known->path) {
        use(lookup, known);
        return known;
    }
    now = sys_now(lookup->sys, CLOCK_MONOTONIC);
    if (known && now < known->again_ns)
        return NULL;
    struct found_cgroup *found = look_for(lookup, id, pid);
    if (found)
        return found;
    known = add(lookup, id, NULL);
    if (known) {
        known->again_ns = now + wait;
        known->wait_ns = MIN(2 * wait, AGAIN_MAX_NS);
    }
    return NULL;
}

struct found_cgroup *cgroup_lookup_sample(struct cgroup_lookup *lookup, const struct record *sample)
{
    uint64_t id = cgroup_id_key(sample->sample.cgroup);

    if (!lookup || !lookup->hierarchy.path)
        return NULL;
    return id ? sample_by_id(lookup, id, sample->id.pid) : sample_by_process(lookup, sample->id.pid);
}

/* Returns the pid of the process that the record reports as new or as executing a new program, or 0. */
static uint32_t changed_process(const struct record *record)
{
    if (record->type == PERF_RECORD_FORK && record->task.pid != record->task.parent_pid)
        return record->task.pid;
    if (record->type == PERF_RECORD_COMM && record->misc & PERF_RECORD_MISC_COMM_EXEC)
        return record->comm.pid;
    return 0;
}

void cgroup_lookup_update(struct cgroup_lookup *lookup, const struct record *record)
{
    uint32_t pid = changed_process(record);

    /* Paths in records are relative to the root of the hierarchy, which may be invisible to this process. */
    if (record->type == PERF_RECORD_CGROUP && lookup->hierarchy.path && !lookup->hierarchy.namespaced)
        (void)learn(lookup, cgroup_id_key(record->cgroup.id), record->cgroup.path);
    if (pid && seen_process_of(lookup, pid)->pid == pid)
        seen_process_of(lookup, pid)->seen_ns = 0;
}

/* --- names --- */

void cgroup_lookup_set_namer(struct cgroup_lookup *lookup, cgroup_namer namer, void *userdata)
{
    lookup->namer = namer;
    lookup->namer_userdata = userdata;
}

int cgroup_lookup_names(struct cgroup_lookup *lookup, const char *path, struct names *names)
{
    return lookup->namer ? lookup->namer(lookup->namer_userdata, path, names) : names_from_path(names, path);
}

/* --- selectors --- */

bool cgroup_selector_is_empty(const struct cgroup_selector *selector)
{
    bool empty = !selector->cgroup;

    for (size_t i = 0; i < N_NAME_KEYS; i++)
        empty = empty && !selector->names[i];
    return empty;
}

int cgroup_selector_check(const struct cgroup_selector *selector, struct error *error)
{
    int r = selector->cgroup ? glob_check(selector->cgroup, error) : 0;

    if (r < 0)
        error_prefix(error, "parameter \"cgroup\"");
    for (size_t i = 0; i < N_NAME_KEYS && r == 0; i++) {
        r = selector->names[i] ? glob_check(selector->names[i], error) : 0;
        if (r < 0)
            error_prefix(error, "parameter \"%s\"", name_kind_text((enum name_kind)i));
    }
    return r;
}

struct search {
    struct cgroup_lookup *lookup;
    const struct cgroup_selector *selector;
    char **paths;
    size_t n;
    size_t n_unnamed;    /* number of containers without a name */
    const char *unnamed; /* reason why the first of these containers has no name */
    bool failed;         /* set when out of memory */
};

static bool has_names(struct search *search, const char *path)
{
    _cleanup_(names_done) struct names names = {0};

    if (cgroup_lookup_names(search->lookup, path, &names) < 0)
        search->failed = true;
    if (names.unnamed && search->n_unnamed++ == 0)
        search->unnamed = names.unnamed;
    for (size_t i = 0; i < N_NAME_KEYS; i++)
        if (search->selector->names[i] &&
            (!names.texts[i] || !glob_match_last(search->selector->names[i], names.texts[i])))
            return false;
    return !names.is_pause;
}

static bool matches(struct search *search, const char *path)
{
    const char *pattern = search->selector->cgroup;

    if (pattern && !str_equal(pattern, path) && !glob_match_last(pattern, path))
        return false;
    return has_names(search, path);
}

static bool search_visit(void *userdata, const char *path, uint64_t inode)
{
    struct search *search = userdata;

    (void)inode;
    if (!matches(search, path))
        return !search->failed;
    char *copy = strdup(path);
    if (!copy || array_grow(&search->paths, search->n) < 0) {
        free(copy);
        search->failed = true;
        return false;
    }
    search->paths[search->n++] = copy;
    return false;
}

/* Whether `path` is the cgroup at `outer`, or inside it. */
static bool is_within(const char *path, const char *outer)
{
    size_t size = str_equal(outer, "/") ? 0 : strlen(outer);

    return strncmp(path, outer, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

static bool is_in_found(const struct search *search, const char *path)
{
    for (size_t i = 0; i < search->n; i++)
        if (is_within(path, search->paths[i]))
            return true;
    return false;
}

/* Adds the outermost known cgroups that match and are not inside a cgroup that was already found. */
static void search_known(struct search *search)
{
    const struct found_cgroup *cgroup;

    TAILQ_FOREACH (cgroup, &search->lookup->used, use) {
        size_t n = search->n, kept = 0;
        if (!cgroup->path || is_in_found(search, cgroup->path) || search_visit(search, cgroup->path, cgroup->id))
            continue;
        if (search->n == n)
            return; /* out of memory */
        for (size_t i = 0; i < n; i++)
            if (is_within(search->paths[i], cgroup->path))
                free(search->paths[i]);
            else
                search->paths[kept++] = search->paths[i];
        search->paths[kept++] = search->paths[n];
        search->n = kept;
    }
}

/* "container=web and namespace=shop" */
static void append_selector(struct buffer *text, const struct cgroup_selector *selector)
{
    const char *before = "";

    if (selector->cgroup) {
        escape_append_printable(text, selector->cgroup);
        before = " and ";
    }
    for (size_t i = 0; i < N_NAME_KEYS; i++) {
        if (!selector->names[i])
            continue;
        buffer_appendf(text, "%s%s=", before, name_kind_text((enum name_kind)i));
        escape_append_printable(text, selector->names[i]);
        before = " and ";
    }
}

int cgroup_selector_refuse_several(const struct cgroup_selector *selector, char *const *paths, size_t n,
                                   struct error *error)
{
    _cleanup_(buffer_done) struct buffer text = {0};

    append_selector(&text, selector);
    buffer_appendf(&text, " matches %zu cgroups", n);
    for (size_t i = 0; i < MIN(n, (size_t)SHOWN_MAX); i++) {
        buffer_append_text(&text, i == 0 ? n > SHOWN_MAX ? ", such as " : ": " : ", ");
        escape_append_printable(&text, paths[i]);
    }
    buffer_append_text(&text, "; name one cgroup; those inside it are included");
    buffer_append_char(&text, '\0');
    return text.failed ? error_oom(error) : error_set(error, -EINVAL, "%s", text.data);
}

static int refuse_none(const struct search *search, bool namespaced, struct error *error)
{
    _cleanup_(buffer_done) struct buffer text = {0};
    struct cgroup_selector names = *search->selector;

    names.cgroup = NULL;

    append_selector(&text, search->selector);
    buffer_append_text(&text, " matches no cgroup");
    if (namespaced)
        buffer_append_text(&text, " in this cgroup namespace (a container sees all cgroups if the host's "
                                  "/sys/fs/cgroup is mounted in it, or with --cgroupns=host)");
    if (!cgroup_selector_is_empty(&names) && search->n_unnamed)
        buffer_appendf(&text, "; %zu container%s no known name: %s", search->n_unnamed,
                       search->n_unnamed == 1 ? " has" : "s have", search->unnamed);
    buffer_append_char(&text, '\0');
    return text.failed ? error_oom(error) : error_set(error, -ENOENT, "%s", text.data);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * If a cgroup has exactly the requested path, only that cgroup is selected, even if the path is a pattern that matches
 * others.
 */
static void prefer_literal(struct search *search)
{
    for (size_t i = 0; i < search->n && search->selector->cgroup; i++)
        if (str_equal(search->paths[i], search->selector->cgroup)) {
            char *only = search->paths[i];
            search->paths[i] = search->paths[0];
            search->paths[0] = only;
            while (search->n > 1)
                free(search->paths[--search->n]);
        }
}

bool cgroup_lookup_knows(const struct cgroup_lookup *lookup, const char *path)
{
    const struct found_cgroup *cgroup;

    TAILQ_FOREACH (cgroup, &lookup->used, use)
        if (cgroup->path && str_equal(cgroup->path, path))
            return true;
    return false;
}

int cgroup_lookup_ids(const struct cgroup_lookup *lookup, const char *path, int (*visit)(void *userdata, uint64_t id),
                      void *userdata)
{
    const struct found_cgroup *cgroup;
    int r = 0;

    TAILQ_FOREACH (cgroup, &lookup->used, use)
        if (r == 0 && cgroup->path && is_within(cgroup->path, path))
            r = visit(userdata, cgroup->id);
    return r;
}

int cgroup_lookup_find(struct cgroup_lookup *lookup, const struct cgroup_selector *selector, bool removed, char ***ret,
                       size_t *ret_n, struct error *error)
{
    struct search search = {.lookup = lookup, .selector = selector};
    _cleanup_(hierarchy_done) struct hierarchy hierarchy = {0};

    int r = cgroup_selector_check(selector, error);
    if (r == 0)
        r = hierarchy_find(lookup->sys, &hierarchy, error);
    if (r < 0)
        return r;
    r = cgroup_walk(hierarchy.path, search_visit, &search);
    if (r == 0 && removed)
        search_known(&search);
    if (r < 0 && r != -ENOMEM)
        error_of_file(error, r, "open", hierarchy.path);
    else if (r < 0 || search.failed)
        r = error_oom(error);
    else if (search.n == 0)
        r = refuse_none(&search, hierarchy.namespaced, error);
    if (r < 0) {
        strings_free(search.paths, search.n);
        return r;
    }
    qsort(search.paths, search.n, sizeof(search.paths[0]), compare_paths);
    prefer_literal(&search);
    *ret = search.paths;
    *ret_n = search.n;
    return 0;
}
