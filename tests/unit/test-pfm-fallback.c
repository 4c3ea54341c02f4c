/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages for libpfm4's event names in a perfcountd built without libpfm4. */
#undef HAVE_LIBPFM4

#include "base/cleanup.h"
#include "perf/attr.h"
#include "perf/event-parse.h"
#include "perf/pfm.c"
#include "tests/unit/fake-machine.h"
#include "tests/unit/test.h"

/* perf/pfm.c is included above, so that the linker prefers it to the library's copy. */

TEST(test_sentences)
{
    static const struct {
        const char *in;
        int out;
        const char *out_message;
    } cases[] = {
        {"SKL::UNHALTED_CORE_CYCLES:u", -ENODEV, "and libpfm4, which knows such names, is not built into"},
        {"arm_ac76::l2d_cache_refill", -ENODEV,
         "there is no event \"arm_ac76::l2d_cache_refill\" in sysfs, and libpfm4"},
        {"INST_RETIRED:ANY_P", -ENODEV, "there is no event \"INST_RETIRED:ANY_P\" in sysfs, and libpfm4"},
        {"mem-load", -ENOENT, "there is no event \"mem-load\"; did you mean \"mem-loads\""},
        {"mem-loads", 0, ""},
    };
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_one_pmu();
    _cleanup_(machine_freep) struct machine *machine = machine_of(&fake->sys);

    assert_string_equal(pfm_built(), "no");
    pfm_list(machine_core_pmu(machine, 0), NULL, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(event_done) struct event event = {0};
        struct error error = {.offset = 99};
        assert_int_equal(event_parse(cases[i].in, &event, NULL), 0);
        int r = attr_check(&fake->sys, machine, &event, &error);
        if (r != cases[i].out || !strstr(error.message, cases[i].out_message) || (r < 0 && error.offset != 0))
            fail_msg("%s: %d: %s", cases[i].in, r, error.message);
    }
}

TEST_MAIN(NULL, NULL)
