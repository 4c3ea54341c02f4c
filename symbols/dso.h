/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A DSO is a file that processes have mapped, with its symbol table. Processes that map the same file share one DSO.
 * The functions that a process compiles at run time also form a DSO.
 *
 * A stripped file has a second table if its separate debug file is installed under /usr/lib/debug/.build-id, where
 * files are named by build ID (gdb's manual, "Separate Debug Files").
 *
 * DSOs are reference-counted. The symboliser (symbols/symboliser.h) builds a table when an address of the file is first
 * resolved. Table memory is limited, see dsos_set_room(): the least recently used table is dropped first.
 */
#ifndef SYMBOLS_DSO_H
#define SYMBOLS_DSO_H

#include <sys/queue.h>

#include "perf/sys.h"
#include "symbols/symboliser.h"

#define DSOS_TABLES_MAX ((size_t)6 << 20) /* maximum bytes of all tables except the kernel's, if the room is 16 MiB */

struct dsos;

enum dso_state {
    DSO_ABSENT,  /* the table has not been requested yet, was dropped, or failed and will be retried */
    DSO_PENDING, /* the symboliser is building the table */
    DSO_READY,
    DSO_BAD, /* no table can be built, and no retry will help */
};

/* Mappings with equal keys share a DSO. */
struct dso_key {
    const char *file;
    uint32_t major, minor;
    uint64_t inode; /* 0 if unknown; then the build ID identifies the file */
    const unsigned char *build_id;
    size_t build_id_size;
    uint32_t jit_pid; /* PID of the process that compiled the DSO's functions at run time, or 0 if the DSO is a file */
};

struct dso {
    struct dsos *dsos;
    unsigned references;
    char *file;
    uint32_t major, minor;
    uint64_t inode;
    uint32_t jit_pid;
    uint64_t seen_inode, seen_size; /* values when the table was built, to detect a changed perf-PID.map */
    unsigned char build_id[BUILD_ID_MAX];
    size_t build_id_size;
    enum dso_state state;
    uint64_t retry_ns;                /* earliest time of the next request for a table (CLOCK_MONOTONIC); 0: no delay */
    bool pinned;                      /* set for the kernel's DSO, whose table is neither dropped nor counted */
    struct symbol_table table, debug; /* `debug` is the separate debug file's table, zeroed if there is none */
    LIST_ENTRY(dso) bucket;
    TAILQ_ENTRY(dso) use; /* links in the list of DSOs with a table; only while DSO_READY and not pinned */
    struct dso_number {
        uint64_t offset;
        unsigned number;
    } * numbers;
    size_t n_numbers;
};

int dsos_new(struct sys *sys, sd_event *event, struct dsos **ret);
/* All DSOs must already have been released. */
struct dsos *dsos_free(struct dsos *dsos);

/* Returns a new reference to the DSO with this key and creates the DSO if needed. Returns NULL when out of memory. */
struct dso *dso_get(struct dsos *dsos, const struct dso_key *key);
static inline struct dso *dso_ref(struct dso *dso)
{
    dso->references++;
    return dso;
}
struct dso *dso_unref(struct dso *dso);

/* Returns the `number` of a mapping (struct mapping) of this DSO at this file offset. */
unsigned dso_number(struct dso *dso, uint64_t offset);

/*
 * Returns whether to call dso_load() now: there is no table, or the functions of a process may have changed; no retry
 * delay is active; and the symboliser's queue has room.
 */
bool dso_needs_load(const struct dso *dso);
/*
 * Requests the table, or a new table if the process's list of functions has changed. May be called only if
 * dso_needs_load() returns true. Takes `file->fd`. A file that cannot be opened now is retried after 10 s; for
 * FIND_NOTHING, a negative `file->fd` (-1 or -errno) means that the caller could not open it.
 */
void dso_load(struct dso *dso, const struct symboliser_file *file);
/*
 * Must be called after dso_needs_load() and dso_load(). Returns whether the table is being built, or will be requested
 * once the symboliser's queue has room.
 */
static inline bool dso_is_awaited(const struct dso *dso)
{
    return dso->state == DSO_PENDING || (dso->state == DSO_ABSENT && !dso->retry_ns);
}
/*
 * Returns the table and marks it as recently used, or NULL if the state is not DSO_READY. Borrowed until
 * dsos_set_room() or until the event loop runs again.
 */
const struct symbol_table *dso_table(struct dso *dso);
/*
 * Returns the table in which to look up names: the debug file's table if there is one, else dso->table. May be called
 * only in the state DSO_READY.
 */
static inline const struct symbol_table *dso_names(const struct dso *dso)
{
    return dso->debug.head ? &dso->debug : &dso->table;
}

/* Sets a function to call after each request for a table has finished or failed, also from within dso_load(). */
void dsos_when_loaded(struct dsos *dsos, void (*loaded)(void *userdata), void *userdata);
/* Returns whether any table is being built. */
bool dsos_pending(const struct dsos *dsos);
/* Returns the memory of all DSOs in bytes, not counting their tables. */
size_t dsos_bytes(const struct dsos *dsos);
/*
 * Limits the total memory, in bytes, of the files' symbol tables and the symboliser's process. The tables are also
 * limited to DSOS_TABLES_MAX if the room is at most 16 MiB, and to four ninths of a larger room. Any `room` below 3.25
 * MiB counts as 3.25 MiB, so small tables always fit.
 */
void dsos_set_room(struct dsos *dsos, size_t room);
/* Returns whether, for lack of memory, some file's symbols were left out or a file got no table. */
bool dsos_were_cut(const struct dsos *dsos);
/* Returns whether some user's files are not read, because reading one of them hung within the last hour. */
bool dsos_have_hung(const struct dsos *dsos);
/* Returns whether the last table could not be built for a reason other than the file's format or size. */
bool dsos_have_failed(const struct dsos *dsos);
/* Returns a number that changes whenever a table is dropped; pointers into tables are invalid after a change. */
uint64_t dsos_generation(const struct dsos *dsos);
/* Returns whether libdw could not be loaded. */
bool dsos_library_is_missing(const struct dsos *dsos);
/* Returns whether the symboliser could not be jailed, so that it reads no files. */
bool dsos_symboliser_is_unconfined(const struct dsos *dsos);
/* Returns the symboliser, which also reads the mappings of processes (symbols/proc.h). It belongs to `dsos`. */
struct symboliser *dsos_symboliser(const struct dsos *dsos);
/* Like symboliser_set_child(). */
void dsos_set_child(struct dsos *dsos, struct child *child);

#endif
