/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tally (bpf/calls.h) by the privileges of this process: it loads and attaches the program and assigns slots to
 * cgroups. The loader belongs to the opener, or to the daemon if it has no opener.
 *
 * A short-lived child loads the program, because libbpf needs some 14 MB for the kernel's types and reads them from
 * files. It hands back the descriptors of maps and programs. After that, only bpf(2) is needed, with
 * BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM, BPF_PROG_TEST_RUN and BPF_RAW_TRACEPOINT_OPEN. Nothing is pinned, so the
 * program ends with this process, however that ends.
 */
#ifndef BPF_LOADER_H
#define BPF_LOADER_H

#include "bpf/calls.h"

struct tally_loader;

/* Returns -ENOMEM on failure. */
int tally_loader_new(struct tally_loader **ret);
/* Ends all tallies. */
struct tally_loader *tally_loader_free(struct tally_loader *loader);
/* Sets sys->tally to this loader, which must not be freed before the last call of it. */
void tally_loader_bind(struct tally_loader *loader, struct sys *sys);

#endif
