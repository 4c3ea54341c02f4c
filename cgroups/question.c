/* SPDX-License-Identifier: Apache-2.0 */
/* The state files that were asked for: see question.h. */
#include "cgroups/question.h"

#include <sys/random.h>

/* The reader takes a few milliseconds for the largest file. */
#define ANSWER_NS (10 * NSEC_PER_SEC)

int questions_ask(struct questions *questions, const struct account *account, uint32_t place, const char *id,
                  uint64_t version, uint64_t now)
{
    struct question question = {.asked_ns = now, .place = place, .user = account->user};
    struct state_request request = {.place = place, .user = account->user, .version = version};

    if (questions->n == QUESTIONS_MAX)
        return -EAGAIN;
    if (getrandom(&question.ticket, sizeof(question.ticket), GRND_NONBLOCK) != sizeof(question.ticket))
        return -EAGAIN;
    request.ticket = question.ticket;
    strcpy(question.id, id);
    strcpy(request.id, id);
    strcpy(request.home, account->home);
    int r = questions->sys->read_state(questions->sys, &request);
    if (r == 0)
        questions->items[questions->n++] = question;
    return r;
}

int questions_take(struct questions *questions, uint64_t ticket, bool is_last, struct question *ret)
{
    for (size_t i = 0; i < questions->n; i++)
        if (questions->items[i].ticket == ticket) {
            *ret = questions->items[i];
            if (is_last)
                questions->items[i] = questions->items[--questions->n];
            return 0;
        }
    return -ENOENT;
}

void questions_expire(struct questions *questions, uint64_t now)
{
    size_t n = 0;

    for (size_t i = 0; i < questions->n; i++)
        if (now - questions->items[i].asked_ns < ANSWER_NS)
            questions->items[n++] = questions->items[i];
    questions->n = n;
}

uint64_t questions_due(const struct questions *questions)
{
    uint64_t due = UINT64_MAX;

    for (size_t i = 0; i < questions->n; i++)
        due = MIN(due, questions->items[i].asked_ns + ANSWER_NS);
    return due;
}
