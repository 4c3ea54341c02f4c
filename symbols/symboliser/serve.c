/* SPDX-License-Identifier: Apache-2.0 */
/* The symboliser's own process: see symboliser.h. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/fd-socket.h"
#include "base/process/program.h"
#include "base/sanitizer.h"
#include "symbols/symboliser/elf-symbols.h"
#include "symbols/symboliser/jail.h"
#include "symbols/symboliser/jit-symbols.h"
#include "symbols/symboliser/kallsyms.h"
#include "symbols/symboliser/symboliser.h"

#define SECONDS_MAX 5
/*
 * Bytes of writable memory. Arrays double as they grow, so that much of it is never used. The size of the file is
 * added, since libelf maps it writable.
 */
#define DATA_MAX ((rlim_t)24 << 20)
#define FILE_DATA_MAX ((rlim_t)12 << 20)

/* A file that unpacks to much more than its own size has no symbols (-ENOMEM). */
static void limit_data(uint32_t kind, int file)
{
    struct stat status = {0};
    rlim_t most = DATA_MAX;

    if (kind != SYMBOLISER_KALLSYMS && fstat(file, &status) == 0)
        most = FILE_DATA_MAX + (rlim_t)status.st_size;
    if (!HAS_ASAN)
        setrlimit(RLIMIT_DATA, &(struct rlimit){most, RLIM_INFINITY});
}

static int read_symbols(const struct elf_library *library, uint32_t kind, int file, struct symbol_list *list)
{
    switch (kind) {
    case SYMBOLISER_ELF:
        return elf_symbols_read(library, file, list);
    case SYMBOLISER_KALLSYMS:
        return kallsyms_read(file, list);
    case SYMBOLISER_JIT:
        return jit_symbols_read(file, list);
    default:
        return -EBADMSG;
    }
}

static int make_table(const struct elf_library *library, const struct symboliser_request *request, int file,
                      int *ret_fd)
{
    bool is_kernel = request->kind == SYMBOLISER_KALLSYMS;
    _cleanup_(symbol_list_done) struct symbol_list list = {.max = is_kernel ? 0 : request->max};

    limit_data(request->kind, file);
    int r = read_symbols(library, request->kind, file, &list);
    if (r < 0)
        return r;
    return symbol_list_seal(&list, request->max, ret_fd);
}

static int serve_one(const struct elf_library *library, int socket)
{
    _cleanup_(closep) int file = -1, table = -1;
    struct symboliser_request request;
    struct symboliser_answer answer = {.magic = SYMBOLISER_MAGIC};

    int r = fd_socket_receive_one(socket, &request, sizeof(request), &file);
    if (r < 0)
        return r;
    if (request.magic != SYMBOLISER_MAGIC || file < 0)
        return -EBADMSG;
    alarm(SECONDS_MAX);
    answer.result = make_table(library, &request, file, &table);
    alarm(0);
    r = fd_socket_send_one(socket, &answer, sizeof(answer), table);
    /* The descriptors in flight are limited, for all processes of a user together: the error goes without one. */
    if (table < 0 || (r != -ETOOMANYREFS && r != -ENOBUFS))
        return r;
    answer.result = r;
    return fd_socket_send_one(socket, &answer, sizeof(answer), -1);
}

/* A /proc that hides processes (hidepid=) would not show its /proc/PID/stat to the parent. */
static void symboliser_send_hello(int socket)
{
    const struct symboliser_answer hello = {SYMBOLISER_MAGIC, SYMBOLISER_HELLO};
    _cleanup_(closep) int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

    fd_socket_send_one(socket, &hello, sizeof(hello), stat);
}

int symboliser_serve(int socket)
{
    const struct elf_library *library = elf_symbols_load();

    program_set_name("perfcountd-symboliser"); /* it was started as /proc/self/exe */
    signal(SIGPIPE, SIG_IGN);
    symboliser_send_hello(socket);
    if (symboliser_jail_enter(socket) < 0)
        _exit(SYMBOLISER_UNCONFINED); /* exit handlers could change the status */
    for (;;) {
        int r = serve_one(library, socket);
        if (r < 0)
            return r == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
    }
}
