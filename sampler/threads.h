/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a process that is to be sampled: each takes events of its own on each CPU. */
#ifndef SAMPLER_THREADS_H
#define SAMPLER_THREADS_H

#include "sampler/spec.h"

struct threads {
    pid_t *tids; /* NULL: the spec has no process */
    size_t n;
};

/* -ENOENT (no such process), -EINVAL (they would take too many descriptors), with a sentence. Done in any case. */
int threads_list(struct threads *threads, struct sys *sys, const struct spec *spec, struct error *error);
void threads_done(struct threads *threads);

#endif
