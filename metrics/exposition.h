/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics for Prometheus: text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/) and OpenMetrics 1.0.0. Pure.
 */
#ifndef METRICS_EXPOSITION_H
#define METRICS_EXPOSITION_H

#include "base/buffer.h"
#include "metrics/metrics.h"

enum exposition { EXPOSITION_TEXT, EXPOSITION_OPENMETRICS };

/* Appends the visible series of the collectors whose bits are in `mask`. -ENOMEM. */
int exposition_write(struct buffer *buffer, const struct metrics *metrics, uint32_t mask, enum exposition format);

#endif
