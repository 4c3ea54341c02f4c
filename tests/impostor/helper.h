/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes beside the impostor that do as they are ordered, over a socket: the *accomplice*, an account on the
 * machine, without filters and without capabilities, to which descriptors are passed; the *twin*, another process with
 * the daemon's own user.
 */
#ifndef TESTS_IMPOSTOR_HELPER_H
#define TESTS_IMPOSTOR_HELPER_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

#include "opener/descriptor-powers.h"

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
    INTRUSION_OPEN_MAPS,
    INTRUSION_LIST_FILES, /* /proc/PID/fd */
    INTRUSION_OPEN_ROOT,  /* /proc/PID/root/etc/shadow */
    INTRUSION_TRACE,      /* PTRACE_SEIZE */
    INTRUSION_ATTACH,     /* PTRACE_ATTACH */
    INTRUSION_TAKE_FILE,  /* pidfd_getfd(2) of descriptor 0 to 15 */
    INTRUSION_SIGNAL,     /* kill(2); the kernel asks for permission before it looks at the signal, which is 0 */
    INTRUSION_LIMIT,      /* prlimit(2) */
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

#endif
