/* SPDX-License-Identifier: Apache-2.0 */
/* Text: UTF-8, escaping, and suggestions for unknown names. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "tests/unit/test.h"

static const struct {
    const char *in;
    size_t in_size, out_valid, out_printable;
} utf8_cases[] = {
    {"", 0, 0, 0},
    {"abc", 3, 3, 3},
    {"a\tb", 3, 3, 1},
    {"a\0b", 3, 3, 1},
    {"a\x7f", 2, 2, 1},
    {"\xc3\xa4", 2, 2, 2},
    {"x\x80", 2, 1, 1},
    {"\xc0\xaf", 2, 0, 0},         /* overlong "/" */
    {"\xed\xa0\x80", 3, 0, 0},     /* a surrogate */
    {"\xed\x9f\xbf", 3, 3, 3},     /* U+D7FF */
    {"\xf4\x8f\xbf\xbf", 4, 4, 4}, /* U+10FFFF */
    {"\xf4\x90\x80\x80", 4, 0, 0},
    {"\xf0\x8f\xbf\xbf", 4, 0, 0}, /* overlong */
    {"\xc2\x85", 2, 2, 0},         /* U+0085, a line break */
    {"a\xe2\x80\xa8", 4, 4, 1},    /* U+2028 */
    {"a\xe2\x80\xaa", 4, 4, 4},    /* U+202A */
    {"\xef\xbb\xbf", 3, 3, 0},     /* the byte order mark */
    {"\xef\xbf\xbd", 3, 3, 3},     /* U+FFFD */
    {"\xef\xbf\xbe", 3, 3, 0},     /* U+FFFE */
    {"\xf0\x9f\x98\x80", 4, 4, 4},
    {"\xf0\x9f\x98", 3, 0, 0},
};

TEST(test_cases)
{
    for (size_t i = 0; i < ARRAY_SIZE(utf8_cases); i++) {
        assert_int_equal(utf8_valid_prefix(utf8_cases[i].in, utf8_cases[i].in_size), utf8_cases[i].out_valid);
        assert_int_equal(utf8_printable_prefix(utf8_cases[i].in, utf8_cases[i].in_size), utf8_cases[i].out_printable);
    }
}

#define N_DIALECTS 5
#define FFFD "\xef\xbf\xbd"

static const struct {
    const char *in;
    const char *out[N_DIALECTS]; /* expected strings in the order of enum escape */
} escape_cases[] = {
    {"", {"", "", "", "", ""}},
    {"plain", {"plain", "plain", "plain", "plain", "plain"}},
    {"\\", {"\\\\", "\\\\", "\\\\", "\\\\", "\\"}},
    {"\n", {"\\n", "\\n", "\\n", FFFD, FFFD}},
    {"\"", {"\"", "\\\"", "\\\"", "\\\"", "\""}},
    {"\xc3\xa9", {"\xc3\xa9", "\xc3\xa9", "\xc3\xa9", "\xc3\xa9", "\xc3\xa9"}},
    {"\xff", {FFFD, FFFD, FFFD, FFFD, FFFD}},
    {"\xc3\"", {FFFD "\"", FFFD "\\\"", FFFD "\\\"", FFFD "\\\"", FFFD "\""}},
    {"\033]0;x\a", {FFFD "]0;x" FFFD, FFFD "]0;x" FFFD, FFFD "]0;x" FFFD, FFFD "]0;x" FFFD, FFFD "]0;x" FFFD}},
    {"\t\r\x7f", {FFFD FFFD FFFD, FFFD FFFD FFFD, FFFD FFFD FFFD, FFFD FFFD FFFD, FFFD FFFD FFFD}},
    {"\xc2\x9b", {FFFD FFFD, FFFD FFFD, FFFD FFFD, FFFD FFFD, FFFD FFFD}}, /* U+009B, CSI */
    {"\xc2\xa0", {"\xc2\xa0", "\xc2\xa0", "\xc2\xa0", "\xc2\xa0", "\xc2\xa0"}},
};

/* Every byte value at every position of strings of up to 17 bytes, which is two memory words and one byte. */
TEST(test_plain_prefix)
{
    for (unsigned c = 1; c < 256; c++)
        for (size_t size = 1; size <= 17; size++)
            for (size_t at = 0; at < size; at++) {
                bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
                char text[18] = "~~~~~~~~~~~~~~~~~";
                text[at] = (char)c;
                text[size] = '\0';
                assert_int_equal(escape_plain_prefix(text), plain ? size : at);
            }
}

/* Each C0 control, DEL and each C1 control is replaced, in every format. */
TEST(test_no_control_is_left)
{
    for (unsigned code = 1; code < 0xa0; code++)
        for (size_t k = 0; k < N_DIALECTS; k++) {
            const char character[] = {(char)(code < 0x80 ? code : 0xc2), (char)(code < 0x80 ? 0 : code), 0};
            struct buffer buffer = {0};
            if (code >= 0x20 && code < 0x7f)
                continue;
            escape_append(&buffer, character, (enum escape)k);
            assert_int_equal(utf8_printable_prefix(buffer.data, buffer.size), buffer.size);
            buffer_done(&buffer);
        }
}

TEST(test_escape)
{
    for (size_t i = 0; i < ARRAY_SIZE(escape_cases); i++)
        for (size_t k = 0; k < N_DIALECTS; k++) {
            struct buffer buffer = {0};
            escape_append(&buffer, escape_cases[i].in, (enum escape)k);
            _cleanup_(freep) char *text = buffer_string(&buffer);
            assert_string_equal(text, escape_cases[i].out[k]);
        }
}

TEST(test_xml)
{
    struct buffer buffer = {0};

    escape_append(&buffer, "<a href=\"x\">'&amp;\\]]>\xc3\xa4\xff\n", ESCAPE_XML);
    _cleanup_(freep) char *text = buffer_string(&buffer);
    assert_string_equal(text, "&#60;a href=&#34;x&#34;&#62;&#39;&#38;amp;\\]]&#62;\xc3\xa4" FFFD FFFD);
}

/* If space is limited, the output ends after a whole character, and before a replacement that does not fit. */
TEST(test_copy_printable)
{
    static const struct {
        const char *in;
        size_t in_room;
        const char *out;
    } copies[] = {
        {"", 1, ""},
        {"abc", 4, "abc"},
        {"abc", 3, "ab"},
        {"abc", 1, ""},
        {"a\xc3\xa9", 3, "a"},
        {"a\033[m", 7, "a" FFFD "[m"},
        {"a\033[m", 4, "a"},
        {"\xc2\x9b\n", 16, FFFD FFFD FFFD},
        {"cut \xe2\x82", 16, "cut " FFFD FFFD},
    };

    for (size_t i = 0; i < ARRAY_SIZE(copies); i++) {
        char copy[16];
        size_t size = utf8_copy_printable(copy, copies[i].in_room, copies[i].in, strlen(copies[i].in));
        assert_string_equal(copy, copies[i].out);
        assert_int_equal(size, strlen(copies[i].out));
    }
}

/* Colour sequences, line breaks, C1 controls and truncated characters are replaced; other scripts are kept. */
TEST(test_printable)
{
    static const struct {
        const char *in, *out;
    } texts[] = {
        {"", ""},
        {"/system.slice/caf\xc3\xa9.service", "/system.slice/caf\xc3\xa9.service"},
        {"\033[31m\n\t\x7f", "\\x1b[31m\\x0a\\x09\\x7f"},
        {"a\xc2\x9b"
         "b\xff",
         "a\\xc2\\x9bb\\xff"},
        {"\xe2\x80\xa8\xc3", "\\xe2\\x80\\xa8\\xc3"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct buffer buffer = {0};
        escape_append_printable(&buffer, texts[i].in);
        _cleanup_(freep) char *text = buffer_string(&buffer);
        assert_string_equal(text, texts[i].out);
    }
}

/* "Did you mean": which names are suggested, in which order, and in which words. */

static const char *const names[] = {
    "cycles",           "ref-cycles", "instructions", "branches", "branch-misses", "cache-misses",
    "cache-references", "cpu-clock",  "task-clock",   "cycles",   "bus-cycles",    "page-faults",
};

TEST(test_nearest)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"cycels", "; did you mean \"cycles\"?"}, /* a swap of two letters costs 1 */
        {"CYCLES", "; did you mean \"cycles\"?"},
        {"cache_misses", "; did you mean \"cache-misses\", \"branch-misses\"?"},
        {"instuctions", "; did you mean \"instructions\"?"},
        {"xyz", ""},
        {"", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct suggest suggest = {.wrong = cases[i].in};
        char text[128];
        for (size_t k = 0; k < ARRAY_SIZE(names); k++)
            suggest_consider(&suggest, names[k]);
        assert_string_equal(suggest_format(&suggest, text, sizeof(text)), cases[i].out);
    }
}

/* The three nearest names are kept in order, whatever order they are added in. A short buffer does not overrun. */
TEST(test_order)
{
    static const char *const candidates[] = {"abcdefgh", "abcdefgx", "abcdefxx", "abcdexxx"};
    static const unsigned orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};
    char text[64];

    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct suggest suggest = {.wrong = "abcdefgh"};
        for (size_t k = 0; k < 4; k++)
            suggest_consider(&suggest, candidates[orders[i][k]]);
        suggest_format(&suggest, text, sizeof(text));
        assert_string_equal(text, "; did you mean \"abcdefgh\", \"abcdefgx\", \"abcdefxx\"?");
        suggest_format(&suggest, text, 20);
        assert_true(strlen(text) < 20);
    }
}

/* The error message for an unknown name. */

static const struct {
    const char *in_wrong, *in_known[5];
    const char *out;
} unknown_cases[] = {
    {"cyclez", {"cycles", "branches", "cycles"}, "no \"cyclez\"; did you mean \"cycles\"? Known are cycles, branches"},
    {"xyz", {"cycles", "branches"}, "no \"xyz\"; known are cycles, branches"},
    {"xyz", {NULL}, "no \"xyz\""},
};

TEST(test_sentences)
{
    for (size_t i = 0; i < ARRAY_SIZE(unknown_cases); i++) {
        _cleanup_(unknown_done) struct unknown unknown = {.suggest.wrong = unknown_cases[i].in_wrong};
        struct error error;
        for (size_t k = 0; unknown_cases[i].in_known[k]; k++)
            unknown_consider(&unknown, unknown_cases[i].in_known[k]);
        assert_int_equal(unknown_error(&unknown, &error, "no \"%s\"", unknown_cases[i].in_wrong), -EINVAL);
        assert_string_equal(error.message, unknown_cases[i].out);
    }
}

/*
 * If there are more names than are compared, and more than fit into the message, only whole names are listed, followed
 * by "...".
 */
TEST(test_many)
{
    _cleanup_(unknown_done) struct unknown unknown = {.suggest.wrong = "name-9"};
    static char many[2000][16];
    struct error error;

    for (unsigned i = 0; i < ARRAY_SIZE(many); i++) {
        snprintf(many[i], sizeof(many[i]), "name-%u", 1000 + i);
        unknown_consider(&unknown, many[i]);
    }
    unknown_error(&unknown, &error, "no \"name-9\"");
    assert_non_null(strstr(error.message, "Known are name-1000, name-1001, "));
    assert_string_equal(error.message + strlen(error.message) - strlen(", name-1028, ..."), ", name-1028, ...");
}

TEST_MAIN(NULL, NULL)
