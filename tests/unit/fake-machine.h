/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a machine, usually a simulated one (fake-sys.h). */
#ifndef TESTS_UNIT_FAKE_MACHINE_H
#define TESTS_UNIT_FAKE_MACHINE_H

#include "perf/machine.h"
#include "tests/unit/fake-sys.h"

/* Loads the machine with machine_load(), which must succeed. The caller frees the machine, which may outlive `sys`. */
struct machine *machine_of(struct sys *sys);

DEFINE_CLEANUP(struct machine *, machine_free);

#endif
