/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "http/accept.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    unsigned out_text, out_openmetrics, out_json;
} accepts[] = {
    {"*/*", 1000, 1000, 1000},
    {"", 0, 0, 0},
    {",,;,/", 0, 0, 0},
    {"text/plain", 1000, 0, 0},
    {"TEXT/Plain;Q=0.5", 500, 0, 0},
    {"text/*;q=0.3, application/json", 300, 0, 1000},
    {"text/plain;version=0.0.4;q=0.5,*/*;q=0.1", 500, 100, 100},
    {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
     "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
     500, 1000, 100},
    {"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
     "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
     "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
     300, 600, 200},
    {"application/openmetrics-text; version=0.0.1", 0, 0, 0},
    {"application/openmetrics-text; version=\"1.0.0\" ; q=\"0.2\"", 0, 200, 0},
    {"*/*;q=0.8, text/plain;q=0", 0, 800, 800},
    {"text/plain;q=0, */*;q=0.8", 0, 800, 800},
    {"application/json;profile=\"a,b;q=0\";q=0.7", 0, 0, 700},
    {"text/plain;q=1.001", 0, 0, 0},
    {"text/plain;q=2", 0, 0, 0},
    {"text/plain;q=-1", 0, 0, 0},
    {"text/plain;q=0.1234", 0, 0, 0},
    {"text/plain;q=1.000", 1000, 0, 0},
    {"text/plain;q=", 0, 0, 0},
    {"*/json", 0, 0, 0},
};

static void test_accept(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(accepts); i++) {
        struct offer text = {"text", "plain", "0.0.4", 0, 0};
        struct offer openmetrics = {"application", "openmetrics-text", "1.0.0", 0, 0};
        struct offer json = {"application", "json", NULL, 0, 0};
        offer_consider(&text, accepts[i].in);
        offer_consider(&openmetrics, accepts[i].in);
        offer_consider(&json, accepts[i].in);
        print_message("%s\n", accepts[i].in);
        assert_int_equal(text.quality, accepts[i].out_text);
        assert_int_equal(openmetrics.quality, accepts[i].out_openmetrics);
        assert_int_equal(json.quality, accepts[i].out_json);
    }
}

static const struct {
    const char *in[2];
    bool out;
} codings[] = {
    {{"gzip"}, true},
    {{"gzip, deflate, br"}, true},
    {{"GZIP;q=0.1"}, true},
    {{"x-gzip"}, true},
    {{"*"}, true},
    {{"*;q=0"}, false},
    {{"gzip;q=0, *"}, false},
    {{"gzip;q=0"}, false},
    {{"gzip;q=0.000"}, false},
    {{"gzip;q=0.5, identity"}, false},
    {{"gzip;q=0.5, identity;q=0.5"}, true},
    {{"identity;q=0, gzip;q=0.1"}, true},
    {{"deflate"}, false},
    {{"gzipped"}, false},
    {{""}, false},
    {{"deflate", "gzip"}, true},
};

static void test_codings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(codings); i++) {
        struct codings c = CODINGS_NONE;
        for (size_t k = 0; k < 2 && codings[i].in[k]; k++)
            codings_consider(&c, codings[i].in[k]);
        print_message("%s\n", codings[i].in[0]);
        assert_int_equal(codings_want_gzip(&c), codings[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accept),
        cmocka_unit_test(test_codings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
