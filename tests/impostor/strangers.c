/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts of others at this process and the opener: an account on the machine, and one that has the daemon's user. */
#include <stdio.h>
#include <unistd.h>

#include "tests/impostor/helper.h"
#include "tests/impostor/impostor.h"

#define DENIED MUST(EPERM, EACCES, ENOSYS, ENOENT, ESRCH)

static void intrude(struct impostor *impostor, int helper, const char *who, const char *whom, pid_t pid)
{
    static const struct must denied = DENIED;

    for (int i = 0; i < N_INTRUSIONS; i++) {
        const struct order order = {.kind = ORDER_PROCESS, .number = (uint32_t)i, .pid = pid};
        char name[96];
        /* The same user may end it, and see how many files it may have: there is no remedy. */
        if (helper == impostor->twin && (i == INTRUSION_SIGNAL || i == INTRUSION_LIMIT))
            continue;
        snprintf(name, sizeof(name), "%s: %s of %s", who, intrusion_name((enum intrusion)i), whom);
        impostor_judge(impostor, name, helper_order(helper, &order, -1), &denied);
    }
}

static void intrude_into_both(struct impostor *impostor, int helper, const char *who)
{
    if (helper < 0) {
        impostor_skip(impostor, "only root can start it before the split");
        impostor_judge(impostor, who, ATTEMPT_SKIPPED, NULL);
        return;
    }
    intrude(impostor, helper, who, "the daemon", getpid());
    intrude(impostor, helper, who, "the opener", impostor->opener);
}

void strangers_run(struct impostor *impostor)
{
    const struct order become = {.kind = ORDER_BECOME, .number = getuid()};

    if (impostor->twin >= 0 && helper_order(impostor->twin, &become, -1) < 0)
        impostor->twin = -1;
    intrude_into_both(impostor, impostor->accomplice, "an account");
    intrude_into_both(impostor, impostor->twin, "a process of the daemon's user");
}
