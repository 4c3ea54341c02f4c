/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state file of a container runtime, which is opened and handed to the reader of such files (collectors/names/). The
 * process that opens it reads nothing of it.
 */
#ifndef OPENER_STATE_FILE_H
#define OPENER_STATE_FILE_H

#include "base/process/stragglers.h"
#include "perf/files/state-file.h"
#include "perf/sys.h"

/*
 * Opens what `request` names, by a safe path, and sends it to the socket `reader` with the request, without waiting. As
 * struct sys's read_state(); -ENOSYS also where the reader has ended. `reader` is -1 where there is none.
 *
 * A child does so where the file is not root's, and this process waits as long as `stragglers` allow. Then the result
 * is 0 as well, since the file may still arrive.
 */
int opener_state_file_send(struct sys *sys, const struct state_request *request, int reader,
                           struct stragglers *stragglers);

struct own_state_files {
    const int *reader; /* the socket; -1: none */
    struct stragglers stragglers;
};
/* Without an opener: from now on this process opens state files itself, as far as it may. *files must outlive `sys`. */
void opener_state_file_attach(struct sys *sys, struct own_state_files *files);

#endif
