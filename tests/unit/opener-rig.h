/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's client and server over a real socket pair; the kernel behind the server opens pipes. */
#ifndef TESTS_UNIT_OPENER_RIG_H
#define TESTS_UNIT_OPENER_RIG_H

#include <pthread.h>

#include "opener/client.h"
#include "opener/opener-server.h"

#define KPROBE 6
/* A config below this is an event; another is the errno with which it fails. */
#define FIRST_ERROR 1000
/* An event with this config waits for a byte of `gate`. */
#define SLOW 900
/* So many events may be open on a CPU, of a thread on it, and of all threads there. */
enum { RIG_CPU_LIMIT = 64, RIG_BPF_LIMIT = 16, RIG_THREAD_LIMIT = 20, RIG_THREADS_LIMIT = 30 };
/* For how long the opener waits for children that open users' files, however busy the machine is. */
#define PATIENT_NS (600 * NSEC_PER_SEC)

/* A client and a server, of the test that runs. The fake kernel behind the server opens pipes. */
struct opener_rig {
    struct opener_client client;
    struct opener_server server;
    struct event_quota events;
    struct quota bpf_programs;
    struct stragglers stragglers, programs;
    struct sys daemon, kernel;
    struct bpf_calls bpf;           /* of the daemon */
    struct state_files state_files; /* of the daemon */
    pthread_t thread;
    uint64_t n_open; /* descriptors, before */
    int n_files;     /* files that the kernel behind the server opened */
    int ended;       /* the result of opener_server_run() */
    int gate[2];     /* a byte lets a slow event go on */
    bool powerless;  /* the server's thread drops its capabilities first */
    int n_sealed;    /* descriptors that got a filter */
    bool takes_no_filter;
};
extern struct opener_rig rig;

/* cmocka's setup and teardown; the teardown expects that the server ended without an error and nothing stays open. */
int opener_rig_setup(void **state);
int opener_rig_teardown(void **state);
/* A test with them. */
#define TEST_WITH_OPENER(test) TEST_WITH(test, opener_rig_setup, opener_rig_teardown)

struct perf_event_attr opener_rig_event(uint64_t config);
/* Opens that event for CPU 0. */
int opener_rig_open(uint64_t config);
void opener_rig_open_group(const struct sys_group *group, int *fds);
/* The server permits these events. */
void opener_rig_permit(struct opener_permitted_event *events, size_t n);
/* Closes `fd`, whose content says what the kernel was asked for. */
void opener_rig_assert_opened(int fd, const char *expected);

#endif
