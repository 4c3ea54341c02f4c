/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of Protocol Buffers (https://protobuf.dev/programming-guides/encoding/), field by field into a buffer, whose
 * errors stick. Single fields that are 0 are left out, as proto3 has it.
 */
#ifndef FORMATS_PPROF_H
#define FORMATS_PPROF_H

#endif
