/* SPDX-License-Identifier: Apache-2.0 */
/* Each key does what the help says, and no setting leaves its bounds. */
#include "tests/unit/test.h"
#include "top/view.h"

static struct top_view view_of(void)
{
    struct top_view view;

    top_view_init(&view, NSEC_PER_SEC);
    return view;
}

static void press(struct top_view *view, int key)
{
    const struct top_page_extent size = {.lines = 100, .height = 20};

    top_view_apply_key(view, key, &size);
}

static void type(struct top_view *view, const char *text)
{
    for (; *text; text++)
        press(view, (unsigned char)*text);
}

TEST(test_scroll)
{
    static const struct {
        int key;
        size_t first;
    } steps[] = {
        {TOP_KEY_UP, 0},       {TOP_KEY_DOWN, 1}, {TOP_KEY_DOWN, 2},    {TOP_KEY_PAGE_DOWN, 21},
        {TOP_KEY_PAGE_UP, 2},  {TOP_KEY_END, 80}, {TOP_KEY_DOWN, 80},   {TOP_KEY_PAGE_DOWN, 80},
        {TOP_KEY_PAGE_UP, 61}, {TOP_KEY_HOME, 0}, {TOP_KEY_PAGE_UP, 0},
    };
    struct top_view view = view_of();

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        press(&view, steps[i].key);
        assert_int_equal(view.first, steps[i].first);
    }
    view.first = 90;
    top_view_limit(&view, &(struct top_page_extent){.lines = 5, .height = 20});
    assert_int_equal(view.first, 0);
    top_view_apply_key(&view, TOP_KEY_PAGE_DOWN, &(struct top_page_extent){.lines = 5, .height = 0});
    assert_int_equal(view.first, 1);
}

TEST(test_sorting)
{
    struct top_view view = view_of();

    for (size_t i = 0; i < top_column_count(); i++) {
        press(&view, top_column_at(i)->key);
        assert_int_equal(view.sort[TOP_CGROUPS], i);
    }
    press(&view, 'N');
    assert_int_equal(view.sort[TOP_CGROUPS], top_column_count());
    press(&view, '>');
    assert_int_equal(view.sort[TOP_CGROUPS], 0);
    press(&view, TOP_KEY_LEFT);
    press(&view, '<');
    assert_int_equal(view.sort[TOP_CGROUPS], top_column_count() - 1);
    press(&view, 'r');
    assert_true(view.reverse);
    press(&view, '\t');
    assert_int_equal(view.kind, TOP_CPUS);
    assert_int_equal(view.sort[TOP_CPUS], top_column_count()); /* each view has its own sort key */
    press(&view, 'c');
    assert_int_equal(view.kind, TOP_CGROUPS);
}

TEST(test_interval)
{
    static const uint64_t longer[] = {2000, 5000, 10000, 30000, 60000, 60000};
    static const uint64_t shorter[] = {30000, 10000, 5000, 2000, 1000, 500, 200, 100, 100};
    struct top_view view = view_of();

    for (size_t i = 0; i < ARRAY_SIZE(longer); i++) {
        press(&view, '+');
        assert_int_equal(view.interval_ns, longer[i] * NSEC_PER_MSEC);
    }
    for (size_t i = 0; i < ARRAY_SIZE(shorter); i++) {
        press(&view, '-');
        assert_int_equal(view.interval_ns, shorter[i] * NSEC_PER_MSEC);
    }
    view.interval_ns = 50 * NSEC_PER_MSEC;
    press(&view, '-');
    assert_int_equal(view.interval_ns, 50 * NSEC_PER_MSEC);
}

TEST(test_pages)
{
    struct top_view view = view_of();

    press(&view, TOP_KEY_DOWN);
    press(&view, 'n');
    assert_int_equal(view.page, TOP_PAGE_FAILURES);
    assert_int_equal(view.first, 0);
    press(&view, 'I'); /* keys for rows have no effect on this page */
    press(&view, '/');
    assert_false(view.typing);
    press(&view, '?');
    assert_int_equal(view.page, TOP_PAGE_HELP);
    press(&view, 'h');
    assert_int_equal(view.page, TOP_PAGE_ROWS);
    press(&view, 'h');
    press(&view, TOP_KEY_ESCAPE);
    assert_int_equal(view.page, TOP_PAGE_ROWS);
    press(&view, 'f');
    assert_true(view.frozen);
    press(&view, ' ');
    assert_false(view.frozen);
    press(&view, 'p');
    assert_true(view.by_pmu);
    assert_false(view.quit);
    press(&view, 'q');
    assert_true(view.quit);
}

/* Returns whether the filter shows this path. Only "/c" has container names. */
static bool shows(const struct top_view *view, const char *path)
{
    struct top_row row = {.target = path, .name = path};

    for (size_t i = 0; i < N_NAME_KINDS; i++)
        row.names[i] = "";
    if (str_equal(path, "/c")) {
        row.name = "shop/db";
        row.names[NAME_CONTAINER] = "shop-db-1";
        row.names[NAME_IMAGE] = "example.org/db:3";
        row.names[NAME_COMPOSE_PROJECT] = "shop";
    }
    return top_view_shows(view, &row);
}

TEST(test_filter)
{
    static const struct {
        const char *in_filter, *in_name;
        bool out;
    } cases[] = {
        {"", "/a", true},
        {"SSH", "/s/ssh.service", true},
        {"ssh", "/s/cron.service", false},
        {"s/ss", "/s/ssh", true},
        {"*.service", "/s/ssh.service", true},
        {"*.service", "/s/ssh.scope", false},
        {"/s/*", "/s/a", true},
        {"/s/*", "/s/a/b", false},
        {"[", "/[", false},
        {"OP/DB", "/c", true},
        {"db-1", "/c", true},
        {"shop/*", "/c", true},
        {"shop-*", "/c", true},
        {"db-*", "/c", false},
        {"db*", "/c", true},
        {"/c*", "/c", true},
        {"container=shop-db-*", "/c", true},
        {"container=shop-db", "/c", false},
        {"container=SHOP-DB-1", "/c", false},
        {"image=**/db:?", "/c", true},
        {"image=db:*", "/c", true},
        {"image=example*", "/c", false},
        {"compose_project=shop", "/c", true},
        {"pod=*", "/c", false},
        {"container=*", "/s/ssh.service", false},
        {"cgroup=x", "/s/cgroup=x", true},
        {"container_of_a_key_longer_than_any_that_there_is=", "/c", false},
    };
    struct top_view view = view_of();

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        snprintf(top_view_filter(&view), TOP_FILTER_MAX, "%s", cases[i].in_filter);
        if (shows(&view, cases[i].in_name) != cases[i].out)
            fail_msg("%s on %s", cases[i].in_filter, cases[i].in_name);
    }
}

TEST(test_typing)
{
    struct top_view view = view_of();

    type(&view, "/qNr\xc3\xa4");
    assert_true(view.typing);
    assert_string_equal(top_view_filter(&view), "qNr\xc3\xa4");
    assert_false(view.quit);
    press(&view, TOP_KEY_ERASE); /* erases a character, not a byte */
    assert_string_equal(top_view_filter(&view), "qNr");
    press(&view, TOP_KEY_ENTER);
    assert_false(view.typing);
    press(&view, '\t');
    assert_string_equal(top_view_filter(&view), ""); /* the CPU view has its own filter */
    press(&view, '\t');
    press(&view, TOP_KEY_ESCAPE);
    assert_string_equal(top_view_filter(&view), "");
    press(&view, '/');
    for (size_t i = 0; i < 2 * TOP_FILTER_MAX; i++)
        press(&view, 'x');
    assert_int_equal(strlen(top_view_filter(&view)), TOP_FILTER_MAX - 1);
    for (size_t i = 0; i < 2 * TOP_FILTER_MAX; i++)
        press(&view, TOP_KEY_ERASE);
    assert_string_equal(top_view_filter(&view), "");
    press(&view, 7);
    press(&view, 127);
    press(&view, 0);
    assert_string_equal(top_view_filter(&view), "");
    type(&view, "abc");
    press(&view, TOP_KEY_ESCAPE);
    assert_false(view.typing);
    assert_string_equal(top_view_filter(&view), "");
}

TEST_MAIN(NULL, NULL)
