/* SPDX-License-Identifier: Apache-2.0 */
/* bcrypt hashes as htpasswd and others make them, and how long it takes to be wrong. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "http/auth/password.h"
#include "tests/unit/test.h"

#define SALT "abcdefghijklmnopqrstuu"
#define SECRET "2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define NINE_A "aaaaaaaaa"
#define A72 NINE_A NINE_A NINE_A NINE_A NINE_A NINE_A NINE_A NINE_A
#define TIMES 15 /* that each is measured */

static const struct {
    const char *in_hash, *in_password;
    unsigned out_cost;
    bool out;
} cases[] = {
    {"$2y$04$" SALT SECRET, "secret", 4, true},
    {"$2b$04$" SALT SECRET, "secret", 4, true},
    {"$2a$04$" SALT SECRET, "secret", 4, true},
    {"$2y$06$" SALT "6FttqYLNXdPO90XO7YlC0uHRd1WxOhm", "other", 6, true},
    {"$2y$10$" SALT "qflPDzB6gcMhKa1rZqKiun2YGL5sa2u", "secret", 10, true},
    {"$2y$04$" SALT "yx2n0Zzopyr9QuYTMCfOJJOj526QVoC", "p\303\244ssw\303\266rd", 4, true},
    {"$2y$04$" SALT "byCG3zY1GIXMyxfivm.ClDiInHzxjiq", "", 4, true},
    /* bcrypt takes no more than 72 bytes */
    {"$2y$04$" SALT "BzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe", A72, 4, true},
    {"$2y$04$" SALT "BzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe", A72 "b", 4, true},
    {"$2y$04$" SALT SECRET, "Secret", 4, false},
    {"$2y$04$" SALT SECRET, "secret ", 4, false},
    {"$2y$04$" SALT SECRET, "", 4, false},
    {"$2y$04$" SALT "2r9OfJnfCsdneAXAGHnS4UpFFP8WIrX", "secret", 4, false},
    {"secret", "secret", 0, false},
    {"", "", 0, false},
    {"*0", "secret", 0, false},
    {"$2y$03$" SALT SECRET, "secret", 0, false},
    {"$2y$32$" SALT SECRET, "secret", 0, false},
    {"$1$abcdefgh$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "secret", 0, false},
};

static void test_matches(void **state)
{
    _cleanup_(freep) struct crypt_data *data = calloc(1, sizeof(*data));

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        print_message("%s\n", cases[i].in_hash);
        assert_int_equal(password_cost(cases[i].in_hash), cases[i].out_cost);
        assert_int_equal(password_matches(cases[i].in_password, cases[i].in_hash, 4, data), cases[i].out);
        for (size_t k = 0; k < sizeof(*data); k++)
            assert_int_equal(((char *)data)[k], 0);
    }
    assert_false(password_matches("secret", NULL, 4, data));
}

/* Of the thread's CPU time, which others on the machine do not touch. */
static double time_of(const char *hash, struct crypt_data *data)
{
    struct timespec from, to;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    assert_false(password_matches("wrong", hash, 8, data));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/*
 * A cheap hash, the most costly one, and an unknown name cannot be distinguished: taken in turns, by the shortest time
 * of each, since what others do on the machine only adds to it.
 */
static void test_wrong_takes_its_time(void **state)
{
    static const char *const hashes[] = {NULL, "$2y$08$" SALT SECRET, "$2y$05$" SALT SECRET};
    _cleanup_(freep) struct crypt_data *data = calloc(1, sizeof(*data));
    double shortest[ARRAY_SIZE(hashes)] = {INFINITY, INFINITY, INFINITY};

    (void)state;
    for (size_t i = 0; i < TIMES; i++)
        for (size_t k = 0; k < ARRAY_SIZE(hashes); k++)
            shortest[k] = fmin(shortest[k], time_of(hashes[k], data));
    print_message("unknown name %.1f ms, costly hash %.1f ms, cheap hash %.1f ms\n", shortest[0] * 1e3,
                  shortest[1] * 1e3, shortest[2] * 1e3);
    for (size_t k = 1; k < ARRAY_SIZE(hashes); k++)
        assert_true(shortest[k] > 0.8 * shortest[0] && shortest[k] < 1.25 * shortest[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_matches), cmocka_unit_test(test_wrong_takes_its_time)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
