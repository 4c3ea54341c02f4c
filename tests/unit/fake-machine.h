/* SPDX-License-Identifier: Apache-2.0 */
/* A machine, usually one that a test plays (fake-sys.h), as perfcountd loads it. */
#ifndef TESTS_UNIT_FAKE_MACHINE_H
#define TESTS_UNIT_FAKE_MACHINE_H

#include "perf/machine.h"
#include "tests/unit/fake-sys.h"

/* machine_load(), which must succeed. The caller frees the machine; it does not need `sys`. */
struct machine *machine_of(struct sys *sys);

DEFINE_CLEANUP(struct machine *, machine_free);

#endif
