/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that reads the files of strangers. An ELF file may be corrupt, and it may be truncated while it is read,
 * which is a SIGBUS: where that ends the process, one file has no symbols, and the next request starts another one.
 *
 * It is this program again with the command SYMBOLISER_COMMAND: main() of what links this calls symboliser_serve() then
 * (a program that does not gets no symbols). It is jailed (jail.h), and one that cannot be reads nothing; it
 * has limits, a time for each request, and ends with its parent. One at a time, one request at a time, started by the
 * first.
 */
#ifndef SYMBOLS_SYMBOLISER_SYMBOLISER_H
#define SYMBOLS_SYMBOLISER_SYMBOLISER_H

#include <systemd/sd-event.h>

#include "symbols/symboliser/symbol-table.h"

#define SYMBOLISER_COMMAND "symbolise"
#define SYMBOLISER_SOCKET 3
#define SYMBOLISER_FILE_MAX ((size_t)4 << 20)   /* bytes of a table */
#define SYMBOLISER_KERNEL_MAX ((size_t)5 << 20) /* of the kernel's */
#define SYMBOLISER_QUEUE 64                     /* each holds a descriptor */
#define SYMBOLISER_UNCONFINED 78                /* the exit status of one that cannot be jailed */

enum symboliser_kind { SYMBOLISER_ELF, SYMBOLISER_KALLSYMS, SYMBOLISER_JIT };

/* The two sides' messages; each has a descriptor with it: the file, and where `result` is 0 the table. */
struct symboliser_request {
    uint32_t magic, kind, max;
};
struct symboliser_answer {
    uint32_t magic;
    int32_t result; /* 0 or -errno */
};
#define SYMBOLISER_MAGIC UINT32_C(0x326d7973)

struct symboliser;

int symboliser_new(sd_event *event, struct symboliser **ret);
/* Whoever waits is told -ECANCELED. */
struct symboliser *symboliser_free(struct symboliser *symboliser);

/*
 * Called once for each request, from the event loop or from symboliser_free(). `table` is the callee's to take where
 * `result` is 0. -ENOPKG: no libdw; -ENOMEM: its
 * file would take too much memory; -EBADMSG: no such file as it should be; -EIO, -ETIME: the process ended or hung
 * over it; -EACCES: the kernel hides its symbols; -EAGAIN: the process cannot be started now; -EPERM: it cannot be
 * jailed, and is not started again.
 */
typedef void (*symboliser_done)(void *userdata, int result, struct symbol_table *table);

/* Takes `fd` in any case. -EBUSY where the queue is full. */
int symboliser_ask(struct symboliser *symboliser, enum symboliser_kind kind, int fd, symboliser_done done,
                   void *userdata);
/* The tables of files that are made from now on have at most so many bytes, queued ones among them. */
void symboliser_set_max(struct symboliser *symboliser, size_t max);
bool symboliser_is_full(const struct symboliser *symboliser);
/* Whether it said that it cannot be jailed. */
bool symboliser_is_unconfined(const struct symboliser *symboliser);
/* 0 where none runs. */
pid_t symboliser_pid(const struct symboliser *symboliser);

/* The other side: serves until the socket closes, then returns the exit status. */
int symboliser_serve(int socket);

#endif
