/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state file of a container runtime, which is opened and handed to the reader of such files (collectors/names/). The
 * process that opens it reads nothing of it.
 */
#ifndef OPENER_STATE_FILE_H
#define OPENER_STATE_FILE_H

#include "perf/files/state-file.h"
#include "perf/sys.h"

/*
 * Opens what `request` names, by a safe path, and sends it to the socket `reader` with the request, without waiting. As
 * struct sys's read_state(); -ENOSYS also where the reader has ended. `reader` is -1 where there is none.
 */
int opener_state_file_send(struct sys *sys, const struct state_request *request, int reader);
/* Without an opener: from now on this process opens state files itself, as far as it may. *reader must outlive `sys`.
 */
void opener_state_file_attach(struct sys *sys, int *reader);

#endif
