/* SPDX-License-Identifier: Apache-2.0 */
/* Names of threads: found, replaced, taken out, as many as there is room for. */
#include "symbols/thread-names.h"
#include "tests/unit/test.h"

/* Linked with -Wl,--wrap=reallocarray: whether there is memory. */
static bool no_memory;
void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);

void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    return no_memory ? NULL : __real_reallocarray(old, n, size);
}

static void test_find(void **state)
{
    struct thread_names names = {0};

    (void)state;
    assert_null(thread_names_find(&names, 1));
    thread_names_set(&names, 7, "seven");
    thread_names_set(&names, UINT32_MAX, "last");
    thread_names_set(&names, 0, "none");
    thread_names_set(&names, 8, "");
    assert_string_equal(thread_names_find(&names, 0), "none");
    assert_string_equal(thread_names_find(&names, 7), "seven");
    assert_string_equal(thread_names_find(&names, 8), "");
    assert_string_equal(thread_names_find(&names, UINT32_MAX), "last");
    assert_null(thread_names_find(&names, 6));
    assert_null(thread_names_find(&names, 9));
    assert_int_equal(names.n, 4);
    thread_names_done(&names);
    assert_int_equal(names.n, 0);
    assert_null(thread_names_find(&names, 7));
}

static void test_length(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"123456789012345", "123456789012345"},
        {"1234567890123456", "123456789012345"},
        {"a name that is far too long", "a name that is "},
        {"x", "x"}, /* nothing is left of a longer one */
    };
    static const char zeros[16];
    struct thread_names names = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        thread_names_set(&names, 1, cases[i].in);
        assert_string_equal(thread_names_find(&names, 1), cases[i].out);
        assert_int_equal(names.n, 1);
    }
    assert_memory_equal(names.names[0].comm + 1, zeros, sizeof(zeros) - 1);
    thread_names_done(&names);
}

static void test_remove(void **state)
{
    struct thread_names names = {0};

    (void)state;
    thread_names_remove(&names, 1);
    for (uint32_t tid = 1; tid <= 5; tid++)
        thread_names_set(&names, tid, "x");
    thread_names_remove(&names, 6);
    thread_names_remove(&names, 3);
    thread_names_remove(&names, 3);
    thread_names_remove(&names, 5);
    thread_names_remove(&names, 1);
    assert_int_equal(names.n, 2);
    assert_non_null(thread_names_find(&names, 2));
    assert_non_null(thread_names_find(&names, 4));
    thread_names_set(&names, 3, "again");
    assert_string_equal(thread_names_find(&names, 3), "again");
    thread_names_done(&names);
}

/* Without room, a thread is not known; a thread that is known may still take another name. */
static void test_room(void **state)
{
    struct thread_names names = {0};
    size_t bytes = 0;

    (void)state;
    assert_int_equal(thread_names_bytes(&names), 0);
    for (uint32_t tid = THREADS_MAX + 10; tid > 0; tid--) {
        thread_names_set(&names, tid, "x");
        assert_true(thread_names_bytes(&names) >= names.n * sizeof(*names.names));
        assert_true(thread_names_bytes(&names) >= bytes);
        bytes = thread_names_bytes(&names);
    }
    assert_int_equal(names.n, THREADS_MAX);
    assert_int_equal(bytes, THREADS_MAX * sizeof(*names.names));
    assert_null(thread_names_find(&names, 10));
    assert_non_null(thread_names_find(&names, 11));
    thread_names_set(&names, 11, "y");
    assert_string_equal(thread_names_find(&names, 11), "y");
    thread_names_remove(&names, 12);
    thread_names_set(&names, 10, "z");
    assert_string_equal(thread_names_find(&names, 10), "z");
    thread_names_done(&names);
}

static void test_no_memory(void **state)
{
    struct thread_names names = {0};

    (void)state;
    no_memory = true;
    thread_names_set(&names, 1, "x");
    assert_null(thread_names_find(&names, 1));
    no_memory = false;
    thread_names_set(&names, 1, "x");
    thread_names_set(&names, 2, "x");
    no_memory = true;
    thread_names_set(&names, 3, "x");
    thread_names_set(&names, 2, "y");
    no_memory = false;
    assert_null(thread_names_find(&names, 3));
    assert_string_equal(thread_names_find(&names, 1), "x");
    assert_string_equal(thread_names_find(&names, 2), "y");
    thread_names_done(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find), cmocka_unit_test(test_length),    cmocka_unit_test(test_remove),
        cmocka_unit_test(test_room), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
