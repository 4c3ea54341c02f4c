/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of processes (symbols/processes.h) to which a test adds processes and mappings, and functions that look them
 * up.
 */
#ifndef TESTS_UNIT_PROCESS_RIG_H
#define TESTS_UNIT_PROCESS_RIG_H

#include "symbols/processes.h"

struct process_rig {
    struct sys sys;
    sd_event *event;
    struct dsos *dsos;
    struct processes *processes;
};

/* For cmocka_unit_test_setup_teardown(). The teardown checks that no image is left in memory. */
int process_rig_setup(void **state);
int process_rig_teardown(void **state);

/* Returns "FILE+OFFSET" for an address, or "" if nothing is mapped there. */
const char *process_rig_at(struct process_rig *rig, uint32_t pid, uint64_t address);
/* Returns the name of a thread, or "(none)" if the process is unknown. */
const char *process_rig_comm(struct process_rig *rig, uint32_t pid, uint32_t tid);

#endif
