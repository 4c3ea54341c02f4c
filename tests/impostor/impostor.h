/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The impostor takes the daemon's place after the split, with the real opener and the real filters, and tries what an
 * attacker would try. It compares the result of each attempt with the required one.
 */
#ifndef TESTS_IMPOSTOR_IMPOSTOR_H
#define TESTS_IMPOSTOR_IMPOSTOR_H

#include <limits.h>
#include <linux/perf_event.h>
#include <stdatomic.h>

#include "bpf/calls.h"
#include "config/config.h"
#include "daemon/options.h"
#include "daemon/privsep.h"
#include "opener/client.h"
#include "process/fdpass.h"
#include "tests/impostor/descriptor-powers.h"

/* A root process that calls one function in a loop and records what happens to it. */
struct witness {
    pid_t pid;
    atomic_uint beats;   /* calls of the function */
    atomic_uint wrong;   /* calls that returned a wrong value */
    atomic_uint signals; /* signals received */
};

/* Starts the witness, which exits with its parent. Returns NULL on failure. */
struct witness *witness_start(void);
/* Returns whether the witness still runs and its function has never returned a wrong value. */
bool witness_lives(const struct witness *witness);
/* The function that the witness calls. Its first instruction is several bytes long, so that a probe can be in the
 * middle of it. */
unsigned witness_victim(unsigned value);

/* Facts that are collected before the split, while the process still has the right to. */
struct knowledge {
    uint64_t kernel_function; /* address of a kernel function; any kernel address if /proc/kallsyms hides it */
    int64_t switch_id, openat_id, kprobe_type, uprobe_type, breakpoint_type;
    char scratch[PATH_MAX / 2]; /* this run's directory, open to all users */
    char gain[PATH_MAX];        /* setuid copy of this program, "" if there is none */
    char program[PATH_MAX];     /* path of this program */
    uint64_t victim_offset;     /* offset of witness_victim() in that file */
};

struct impostor {
    struct options options;
    struct config *config;
    struct sys sys;
    struct bpf_calls bpf;
    struct state_files state_files; /* `records` is -1 if there is no reader */
    struct privsep *privsep;
    bool has_reader;
    struct name_reader reader; /* reads state files */
    const struct opener_client *client;
    struct machine *machine;
    struct knowledge known;
    struct witness *witness; /* NULL if none was started */
    pid_t opener;
    int accomplice, twin; /* sockets to these helpers, or -1 */
    int stepper;          /* socket to the stepper, or -1; if it is running, only stepped_run() makes attempts */
    bool on_terminal;     /* standard input is the session's controlling terminal */
    unsigned passed, failed, skipped;
    char reason[256]; /* why the last attempt was skipped */
};

/* The result of impostor_skip(), which an attempt returns if it cannot be made on this machine. */
#define ATTEMPT_SKIPPED LONG_MIN
#define ATTEMPT_ERRORS_MAX 7

/* The attempt must fail with one of these errors; if there are none, it must succeed. */
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
    /* Returns 0 or more on success, -errno on failure, or ATTEMPT_SKIPPED. */
    long (*try)(struct impostor *impostor, const struct attempt *attempt);
    struct must must;
    const char *text;
    uint64_t number;
};

long impostor_skip(struct impostor *impostor, const char *format, ...) PRINTF_LIKE(2, 3);
/* Prints the verdict on an attempt and counts it. */
void impostor_judge(struct impostor *impostor, const char *name, long got, const struct must *must);
/*
 * Make all attempts in this process, or each one in a child of its own. If a filter kills the child with SIGSYS, the
 * result is -EPERM.
 */
void impostor_try(struct impostor *impostor, const struct attempt *attempts, size_t n);
void impostor_try_apart(struct impostor *impostor, const struct attempt *attempts, size_t n);

/* Errors with which the opener itself refuses a request, without asking the kernel. */
#define REFUSED MUST(EBADRQC, EUNATCH, ENOPKG, ENOKEY, EBADMSG, EXDEV)
/* More events than the opener's limits allow with any of the tests' configurations. */
#define HOARD_MAX 8000

/*
 * Sends a packet and its descriptors to the opener. Returns the error of the request or of its first event, 0 on
 * success. A descriptor in the reply is stored in *ret_fd, or closed if `ret_fd` is NULL.
 */
long ask_raw(struct impostor *impostor, const void *packet, size_t size, const struct fd_list *fds, int *ret_fd);
/* Requests one event. `directory` and `leader` are descriptors or -1. */
long ask_event(struct impostor *impostor, const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags,
               int directory, int leader, int *ret_fd);
/* Requests a probe. `text` is the path of a program or the name of a kernel function. */
long ask_probe(struct impostor *impostor, uint32_t type, uint64_t config, const char *text, uint64_t offset,
               int *ret_fd);
long ask_file(struct impostor *impostor, const char *path, int *ret_fd);

/*
 * Helper processes, which carry out orders that they receive over a socket. The *accomplice* runs as another user,
 * without filters and capabilities, and is passed descriptors. The *twin* is another process of the daemon's user.
 */
enum order_kind {
    ORDER_BECOME,  /* becomes user `number` and gives up root */
    ORDER_POWER,   /* tries operation `number` on the passed descriptor; `pid` is a root process, or 0 */
    ORDER_ORACLE,  /* reads memory through a filter on the passed event, syscalls:sys_enter_openat */
    ORDER_REPLACE, /* replaces the file `path` with a link to /bin/sh */
    ORDER_ADDRESS, /* looks for a kernel address in the records of `number` CPUs: -EFAULT if there is one */
    ORDER_PROCESS, /* tries enum intrusion `number` on process `pid` */
    ORDER_KEEP,    /* keeps the passed descriptor open */
    ORDER_DROP,    /* closes the descriptors that it keeps */
};

/* What one process may try to do to another. */
enum intrusion {
    INTRUSION_READ_MEMORY,  /* process_vm_readv(2) */
    INTRUSION_WRITE_MEMORY, /* process_vm_writev(2) */
    INTRUSION_OPEN_MEMORY,  /* /proc/PID/mem for writing */
    INTRUSION_OPEN_ENVIRON,
    INTRUSION_OPEN_ROOT, /* /proc/PID/root/etc/shadow */
    INTRUSION_TRACE,     /* PTRACE_SEIZE */
    INTRUSION_TAKE_FILE, /* pidfd_getfd(2) of descriptors 0 to 15 */
    INTRUSION_SIGNAL,    /* kill(2) with signal 0: the kernel checks permissions but sends nothing */
    INTRUSION_LIMIT,     /* prlimit(2) */
    N_INTRUSIONS
};

struct order {
    uint32_t kind, number;
    int32_t pid, cpu;
    uint64_t address;            /* a kernel address, for OPERATION_MODIFY_KERNEL */
    struct perf_event_attr attr; /* the attributes of the event, as an attacker would guess them */
    char path[256];
};

/* Makes the attempt in the calling process. Returns 0 or more on success, -errno on failure. */
long intrusion_try(enum intrusion intrusion, pid_t pid);
const char *intrusion_name(enum intrusion intrusion);
/* Tries an operation on a descriptor; `order` is an ORDER_POWER. Undoes its change to the event where possible. */
long power_try(const struct order *order, int fd);

/* Tries an operation on a BPF map: OPERATION_MAP_READABLE or one that follows it. */
long map_power_try(enum descriptor_operation operation, int fd);
/* Carries out ORDER_ADDRESS on the records of `n` CPUs. */
long map_find_address(int fd, uint32_t n);

/* Forks a process that runs `serve` and exits. Returns the other end of its socket, or -errno. */
int server_start(void (*serve)(int socket, void *userdata), void *userdata);
/* Forks a helper. Returns the socket to it, or -errno. */
int helper_start(void);
/* Connects to a process that runs helper_listen() on `path`. */
int helper_connect(const char *path);
/* Carries out the orders of the first client that connects, until it disconnects. Returns 0, or -errno on failure. */
int helper_listen(const char *path);
/* Sends an order, with a descriptor unless `fd` is -1. Returns the result of the order, or -errno. */
long helper_order(int socket, const struct order *order, int fd);

/* Starts the process that stops the opener at each system call (stepped.c). Returns a socket to it, or -errno. */
int stepper_start(struct impostor *impostor);

/* Returns the path of the first configured uprobe, "uprobe/path=P,offset=O/", or NULL if there is none. */
const char *configured_uprobe(const struct impostor *impostor, uint64_t *ret_offset);
/* Returns a request for podman's state file in `home`, which belongs to `user`. */
struct state_request state_request_of_home(const char *home, uid_t user);
/* Appends the reader's records to `bytes`, up to the last one for a request. Returns the error in the last one, or
 * -errno. */
int state_answer_receive(struct impostor *impostor, struct buffer *bytes);
/* Starts a BPF program with the fewest events and slots. On failure, returns a negative number and sets
 * impostor->reason. */
long bpf_start_smallest(struct impostor *impostor, struct bpf_maps *ret);

/* Each chapter makes a series of attempts. */
void state_run(struct impostor *impostor);
void own_files_run(struct impostor *impostor);
void own_calls_run(struct impostor *impostor);
void own_processes_run(struct impostor *impostor);
void strangers_run(struct impostor *impostor);
void requests_run(struct impostor *impostor);
void hoards_run(struct impostor *impostor);
void probe_requests_run(struct impostor *impostor);
void file_requests_run(struct impostor *impostor);
void state_requests_run(struct impostor *impostor);
void bpf_requests_run(struct impostor *impostor);
void finder_requests_run(struct impostor *impostor);
void powers_run(struct impostor *impostor);
void stepped_run(struct impostor *impostor);

/* Create and remove home directories with state files in the scratch directory. Root creates them before the split. */
void state_requests_prepare(const struct knowledge *known);
void state_requests_clean(const struct knowledge *known);

#endif
