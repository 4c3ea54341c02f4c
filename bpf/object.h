/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiled program of a tally, an ELF object that libbpf opens from memory. The same bytes serve all architectures.
 *
 * A loader sets the value of TALLY_MAP_SHAPE, which the program takes for constants, and the sizes of maps:
 *
 *     map               key                   value                 entries
 *     TALLY_MAP_EVENTS  cpu * events + event  descriptor            cpus * events
 *     TALLY_MAP_SLOTS   id of a cgroup        uint32_t, its slot    as many as slots: without the root, which has its
 * own TALLY_MAP_COUNTS  cpu * slots + slot    8 * tally_words()     cpus * slots      frozen, mapped TALLY_MAP_RECORDS
 * cpu                   struct tally_record   cpus              frozen, mapped TALLY_MAP_CONTROL cpu struct
 * tally_control  cpus TALLY_MAP_WORK    cpu                   the program's own     cpus
 *
 * An epoch is never 0, and is another each time that a CPU's counters stood still for the program: after attaching too.
 */
#ifndef BPF_OBJECT_H
#define BPF_OBJECT_H

#include <stddef.h>

#define TALLY_OBJECT_NAME "tally" /* for libbpf, which prefixes the maps of constants and variables with it */

#define TALLY_MAP_SHAPE "tally.rodata" /* struct tally_shape */
#define TALLY_MAP_EVENTS "events"
#define TALLY_MAP_SLOTS "slots"
#define TALLY_MAP_COUNTS "counts"
#define TALLY_MAP_RECORDS "records"
#define TALLY_MAP_CONTROL "control"
#define TALLY_MAP_WORK "work"

/* Both are attached. */
#define TALLY_PROGRAM_SWITCH "tally_switch" /* tp_btf: at each switch */
/* raw_tp: at each move of a task; BPF_PROG_TEST_RUN on a CPU with a context of one 0: that CPU looks again at what runs
 */
#define TALLY_PROGRAM_LOOK "tally_look"

/* The caller frees it. -ENOMEM. */
int tally_object_make(void **ret, size_t *ret_size);

#endif
