/* SPDX-License-Identifier: Apache-2.0 */
/* The start of perf's format for pipes: events, machine and clock (writer_perf_data). */
#ifndef FORMATS_PERF_DATA_HEADER_H
#define FORMATS_PERF_DATA_HEADER_H

#include "sampler/writer.h"

void perf_data_header_write(const struct writer_source *source, struct buffer *out);

#endif
