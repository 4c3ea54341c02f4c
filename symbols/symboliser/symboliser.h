/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that reads untrusted files. An ELF file may be corrupt, and it may be truncated while it is read, which
 * causes SIGBUS. If that ends the process, one file has no symbols, and the next request starts another process.
 *
 * It is this program again, with the command SYMBOLISER_COMMAND: then main() must call symboliser_serve(). It is jailed
 * (jail.h); if it cannot be, it reads nothing. It has limits and a time for each request, and ends with its parent. The
 * first request starts it. There is one process at a time, with one request at a time.
 */
#ifndef SYMBOLS_SYMBOLISER_SYMBOLISER_H
#define SYMBOLS_SYMBOLISER_SYMBOLISER_H

#include <systemd/sd-event.h>

#include "base/process/child.h"
#include "symbols/symboliser/symbol-table.h"

#define SYMBOLISER_COMMAND "symbolise"
#define SYMBOLISER_SOCKET 3
#define SYMBOLISER_FILE_MAX ((size_t)4 << 20)   /* bytes of a table */
#define SYMBOLISER_KERNEL_MAX ((size_t)5 << 20) /* bytes of the kernel's table */
#define SYMBOLISER_QUEUE 64                     /* requests; each holds a descriptor */
#define SYMBOLISER_UNCONFINED 78                /* the exit status of a process that cannot be jailed */

enum symboliser_kind { SYMBOLISER_ELF, SYMBOLISER_KALLSYMS, SYMBOLISER_JIT };

/*
 * The messages of both sides. A request has the descriptor of the file, an answer with `result` 0 that of the table.
 * The first message of a process, which has read nothing by then, has that of its /proc/self/stat.
 */
struct symboliser_request {
    uint32_t magic, kind, max;
};
struct symboliser_answer {
    uint32_t magic;
    int32_t result; /* 0 or -errno; SYMBOLISER_HELLO in the first message */
};
#define SYMBOLISER_HELLO 1
#define SYMBOLISER_MAGIC UINT32_C(0x326d7973)

struct symboliser;

int symboliser_new(sd_event *event, struct symboliser **ret);
/* Requests that wait are done with -ECANCELED. */
struct symboliser *symboliser_free(struct symboliser *symboliser);

/*
 * Called once for each request, from the event loop or from symboliser_free(). If `result` is 0, the callee may take
 * `table`. -ENOPKG: libdw is missing; -ENOMEM: the file would need too much memory; -EBADMSG: it is not a file of this
 * kind; -EIO, -ETIME: the process ended or hung over it; -EACCES: the kernel hides its symbols; -EAGAIN: the process
 * cannot be started or jailed now; -ETOOMANYREFS, -ENOBUFS: the table cannot be handed over now.
 */
typedef void (*symboliser_done)(void *userdata, int result, struct symbol_table *table);

/* Takes `fd` in any case. -EBUSY if the queue is full. */
int symboliser_ask(struct symboliser *symboliser, enum symboliser_kind kind, int fd, symboliser_done done,
                   void *userdata);
/* Limits the bytes of each table of a file from now on, also for requests that wait. */
void symboliser_set_max(struct symboliser *symboliser, size_t max);
bool symboliser_is_full(const struct symboliser *symboliser);
/* Whether the process could not be jailed. */
bool symboliser_is_unconfined(const struct symboliser *symboliser);
/* Notes the processes in `child` from now on, which must outlive the symboliser. To be called before the first request.
 */
void symboliser_set_child(struct symboliser *symboliser, struct child *child);

/* The other side, in the process: serves until the socket closes. Returns the exit status. */
int symboliser_serve(int socket);

#endif
