/* SPDX-License-Identifier: Apache-2.0 */
/* Filters and orders of the API that nothing here satisfies: an error where nothing ever can, else an empty list. */
#include <stdio.h>

#include "config/name-kind.h"
#include "tests/unit/served.h"
#include "tests/unit/test.h"

static const struct served_case cases[] = {
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
    {"GET /api/v1/rates?totals=cpu", "", 400, {"parameter \\\"totals\\\": expected \\\"pmu\\\", found \\\"cpu\\\""}},
    {"GET /api/v1/rates?totals=", "", 400, {"parameter \\\"totals\\\": expected \\\"pmu\\\", found \\\"\\\""}},
    {"GET /api/v1/rates?seconds=0.05&collector=cpu&totals=pmu",
     "",
     200,
     {"\"totals\": [", "\"cpus\": \"0-3\"", "\"cycles\": 4800000000.0"}},
    {"GET /api/v1/counters?totals=pmu", "", 400, {"totals"}},
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
    (void)state;
    served_check_all(cases, ARRAY_SIZE(cases));
}

/* Each kind of name is a parameter; which names there are changes all the time. */
static void test_names(void **state)
{
    static const char *const paths[] = {"counters?", "rates?seconds=0.05&"};
    struct served f;

    (void)state;
    served_start(&f, NULL, "127.0.0.1:0");
    for (size_t i = 0; i < N_NAME_KEYS; i++)
        for (size_t k = 0; k < ARRAY_SIZE(paths); k++) {
            char request[128];
            snprintf(request, sizeof(request), "GET /api/v1/%s%s=nope", paths[k], name_kind_text((enum name_kind)i));
            served_check(&f, &(struct served_case){request, "", 200, {k ? "\"rates\": []" : "\"counters\": []"}});
        }
    served_check(&f, &(struct served_case){"GET /api/v1/counters?contaner=x", "", 400, {"container"}});
    served_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
