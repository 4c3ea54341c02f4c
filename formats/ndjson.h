/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records other than samples in NDJSON: the fields behind type, time and CPU, which ndjson.c writes.
 *
 * Samples in NDJSON: the fields behind type, time and CPU, which ndjson.c writes.
 */
#ifndef FORMATS_NDJSON_H
#define FORMATS_NDJSON_H

#endif
