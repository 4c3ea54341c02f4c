/* SPDX-License-Identifier: Apache-2.0 */
/* The book of names on a machine that has no source of names but the path. */
#include "collectors/names/book.h"

#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define CONTAINER "/system.slice/docker-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.scope"

static void test_each_container_has_a_name_or_a_reason(void **state)
{
    static const struct {
        const char *path, *container;
        bool out_unnamed;
    } cases[] = {
        {"/", NULL, false},      {"/system.slice/ssh.service", NULL, false}, {"/lxc.payload.web", "web", false},
        {CONTAINER, NULL, true}, {CONTAINER "/init.scope", NULL, true},
    };
    struct fake_sys *fake = fake_machine_no_pmu();
    struct name_book *book = NULL;
    int fds[NAME_BOOK_FDS];

    (void)state;
    assert_int_equal(name_book_new(&fake->sys, &book), 0);
    assert_true(name_book_fds(book, fds) <= NAME_BOOK_FDS);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct names names = {0};
        assert_int_equal(name_book_find(book, cases[i].path, &names), 0);
        assert_int_equal(names.unnamed != NULL, cases[i].out_unnamed);
        if (cases[i].container)
            assert_string_equal(names.texts[NAME_CONTAINER], cases[i].container);
        else
            assert_null(names.texts[NAME_CONTAINER]);
        names_done(&names);
        name_book_forget(book, cases[i].path);
    }
    assert_false(name_book_dispatch(book));
    name_book_free(book);
    fake_sys_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_container_has_a_name_or_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
