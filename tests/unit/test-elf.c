/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling of C++ and Rust names. */
#include "symbols/elf.h"
#include "tests/unit/test.h"

static void need_it(void)
{
    if (str_equal(demangle_built(), "yes"))
        return;
    skip_because("libiberty");
}

TEST(test_names)
{
    static const struct {
        const char *in_name, *out_text;
    } cases[] = {
        {"_ZN3app4spinEi", "app::spin"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"},
        {"_ZN3appplERKNS_5valueES2_", "app::operator+"},
        {"_ZN3app5valueD2Ev", "app::value::~value"},
        {"_ZN12_GLOBAL__N_14spinEv", "(anonymous namespace)::spin"},
        {"_ZN3app4spinEi.cold", "app::spin"},
        {"_ZN3app4spinEi.constprop.0", "app::spin"},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
        {"_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h0123456789abcdefE",
         "<T as core::convert::Into<U>>::into"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
        {"_RNvNtCs1234_7mycrate3bar4spin.llvm.9D1C9369", "mycrate::bar::spin"},
    };

    need_it();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[256];
        if (!demangle(cases[i].in_name, text, sizeof(text)))
            fail_msg("%s is not known", cases[i].in_name);
        assert_string_equal(text, cases[i].out_text);
    }
}

TEST(test_other_names)
{
    static const char *const cases[] = {"",
                                        "main",
                                        "_start",
                                        "__libc_start_main",
                                        "_Z",
                                        "_ZN",
                                        "_R",
                                        "_Zzz",
                                        "_ZN3",
                                        "_ZN9a",
                                        "_ZN3app4spin",
                                        "_RNvC",
                                        "Z3fooi",
                                        "_Z\xff\x01",
                                        "_",
                                        "_ZN99999999999999999999aE",
                                        "i",
                                        "_RNvC0crate4main", /* the first part of the name is empty */
                                        "_RNvB_",
                                        "_GLOBAL__sub_I_main"};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[256] = "untouched";
        if (demangle(cases[i], text, sizeof(text)))
            fail_msg("%s became %s", cases[i], text);
        assert_string_equal(text, "untouched");
    }
}

TEST(test_cut)
{
    char text[8] = "1234567";

    need_it();
    assert_true(demangle("_ZN3app4spinEi", text, sizeof(text)));
    assert_string_equal(text, "app::sp");
    assert_true(demangle("_RNvCs1234_7mycrate3foo", text, 2));
    assert_string_equal(text, "m");
}

/*
 * Names that nest so deeply that an unlimited demangler would overflow the stack, and names that exceed
 * DEMANGLE_SIZE_MAX.
 */
TEST(test_endless_names)
{
    static const char *const begins[] = {"_Z1fI", "_Z1f", "_RINv", "_RY", "_RMC"}, *const repeated[] = {"1aI", "P",
                                                                                                        "R"};
    static const size_t lengths[] = {1000, DEMANGLE_SIZE_MAX - 1, DEMANGLE_SIZE_MAX, 1 << 20};
    static char name[(1 << 20) + 1];
    char text[256];

    for (size_t i = 0; i < ARRAY_SIZE(begins) * ARRAY_SIZE(repeated) * ARRAY_SIZE(lengths); i++) {
        const char *begin = begins[i % ARRAY_SIZE(begins)], *part = repeated[i / ARRAY_SIZE(begins) % 3];
        size_t size = lengths[i / ARRAY_SIZE(begins) / 3], used = strlen(begin);
        memcpy(name, begin, used);
        for (size_t at = used; at < size; at++)
            name[at] = part[(at - used) % strlen(part)];
        name[size] = '\0';
        if (demangle(name, text, sizeof(text)))
            assert_true(size < DEMANGLE_SIZE_MAX && strlen(text) < sizeof(text));
    }
}

TEST_MAIN(NULL, NULL)
