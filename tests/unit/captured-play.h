/* SPDX-License-Identifier: Apache-2.0 */
/* How captured.h's machines are written down: tables of PMUs and of files below them, and the player of both. */
#ifndef TESTS_UNIT_CAPTURED_PLAY_H
#define TESTS_UNIT_CAPTURED_PLAY_H

#include "tests/unit/captured.h"

struct captured_pmu {
    const char *name;
    uint32_t type;
    const char *file, *cpus; /* no file: all CPUs */
    uint32_t counters;       /* 0: no limit */
    bool core, software;
};

struct captured_file {
    const char *pmu, *path, *text;
};

struct captured {
    const char *cpus, *release, *paranoid;
    const struct captured_pmu *pmus;
    const struct captured_file *files;
    bool extended_types;
};

#define CORE(n, t, c, k)                                                                                               \
    {                                                                                                                  \
        .name = (n), .type = (t), .file = "cpus", .cpus = (c), .counters = (k), .core = true                           \
    }
#define SYSTEM(n, t, c, k)                                                                                             \
    {                                                                                                                  \
        .name = (n), .type = (t), .file = "cpumask", .cpus = (c), .counters = (k)                                      \
    }

struct fake_sys *captured_play(const struct captured *captured);

#endif
