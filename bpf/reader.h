/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader's side of a tally: what each slot has had since the reading before, on each CPU. It needs no privilege and
 * makes no system calls but those of `now`.
 *
 * Words never fall: an entry that is half visible keeps what it was until the next reading.
 */
#ifndef BPF_READER_H
#define BPF_READER_H

#include "bpf/calls.h"

struct tally_reader;

/* Maps both; the descriptors may be closed afterwards. Errors of mmap(2); -ENOMEM. */
int tally_reader_new(struct sys *sys, const struct tally_shape *shape, const struct tally_maps *maps,
                     struct tally_reader **ret);
struct tally_reader *tally_reader_free(struct tally_reader *reader);

/*
 * After tally_calls.set_cpu(), and before flush() or attach(): which words are of one group on this CPU. The
 * record is over until the CPU has looked again.
 */
void tally_reader_set_cpu(struct tally_reader *reader, unsigned cpu, const struct tally_event *events);

/*
 * The counters of `cpu` now, by read(2) of its groups, whose IPI makes the stores of that CPU visible: words as in an
 * entry; only those of TALLY_READ events and of times are asked for. A word that cannot be read has its bit in
 * *ret_valid off. -errno where the CPU cannot be read at all.
 */
typedef int (*tally_now)(void *userdata, unsigned cpu, uint64_t *words, uint64_t *ret_valid);

/*
 * Takes the reading of a CPU. 1: consistent, with what runs up to now; 0: as of the last switch, since the CPU switched
 * during each try; -errno of `now`, and then as of the last switch too.
 */
int tally_reader_read(struct tally_reader *reader, unsigned cpu, tally_now now, void *userdata);

/*
 * After tally_reader_read() of this CPU: the next slot from `from` on, below `slots`, whose words grew; TALLY_SLOT_NONE
 * past the last. `delta` gets how much each grew, and that is taken: the next call for it gives nothing.
 */
uint32_t tally_reader_take(struct tally_reader *reader, unsigned cpu, uint32_t from, uint32_t slots, uint64_t *delta);

/*
 * Whether a task was moved to another cgroup since the last call. If it runs, it may count for its old cgroup until
 * tally_calls.flush(), since the CPU of a task that another one moves does not notice.
 */
bool tally_reader_saw_moves(struct tally_reader *reader);

/*
 * The slot that runs on a CPU, as of its last reading; TALLY_SLOT_NONE where nothing is known. After
 * tally_calls.flush(), a slot that was withdrawn before is free once no CPU has it.
 */
uint32_t tally_reader_running(const struct tally_reader *reader, unsigned cpu);
/*
 * Whether the CPU has not changed its slot since its reading: what was taken of all slots adds up to what `now` gave.
 * By the order of the stores this may rarely be wrong.
 */
bool tally_reader_is_exact(const struct tally_reader *reader, unsigned cpu);

#endif
