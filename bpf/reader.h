/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of the BPF program's maps: what each slot has gained on each CPU since the previous reading. The reader
 * needs no privileges and makes no system calls, apart from those of `now`.
 *
 * Words never decrease: an entry that is only partly visible keeps its previous value until the next reading.
 */
#ifndef BPF_READER_H
#define BPF_READER_H

#include "bpf/calls.h"

struct bpf_reader;
struct sys;

/*
 * Maps both BPF maps into memory; afterwards the caller may close their descriptors. Returns -ENOMEM, or an error of
 * mmap(2).
 */
int bpf_reader_new(struct sys *sys, const struct bpf_shape *shape, const struct bpf_maps *maps,
                   struct bpf_reader **ret);
struct bpf_reader *bpf_reader_free(struct bpf_reader *reader);

/*
 * Sets the events of a CPU, which determine which words belong to which group there. Must be called after
 * bpf_calls.set_cpu() and before flush() or attach(). Afterwards the CPU's record is outdated until the CPU has looked
 * up its task again.
 */
void bpf_reader_set_cpu(struct bpf_reader *reader, unsigned cpu, const struct bpf_event *events);

/*
 * Reads the counters of `cpu` with read(2) of its groups; the IPI that this sends makes the CPU's stores visible. The
 * words are laid out as in an entry; only SOURCE_READ events and times are needed. In *ret_valid, the bits of words
 * that cannot be read are clear. Returns -errno if nothing on the CPU can be read.
 */
typedef int (*bpf_read_now)(void *userdata, unsigned cpu, uint64_t *words, uint64_t *ret_valid);

/*
 * Reads a CPU. Returns 1 if the reading is consistent and includes the running slot up to now; 0 if it includes counts
 * only up to the last switch, because the CPU switched during every try; or -errno of `now`, also with counts up to the
 * last switch.
 */
int bpf_reader_read(struct bpf_reader *reader, unsigned cpu, bpf_read_now now, void *userdata);

/*
 * Returns the first slot at or after `from` and below `slots` whose words have grown, or BPF_SLOT_NONE if there is
 * none. Called after bpf_reader_read() of this CPU. `delta` is set to the growth of each word, which later calls do not
 * return again.
 */
uint32_t bpf_reader_take(struct bpf_reader *reader, unsigned cpu, uint32_t from, uint32_t slots, uint64_t *delta);

/*
 * Whether a task has been moved to another cgroup since the previous call. If that task is running, its counts may go
 * to its old cgroup until bpf_calls.flush(), because a CPU does not notice when another CPU moves its running task.
 */
bool bpf_reader_saw_moves(struct bpf_reader *reader);

/*
 * The slot that runs on a CPU, as of its last reading, or BPF_SLOT_NONE if it is unknown. A slot that was withdrawn
 * before bpf_calls.flush() is free once it runs on no CPU.
 */
uint32_t bpf_reader_running(const struct bpf_reader *reader, unsigned cpu);
/*
 * Whether the CPU has run the same slot since its last reading, so that the growth of all slots adds up to the values
 * of `now`. In rare cases the answer is wrong, because the CPU's stores become visible one after the other.
 */
bool bpf_reader_is_exact(const struct bpf_reader *reader, unsigned cpu);

#endif
