/* SPDX-License-Identifier: Apache-2.0 */
#include "http/auth/forwarding.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    bool out;
} cases[] = {
    {"Forwarded", true},
    {"forwarded", true},
    {"VIA", true},
    {"X-Forwarded", true},
    {"X-Forwarded-For", true},
    {"X-Forwarded-Proto", true},
    {"x-forwarded-server", true},
    {"X-Forward-For", true},
    {"X-Real-IP", true},
    {"X-Client-IP", true},
    {"Client-IP", true},
    {"X-Cluster-Client-IP", true},
    {"True-Client-IP", true},
    {"CF-Connecting-IP", true},
    {"CF-Connecting-IPv6", true},
    {"CF-Ray", true},
    {"Cf-Pseudo-IPv4", true},
    {"Fastly-Client-IP", true},
    {"X-Original-Forwarded-For", true},
    {"X-Original-Host", true},
    {"X-Envoy-External-Address", true},
    {"X-ProxyUser-Ip", true},
    {"Proxy-Client-IP", true},
    {"WL-Proxy-Client-IP", true},
    {"X-Appengine-User-IP", true},
    {"X-Azure-ClientIP", true},
    {"Incap-Client-IP", true},
    {"DO-Connecting-IP", true},
    {"Fly-Client-IP", true},
    {"X-Nf-Client-Connection-Ip", true},
    {"CDN-Loop", true},
    {"X-Varnish", true},
    {"X-Amzn-Trace-Id", true},
    {"X-Cloud-Trace-Context", true},
    {"Tailscale-User-Login", true},
    {"Remote-User", true},
    /* Headers that clients send by themselves. */
    {"", false},
    {"X-", false},
    {"X-Forw", false},
    {"Viaduct", false},
    {"Vi", false},
    {"Host", false},
    {"User-Agent", false},
    {"Accept", false},
    {"Accept-Encoding", false},
    {"Authorization", false},
    {"Connection", false},
    {"Content-Length", false},
    {"Content-Type", false},
    {"Cookie", false},
    {"X-Prometheus-Scrape-Timeout-Seconds", false},
    {"X-Requested-With", false},
    {"X-Request-Id", false},
    {"Sec-Fetch-Site", false},
    {"Origin", false},
    {"Referer", false},
    {"Traceparent", false},
};

static void test_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (forwarding_is(cases[i].in) != cases[i].out)
            fail_msg("\"%s\" is %s a proxy's", cases[i].in, cases[i].out ? "not" : "said to be");
}

/* A row that another covers is never reached. */
static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_forwarding_names; i++) {
        size_t size = strcspn(forwarding_names[i], "*");
        assert_true(size > 1 && strlen(forwarding_names[i]) - size <= 1);
        for (size_t k = 0; k < n_forwarding_names; k++) {
            size_t other = strcspn(forwarding_names[k], "*");
            if (i != k && strncasecmp(forwarding_names[i], forwarding_names[k], other) == 0 &&
                (forwarding_names[k][other] || other == size))
                fail_msg("\"%s\" covers \"%s\"", forwarding_names[k], forwarding_names[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
