/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The impostor: a process that has taken the daemon's place after the split, with the real opener and the real filters,
 * and tries what a stranger would try. Each attempt has a verdict: its result against the result that it must have.
 */
#ifndef TESTS_IMPOSTOR_IMPOSTOR_H
#define TESTS_IMPOSTOR_IMPOSTOR_H

#include <limits.h>
#include <linux/perf_event.h>
#include <stdatomic.h>

#include "base/process/fd-socket.h"
#include "config/config.h"
#include "daemon/options.h"
#include "daemon/split.h"
#include "opener/client.h"
#include "opener/descriptor-powers.h"

/* A process of root's that executes one function all the time and notes what befalls it. */
struct witness {
    pid_t pid;
    atomic_uint beats;   /* how often the function was called */
    atomic_uint wrong;   /* how often it did not return what it should */
    atomic_uint signals; /* how many were sent to it */
};

/* Starts it; NULL where that fails. It ends with its parent. */
struct witness *witness_start(void);
/* Whether it is well: its function goes on, and is right. */
bool witness_lives(const struct witness *witness);
/* The function, which begins with an instruction of several bytes. */
unsigned witness_victim(unsigned value);

/* Facts from before the split, while this process may still look at them. */
struct knowledge {
    uint64_t kernel_function; /* the address of a function of the kernel's, or one that is as good */
    int64_t switch_id, openat_id, kprobe_type, uprobe_type, breakpoint_type;
    char scratch[PATH_MAX / 2]; /* a directory of this run, which anybody may enter */
    char gain[PATH_MAX];        /* a setuid copy of this program, "" where there is none */
    char program[PATH_MAX];     /* of this process */
    uint64_t victim_offset;     /* of the function that the witness runs, in that file */
};

struct impostor {
    struct options options;
    struct config *config;
    struct sys sys;
    struct split *split;
    bool has_reader;
    struct name_reader reader; /* of state files */
    const struct opener_client *client;
    struct machine *machine;
    struct knowledge known;
    struct witness *witness; /* NULL: there is none */
    pid_t opener;
    int accomplice, twin; /* sockets; -1: there is none */
    bool on_terminal;     /* standard input is one that controls this session */
    unsigned passed, failed, skipped;
    char reason[256]; /* of the last that was skipped */
};

/* An attempt that cannot be made here returns this, after impostor_skip(). */
#define ATTEMPT_SKIPPED LONG_MIN
#define ATTEMPT_ERRORS_MAX 7

/* Errors in any order; without one the attempt must succeed. */
struct must {
    int errors[ATTEMPT_ERRORS_MAX];
};
#define MUST(...)                                                                                                      \
    {                                                                                                                  \
        .errors = { __VA_ARGS__ }                                                                                      \
    }
#define MUST_WORK                                                                                                      \
    {                                                                                                                  \
        .errors = { 0 }                                                                                                \
    }

struct attempt {
    const char *name;
    /* 0 or more: it worked; -errno; ATTEMPT_SKIPPED. */
    long (*try)(struct impostor *impostor, const struct attempt *attempt);
    struct must must;
    const char *text;
    uint64_t number;
};

long impostor_skip(struct impostor *impostor, const char *format, ...) PRINTF_LIKE(2, 3);
/* Prints a line for an attempt and counts it. */
void impostor_judge(struct impostor *impostor, const char *name, long got, const struct must *must);
/* Makes each attempt in this process, or in a child each, whose end by a signal of the filter's is -EPERM. */
void impostor_try(struct impostor *impostor, const struct attempt *attempts, size_t n);
void impostor_try_apart(struct impostor *impostor, const struct attempt *attempts, size_t n);

/* Errors that the opener gives by itself, without asking the kernel. */
#define REFUSED MUST(EBADRQC, EUNATCH, ENOPKG, ENOKEY, EBADMSG, EXDEV)

/*
 * Sends a packet with its descriptors. The error of the request or of its first result, 0 where it was opened. A
 * descriptor that came is put into *ret_fd, where that is not NULL, and closed otherwise.
 */
long ask_raw(struct impostor *impostor, const void *packet, size_t size, const struct fd_list *fds, int *ret_fd);
/* One event; `directory` and `leader` are descriptors or -1. */
long ask_event(struct impostor *impostor, const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags,
               int directory, int leader, int *ret_fd);
/* A probe, with its text beside it: a path or a function. */
long ask_probe(struct impostor *impostor, uint32_t type, uint64_t config, const char *text, uint64_t offset,
               int *ret_fd);
long ask_file(struct impostor *impostor, const char *path, int *ret_fd);

/*
 * Processes beside the impostor that do as they are ordered, over a socket: the *accomplice*, an account on the
 * machine, without filters and without capabilities, to which descriptors are passed; the *twin*, another process with
 * the daemon's own user.
 */
enum order_kind {
    ORDER_BECOME,  /* user `number`: gives up being root */
    ORDER_POWER,   /* operation `number` on the descriptor that comes along; `pid` is root's process, or 0 */
    ORDER_ORACLE,  /* on the descriptor of syscalls:sys_enter_openat: reads memory through a filter */
    ORDER_REPLACE, /* the file `path` by a link to /bin/sh */
    ORDER_ADDRESS, /* of the kernel's, in the records of `number` CPUs: -EFAULT where there is one */
    ORDER_PROCESS, /* enum intrusion `number` into the process `pid` */
};

/* Things that one process can do to another. */
enum intrusion {
    INTRUSION_READ_MEMORY,  /* process_vm_readv(2) */
    INTRUSION_WRITE_MEMORY, /* process_vm_writev(2) */
    INTRUSION_OPEN_MEMORY,  /* /proc/PID/mem for writing */
    INTRUSION_OPEN_ENVIRON,
    INTRUSION_OPEN_ROOT, /* /proc/PID/root/etc/shadow */
    INTRUSION_TRACE,     /* PTRACE_SEIZE */
    INTRUSION_TAKE_FILE, /* pidfd_getfd(2) of descriptor 0 to 15 */
    INTRUSION_SIGNAL,    /* kill(2); the kernel asks for permission before it looks at the signal, which is 0 */
    INTRUSION_LIMIT,     /* prlimit(2) */
    N_INTRUSIONS
};

struct order {
    uint32_t kind, number;
    int32_t pid, cpu;
    uint64_t address;            /* of the kernel */
    struct perf_event_attr attr; /* that the descriptor was opened by, as a stranger may guess it */
    char path[256];
};

/* In this very process. 0 or more where it worked, or -errno. */
long intrusion_try(enum intrusion intrusion, pid_t pid);
const char *intrusion_name(enum intrusion intrusion);
/* With a descriptor; `order` as for ORDER_POWER. It undoes its change of the descriptor where it can. */
long power_try(const struct order *order, int fd);

/* The same for operations on maps, from OPERATION_MAP_READABLE on, and ORDER_ADDRESS. */
long map_power_try(enum descriptor_operation operation, int fd);
long map_find_address(int fd, uint32_t n);

/* Forks a helper; its socket, or -errno. */
int helper_start(void);
/* One that listens at `path`, started by helper_listen(). */
int helper_connect(const char *path);
/* Serves the first client that connects; does not return but on failure: -errno. */
int helper_listen(const char *path);
/* Gives an order, with a descriptor unless `fd` is -1. The order's result, or -errno. */
long helper_order(int socket, const struct order *order, int fd);

/* The chapters. */
void state_run(struct impostor *impostor);
void own_files_run(struct impostor *impostor);
void own_calls_run(struct impostor *impostor);
void own_processes_run(struct impostor *impostor);
void strangers_run(struct impostor *impostor);
void requests_run(struct impostor *impostor);
void probe_requests_run(struct impostor *impostor);
void file_requests_run(struct impostor *impostor);
void state_requests_run(struct impostor *impostor);
void tally_requests_run(struct impostor *impostor);
void powers_run(struct impostor *impostor);

/* As root, before the split: makes homes with state files in the directory of this run, and removes them. */
void state_requests_prepare(const struct knowledge *known);
void state_requests_clean(const struct knowledge *known);

#endif
