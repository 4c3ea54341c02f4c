/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for a terminal: hostile bytes become "?", wide characters take two columns, and long texts are shortened.
 * Frames: the content of each line, which must fit terminals of any size.
 */
#include <locale.h>

#include "base/cleanup.h"
#include "tests/unit/json-of.h"
#include "tests/unit/test.h"
#include "top/draw.h"
#include "top/frame.h"

static const struct {
    const char *in;
    size_t in_width;
    const char *out, *out_short;
    size_t out_columns;
} texts[] = {
    {"", 5, "", "", 0},
    {"plain", 5, "plain", "plain", 5},
    {"plain", 0, "", "", 0},
    {"/system.slice/ssh.service", 13, "/system.slice", "/sy...service", 13},
    {"abcdef", 4, "abcd", "..ef", 4},
    {"abcdef", 3, "abc", "abc", 3},
    {"a\033[2Jb\r\n\t\x7f", 20, "a?[2Jb????", "a?[2Jb????", 10},
    {"\xc2\x9b"
     "31m",
     20, "?31m", "?31m", 4}, /* the control character CSI */
    {"\xff\xfe\xc3", 20, "???", "???", 3},
    {"\xe2\x80\xae"
     "abc\xcc\x81",
     20, "?abc?", "?abc?", 5}, /* a direction override and a combining mark */
    {"\xe6\x97\xa5\xe6\x9c\xac", 4, "\xe6\x97\xa5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac", 4},
    {"\xe6\x97\xa5\xe6\x9c\xac", 3, "\xe6\x97\xa5", "\xe6\x97\xa5", 2},
    {"\xc3\xa4\xf0\x9f\x98\x80", 9, "\xc3\xa4\xf0\x9f\x98\x80", "\xc3\xa4\xf0\x9f\x98\x80", 3},
};

static void check_text(const char *what, struct buffer *buffer, const char *expected)
{
    _cleanup_(freep) char *text = buffer_string(buffer);

    if (!text || !str_equal(text, expected))
        fail_msg("%s: expected \"%s\", got \"%s\"", what, expected, text ? text : "(none)");
}

TEST(test_append)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip_because("the locale C.UTF-8");
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct buffer buffer = {0};
        assert_int_equal(top_text_append(&buffer, texts[i].in, texts[i].in_width), texts[i].out_columns);
        check_text("append", &buffer, texts[i].out);
        size_t used = top_text_append_short(&buffer, texts[i].in, texts[i].in_width);
        assert_true(used <= texts[i].in_width);
        check_text("append_short", &buffer, texts[i].out_short);
    }
    assert_int_equal(top_text_width("\xe6\x97\xa5\033x"), 4);
}

/* For arbitrary bytes, the appended text is printable and exactly as wide as reported. */
TEST(test_by_chance)
{
    char text[24];

    setlocale(LC_CTYPE, "C.UTF-8");
    srand(14);
    for (size_t i = 0; i < 20000; i++) {
        _cleanup_(buffer_done) struct buffer buffer = {0};
        size_t n = (size_t)rand() % (sizeof(text) - 1), width = (size_t)rand() % 12;
        for (size_t k = 0; k < n; k++)
            text[k] = (char)(rand() % 3 ? 1 + rand() % 255 : 0x80 + rand() % 0x70);
        text[n] = '\0';
        size_t used = top_text_append_short(&buffer, text, width);
        buffer_append_char(&buffer, '\0');
        assert_true(used <= width);
        assert_int_equal(top_text_width(buffer.data), used);
        for (size_t k = 0; k + 1 < buffer.size; k++)
            assert_true((unsigned char)buffer.data[k] >= ' ' && buffer.data[k] != 0x7f);
    }
}

TEST(test_ascii)
{
    struct buffer buffer = {0};

    setlocale(LC_CTYPE, "C");
    assert_int_equal(top_text_append(&buffer, "a\xc3\xa4\xe6\x97\xa5z", 9), 4);
    check_text("without UTF-8", &buffer, "a?\?z");
}

static const char rates[] =
    "{'rates': ["
    "{'collector': 'cgroup', 'cgroup': '/system.slice/web.service', 'pmu': 'cpu', 'group': 'core', 'events': "
    "{'task_clock': 0.5, 'cycles': 1, 'instructions': 2, 'minor_faults': 1500, 'context_switches': null, "
    "'ll_cache_miss_rd': 12345}, 'ratios': {'cpu_utilization': 0.5, 'ipc': 0.75, 'running_ratio': 0.25}},"
    "{'collector': 'cgroup', 'cgroup': '/x\\u001b[2J\\u65e5', 'pmu': 'cpu', 'group': 'core', 'events': {}, 'ratios': "
    "{}},"
    "{'collector': 'cpu', 'cpu': 0, 'pmu': 'armv8_cortex_a55', 'group': 'overview', 'events': {'cycles': 1}, 'ratios': "
    "{'ipc': 0.5, 'running_ratio': 1}}]}";
static const char identities[] =
    "{'cgroups': [{'cgroup': '/system.slice/web.service', 'unit': 'web.service', 'slice': 'system.slice', 'name': "
    "'shop/web', 'container': 'shop-web-1', 'image': 'web\\u001b:7', 'container_id': '0123456789abcdef0123'}]}";
static const char failures[] =
    "[{'collector': 'cpu', 'group': 'g', 'event': 'cycles', 'message': 'no PMU here, which\\n is why'},"
    "{'collector': 'cpu', 'group': 'g', 'event': 'branches', 'message': 'no PMU here, which\\n is why'},"
    "{'collector': 'cgroup', 'group': '', 'event': '', 'message': 'no cgroup matches'},{}, 3]";

struct shown {
    struct top_scene scene;
    struct top_view view;
    json_t *documents[3];
    char *lines[4000];
    size_t n;
};

static int setup(void **state)
{
    struct shown *shown = *state = malloc(sizeof(*shown));

    setlocale(LC_CTYPE, "C.UTF-8");
    *shown = (struct shown){
        .scene = {.host = "board", .kernel = "6.1", .source = "own counters", .clock = "12:34:56", .error = ""},
        .documents = {json_of(rates), json_of(identities), json_of(failures)},
    };
    shown->scene.failures = shown->documents[2];
    top_view_init(&shown->view, NSEC_PER_SEC);
    return 0;
}

static void shown_make_tables(struct shown *shown)
{
    top_table_free(shown->scene.table);
    top_table_free(shown->scene.pmus);
    shown->scene.table = top_table_new(shown->documents[0], shown->documents[1], shown->view.kind, shown->view.by_pmu);
    shown->scene.pmus = top_table_new(shown->documents[0], NULL, TOP_PMUS, false);
    assert_non_null(shown->scene.table);
    assert_non_null(shown->scene.pmus);
}

static void drop_lines(struct shown *shown)
{
    for (size_t i = 0; i < shown->n; i++)
        free(shown->lines[i]);
    shown->n = 0;
}

static int teardown(void **state)
{
    struct shown *shown = *state;

    drop_lines(shown);
    top_table_free(shown->scene.table);
    top_table_free(shown->scene.pmus);
    for (size_t i = 0; i < ARRAY_SIZE(shown->documents); i++)
        json_decref(shown->documents[i]);
    free(shown);
    return 0;
}

/* Draws the scene and splits it into plain lines. */
static void draw(struct shown *shown, size_t width, size_t height, struct top_page_extent *size)
{
    _cleanup_(top_frame_done) struct top_frame frame = {.width = width, .height = height};
    char *text = NULL, *rest, *line;
    size_t bytes = 0;

    top_scene_write(&shown->scene, &shown->view, &frame, size);
    assert_false(frame.failed);
    for (size_t i = 0; i < frame.n; i++)
        assert_true(height == 0 || frame.pieces[i].line < height);
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    top_frame_print(&frame, file);
    fclose(file);
    drop_lines(shown);
    rest = text;
    while ((line = strsep(&rest, "\n")) && (rest || *line)) {
        assert_true(shown->n < ARRAY_SIZE(shown->lines));
        shown->lines[shown->n++] = strdup(line);
        if (top_text_width(line) > width)
            fail_msg("wider than %zu: \"%s\"", width, line);
    }
    free(text);
}

static void check_line(const struct shown *shown, size_t i, const char *expected)
{
    assert_true(i < shown->n);
    assert_string_equal(shown->lines[i], expected);
}

TEST_WITH(test_rows, setup, teardown)
{
    struct shown *shown = *state;
    struct top_page_extent size;

    draw(shown, 80, 24, &size);
    check_line(shown, 1, "the first reading takes one interval  2 events not counted (n: why)");
    shown_make_tables(shown);
    draw(shown, 80, 24, &size);
    assert_int_equal(shown->n, 24);
    check_line(shown, 0, "board  12:34:56  every 1s  own counters  Linux 6.1");
    check_line(shown, 1, "armv8_cortex_a55  IPC 0.50  COUNTED% 100.0");
    check_line(shown, 2, "2 of 2 cgroups by %CPU  2 events not counted (n: why)");
    check_line(shown, 3, "CGROUP             %CPU      IPC MISSES/s FAULTS/s SWITCH/s COUNTED%");
    check_line(shown, 4, "shop/web          ~50.0    ~0.75   ~12.3k   ~1.50k        -     25.0");
    check_line(shown, 5, "/x?[2J\xe6\x97\xa5              -        -        -        -        -        -");
    assert_int_equal(size.lines, 2);
    assert_int_equal(size.height, 19);
    assert_true(str_starts(shown->lines[23], "q quit"));
}

TEST_WITH(test_states, setup, teardown)
{
    struct shown *shown = *state;
    struct top_page_extent size;

    shown_make_tables(shown);
    shown->view.frozen = shown->scene.paused = shown->view.typing = shown->view.reverse = true;
    strcpy(top_view_filter(&shown->view), "we\033");
    draw(shown, 120, 24, &size);
    check_line(shown, 0, "board  FROZEN  PAUSED: nothing is counted  12:34:56  every 1s  own counters  Linux 6.1");
    check_line(shown, 2, "0 of 2 cgroups by %CPU, reversed  filter: we?_  2 events not counted (n: why)");
    shown->scene.error = "unix:/x: connect: Connection refused; trying again";
    shown->view.typing = false;
    top_view_filter(&shown->view)[0] = '\0';
    draw(shown, 120, 24, &size);
    check_line(shown, 2, "unix:/x: connect: Connection refused; trying again");
}

/* The sort key is a column that no row has. */
TEST_WITH(test_sort_of_nothing, setup, teardown)
{
    struct shown *shown = *state;
    struct top_page_extent size;

    shown_make_tables(shown);
    shown->view.sort[TOP_CGROUPS] = top_column_find("stalls");
    draw(shown, 120, 24, &size);
    check_line(shown, 2,
               "2 of 2 cgroups by STALL%  no row has STALL% (n: why); P sorts by %CPU  2 events not counted (n: why)");
}

TEST_WITH(test_meters, setup, teardown)
{
    struct shown *shown = *state;
    struct top_page_extent size;

    json_decref(shown->documents[0]);
    shown->documents[0] = json_of(
        "{'rates': [{'collector': 'cpu', 'cpu': 0, 'pmu': 'software', 'group': 's', 'events': {'page_faults': 1}, "
        "'ratios': {'cpu_utilization': 0.5, 'running_ratio': 0.5}}, {'collector': 'cpu', 'cpu': 1, 'pmu': 'software', "
        "'group': 's', 'events': {'page_faults': 1}, 'ratios': {'running_ratio': 1}}]}");
    shown->view.kind = TOP_CPUS;
    shown_make_tables(shown);
    draw(shown, 80, 24, &size);
    check_line(shown, 4, "cpu 0        50.0       ~1     50.0  [||||||||||          ]");
    check_line(shown, 5, "cpu 1           -        1    100.0  [                    ]");
    draw(shown, 50, 24, &size);
    check_line(shown, 4, "cpu 0        50.0       ~1     50.0");
    draw(shown, 80, 0, &size);
    check_line(shown, 4, "cpu 0        50.0       ~1     50.0");
}

/* Meters are relative to the busiest cgroup, or to one CPU. Names of cgroups have priority over meters. */
TEST_WITH(test_meters_of_cgroups, setup, teardown)
{
    struct shown *shown = *state;
    struct top_page_extent size;

    shown_make_tables(shown);
    draw(shown, 82, 24, &size);
    check_line(shown, 4, "shop/web          ~50.0    ~0.75   ~12.3k   ~1.50k        -     25.0  [|||||     ]");
    draw(shown, 81, 24, &size);
    check_line(shown, 4, "shop/web          ~50.0    ~0.75   ~12.3k   ~1.50k        -     25.0");
    draw(shown, 160, 24, &size);
    assert_non_null(strstr(shown->lines[4], "25.0  [|||||     ]  shop-web-1"));
    size_t at = (size_t)(strstr(shown->lines[4], "shop-web-1") - shown->lines[4]);
    assert_int_equal(strstr(shown->lines[3], "CONTAINER") - shown->lines[3], at);
    draw(shown, 160, 0, &size);
    assert_null(strchr(shown->lines[2], '['));

    json_decref(shown->documents[0]);
    shown->documents[0] = json_of(
        "{'rates': [{'collector': 'cgroup', 'cgroup': '/busy.slice', 'pmu': 'software', 'group': 's', 'events': "
        "{'page_faults': 1}, 'ratios': {'cpu_utilization': 3.0, 'running_ratio': 1}}, {'collector': 'cgroup', "
        "'cgroup': '/a-quite-long-name-of.slice', 'pmu': 'software', 'group': 's', 'events': {'page_faults': 1}, "
        "'ratios': {'cpu_utilization': 1.5, 'running_ratio': 1}}]}");
    shown_make_tables(shown);
    draw(shown, 80, 24, &size);
    check_line(shown, 4, "/busy.slice                      300.0        1    100.0  [||||||||||]");
    check_line(shown, 5, "/a-quite-long-name-of.slice      150.0        1    100.0  [|||||     ]");
    draw(shown, 56, 24, &size);
    check_line(shown, 5, "/a-quite-long-name-of.slice      150.0        1    100.0");
}

TEST_WITH(test_wide, setup, teardown)
{
    struct shown *shown = *state;
    struct top_page_extent size;

    shown_make_tables(shown);
    draw(shown, 160, 24, &size);
    assert_non_null(strstr(shown->lines[3], "  CONTAINER   ID            IMAGE   PATH"));
    assert_non_null(strstr(shown->lines[4], "  shop-web-1  0123456789ab  web?:7  /system.slice/web.service"));
    assert_true(str_starts(shown->lines[4], "shop/web  "));
    draw(shown, 120, 24, &size);
    assert_non_null(strstr(shown->lines[4], "  shop-web-1  0123456789ab  web?:7"));
    assert_null(strstr(shown->lines[3], "PATH"));
    shown->view.by_pmu = true;
    shown_make_tables(shown);
    draw(shown, 160, 24, &size);
    assert_non_null(strstr(shown->lines[3], "PMU "));
}

/* If the terminal is narrow, numeric columns are dropped from the right, except for the sort key. */
TEST_WITH(test_narrow, setup, teardown)
{
    struct shown *shown = *state;
    struct top_page_extent size;

    shown_make_tables(shown);
    draw(shown, 40, 12, &size);
    check_line(shown, 2, "CGROUP             %CPU      IPC");
    shown->view.sort[TOP_CGROUPS] = top_column_find("switches");
    draw(shown, 40, 12, &size);
    check_line(shown, 2, "CGROUP             %CPU SWITCH/s");
    draw(shown, 10, 12, &size);
    check_line(shown, 2, "CGROUP");
}

TEST_WITH(test_pages, setup, teardown)
{
    struct shown *shown = *state;
    struct top_page_extent size;

    shown_make_tables(shown);
    shown->view.page = TOP_PAGE_FAILURES;
    draw(shown, 20, 20, &size);
    check_line(shown, 3, "no PMU here, which?");
    check_line(shown, 4, "is why");
    check_line(shown, 5, "    collector cpu,");
    check_line(shown, 6, "    group g: cycles");
    assert_true(size.lines > 6);
    shown->view.page = TOP_PAGE_HELP;
    draw(shown, 80, 60, &size);
    assert_true(str_starts(shown->lines[3], "Tab c         cgroups or CPUs"));
    shown->view.first = 1000;
    draw(shown, 80, 10, &size);
    assert_int_equal(shown->view.first, size.lines - size.height);
}

/* Draws every page at every terminal size. */
TEST_WITH(test_sizes, setup, teardown)
{
    struct shown *shown = *state;
    struct top_page_extent size;

    for (enum top_kind kind = TOP_CGROUPS; kind <= TOP_CPUS; kind++) {
        shown->view.kind = kind;
        shown_make_tables(shown);
        for (enum top_page page = TOP_PAGE_ROWS; page <= TOP_PAGE_HELP; page++) {
            shown->view.page = page;
            for (size_t width = 1; width < 220; width += width < 40 ? 1 : 7)
                for (size_t height = 0; height < 30; height += height < 8 ? 1 : 5)
                    draw(shown, width, height, &size);
        }
    }
}

TEST_MAIN(NULL, NULL)
