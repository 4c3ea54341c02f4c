/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symboliser: a jailed process that reads untrusted files and builds symbol tables for the daemon.
 *
 * An ELF file may be corrupt, and if it is truncated while it is read, SIGBUS is raised. If a file kills the process in
 * this way, only that file has no symbols, and the next request starts a new process.
 *
 * The process is this program, started with the command SYMBOLISER_COMMAND; main() must then call symboliser_serve().
 * The process enters its sandbox (process/sandbox.h) and reads nothing if that fails. Each request has a memory limit
 * and a time limit. The process exits with its parent.
 *
 * Files reach the symboliser through a chain of finders (process/finder.h); the last finder is also this program. The
 * chain is started by the first request. Requests are answered in order. If no answer comes in time, the chain is
 * killed, the oldest request fails, and the others go to a new chain. SIGKILL cannot terminate a process that is
 * blocked by a file system: such processes are abandoned, at most SYMBOLISER_ABANDONED at a time. After reading a file
 * or the mappings of a user's process has hung, requests for that user are refused for an hour.
 */
#ifndef SYMBOLS_SYMBOLISER_H
#define SYMBOLS_SYMBOLISER_H

#include <systemd/sd-event.h>

#include "base/util.h"
#include "perf/sys.h"
#include "process/child.h"
#include "process/finder.h"
#include "symbols/symbol-table.h"

#define SYMBOLISER_COMMAND "symbolise"
/* Descriptors in the processes of the chain. */
#define SYMBOLISER_SOCKET 3 /* socket to the next process of the chain, or from the symboliser to the daemon */
#define SYMBOLISER_INPUT 4  /* socket from the previous process of the chain */
#define SYMBOLISER_ABANDONED 8
/*
 * Environment variable with the role of the process: SYMBOLISER_FINDER or SYMBOLISER_COMMAND. A process with this
 * variable never starts a chain, so that a main() that does not handle the command cannot start processes recursively.
 */
#define SYMBOLISER_ROLE "PERFCOUNTD_SYMBOLISER"
#define SYMBOLISER_FINDER "finder"
#define SYMBOLISER_FILE_MAX ((size_t)4 << 20) /* maximum bytes of a table */
#define SYMBOLISER_UNCONFINED 78              /* exit status if the jail cannot be entered */

enum symboliser_kind { SYMBOLISER_ELF, SYMBOLISER_KALLSYMS, SYMBOLISER_JIT, SYMBOLISER_MAPS };

/*
 * A message to the daemon. The answer to a struct find_request carries the descriptor of a table if `result` is 0. For
 * SYMBOLISER_MAPS, messages with the text (SYMBOLISER_TEXT) precede the answer, which carries no descriptor.
 *
 * The first message of a process (SYMBOLISER_HELLO) carries a descriptor of its /proc/self/stat. This message is sent
 * before the process reads any file.
 */
struct symboliser_answer {
    uint32_t magic;
    int32_t result;       /* 0, -errno, SYMBOLISER_HELLO or SYMBOLISER_TEXT */
    uint64_t inode, size; /* inode and size of the file, or 0 for SYMBOLISER_MAPS */
};
#define SYMBOLISER_HELLO 1
#define SYMBOLISER_MAGIC UINT32_C(0x326d7973)

struct symboliser;

int symboliser_new(struct sys *sys, sd_event *event, struct symboliser **ret);
/* Kills the chain. Pending requests fail with -ECANCELED. */
struct symboliser *symboliser_free(struct symboliser *symboliser);

/*
 * Called once for each accepted request: from the event loop, from symboliser_free(), or from within symboliser_ask()
 * if the chain cannot be started. If answer->result is 0, `table` is valid until the callback returns; the callback
 * may take the table by copying and zeroing it. For SYMBOLISER_MAPS, the table is empty. Otherwise `table` is NULL, and
 * the result is:
 *
 *   -EACCES        the kernel hides its symbols (SYMBOLISER_KALLSYMS) or the mappings (SYMBOLISER_MAPS)
 *   -EPERM         the kernel hides the mappings (SYMBOLISER_MAPS)
 *   -EAGAIN        the process cannot be started or jailed now
 *   -EALREADY      the list of functions is unchanged (FIND_JIT_MAP)
 *   -EBADMSG       the file is not of this kind
 *   -EHOSTDOWN     reading a file of the process's user hung before
 *   -EIO, -ETIME   the process exited or hung while it read the file
 *   -EMFILE, -ENFILE, -ENOBUFS, -ETOOMANYREFS
 *                  descriptors ran out: the file or the table cannot be passed on now
 *   -ENOENT        the file cannot be opened now
 *   -ENOMEM        the file would need too much memory
 *   -ENOPKG        libdw is missing
 *   -ECANCELED     symboliser_free() was called
 */
typedef void (*symboliser_done)(void *userdata, const struct symboliser_answer *answer, struct symbol_table *table);

/* A request for a table, or for mappings. */
struct symboliser_file {
    enum symboliser_kind kind;
    enum find_kind find;
    int fd;                         /* the open file for FIND_NOTHING; else -1 */
    uint32_t pid;                   /* the process that the file belongs to; unused for FIND_NOTHING */
    uint64_t start, end, inode;     /* the mapping, for FIND_MAPPED */
    const char *path;               /* for FIND_MAPPED: another path that the last finder tries, or NULL */
    uint64_t seen_inode, seen_size; /* inode and size of the list that was read last, for FIND_JIT_MAP */
    /*
     * For SYMBOLISER_MAPS: called with each line before the request is done. The function may modify the line. Lines
     * are untrusted.
     */
    void (*take_line)(void *userdata, char *line);
};

/*
 * Queues a request; `file` is borrowed for the call. The function takes over `file->fd`, even on failure. Returns
 * -EBUSY if the queue is full, -EHOSTDOWN if reading a file of the process's user hung before, -ENOMEM; `done` is not
 * called in these cases.
 */
int symboliser_ask(struct symboliser *symboliser, const struct symboliser_file *file, symboliser_done done,
                   void *userdata);
/* Drops the callbacks of requests with this `userdata`. The requests themselves stay in the queue. */
void symboliser_forget(struct symboliser *symboliser, const void *userdata);
/*
 * Sets the maximum size of a file's table in bytes, up to SYMBOLISER_FILE_MAX. Applies to requests that have not been
 * sent yet.
 */
void symboliser_set_max(struct symboliser *symboliser, size_t max);
/* Returns whether symboliser_ask() would return -EBUSY. */
bool symboliser_is_full(const struct symboliser *symboliser);
/* Returns whether requests for some user are refused, because reading the user's files hung within the last hour. */
bool symboliser_has_hung(const struct symboliser *symboliser);
/* Returns whether the last process exited because it could not enter its jail. */
bool symboliser_is_unconfined(const struct symboliser *symboliser);
/*
 * Records the pid and the CPU time of the processes in `child`, which must outlive the symboliser. Must be called
 * before the first request.
 */
void symboliser_set_child(struct symboliser *symboliser, struct child *child);

/* Serves as the symboliser or the last finder, depending on SYMBOLISER_ROLE. Returns the exit status. */
int symboliser_serve(void);

#endif
