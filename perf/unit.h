/* SPDX-License-Identifier: Apache-2.0 */
/* The unit that a driver writes beside the scale of an event, turned into a base unit of Prometheus. Pure. */
#ifndef PERF_UNIT_H
#define PERF_UNIT_H

#include "base/util.h"

/*
 * One count of an event with the files `.scale` and `.unit` is *ret_scale of *ret_base: "MiB" at 6.1e-5 is 64 "bytes".
 * A unit that nobody knows becomes a part of a metric's name with its scale as it is; one without a letter is none,
 * "". -ENOMEM; the caller frees *ret_base.
 *
 * A number of bytes that is whole but for the digits that the driver left out is whole: 9.536743164e-07 MiB is 1 byte.
 * Where powers of 1000 make no whole number of bytes, and powers of 1024 do, the driver means those: "MB" at
 * 1.52587890625e-05 is 16 bytes, and "MB" at 0.000001 is 1 byte.
 */
int unit_resolve(const char *text, double scale, char **ret_base, double *ret_scale);

/* Whether it is a base unit: "bytes", "seconds", ... */
bool unit_is_base(const char *text);

#endif
