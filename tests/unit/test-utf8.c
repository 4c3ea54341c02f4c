/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, held against a decoder that counts instead of using a table. */
#include "base/utf8.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    size_t in_size, out_valid, out_printable;
} cases[] = {
    {"", 0, 0, 0},
    {"abc", 3, 3, 3},
    {"a\tb", 3, 3, 1},
    {"a\nb", 3, 3, 1},
    {"a\0b", 3, 3, 1},
    {"a\x7f", 2, 2, 1},
    {"\xc3\xa4", 2, 2, 2},
    {"x\xc3", 2, 1, 1},
    {"x\x80", 2, 1, 1},
    {"\xc0\xaf", 2, 0, 0},         /* overlong "/" */
    {"\xe0\x80\xaf", 3, 0, 0},     /* overlong */
    {"\xed\xa0\x80", 3, 0, 0},     /* a surrogate */
    {"\xed\x9f\xbf", 3, 3, 3},     /* U+D7FF */
    {"\xf4\x8f\xbf\xbf", 4, 4, 4}, /* U+10FFFF */
    {"\xf4\x90\x80\x80", 4, 0, 0},
    {"\xf0\x8f\xbf\xbf", 4, 0, 0}, /* overlong */
    {"\xf5\x80\x80\x80", 4, 0, 0},
    {"\xff", 1, 0, 0},
    {"\xc2\x85", 2, 2, 0},      /* U+0085, a line break */
    {"\xc2\xa0", 2, 2, 2},      /* a no-break space */
    {"a\xe2\x80\xa8", 4, 4, 1}, /* U+2028 */
    {"a\xe2\x80\xaa", 4, 4, 4}, /* U+202A */
    {"\xef\xbb\xbf", 3, 3, 0},  /* the byte order mark */
    {"\xef\xbf\xbd", 3, 3, 3},  /* U+FFFD */
    {"\xef\xbf\xbe", 3, 3, 0},  /* U+FFFE */
    {"\xf0\x9f\x98\x80", 4, 4, 4},
    {"\xf0\x9f\x98", 3, 0, 0},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(utf8_valid_prefix(cases[i].in, cases[i].in_size), cases[i].out_valid);
        assert_int_equal(utf8_printable_prefix(cases[i].in, cases[i].in_size), cases[i].out_printable);
    }
}

/* The length of a well-formed character, by decoding it. */
static size_t decode(const unsigned char *bytes, size_t size)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = bytes[0] < 0x80 ? 1 : (bytes[0] & 0xe0) == 0xc0 ? 2 : (bytes[0] & 0xf0) == 0xe0 ? 3 : 4;
    uint32_t value = length == 1 ? bytes[0] : bytes[0] & (0xffu >> (length + 1));

    if (length > size || (length == 4 && (bytes[0] & 0xf8) != 0xf0))
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    return value < lowest[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff) ? 0 : length;
}

/* All first and second bytes, with edges of the third and fourth. */
static void test_against_decoder(void **state)
{
    (void)state;
    static const unsigned char edges[] = {0x00, 0x7f, 0x80, 0xa8, 0xbf, 0xc0, 0xff};
    unsigned char bytes[4];

    for (unsigned i = 0; i < 0x10000; i++)
        for (size_t k = 0; k < ARRAY_SIZE(edges); k++)
            for (size_t l = 0; l < ARRAY_SIZE(edges); l++)
                for (size_t size = 1; size <= 4; size++) {
                    bytes[0] = (unsigned char)(i >> 8);
                    bytes[1] = (unsigned char)i;
                    bytes[2] = edges[k];
                    bytes[3] = edges[l];
                    if (utf8_character((const char *)bytes, size) != decode(bytes, size))
                        fail_msg("%02x %02x %02x %02x, size %zu", bytes[0], bytes[1], bytes[2], bytes[3], size);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_against_decoder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
