/* SPDX-License-Identifier: Apache-2.0 */
/* A table of processes on this machine, and what it knows of a process. */
#ifndef TESTS_UNIT_PROCESS_RIG_H
#define TESTS_UNIT_PROCESS_RIG_H

#include "symbols/processes.h"

struct process_rig {
    struct sys sys;
    sd_event *event;
    struct dsos *dsos;
    struct processes *processes;
};

/* For cmocka_unit_test_setup_teardown(); the teardown checks that no image is left. */
int process_rig_setup(void **state);
int process_rig_teardown(void **state);

/* "FILE+OFFSET" of an address; "" where nothing is mapped. */
const char *process_rig_at(struct process_rig *rig, uint32_t pid, uint64_t address);
/* The name of a thread; "(none)" where the process is not known. */
const char *process_rig_comm(struct process_rig *rig, uint32_t pid, uint32_t tid);

#endif
