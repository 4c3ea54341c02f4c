/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements bpf/calls.h with the privileges of this process: loads and attaches the BPF program and assigns slots to
 * cgroups. The loader belongs to the opener, or to the daemon if it has no opener.
 *
 * A short-lived child loads the program, because libbpf needs some 14 MB for the kernel's types and reads them from
 * files. The child hands back the descriptors of maps and programs. After that, only bpf(2) is needed, with
 * BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM, BPF_PROG_TEST_RUN and BPF_RAW_TRACEPOINT_OPEN. Nothing is pinned, so the
 * program never outlives this process.
 */
#ifndef BPF_LOADER_H
#define BPF_LOADER_H

#include "bpf/calls.h"

struct bpf_loader;
struct sys;

/* `sys` counts and closes the descriptors, and must outlive the loader. Returns -ENOMEM on failure. */
int bpf_loader_new(struct sys *sys, struct bpf_loader **ret);
/* Stops all programs. */
struct bpf_loader *bpf_loader_free(struct bpf_loader *loader);
/* Makes the calls use this loader, which must not be freed before the last call. */
void bpf_loader_bind(struct bpf_loader *loader, struct bpf_calls *ret);

#endif
