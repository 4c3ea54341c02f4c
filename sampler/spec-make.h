/* SPDX-License-Identifier: Apache-2.0 */
/* From a client's request to a spec: completed by the configuration, and checked against the machine. */
#ifndef SAMPLER_SPEC_MAKE_H
#define SAMPLER_SPEC_MAKE_H

#include "config/config.h"
#include "sampler/record-options.h"
#include "sampler/stream-request.h"

/*
 * Opens and closes an event, since only the kernel knows what it allows. With a sentence: -EINVAL (no such event or
 * CPU, a frequency over the limit...), -ENOENT (no such cgroup or process), errors of spec_refused().
 */
int spec_make(struct sys *sys, const struct machine *machine, const struct config_sampler *config,
              const struct stream_request *request, struct spec *ret, struct error *error);

#endif
