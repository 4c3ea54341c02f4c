/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/offsets.h"

#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/util.h"

/* Number of words that are searched in each struct. */
#define TASK_WORDS (2 * PEEK_WORDS)
#define CSS_SET_WORDS 64
#define CGROUP_WORDS 128
#define NODE_WORDS 32

#define WAYS_MAX 4096
#define LEVELS_MAX 256
#define ROOT_ID 1 /* the first id in a hierarchy (fs/kernfs/dir.c) */

/*
 * Tasks are sampled until tasks of two cgroups have been seen and only one candidate path from a task to its cgroup's
 * id remains, but at most this many times for the first cgroup, and again for the others.
 */
#define SAMPLES_MAX 200
#define SAMPLE_NS 2000000

#define BASE                                                                                                           \
    "the kernel has no type information (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF), and a search of its "        \
    "memory "

struct search {
    const struct peek *peek;
    struct bpf_offsets *ways; /* candidate paths that led to the id of every task so far, without `parent` */
    size_t n;
};

/* Whether a word may be an address in a 64-bit kernel; all structs that are searched are aligned to words. */
static bool is_pointer(uint64_t word)
{
    return word >= UINT64_C(0xffff) << 48 && word < UINT64_MAX - 4096 && word % sizeof(word) == 0;
}

/*
 * Whether a 64-bit kernel may have a task at this address. bpf_get_current_task() returns a pointer as a long, so the
 * upper half of a 32-bit pointer may be all ones. The last 2 GB of a 64-bit kernel's addresses hold its image and
 * modules, but no tasks of processes.
 */
static bool is_task(uint64_t address)
{
    return is_pointer(address) && (int64_t)address < INT32_MIN;
}

static int read_words(const struct search *search, uint64_t address, size_t n, uint64_t *ret)
{
    return search->peek->words(search->peek->userdata, address, n, ret);
}

static int read_word(const struct search *search, uint64_t address, uint64_t *ret)
{
    return read_words(search, address, 1, ret);
}

/* Reads the pointer at `offset` of a struct. *ret is 0 if there is no pointer. */
static int follow(const struct search *search, uint64_t address, uint32_t offset, uint64_t *ret)
{
    uint64_t word = 0;
    int r = address ? read_word(search, address + offset, &word) : 0;

    *ret = is_pointer(word) ? word : 0;
    return r;
}

/* Whether the address is that of a cgroup, whose first word, cgroup.self.cgroup, points to the cgroup itself. */
static int check_cgroup(const struct search *search, uint64_t address, bool *ret)
{
    uint64_t word = 0;
    int r = read_word(search, address, &word);

    *ret = word == address;
    return r;
}

/* --- paths to the id --- */

/*
 * Continues the path `way` from a cgroup: adds a path for each pointer to a struct, maybe a kernfs_node, that contains
 * `id`.
 */
static int search_cgroup(struct search *search, struct bpf_offsets way, uint64_t cgroup, uint64_t id)
{
    uint64_t fields[CGROUP_WORDS], node[NODE_WORDS];
    int r = read_words(search, cgroup, CGROUP_WORDS, fields);

    for (uint32_t i = 0; i < CGROUP_WORDS && r == 0; i++) {
        if (!is_pointer(fields[i]) || fields[i] == cgroup)
            continue;
        r = read_words(search, fields[i], NODE_WORDS, node);
        for (uint32_t j = 0; j < NODE_WORDS && r == 0; j++) {
            if (node[j] != id)
                continue;
            way.kn = i * sizeof(uint64_t);
            way.id = j * sizeof(uint64_t);
            if (search->n == WAYS_MAX)
                return -E2BIG;
            search->ways[search->n++] = way;
        }
    }
    return r;
}

static int search_css_set(struct search *search, struct bpf_offsets way, uint64_t css_set, uint64_t id)
{
    uint64_t fields[CSS_SET_WORDS];
    int r = read_words(search, css_set, CSS_SET_WORDS, fields);

    for (uint32_t i = 0; i < CSS_SET_WORDS && r == 0; i++) {
        bool is_cgroup = false;
        if (is_pointer(fields[i]))
            r = check_cgroup(search, fields[i], &is_cgroup);
        if (r < 0 || !is_cgroup)
            continue;
        way.dfl_cgrp = i * sizeof(uint64_t);
        r = search_cgroup(search, way, fields[i], id);
    }
    return r;
}

static int search_task(struct search *search, const struct peeked_task *task)
{
    uint64_t fields[TASK_WORDS];
    int r = 0;

    for (size_t i = 0; i < TASK_WORDS && r == 0; i += PEEK_WORDS)
        r = read_words(search, task->address + i * sizeof(uint64_t), PEEK_WORDS, fields + i);
    for (uint32_t i = 0; i < TASK_WORDS && r == 0; i++)
        if (is_pointer(fields[i]))
            r = search_css_set(search, (struct bpf_offsets){.cgroups = i * sizeof(uint64_t)}, fields[i], task->cgroup);
    return r;
}

static int follow_to_cgroup(const struct search *search, const struct bpf_offsets *way, uint64_t task, uint64_t *ret)
{
    uint64_t css_set = 0, cgroup = 0;
    int r = follow(search, task, way->cgroups, &css_set);

    if (r == 0)
        r = follow(search, css_set, way->dfl_cgrp, &cgroup);
    if (r == 0)
        *ret = cgroup;
    return r;
}

/* Follows the path from a cgroup to its id; *ret is 0 if the path does not lead to one. */
static int follow_to_id(const struct search *search, const struct bpf_offsets *way, uint64_t cgroup, uint64_t *ret)
{
    uint64_t node = 0, id = 0;
    int r = follow(search, cgroup, way->kn, &node);

    if (r == 0 && node)
        r = read_word(search, node + way->id, &id);
    if (r == 0)
        *ret = id;
    return r;
}

/*
 * Drops the candidates in `ways` that do not lead to the id of the task's cgroup. If none does, the task must have
 * exited, and all are kept.
 */
static int compare_ways(struct search *search, const struct peeked_task *task)
{
    size_t n = 0;

    for (size_t i = 0; i < search->n; i++) {
        struct bpf_offsets way = search->ways[i];
        uint64_t cgroup = 0, id = 0;
        int r = follow_to_cgroup(search, &way, task->address, &cgroup);
        if (r == 0)
            r = follow_to_id(search, &way, cgroup, &id);
        if (r < 0)
            return r;
        if (id != task->cgroup)
            continue;
        search->ways[i] = search->ways[n];
        search->ways[n++] = way;
    }
    if (n == 0)
        return 0;
    search->n = n;
    return 1;
}

/*
 * If several paths differ only in the first offset, keeps the one where it is lowest: the search may reach into the
 * next task_struct in memory, whose task may be in the same cgroup.
 */
static void drop_neighbours(struct search *search)
{
    struct bpf_offsets *first = &search->ways[0];
    size_t n = 1;

    for (size_t i = 1; i < search->n; i++) {
        struct bpf_offsets way = search->ways[i];
        if (way.dfl_cgrp != first->dfl_cgrp || way.kn != first->kn || way.id != first->id)
            search->ways[n++] = way;
        else
            first->cgroups = MIN(first->cgroups, way.cgroups);
    }
    search->n = n;
}

/* --- parents --- */

/*
 * Returns 1 if the pointers at this offset lead from the cgroup, through nothing but cgroups, to the root, which has no
 * parent.
 */
static int leads_to_root(const struct search *search, const struct bpf_offsets *way, uint64_t cgroup, uint32_t offset)
{
    for (int level = 0; level < LEVELS_MAX; level++) {
        uint64_t parent = 0, id = 0;
        bool is_cgroup = true;
        int r = follow_to_id(search, way, cgroup, &id);
        if (r == 0)
            r = read_word(search, cgroup + offset, &parent);
        if (r < 0)
            return r;
        if (id == ROOT_ID)
            return parent == 0;
        if (!is_pointer(parent) || parent == cgroup)
            return 0;
        r = check_cgroup(search, parent, &is_cgroup);
        if (r < 0 || !is_cgroup)
            return r;
        cgroup = parent;
    }
    return 0;
}

static int find_parent(const struct search *search, const struct peeked_task *task, struct bpf_offsets *way,
                       struct error *error)
{
    uint64_t cgroup = 0;
    size_t n = 0;
    int r = follow_to_cgroup(search, way, task->address, &cgroup);

    for (uint32_t i = 1; i < CGROUP_WORDS && r >= 0; i++) {
        r = leads_to_root(search, way, cgroup, i * sizeof(uint64_t));
        if (r > 0)
            way->parent = i * sizeof(uint64_t);
        n += r > 0;
    }
    if (r < 0)
        return error_set(error, r, BASE "failed: %s", strerror(-r));
    return n == 1 ? 0 : error_set(error, -ENOENT, BASE "found %zu possible paths from a cgroup to its parent", n);
}

/* --- search --- */

/*
 * Looks for a task in a cgroup whose id is neither 0 nor `other`, and with `inner` not the root's either. Tries this
 * process and the running tasks of all CPUs, in a circle that starts at CPU `from` - 1, where -1 is this process.
 * Returns 1 if it finds one.
 */
static int sample(const struct search *search, unsigned from, uint64_t other, bool inner, struct peeked_task *ret)
{
    for (unsigned i = 0; i <= search->peek->n_cpus; i++) {
        struct peeked_task task = {0};
        int cpu = (int)((from + i) % (search->peek->n_cpus + 1)) - 1;
        int r = search->peek->task(search->peek->userdata, cpu, &task);
        if (r < 0 && r != -ENXIO)
            return r;
        if (r < 0 || task.cgroup == 0 || task.cgroup == other || (inner && task.cgroup == ROOT_ID))
            continue;
        *ret = task;
        return 1;
    }
    return 0;
}

static void pause_sampling(void)
{
    nanosleep(&(struct timespec){.tv_nsec = SAMPLE_NS}, NULL);
}

/*
 * Finds the paths from a task outside the root cgroup to its cgroup's id; *ret is the task. Returns 1 if there is any
 * path.
 */
static int search_first(struct search *search, struct peeked_task *ret)
{
    int r = 0;

    for (unsigned i = 0; i < SAMPLES_MAX && r >= 0 && search->n == 0; i++) {
        r = sample(search, i, 0, true, ret);
        if (r > 0)
            r = search_task(search, ret);
        if (r >= 0 && search->n == 0)
            pause_sampling();
    }
    return r < 0 ? r : search->n > 0;
}

/* Tries the paths on tasks of other cgroups until only one is left. Returns 1 if tasks of another cgroup were seen. */
static int search_others(struct search *search, uint64_t first)
{
    int seen = 0;

    for (unsigned i = 0; i < SAMPLES_MAX && (!seen || search->n > 1); i++) {
        struct peeked_task task;
        int r = sample(search, i, first, false, &task);
        if (r > 0)
            r = compare_ways(search, &task);
        if (r < 0)
            return r;
        seen |= r;
        if (!r)
            pause_sampling();
    }
    return seen;
}

int offsets_find(const struct peek *peek, struct bpf_offsets *ret, struct error *error)
{
    _cleanup_(freep) struct bpf_offsets *ways = calloc(WAYS_MAX, sizeof(*ways));
    struct search search = {peek, ways, 0};
    struct peeked_task task = {0};

    if (!ways)
        return error_oom(error);
    int r = peek->task(peek->userdata, -1, &task);
    if (r == 0 && !is_task(task.address))
        return error_set(error, -ENOENT, BASE "needs a 64-bit kernel (arm64, amd64)");
    if (r == 0)
        r = search_first(&search, &task);
    if (r == 0)
        return error_set(error, -ENOENT,
                         BASE "needs a task that runs in a cgroup below the root: run perfcountd as a service");
    if (r > 0)
        r = search_others(&search, task.cgroup);
    if (r == 0)
        return error_set(error, -ENOENT, BASE "needs tasks of two cgroups, but found tasks of only one");
    if (r < 0)
        return error_set(error, r, BASE "failed: %s", strerror(-r));
    drop_neighbours(&search);
    if (search.n > 1)
        return error_set(error, -ENOENT,
                         BASE "found %zu possible paths from a task to its cgroup: %u, %u, %u, %u and %u, %u, %u, %u",
                         search.n, ways[0].cgroups, ways[0].dfl_cgrp, ways[0].kn, ways[0].id, ways[1].cgroups,
                         ways[1].dfl_cgrp, ways[1].kn, ways[1].id);
    r = find_parent(&search, &task, &ways[0], error);
    if (r == 0)
        *ret = ways[0];
    return r;
}
