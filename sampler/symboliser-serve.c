/* SPDX-License-Identifier: Apache-2.0 */
/* The symboliser's own process: see symboliser.h. */
#include <cap-ng.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sampler/elf-symbols.h"
#include "sampler/jit-symbols.h"
#include "sampler/kallsyms.h"
#include "sampler/passing.h"
#include "sampler/symboliser.h"

#define NOBODY 65534
#define SECONDS_MAX 5
/*
 * Memory that can be written, of which most is never touched: arrays double as they grow. A file's own size comes on
 * top, since libelf maps it so.
 */
#define DATA_MAX ((rlim_t)24 << 20)
#define FILE_DATA_MAX ((rlim_t)12 << 20)

/* AddressSanitizer reserves terabytes. */
#ifdef __has_feature
#define HAS_ASAN __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#else
#define HAS_ASAN 0
#endif

static void limit(void)
{
    static const struct {
        int resource;
        rlim_t value;
    } limits[] = {
        {RLIMIT_AS, HAS_ASAN ? RLIM_INFINITY : (rlim_t)1 << 30},
        {RLIMIT_CORE, 0},
        {RLIMIT_FSIZE, SYMBOL_TABLE_SIZE_MAX},
        {RLIMIT_NOFILE, 32},
    };

    for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
        setrlimit((__rlimit_resource_t)limits[i].resource, &(struct rlimit){limits[i].value, limits[i].value});
}

/* With any of these a file is opened to be changed. */
#define OPENS(call, n)                                                                                                 \
    {SCMP_SYS(call), 1, {n, SCMP_CMP_MASKED_EQ, O_ACCMODE, O_WRONLY}},                                                 \
        {SCMP_SYS(call), 1, {n, SCMP_CMP_MASKED_EQ, O_ACCMODE, O_RDWR}},                                               \
        {SCMP_SYS(call), 1, {n, SCMP_CMP_MASKED_EQ, O_CREAT, O_CREAT}},                                                \
    {                                                                                                                  \
        SCMP_SYS(call), 1,                                                                                             \
        {                                                                                                              \
            n, SCMP_CMP_MASKED_EQ, O_TRUNC, O_TRUNC                                                                    \
        }                                                                                                              \
    }
#define CALL(call)                                                                                                     \
    {                                                                                                                  \
        SCMP_SYS(call), 0,                                                                                             \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

/*
 * What a parser of files never needs. Where the daemon was started by root and has no capabilities this process is the
 * user root, to whom many files belong. A kernel without filters is no reason to stop: it is the second wall.
 */
static void filter_calls(void)
{
    static const struct {
        int number;
        unsigned n;
        struct scmp_arg_cmp argument;
    } calls[] = {
        OPENS(open, 1),
        OPENS(openat, 2),
        CALL(openat2),
        CALL(open_by_handle_at),
        CALL(creat),
        CALL(truncate),
        CALL(unlink),
        CALL(unlinkat),
        CALL(rename),
        CALL(renameat),
        CALL(renameat2),
        CALL(link),
        CALL(linkat),
        CALL(symlink),
        CALL(symlinkat),
        CALL(mkdir),
        CALL(mkdirat),
        CALL(rmdir),
        CALL(mknod),
        CALL(mknodat),
        CALL(chmod),
        CALL(fchmod),
        CALL(fchmodat),
        CALL(chown),
        CALL(fchown),
        CALL(lchown),
        CALL(fchownat),
        CALL(setxattr),
        CALL(lsetxattr),
        CALL(fsetxattr),
        CALL(mount),
        CALL(socket),
        CALL(connect),
        CALL(bind),
        CALL(execve),
        CALL(execveat),
        CALL(fork),
        CALL(vfork),
        CALL(kill),
        CALL(tgkill),
        CALL(tkill),
        CALL(ptrace),
        CALL(process_vm_readv),
        CALL(process_vm_writev),
        CALL(pidfd_open),
        CALL(pidfd_getfd),
        CALL(bpf),
        CALL(keyctl),
        CALL(add_key),
        CALL(io_uring_setup),
        CALL(perf_event_open),
    };

    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return;
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(calls) && r == 0; i++)
        r = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), calls[i].number, calls[i].n, &calls[i].argument);
    if (r == 0)
        seccomp_load(filter);
    seccomp_release(filter);
}

/* Each is a wall behind the one before, so that where one cannot be built the others still are. */
static void give_up_privileges(void)
{
    if (geteuid() == 0) {
        if (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0)
            (void)!setresuid(NOBODY, NOBODY, NOBODY);
    }
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    capng_clear(CAPNG_SELECT_CAPS);
    capng_apply(CAPNG_SELECT_CAPS);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    filter_calls();
}

/* A file that unpacks to much more than it is has no symbols (-ENOMEM). */
static void limit_data(uint32_t kind, int file)
{
    struct stat status = {0};
    rlim_t most = DATA_MAX;

    if (kind != SYMBOLISER_KALLSYMS && fstat(file, &status) == 0)
        most = FILE_DATA_MAX + (rlim_t)status.st_size;
    if (!HAS_ASAN)
        setrlimit(RLIMIT_DATA, &(struct rlimit){most, RLIM_INFINITY});
}

static int read_symbols(uint32_t kind, int file, struct symbol_list *list)
{
    switch (kind) {
    case SYMBOLISER_ELF:
        return elf_symbols_read(file, list);
    case SYMBOLISER_KALLSYMS:
        return kallsyms_read(file, list);
    case SYMBOLISER_JIT:
        return jit_symbols_read(file, list);
    default:
        return -EBADMSG;
    }
}

static int make_table(const struct symboliser_request *request, int file, int *ret_fd)
{
    bool is_kernel = request->kind == SYMBOLISER_KALLSYMS;
    _cleanup_(symbol_list_done) struct symbol_list list = {.max = is_kernel ? 0 : request->max};

    limit_data(request->kind, file);
    int r = read_symbols(request->kind, file, &list);
    if (r < 0)
        return r;
    return symbol_list_seal(&list, request->max, ret_fd);
}

static int serve_one(int socket)
{
    _cleanup_(closep) int file = -1, table = -1;
    struct symboliser_request request;
    struct symboliser_answer answer = {.magic = SYMBOLISER_MAGIC};

    int r = passing_receive(socket, &request, sizeof(request), &file);
    if (r < 0)
        return r;
    if (request.magic != SYMBOLISER_MAGIC || file < 0)
        return -EBADMSG;
    alarm(SECONDS_MAX);
    answer.result = make_table(&request, file, &table);
    alarm(0);
    return passing_send(socket, &answer, sizeof(answer), table);
}

int symboliser_serve(int socket)
{
    signal(SIGPIPE, SIG_IGN);
    syscall(SYS_close_range, (unsigned)socket + 1, UINT_MAX, 0);
    limit();
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* arrays that double would have 2 MB at once where they touch some */
    give_up_privileges();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* after the change of user, which clears it */
    for (;;) {
        int r = serve_one(socket);
        if (r < 0)
            return r == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
    }
}
