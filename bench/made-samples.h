/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic PERF_RECORD_SAMPLE records of a process that does not exist, so that no files of this machine are read. */
#ifndef BENCH_MADE_SAMPLES_H
#define BENCH_MADE_SAMPLES_H

#include "sampler/writer.h"

struct made_samples {
    char *bytes;
    size_t size;
    struct writer_source source; /* the caller sets its `symbols` and `sys` */
};

/* Generates n samples of n_cpus CPUs, each with a callchain of ten frames. Returns 0 or -ENOMEM. */
int made_samples_init(struct made_samples *samples, size_t n, unsigned n_cpus);
void made_samples_done(struct made_samples *samples);

#endif
