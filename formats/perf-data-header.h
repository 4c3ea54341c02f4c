/* SPDX-License-Identifier: Apache-2.0 */
/* What perf's format for pipes says before the first record: events, machine, clock (writer_perf_data of writer.h). */
#ifndef FORMATS_PERF_DATA_HEADER_H
#define FORMATS_PERF_DATA_HEADER_H

#include "sampler/writer.h"

void perf_data_header_write(const struct writer_source *source, struct buffer *out);

#endif
