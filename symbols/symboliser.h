/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that reads untrusted files. An ELF file may be corrupt, and it may be truncated while it is read, which
 * causes SIGBUS. If that ends the process, one file has no symbols, and the next request starts another process.
 *
 * It is this program again, with the command SYMBOLISER_COMMAND: then main() must call symboliser_serve(). It is jailed
 * (jail.h); if it cannot be, it reads nothing. It has limits and a time for each request, and ends with its parent.
 *
 * It gets its files from a chain of finders (process/finder.h), the last of which is this program as well. The first
 * request starts them all. Requests are answered in their order; when no answer comes, the chain is killed, the oldest
 * request fails and the others go to another chain. Processes that a file system blocks, so that SIGKILL does not end
 * them, are left behind, at most SYMBOLISER_ABANDONED of them. Requests for a user are refused for an hour after a file
 * or the mappings of one of the user's processes have hung.
 *
 * Takes powers away from the symboliser's process when it has started: see symboliser.h.
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
#define SYMBOLISER_SOCKET 3 /* to the daemon; of a finder: to the process after it */
#define SYMBOLISER_INPUT 4  /* from the process before it in the chain */
#define SYMBOLISER_ABANDONED 8
/* In the environment of both processes: which of them it is. A main() that does not know the command starts no other.
 */
#define SYMBOLISER_ROLE "PERFCOUNTD_SYMBOLISER"
#define SYMBOLISER_FINDER "finder"
#define SYMBOLISER_FILE_MAX ((size_t)4 << 20) /* bytes of a table */
#define SYMBOLISER_UNCONFINED 78              /* the exit status of a process that cannot be jailed */

enum symboliser_kind { SYMBOLISER_ELF, SYMBOLISER_KALLSYMS, SYMBOLISER_JIT, SYMBOLISER_MAPS };

/*
 * The answer to a struct find_request, with the descriptor of a table where `result` is 0. The first message of a
 * process, which has read nothing by then, has that of its /proc/self/stat. For SYMBOLISER_MAPS, messages with the text
 * come first, and the answer has no descriptor.
 */
struct symboliser_answer {
    uint32_t magic;
    int32_t result;       /* 0, -errno, SYMBOLISER_HELLO or SYMBOLISER_TEXT */
    uint64_t inode, size; /* of the file */
};
#define SYMBOLISER_HELLO 1
#define SYMBOLISER_MAGIC UINT32_C(0x326d7973)

struct symboliser;

int symboliser_new(struct sys *sys, sd_event *event, struct symboliser **ret);
/* Requests that wait are done with -ECANCELED. */
struct symboliser *symboliser_free(struct symboliser *symboliser);

/*
 * Called once for each request, from the event loop or from symboliser_free(). If answer->result is 0, the callee may
 * take `table`. -ENOPKG: libdw is missing; -ENOMEM: the file would need too much memory; -EBADMSG: it is not a file of
 * this kind; -EIO, -ETIME: the process ended or hung over it; -EACCES: the kernel hides its symbols; -EAGAIN: the
 * process cannot be started or jailed now; -ETOOMANYREFS, -ENOBUFS: the table cannot be handed over now; -ENOENT: the
 * file cannot be opened now; -EHOSTDOWN: files of the process's user hang; -EALREADY: the list of functions is the one
 * that was seen. For SYMBOLISER_MAPS there is no table; -EACCES, -EPERM: the kernel hides the mappings.
 */
typedef void (*symboliser_done)(void *userdata, const struct symboliser_answer *answer, struct symbol_table *table);

/* What to make a table of. */
struct symboliser_file {
    enum symboliser_kind kind;
    enum find_kind find;
    int fd; /* of FIND_NOTHING; taken in any case */
    uint32_t pid;
    uint64_t start, end, inode;     /* of FIND_MAPPED */
    const char *path;               /* NULL: it is not tried */
    uint64_t seen_inode, seen_size; /* of FIND_JIT_MAP: of the list that was read last */
    /* For SYMBOLISER_MAPS: called with each line before the request is done. It may modify the line. Untrusted. */
    void (*take_line)(void *userdata, char *line);
};

/* -EBUSY if the queue is full. */
int symboliser_ask(struct symboliser *symboliser, const struct symboliser_file *file, symboliser_done done,
                   void *userdata);
/* Drops the callbacks of requests with this `userdata`. The requests themselves stay in the queue. */
void symboliser_forget(struct symboliser *symboliser, const void *userdata);
/* Limits the bytes of each table of a file from now on, also for requests that wait. */
void symboliser_set_max(struct symboliser *symboliser, size_t max);
bool symboliser_is_full(const struct symboliser *symboliser);
/* Whether a file hung within the last hour. */
bool symboliser_has_hung(const struct symboliser *symboliser);
/* Whether the process could not be jailed. */
bool symboliser_is_unconfined(const struct symboliser *symboliser);
/* Notes the processes in `child` from now on, which must outlive the symboliser. To be called before the first request.
 */
void symboliser_set_child(struct symboliser *symboliser, struct child *child);

/* The other side, in the process: serves as the symboliser or a finder. Returns the exit status. */
int symboliser_serve(void);

/*
 * Afterwards this process has no descriptors but its two sockets, is not root, has no groups and no capabilities and
 * gets none, cannot be traced, and ends with its parent. It may only make the system calls that a parser of open files
 * needs: it opens, starts and connects to nothing. Libraries must be loaded before.
 *
 * -errno if any of this fails; what was given up until then stays given up. A kernel without filters is no error.
 */
int symboliser_jail_enter(void);

#endif
