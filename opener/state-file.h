/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state file of a container runtime, which is opened and handed to the reader of such files (cgroups/names-reader).
 * The process that opens it reads nothing of it.
 */
#ifndef OPENER_STATE_FILE_H
#define OPENER_STATE_FILE_H

#include "cgroups/state-files.h"
#include "perf/sys.h"
#include "process/stragglers.h"

/*
 * Opens what `request` names, by a safe path, and sends it to the socket `reader` with the request, without waiting. As
 * struct sys's read_state(); -ENOSYS also where the reader has ended. `reader` is -1 where there is none.
 *
 * A file that does not belong to root is opened and sent by a child, and this process waits for the child as long as
 * `stragglers` allows. If the child has not ended by then, the result is 0 as well, since the file may still be sent;
 * -EHOSTDOWN: a child of this user hangs, too many children hang, or this user's children took too long.
 */
int opener_state_file_send(struct sys *sys, const struct state_request *request, int reader,
                           struct stragglers *stragglers);

struct own_state_files {
    const int *reader; /* the reader's socket; *reader is -1 if there is no reader */
    struct stragglers stragglers;
};
/* Without an opener: makes this process open state files itself, with its own rights. *files must outlive `sys`. */
void opener_state_file_attach(struct sys *sys, struct own_state_files *files);

#endif
