/* SPDX-License-Identifier: Apache-2.0 */
/* Filters and orders of the API that nothing here satisfies: an error where nothing ever can, else an empty list. */
#include <stdio.h>

#include "base/cleanup.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

static const struct {
    const char *in, *headers;
    unsigned out_status;
    const char *out[3];
} cases[] = {
    {"GET /api/v1/counters?event=cyclez",
     "",
     400,
     {"\"parameter \\\"event\\\": no counter here has the event \\\"cyclez\\\"; did you mean \\\"cycles\\\"? Known are "
      "cycles, instructions, task_clock, bus_cycles\""}},
    {"GET /api/v1/counters?event=cycles&event=nope", "", 400, {"the event \\\"nope\\\""}},
    {"GET /api/v1/counters?group=nope",
     "",
     400,
     {"no counter here has the group \\\"nope\\\"; did you mean \\\"core\\\"? Known are core, late, bus"}},
    {"GET /api/v1/counters?pmu=cup",
     "",
     400,
     {"no counter here has the PMU \\\"cup\\\"; did you mean \\\"cpu\\\"? Known are cpu, software"}},
    {"GET /api/v1/rates?pmu=cup", "", 400, {"no counter here has the PMU \\\"cup\\\""}},
    {"GET /api/v1/counters?cgroup=/nope", "", 200, {"\"counters\": []"}},
    {"GET /api/v1/counters?event=cycles&pmu=software", "", 200, {"\"counters\": []"}},
    {"GET /api/v1/rates?sort=ipcc",
     "",
     400,
     {"there is no event or derived metric \\\"ipcc\\\" here; did you mean \\\"ipc\\\"", "? Known are ipc, ",
      ", cycles, instructions"}},
    {"GET /api/v1/rates?sort=bus-cycles",
     "",
     400,
     {"parameter \\\"sort\\\": no row has \\\"bus-cycles\\\": no such \\\"event\\\" (ENOENT)"}},
    {"GET /api/v1/rates?sort=ipc&collector=cgroup",
     "",
     400,
     {"parameter \\\"sort\\\": no row has \\\"ipc\\\"; /api/v1/metrics and"}},
    {"GET /api/v1/rates?seconds=0.05&sort=task-clock&cgroup=/nope", "", 200, {"\"rates\": []"}},
    {"GET /api/v1/rates?seconds=0.05&sort=Task-Clock&limit=1",
     "",
     200,
     {"\"cgroup\": \"/system.slice/a\\\\x2d\\\"b\\\".service\"", "\"cpu_utilization\": 0.96"}},
};

static void test_answers(void **state)
{
    struct served f;
    char status[32];

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(freep) char *response = served_answer(&f, 0, cases[i].in, cases[i].headers);
        snprintf(status, sizeof(status), "HTTP/1.1 %u ", cases[i].out_status);
        print_message("%s\n", cases[i].in);
        assert_has(response, status);
        for (size_t k = 0; k < ARRAY_SIZE(cases[i].out) && cases[i].out[k]; k++)
            assert_has(response, cases[i].out[k]);
    }
    served_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
