/* SPDX-License-Identifier: Apache-2.0 */
/* The opener's client and server over a real socket pair; the kernel behind the server opens files of memory. */
#ifndef TESTS_UNIT_OPENER_RIG_H
#define TESTS_UNIT_OPENER_RIG_H

#include <pthread.h>

#include "opener/client.h"
#include "opener/server.h"

#define KPROBE 6
/* A config below this is an event; another is the errno with which it fails. */
#define FIRST_ERROR 1000
/* An event with this config waits for a byte of `gate`. */
#define SLOW 900

/* A client and a server over a real socket pair. The fake kernel behind the server opens files of memory. */
struct opener_rig {
    struct opener_client client;
    struct opener_server server;
    struct tally_quota tallies;
    struct sys daemon, kernel;
    pthread_t thread;
    int n_files;    /* files that the kernel behind the server opened */
    int ended;      /* the result of opener_server_run() */
    int gate[2];    /* a byte lets a slow event go on */
    bool powerless; /* the server's thread drops its capabilities first */
    int n_sealed;   /* descriptors that got a filter */
    bool takes_no_filter;
};

/* cmocka's setup and teardown; the teardown expects that the server ended without an error. */
int opener_rig_setup(void **state);
int opener_rig_teardown(void **state);

struct perf_event_attr opener_rig_event(uint64_t config);
/* Opens that event for CPU 0. */
int opener_rig_open(struct opener_rig *rig, uint64_t config);
/* Closes `fd`, whose content says what the kernel was asked for. */
void opener_rig_assert_opened(int fd, const char *expected);

#endif
