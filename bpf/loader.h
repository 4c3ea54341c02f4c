/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tally (tally.h) by this process's own privileges: it loads the program, attaches it, and says which slot a cgroup
 * has. The daemon without an opener has a loader, or else its opener has.
 *
 * The program is loaded by a child that lives as long as that takes: libbpf needs some 14 MB for the kernel's types,
 * and reads them from files. The descriptors of maps and programs come back; all that follows is bpf(2) with
 * BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM, BPF_PROG_TEST_RUN and BPF_RAW_TRACEPOINT_OPEN. Nothing is pinned, so the
 * program is gone when this process ends, in whatever way.
 */
#ifndef BPF_LOADER_H
#define BPF_LOADER_H

#include "bpf/calls.h"

struct tally_loader;

/* -ENOMEM. */
int tally_loader_new(struct tally_loader **ret);
/* Ends all tallies. */
struct tally_loader *tally_loader_free(struct tally_loader *loader);
/* sys->tally is this loader from now on, which must not be freed before its last call. */
void tally_loader_bind(struct tally_loader *loader, struct sys *sys);

#endif
