/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds cgroups: the cgroup in which a sample was taken, and the cgroups that a request selects.
 *
 * A sample has the id of its task's cgroup (PERF_SAMPLE_CGROUP, Linux 5.7), in the hierarchy that perf_event uses. The
 * id is the inode of the cgroup's directory. The path comes from a PERF_RECORD_CGROUP, from /proc/PID/cgroup of the
 * task, or from a search of all directories, which is done rarely. If samples have no ids, the cgroup is the one in
 * which the process was last seen.
 *
 * Found cgroups are kept, so that cgroups are still known after their removal. At most LOOKUP_CGROUPS_MAX cgroups and
 * LOOKUP_BYTES_MAX bytes are kept, namely the most recently used ones. May be used only in the event loop's thread.
 */
#ifndef CGROUPS_LOOKUP_H
#define CGROUPS_LOOKUP_H

#include <sys/queue.h>

#include "base/error.h"
#include "cgroups/names.h"
#include "perf/record.h"
#include "perf/sys.h"

#define LOOKUP_CGROUPS_MAX 4096
#define LOOKUP_BYTES_MAX ((size_t)512 << 10)

/* A reference-counted cgroup. */
struct found_cgroup {
    uint64_t id;
    char *path;  /* relative to the root of the hierarchy, any bytes; NULL: unknown */
    char *label; /* the plain label (cgroups/path.h) */

    /* Private to cgroups/lookup.c. */
    unsigned refs;
    uint64_t again_ns, wait_ns; /* if the path is unknown: time of the next search, and the wait after it */
    LIST_ENTRY(found_cgroup) bucket;
    TAILQ_ENTRY(found_cgroup) use;
};
struct found_cgroup *found_cgroup_ref(struct found_cgroup *cgroup);
struct found_cgroup *found_cgroup_unref(struct found_cgroup *cgroup);

struct cgroup_lookup;

/*
 * Succeeds even if the machine has no cgroup hierarchy; then no cgroup is found. `sys` must outlive the lookup. Returns
 * -ENOMEM on failure.
 */
int cgroup_lookup_new(struct sys *sys, struct cgroup_lookup **ret);
struct cgroup_lookup *cgroup_lookup_free(struct cgroup_lookup *lookup);
/* Bytes of memory that the lookup takes. */
size_t cgroup_lookup_bytes(const struct cgroup_lookup *lookup);

/* Updates the known cgroups from CGROUP, FORK and COMM records; ignores other records. */
void cgroup_lookup_update(struct cgroup_lookup *lookup, const struct record *record);
/* Reads the cgroup tree and remembers the id and path of each, up to the limits above. */
void cgroup_lookup_scan(struct cgroup_lookup *lookup);
/* Calls `visit` for each cgroup whose path is known. */
void cgroup_lookup_each(const struct cgroup_lookup *lookup,
                        void (*visit)(void *userdata, const struct found_cgroup *cgroup), void *userdata);
/*
 * The cgroup of a sample, or NULL if it is not known. Borrowed until the next call. Returns NULL if `lookup` is NULL.
 */
struct found_cgroup *cgroup_lookup_sample(struct cgroup_lookup *lookup, const struct record *sample);

/* Finds the names of the cgroup at `path`; `names` must be empty. Returns -ENOMEM on failure. */
typedef int (*cgroup_namer)(void *userdata, const char *path, struct names *names);
/* Sets the function that finds the names. Without such a function, only the names in the path are known. */
void cgroup_lookup_set_namer(struct cgroup_lookup *lookup, cgroup_namer namer, void *userdata);
int cgroup_lookup_names(struct cgroup_lookup *lookup, const char *path, struct names *names);

/* The cgroups that a request selects: those that match all patterns that are not NULL. The strings are borrowed. */
struct cgroup_selector {
    const char *cgroup;             /* a path, or a pattern that is matched by glob_match_last() */
    const char *names[N_NAME_KEYS]; /* name patterns, matched by glob_match_last() */
};
bool cgroup_selector_is_empty(const struct cgroup_selector *selector);
/* Returns -EINVAL with a message that begins with the name of the parameter whose pattern is invalid. */
int cgroup_selector_check(const struct cgroup_selector *selector, struct error *error);
/*
 * Finds the outermost cgroups that match; they include the cgroups inside them. With `removed`, includes removed
 * cgroups that are still known. *ret is a sorted array of at least one path, which the caller frees with
 * strings_free(). Returns -ENOENT with a message if none matches, errors of finding the hierarchy, or -ENOMEM.
 */
int cgroup_lookup_find(struct cgroup_lookup *lookup, const struct cgroup_selector *selector, bool removed, char ***ret,
                       size_t *ret_n, struct error *error);
/* Whether a cgroup with this path is known; it may have been removed. */
bool cgroup_lookup_knows(const struct cgroup_lookup *lookup, const char *path);
/*
 * Calls `visit` with the id of each known cgroup at `path` and inside it. Stops at an error of `visit` and returns it.
 */
int cgroup_lookup_ids(const struct cgroup_lookup *lookup, const char *path, int (*visit)(void *userdata, uint64_t id),
                      void *userdata);
/* Sets an error message that lists some of the matching paths and asks for one of them. Returns -EINVAL, or -ENOMEM. */
int cgroup_selector_refuse_several(const struct cgroup_selector *selector, char *const *paths, size_t n,
                                   struct error *error);

#endif
