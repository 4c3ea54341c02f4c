/* SPDX-License-Identifier: Apache-2.0 */
#include "http/auth/standing.h"
#include "tests/unit/test.h"

static const struct peer elsewhere = {.local = false}, loopback = {.local = true},
                         stranger = {.local = true, .unix_socket = true},
                         trusted = {.local = true, .unix_socket = true, .trusted = true};

#define BROWSER                                                                                                        \
    {                                                                                                                  \
        "User-Agent", "Mozilla/5.0 (X11; Linux x86_64)"                                                                \
    }
#define PROOF                                                                                                          \
    {                                                                                                                  \
        "X-Requested-With", "perfcountd"                                                                               \
    }

static const struct {
    const struct peer *in_peer;
    bool in_authenticated;
    const char *in_headers[4][2];
    enum standing out;
} cases[] = {
    /* Programs. */
    {&elsewhere, false, {{"Host", "board"}}, STANDING_EVERYBODY},
    {&elsewhere, false, {{"Host", "127.0.0.1"}}, STANDING_EVERYBODY},
    {&elsewhere, true, {{"Host", "anything.example"}}, STANDING_OPERATOR},
    {&loopback, false, {{"Host", "127.0.0.1:10298"}}, STANDING_LOCAL},
    {&loopback, false, {{"Host", "board"}, {"User-Agent", "curl/8.0"}}, STANDING_LOCAL},
    {&loopback, false, {{"User-Agent", "curl/8.0"}}, STANDING_LOCAL},
    {&loopback, false, {{"Host", "printer"}}, STANDING_EVERYBODY},
    {&loopback, false, {{"Host", "evil.example"}}, STANDING_EVERYBODY},
    {&loopback, false, {{"Host", ""}}, STANDING_EVERYBODY},
    {&loopback, true, {{"Host", "evil.example"}}, STANDING_OPERATOR},
    {&stranger, false, {{"Host", "localhost"}}, STANDING_LOCAL},
    {&stranger, false, {{"Host", "x"}}, STANDING_EVERYBODY},
    {&stranger, true, {{"Host", "localhost"}}, STANDING_OPERATOR},
    {&trusted, false, {{"Host", "localhost"}}, STANDING_OPERATOR},
    {&trusted, false, {{"Host", "x"}}, STANDING_OPERATOR},
    /* Requests that a proxy passes on. */
    {&loopback, false, {{"Host", "localhost"}, {"X-Forwarded-For", "192.0.2.1"}}, STANDING_EVERYBODY},
    {&loopback, false, {{"Host", "localhost"}, {"CF-Connecting-IP", "127.0.0.1"}}, STANDING_EVERYBODY},
    {&loopback, false, {{"Host", "localhost"}, {"x-client-ip", ""}}, STANDING_EVERYBODY},
    {&stranger, false, {{"Host", "localhost"}, {"Via", "1.1 proxy"}}, STANDING_EVERYBODY},
    {&trusted, false, {{"Host", "localhost"}, {"Via", "1.1 proxy"}}, STANDING_EVERYBODY},
    {&loopback, true, {{"Host", "localhost"}, {"Via", "1.1 proxy"}}, STANDING_OPERATOR},
    /* Pages of others. */
    {&elsewhere, false, {{"Host", "board"}, BROWSER}, STANDING_PAGE},
    {&loopback, false, {{"Host", "localhost"}, BROWSER}, STANDING_PAGE},
    {&trusted, false, {{"Host", "localhost"}, BROWSER}, STANDING_PAGE},
    {&loopback, true, {{"Host", "localhost"}, BROWSER}, STANDING_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Origin", "http://evil.example"}}, STANDING_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Origin", "null"}}, STANDING_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Sec-Fetch-Site", "cross-site"}}, STANDING_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Sec-Fetch-Site", "same-site"}}, STANDING_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Sec-Fetch-Site", ""}}, STANDING_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Sec-Fetch-Mode", "no-cors"}}, STANDING_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Accept-Language", "en"}, {"User-Agent", "curl/8"}}, STANDING_PAGE},
    {&loopback, false, {{"Host", "localhost"}, {"Sec-Fetch-Site", "cross-site"}, PROOF}, STANDING_PAGE},
    {&loopback, false, {{"Host", "localhost"}, BROWSER, {"X-Requested-With", "XMLHttpRequest"}}, STANDING_PAGE},
    {&loopback,
     false,
     {{"Host", "localhost"}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "cross-site"}},
     STANDING_PAGE},
    {&loopback, true, {{"Host", "localhost"}, BROWSER, {"Sec-Fetch-Site", "cross-site"}}, STANDING_PAGE},
    /* A name that its owner has led here: the browser takes the page for ours. */
    {&loopback, false, {{"Host", "evil.example"}, BROWSER, {"Sec-Fetch-Site", "same-origin"}}, STANDING_PAGE},
    {&loopback, false, {{"Host", "printer:10298"}, BROWSER, PROOF}, STANDING_PAGE},
    {&elsewhere, false, {{"Host", "evil.example:10298"}, BROWSER, PROOF}, STANDING_PAGE},
    {&trusted, false, {{"Host", "evil.example"}, BROWSER, PROOF}, STANDING_PAGE},
    /* Its owner has no password. */
    {&elsewhere, true, {{"Host", "board.lan"}, BROWSER, {"Sec-Fetch-Site", "same-origin"}}, STANDING_OPERATOR},
    /* Our own pages, and addresses that a person has typed. */
    {&loopback, false, {{"Host", "localhost"}, BROWSER, {"Sec-Fetch-Site", "none"}}, STANDING_LOCAL},
    {&loopback, false, {{"Host", "localhost"}, BROWSER, {"Sec-Fetch-Site", "same-origin"}}, STANDING_LOCAL},
    {&loopback, false, {{"Host", "127.0.0.1"}, BROWSER, {"Origin", "http://127.0.0.1"}, PROOF}, STANDING_LOCAL},
    {&elsewhere, false, {{"Host", "192.0.2.1:10298"}, BROWSER, PROOF}, STANDING_EVERYBODY},
    {&elsewhere, false, {{"Host", "alias.example"}, BROWSER, PROOF}, STANDING_EVERYBODY},
};

static void test_table(void **state)
{
    char *others[] = {(char *)"alias.example"};
    const struct host_names names = {.machine = "board", .others = others, .n_others = 1};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct standing_claims claims = {0};
        for (size_t k = 0; k < ARRAY_SIZE(cases[i].in_headers) && cases[i].in_headers[k][0]; k++)
            standing_claim(&claims, cases[i].in_headers[k][0], cases[i].in_headers[k][1]);
        enum standing standing = standing_of(cases[i].in_authenticated, cases[i].in_peer, &claims, &names);
        if (standing != cases[i].out)
            fail_msg("case %zu: %d instead of %d", i, standing, cases[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
