/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/process-rig.h"

#include <stdio.h>

#include "tests/unit/test.h"

int process_rig_setup(void **state)
{
    struct process_rig *rig = calloc(1, sizeof(*rig));

    *state = rig;
    sys_init(&rig->sys);
    return sd_event_new(&rig->event) < 0 || dsos_new(&rig->sys, rig->event, &rig->dsos) < 0 ||
                   processes_new(rig->dsos, &rig->processes) < 0
               ? -1
               : 0;
}

int process_rig_teardown(void **state)
{
    struct process_rig *rig = *state;

    processes_free(rig->processes);
    assert_int_equal(dsos_bytes(rig->dsos), 0); /* no reference to an image is left */
    dsos_free(rig->dsos);
    sd_event_unref(rig->event);
    free(rig);
    return 0;
}

const char *process_rig_at(struct process_rig *rig, uint32_t pid, uint64_t address)
{
    static char text[128];
    struct process *process = processes_find(rig->processes, pid);
    const struct mapping *mapping = process ? mappings_find(&process->mappings, address) : NULL;

    text[0] = '\0';
    if (mapping)
        snprintf(text, sizeof(text), "%s+%llx", mapping->file,
                 (unsigned long long)(address - mapping->start + mapping->offset));
    return text;
}

const char *process_rig_comm(struct process_rig *rig, uint32_t pid, uint32_t tid)
{
    const struct process *process = processes_find(rig->processes, pid);
    return process ? process_comm(process, tid) : "(none)";
}
