/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's client and server over a real socket pair. The fake kernel behind the server opens pipes for events. */
#ifndef TESTS_UNIT_OPENER_RIG_H
#define TESTS_UNIT_OPENER_RIG_H

#include <pthread.h>

#include "opener/client.h"
#include "opener/opener-server.h"

#define KPROBE 6
/* An event with a config below this can be opened. Opening any other event fails with its config as errno. */
#define FIRST_ERROR 1000
/* Opening an event with this config blocks until a byte is written to `gate`. */
#define SLOW 900
/* Limits of open events on a CPU: for all events, for the BPF program, for one thread, and for all threads. */
enum { RIG_CPU_LIMIT = 64, RIG_BPF_LIMIT = 16, RIG_THREAD_LIMIT = 20, RIG_THREADS_LIMIT = 30 };
/* How long the opener waits for children that open users' files, which is long enough for any busy machine. */
#define PATIENT_NS (600 * NSEC_PER_SEC)

/* The client and the server of the current test. */
struct opener_rig {
    struct opener_client client;
    struct opener_server server;
    struct event_quota events;
    struct quota bpf_programs;
    struct stragglers stragglers, programs;
    struct sys daemon, kernel;
    struct bpf_calls bpf;           /* the daemon's */
    struct state_files state_files; /* the daemon's */
    pthread_t thread;
    uint64_t n_open; /* open descriptors before the test */
    int n_files;     /* files that the fake kernel has opened */
    int ended;       /* the result of opener_server_run() */
    int gate[2];     /* a byte written here lets a SLOW event open */
    bool powerless;  /* the server's thread drops its capabilities first */
    int n_sealed;    /* descriptors to which a filter was attached */
    bool takes_no_filter;
};
extern struct opener_rig rig;

/*
 * Setup and teardown for cmocka. The teardown checks that the server ended without an error and that nothing stays
 * open.
 */
int opener_rig_setup(void **state);
int opener_rig_teardown(void **state);
/* Defines a test that uses the rig. */
#define TEST_WITH_OPENER(test) TEST_WITH(test, opener_rig_setup, opener_rig_teardown)

struct perf_event_attr opener_rig_event(uint64_t config);
/* Opens an event with this config on CPU 0. */
int opener_rig_open(uint64_t config);
void opener_rig_open_group(const struct sys_group *group, int *fds);
/* Makes the server permit these events. */
void opener_rig_permit(struct opener_permitted_event *events, size_t n);
/* Closes `fd` and checks its content, which describes the request that the kernel received. */
void opener_rig_assert_opened(int fd, const char *expected);

#endif
