/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as lines of /proc/PID/maps, and the processes that they make. */
#undef NDEBUG
#include <assert.h>

#include "base/cleanup.h"
#include "symbols/proc-maps.h"
#include "symbols/processes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_order(struct processes *processes)
{
    const struct process *process = processes_find(processes, 1);

    for (size_t i = 0; process && i < process->mappings.n; i++) {
        const struct mapping *mapping = &process->mappings.places[i].mapping;
        assert(mapping->start < mapping->end);
        assert(i == 0 || process->mappings.places[i - 1].mapping.end <= mapping->start);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(freep) char *text = malloc(size + 1);
    struct processes *processes;
    struct images *images;
    struct mapping mapping;
    struct sys sys;
    sd_event *event;

    assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    sys_init(&sys);
    assert(sd_event_new(&event) >= 0 && images_new(&sys, event, &images) == 0);
    assert(processes_new(images, &processes) == 0);
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
        if (proc_maps_parse_line(line, &mapping) == 0) {
            assert(mapping.start < mapping.end && mapping.file[0]);
            processes_map(processes, 1, &mapping);
        }
    check_order(processes);
    processes_free(processes);
    assert(images_bytes(images) == 0);
    images_free(images);
    sd_event_unref(event);
    return 0;
}
