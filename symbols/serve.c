/* SPDX-License-Identifier: Apache-2.0 */
/* The symboliser's own process: see symboliser.h. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sanitizer.h"
#include "process/fdpass.h"
#include "process/program.h"
#include "symbols/elf.h"
#include "symbols/jit-symbols.h"
#include "symbols/kallsyms.h"
#include "symbols/symboliser-jail.h"
#include "symbols/symboliser.h"

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

static int make_table(const struct elf_library *library, const struct find_request *request, int file, int *ret_fd)
{
    bool is_kernel = request->kind == SYMBOLISER_KALLSYMS;
    _cleanup_(symbol_list_done) struct symbol_list list = {.max = is_kernel ? 0 : request->max};

    limit_data(request->kind, file);
    int r = read_symbols(library, request->kind, file, &list);
    if (r < 0)
        return r;
    return symbol_list_seal(&list, request->max, ret_fd);
}

/* Descriptors or memory are short; everything else keeps a file from being opened. */
static int error_of_finder(const struct find_request *request)
{
    static const int passing[] = {-EMFILE, -ENFILE, -ENOBUFS, -ETOOMANYREFS};

    for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
        if (request->error == passing[i])
            return request->error;
    bool denied = request->error == -EACCES || request->error == -EPERM;
    return request->find == FIND_MAPS && denied ? -EACCES : -ENOENT;
}

/*
 * Reads until `text`, which has `used` bytes already, is full or the file ends: one read(2) of maps returns a page at
 * most. Returns the bytes in `text`, or -errno.
 */
static ssize_t fill_text(int file, char *text, size_t used)
{
    while (used < SYMBOLISER_TEXT_MAX) {
        ssize_t n = read(file, text + used, SYMBOLISER_TEXT_MAX - used);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -errno;
        used += (size_t)MAX(n, 0);
    }
    return (ssize_t)used;
}

/*
 * Sends the lines of a maps file. There is no alarm here: if a read waits for the lock of the process, the daemon kills
 * this one, and the time that the daemon takes to receive a message is not limited.
 */
static int send_maps(int file)
{
    static struct symboliser_message message = {.answer = {.magic = SYMBOLISER_MAGIC, .result = SYMBOLISER_TEXT}};
    char *text = message.text;
    size_t rest = 0;

    for (size_t total = 0; total <= SYMBOLISER_MAPS_MAX - SYMBOLISER_TEXT_MAX;) {
        ssize_t n = fill_text(file, text, rest);
        const char *last = n > 0 ? memrchr(text, '\n', (size_t)n) : NULL;
        if (!last)
            return (int)MIN(n, 0);
        size_t size = (size_t)(last - text) + 1;
        int r = fd_socket_send_one(SYMBOLISER_SOCKET, &message, sizeof(message.answer) + size, -1);
        if (r < 0)
            return r;
        total += size;
        rest = (size_t)n - size;
        memmove(text, last + 1, rest);
    }
    return 0;
}

static void answer_request(const struct elf_library *library, const struct find_request *request, int file,
                           struct symboliser_answer *answer, int *ret_table)
{
    struct stat status = {0};

    if (file < 0) {
        answer->result = error_of_finder(request);
        return;
    }
    if (request->kind == SYMBOLISER_MAPS) {
        answer->result = send_maps(file);
        return;
    }
    alarm(SECONDS_MAX);
    if (fstat(file, &status) == 0) {
        answer->inode = status.st_ino;
        answer->size = (uint64_t)status.st_size;
    }
    if (request->find == FIND_JIT_MAP && answer->inode == request->seen_inode && answer->size == request->seen_size)
        answer->result = -EALREADY;
    else
        answer->result = make_table(library, request, file, ret_table);
    alarm(0);
}

static int serve_one(const struct elf_library *library)
{
    static union find_buffer buffer;
    struct symboliser_answer answer = {.magic = SYMBOLISER_MAGIC};
    _cleanup_(closep) int file = -1, table = -1;

    int r = find_request_receive(SYMBOLISER_INPUT, &buffer, &file);
    if (r < 0)
        return r;
    answer_request(library, &buffer.request, file, &answer, &table);
    r = fd_socket_send_one(SYMBOLISER_SOCKET, &answer, sizeof(answer), table);
    /* The descriptors in flight are limited, for all processes of a user together: the error goes without one. */
    if (table < 0 || (r != -ETOOMANYREFS && r != -ENOBUFS))
        return r;
    answer.result = r;
    return fd_socket_send_one(SYMBOLISER_SOCKET, &answer, sizeof(answer), -1);
}

/* A /proc that hides processes (hidepid=) would not show its /proc/PID/stat to the parent. */
static void send_hello(void)
{
    const struct symboliser_answer hello = {.magic = SYMBOLISER_MAGIC, .result = SYMBOLISER_HELLO};
    _cleanup_(closep) int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

    fd_socket_send_one(SYMBOLISER_SOCKET, &hello, sizeof(hello), stat);
}

static int serve_tables(void)
{
    const struct elf_library *library = elf_symbols_load();

    program_set_name("perfcountd-symboliser"); /* it was started as /proc/self/exe */
    send_hello();
    if (symboliser_jail_enter() < 0)
        _exit(SYMBOLISER_UNCONFINED); /* exit handlers could change the status */
    for (;;) {
        int r = serve_one(library);
        if (r < 0)
            return r == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
    }
}

static int serve_files(void)
{
    program_set_name("perfcountd-finder");
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    return finder_serve(SYMBOLISER_INPUT, SYMBOLISER_SOCKET, true);
}

int symboliser_serve(void)
{
    const char *role = getenv(SYMBOLISER_ROLE);

    signal(SIGPIPE, SIG_IGN);
    return role && str_equal(role, SYMBOLISER_FINDER) ? serve_files() : serve_tables();
}
