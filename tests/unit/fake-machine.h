/* SPDX-License-Identifier: Apache-2.0 */
/* A machine that a test plays (fake-sys.h), as perfcountd loads it. */
#ifndef TESTS_UNIT_FAKE_MACHINE_H
#define TESTS_UNIT_FAKE_MACHINE_H

#include "perf/machine.h"
#include "tests/unit/fake-sys.h"

/* machine_load(), which must succeed. The caller frees the machine; it does not need `fake`. */
struct machine *fake_load_machine(struct fake_sys *fake);

DEFINE_CLEANUP(struct machine *, machine_free);

#endif
