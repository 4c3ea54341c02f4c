/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses arbitrary bytes as /proc/PID/maps, builds the list of mappings from it, and searches it for an address range
 * as the finder does.
 */
#include "process/finder.h"
#include "symbols/processes.h"
#include "tests/fuzz/fuzz.h"

static void check_order(struct processes *processes)
{
    const struct process *process = processes_find(processes, 1);

    for (size_t i = 0; process && i < process->mappings.n; i++) {
        const struct mapping *mapping = &process->mappings.mappings[i];
        assert(mapping->start < mapping->end);
        assert(i == 0 || process->mappings.mappings[i - 1].end <= mapping->start);
    }
}

/*
 * The copy has exactly the input's size, so that the sanitizer detects reads beyond it. Only an existing range may be
 * found.
 */
static void check_range(const uint8_t *data, size_t size)
{
    _cleanup_(freep) char *lines = copy_exact(data, size);

    int r = find_in_maps(lines, size, 0x400000, 0x500000);
    assert(r == 0 || r == 1 || r == -EBADRQC);
    assert(r == 0 || memmem(lines, size, "400000-", 7));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(freep) char *text = copy_text(data, size);
    struct processes *processes;
    struct dsos *dsos;
    struct mapping mapping;
    struct sys sys;
    sd_event *event;

    check_range(data, size);
    sys_init(&sys);
    assert(sd_event_new(&event) >= 0 && dsos_new(&sys, event, &dsos) == 0);
    assert(processes_new(dsos, &processes) == 0);
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
        if (proc_maps_parse_line(line, &mapping) == 0) {
            assert(mapping.start < mapping.end && mapping.file[0]);
            processes_map(processes, 1, &mapping);
        }
    check_order(processes);
    processes_free(processes);
    assert(dsos_bytes(dsos) == 0);
    dsos_free(dsos);
    sd_event_unref(event);
    return 0;
}
