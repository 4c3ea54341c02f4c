/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of pprof by a perfcountd that was built without protobuf-c. */

/* In the place of the archive's. */
#include "formats/pprof-fallback.c"
#include "tests/unit/test.h"

static void test_sentence(void **state)
{
    struct error error = {0};

    (void)state;
    assert_int_equal(writer_pprof.check(&error), -ENOSYS);
    assert_non_null(strstr(error.message, "is not built into this perfcountd (configure --with-protobuf-c)"));
    assert_null(writer_pprof.begin(NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sentence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
