/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state files that were asked for, and whose answers are on their way. An answer counts only for the place, the
 * account and the container that were asked for, whatever the process says that has read the file: nobody can guess the
 * ticket of another file.
 */
#ifndef CGROUPS_QUESTION_H
#define CGROUPS_QUESTION_H

#include "cgroups/account.h"

#define QUESTIONS_MAX 32

struct question {
    uint64_t ticket, asked_ns;
    uint32_t place, user;
    char id[STATE_ID_LENGTH + 1]; /* "" where the place has all containers */
};

/* `sys` is set at first. */
struct questions {
    struct sys *sys;
    size_t n;
    struct question items[QUESTIONS_MAX];
};

/* Errors of sys->read_state(): -EALREADY where the file still has this version, -EAGAIN where too much is asked. */
int questions_ask(struct questions *questions, const struct account *account, uint32_t place, const char *id,
                  uint64_t version, uint64_t now);
/* The question of an answer; the last answer ends it. -ENOENT. */
int questions_take(struct questions *questions, uint64_t ticket, bool is_last, struct question *ret);
/* Gives up those that have waited for too long. */
void questions_expire(struct questions *questions, uint64_t now);
/* When that will be; UINT64_MAX: there is none. */
uint64_t questions_due(const struct questions *questions);

#endif
