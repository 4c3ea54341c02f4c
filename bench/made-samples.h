/* SPDX-License-Identifier: Apache-2.0 */
/* PERF_RECORD_SAMPLEs of an unknown process, as a ring has them, so that no file of this machine is looked at. */
#ifndef BENCH_MADE_SAMPLES_H
#define BENCH_MADE_SAMPLES_H

#include "sampler/writer.h"

struct made_samples {
    char *bytes;
    size_t size;
    struct writer_source source; /* its symbols and sys are the caller's */
};

/* Makes n samples of n_cpus CPUs, each with a callchain of ten frames. -ENOMEM. */
int made_samples_init(struct made_samples *samples, size_t n, unsigned n_cpus);
void made_samples_done(struct made_samples *samples);

#endif
