/* SPDX-License-Identifier: Apache-2.0 */
/* Questions for state files: who may answer them, how many there may be, and when they are given up. */
#include "collectors/names/question.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* The requests that the opener got. */
static struct state_request asked[QUESTIONS_MAX + 1];
static size_t n_asked;
static int result;

static int fake_read_state(struct sys *sys, const struct state_request *request)
{
    (void)sys;
    asked[n_asked++] = *request;
    return result;
}

static int ask(struct questions *questions, const char *id, uint64_t now)
{
    static const struct account account = {.user = 1000, .home = "/home/alice"};

    return questions_ask(questions, &account, 3, id, 42, now);
}

static int setup(void **state)
{
    static struct sys sys = {.read_state = fake_read_state};
    static struct questions questions;

    questions = (struct questions){.sys = &sys};
    n_asked = 0;
    result = 0;
    *state = &questions;
    return 0;
}

static void test_ask(void **state)
{
    struct questions *questions = *state;
    struct question question;

    assert_int_equal(ask(questions, ID, 7), 0);
    assert_int_equal(asked[0].place, 3);
    assert_int_equal(asked[0].user, 1000);
    assert_int_equal(asked[0].version, 42);
    assert_string_equal(asked[0].id, ID);
    assert_string_equal(asked[0].home, "/home/alice");
    assert_int_equal(questions_take(questions, asked[0].ticket + 1, false, &question), -ENOENT);
    for (int is_last = 0; is_last < 2; is_last++) {
        assert_int_equal(questions_take(questions, asked[0].ticket, is_last, &question), 0);
        assert_int_equal(question.place, 3);
        assert_string_equal(question.id, ID);
    }
    assert_int_equal(questions_take(questions, asked[0].ticket, true, &question), -ENOENT);
    result = -EALREADY;
    assert_int_equal(ask(questions, ID, 7), -EALREADY);
    assert_int_equal(questions->n, 0);
}

/* A process that knows its own ticket learns no other one by it. */
static void test_tickets(void **state)
{
    size_t n_large = 0;

    while (ask(*state, "", 0) == 0)
        continue;
    assert_int_equal(n_asked, QUESTIONS_MAX);
    for (size_t i = 0; i < n_asked; i++) {
        for (size_t k = 0; k < i; k++) {
            uint64_t between = asked[i].ticket - asked[k].ticket;
            assert_true(MIN(between, -between) > UINT64_C(1) << 32);
        }
        n_large += asked[i].ticket >> 63;
    }
    assert_in_range(n_large, 1, n_asked - 1);
}

static void test_given_up(void **state)
{
    struct questions *questions = *state;
    struct question question;

    assert_int_equal(questions_due(questions), UINT64_MAX);
    assert_int_equal(ask(questions, "", 100), 0);
    assert_int_equal(ask(questions, ID, 200), 0);
    uint64_t due = questions_due(questions);
    questions_expire(questions, due - 1);
    assert_int_equal(questions->n, 2);
    questions_expire(questions, due);
    assert_int_equal(questions_take(questions, asked[0].ticket, false, &question), -ENOENT);
    assert_int_equal(questions_take(questions, asked[1].ticket, false, &question), 0);
    assert_int_equal(questions_due(questions), due + 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ask, setup),
        cmocka_unit_test_setup(test_tickets, setup),
        cmocka_unit_test_setup(test_given_up, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
