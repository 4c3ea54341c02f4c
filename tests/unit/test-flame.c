/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs that are drawn from folded stacks of any origin. tests/page tests the script in a browser. */
#include "formats/flame.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "tests/unit/test.h"

static char *draw(const char *folded, const char *title, struct flame *flame)
{
    struct buffer out = {0};

    assert_int_equal(flame_parse(folded, strlen(folded), flame), 0);
    flame_write(flame, title, &out);
    char *text = buffer_string(&out);
    assert_non_null(text);
    return text;
}

struct drawn {
    char class[16];
    char title[8192];
    unsigned long long at, n;
    double x, width;
    unsigned y;
};

/* Reads the next frame after `*text`. */
static bool next_frame(const char **text, struct drawn *ret)
{
    const char *frame = strstr(*text, "<g class=\"");
    int end = 0;

    if (!frame)
        return false;
    int n = sscanf(frame,
                   "<g class=\"%15[^\"]\" data-at=\"%llu\" data-n=\"%llu\"><title>%8191[^<]</title><rect x=\"%lf\" "
                   "y=\"%u\" width=\"%lf\" height=\"17\"/>%n",
                   ret->class, &ret->at, &ret->n, ret->title, &ret->x, &ret->y, &ret->width, &end);
    assert_int_equal(n, 7);
    *text = frame + end;
    return true;
}

/* A line that begins with "#" is the graph's note, unless it ends with a number, which makes it a stack. */
TEST(test_note)
{
    static const char text[] = "# a;b 1\n# they end\nc 2\n";
    _cleanup_(flame_done) struct flame flame = {0};

    assert_int_equal(flame_parse(text, strlen(text), &flame), 0);
    assert_string_equal(flame.note, "they end");
    assert_int_equal(flame.samples, 3);
}

/* Frames are as wide as their samples and placed below their callers. Lines that are not stacks are ignored. */
TEST(test_frames)
{
    static const struct {
        const char *class, *title;
        unsigned long long at, n;
        unsigned depth;
    } expected[] = {
        {"all", "all: 9 samples, 100.00 %", 0, 9, 0},
        {"process", "app: 8 samples, 88.89 %", 0, 8, 1},
        {"user", "main: 6 samples, 66.67 %", 1, 6, 2},
        {"user", "leaf: 3 samples, 33.33 %", 4, 3, 3},
        {"kernel", "sys_read: 1 sample, 11.11 %", 6, 1, 4},
        {"user", "main x: 1 sample, 11.11 %", 7, 1, 2}, /* placed after "main" with all its callees */
        {"process", "b: 1 sample, 11.11 %", 8, 1, 1},
        {"user", "[libc.so.6]: 1 sample, 11.11 %", 8, 1, 2},
    };
    struct flame flame;
    _cleanup_(freep) char *text =
        draw("app;main x 1\napp;main;leaf 2\nb;[libc.so.6] 1\napp;main 1\napp 1\n\nwhat x\n 5\n"
             "app;main 2\napp;main;leaf;sys_read_[k] 1\napp;none 0\napp;none -1\n7\n"
             "app;none 9007199254740992\napp;none 18446744073709551616\napp;none",
             "title", &flame);
    const char *rest = text;
    struct drawn drawn;

    assert_int_equal(flame.samples, 9);
    assert_int_equal(flame.unnamed, 1);
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_true(next_frame(&rest, &drawn));
        assert_string_equal(drawn.class, expected[i].class);
        assert_string_equal(drawn.title, expected[i].title);
        assert_int_equal(drawn.at, expected[i].at);
        assert_int_equal(drawn.n, expected[i].n);
        assert_int_equal(drawn.y, 52 + 18 * expected[i].depth);
        assert_true(drawn.x > 10 + 1180 / 9.0 * (double)drawn.at - 0.1 &&
                    drawn.x < 10 + 1180 / 9.0 * (double)drawn.at + 0.1);
        assert_true(drawn.width > 1180 / 9.0 * (double)drawn.n - 0.1 &&
                    drawn.width < 1180 / 9.0 * (double)drawn.n + 0.1);
    }
    assert_false(next_frame(&rest, &drawn));
    flame_done(&flame);
}

TEST(test_empty)
{
    struct flame flame;
    _cleanup_(freep) char *text = draw("", "nothing", &flame);
    const char *rest = text;
    struct drawn drawn;

    assert_true(next_frame(&rest, &drawn));
    assert_string_equal(drawn.title, "all: 0 samples, 0.00 %");
    assert_false(next_frame(&rest, &drawn));
    assert_int_equal(flame.samples, 0);
    assert_non_null(strstr(text, "prefers-color-scheme"));
    assert_non_null(strstr(text, "addEventListener"));
    flame_done(&flame);
}

/* A hostile name stays text: it cannot become markup, end the script, or contain characters that XML does not allow. */
TEST(test_hostile)
{
    static const char *const names[] = {
        "<script>alert(1)</script>",
        "]]>",
        "&lt",
        "\"'",
        "\x1b[31m",
        "\x7f",
        "\xff\xfe",
        "\xed\xa0\x80",
        "\xef\xbf\xbe",
        "</title><image href=x onerror=alert(1)>",
        "_[k]",
        ": 5 samples, 1 %",
    };
    _cleanup_(buffer_done) struct buffer folded = {0};
    struct flame flame;
    const char *rest;
    struct drawn drawn;
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        buffer_appendf(&folded, "%s;%s 1\n", names[i], names[i]);
    buffer_append_char(&folded, '\0');
    _cleanup_(freep) char *text = draw(folded.data, "<a title> & \x1b", &flame);
    for (rest = text; next_frame(&rest, &drawn); n++)
        assert_null(strchr(drawn.title, '>'));
    assert_int_equal(n, 1 + 2 * ARRAY_SIZE(names));
    /* The document contains no markup except what the writer generates. */
    char *script = strstr(text, "<script>");
    assert_non_null(script);
    assert_ptr_equal(strstr(text, "<script"), script);
    assert_null(strstr(text, "<image"));
    assert_non_null(strstr(text, "<title>&#60;a title&#62; &#38; \xef\xbf\xbd</title>"));
    assert_ptr_equal(strstr(text, "]]>"), strstr(script, "]]></script>\n</svg>\n"));
    *script = '\0';
    for (const char *c = text; *c; c++)
        assert_true((unsigned char)*c >= ' ' || *c == '\n');
    assert_null(strchr(text, '\x7f'));
    assert_null(strchr(text, '\xff'));
    flame_done(&flame);
}

/* Stacks are drawn down to a maximum depth, and long names are cut. */
TEST(test_large)
{
    _cleanup_(buffer_done) struct buffer folded = {0};
    struct flame flame;
    struct drawn drawn;
    size_t n = 0;

    for (unsigned i = 0; i < 3 * FLAME_DEPTH_MAX; i++)
        buffer_append_text(&folded, i ? ";f" : "app");
    buffer_append_text(&folded, " 1\n");
    for (unsigned i = 0; i < 5000; i++)
        buffer_append_text(&folded, "\xf0\x9f\x98\x80");
    buffer_append(&folded, " 1\n", 4);
    _cleanup_(freep) char *text = draw(folded.data, "deep", &flame);
    for (const char *rest = text; next_frame(&rest, &drawn); n++)
        ;
    assert_int_equal(n, FLAME_DEPTH_MAX + 2);
    assert_int_equal(strlen(drawn.title), 399 * 4 + strlen("\xe2\x80\xa6: 1 sample, 50.00 %"));
    flame_done(&flame);
}

/* A frame that is too narrow to be visible is left out together with its callees, but its caller stays. */
TEST(test_narrow)
{
    struct flame flame;
    _cleanup_(freep) char *text =
        draw("app;wide 29995\napp;narrow;a 1\napp;next 3\napp;narrow;b 1\n", "narrow", &flame);
    const char *rest = text;
    struct drawn drawn;
    static const struct {
        unsigned long long at, n;
    } expected[] = {{0, 30000}, {0, 30000}, {2, 3}, {5, 29995}};

    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_true(next_frame(&rest, &drawn));
        assert_int_equal(drawn.at, expected[i].at);
        assert_int_equal(drawn.n, expected[i].n);
    }
    assert_false(next_frame(&rest, &drawn));
    flame_done(&flame);
}

TEST_MAIN(NULL, NULL)
