/* SPDX-License-Identifier: Apache-2.0 */
/* The names of cgroups that come and go, of a book that tests write. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/cgroup-play.h"
#include "tests/unit/cgroup-rig.h"
#include "tests/unit/find-series.h"
#include "tests/unit/test.h"

/* An entry of the book, of the container in a cgroup that has a number. */
struct entry {
    const char *container;
    bool is_pause;
};

static struct {
    struct entry entries[1024];
    bool changed;
    bool asked[1024]; /* and not forgotten since */
} book;

static size_t number_of(const char *path)
{
    unsigned number = 0;

    if (!str_equal(path, "/")) /* the root is like "/c0000", which has no name */
        assert_int_equal(sscanf(path, "/c%4u", &number), 1);
    assert_true(number < ARRAY_SIZE(book.entries));
    return number;
}

int __wrap_name_book_find(struct name_book *unused, const char *path, struct names *names);
int __wrap_name_book_find(struct name_book *unused, const char *path, struct names *names)
{
    const struct entry *entry = &book.entries[number_of(path)];

    (void)unused;
    book.asked[number_of(path)] = true;
    names->is_pause = entry->is_pause;
    names->source = entry->container ? "docker" : NULL;
    names->unnamed = entry->container ? NULL : "nobody knows it";
    return entry->container ? names_set(names, NAME_CONTAINER, entry->container, strlen(entry->container)) : 0;
}

bool __wrap_name_book_dispatch(struct name_book *unused);
bool __wrap_name_book_dispatch(struct name_book *unused)
{
    bool changed = book.changed;

    (void)unused;
    book.changed = false;
    return changed;
}

void __wrap_name_book_forget(struct name_book *unused, const char *path);
void __wrap_name_book_forget(struct name_book *unused, const char *path)
{
    (void)unused;
    book.asked[number_of(path)] = false;
}

static void book_write(struct cgroup_play *play, size_t i, struct entry entry)
{
    book.entries[i] = entry;
    book.changed = true;
    cgroup_play_dispatch(play);
}

static void play_init_with_book(struct cgroup_play *play, const char *settings)
{
    memset(&book, 0, sizeof(book));
    cgroup_play_init(play, settings);
}

static bool has_info(const struct cgroup_play *play, const char *container)
{
    return find_series(&play->rig.snapshot, "perf_cgroup_info{cgroup=\"/c0001\",container=\"%s\"}", container) != NULL;
}

/* A container that is renamed has another series of its names, and the same series of its counts. */
static void test_renamed(void **state)
{
    struct cgroup_play play;

    (void)state;
    play_init_with_book(&play, "max_cgroups: 4");
    cgroup_play_make(&play, 1);
    assert_non_null(find_series(&play.rig.snapshot, "perf_cgroup_info{cgroup=\"/c0001\"}"));
    const struct row *row = play.rig.snapshot.rows[0];
    const struct series *counts = row->counters[0].series;
    assert_null(row->names->texts[NAME_CONTAINER]);
    assert_non_null(row->names->unnamed);
    for (size_t i = 0; i < 3; i++) {
        const char *const names[] = {"shop", "shop", "till"};
        uint64_t opened = play.rig.fake->n_open;
        book_write(&play, 1, (struct entry){names[i], false});
        assert_true(has_info(&play, names[i]));
        assert_int_equal(has_info(&play, "shop"), i < 2);
        assert_null(find_series(&play.rig.snapshot, "perf_cgroup_info{cgroup=\"/c0001\"}"));
        assert_int_equal(play.rig.snapshot.n_rows, 1);
        assert_ptr_equal(play.rig.snapshot.rows[0], row);
        assert_ptr_equal(row->counters[0].series, counts);
        assert_string_equal(row->names->texts[NAME_CONTAINER], names[i]);
        assert_string_equal(row->names->source, "docker");
        assert_int_equal(play.rig.fake->n_open, opened);
    }
    cgroup_play_drop(&play, 1);
    cgroup_play_done(&play);
}

/* Its runtime forgets a container at once, and its last counts are shown under its name. */
static void test_lingers_with_its_name(void **state)
{
    struct cgroup_play play;

    (void)state;
    play_init_with_book(&play, "max_cgroups: 4, linger: 1m");
    cgroup_play_make(&play, 1);
    cgroup_play_drop(&play, 1);
    assert_int_equal(cgroup_play_state(&play, 1), 'l');
    book_write(&play, 1, (struct entry){"brief", false}); /* its name was known too late */
    assert_true(has_info(&play, "brief"));
    book_write(&play, 1, (struct entry){NULL, false});
    assert_true(has_info(&play, "brief"));
    assert_null(play.rig.snapshot.rows[0]->names->unnamed);
    assert_true(book.asked[1]);
    fake_advance(play.rig.fake, 60 * NSEC_PER_SEC);
    cgroup_play_dispatch(&play);
    assert_false(has_info(&play, "brief"));
    assert_false(book.asked[1]);
    cgroup_play_done(&play);
}

/* The next container of the same path is another. */
static void test_comes_back_under_another_name(void **state)
{
    struct cgroup_play play;

    (void)state;
    play_init_with_book(&play, "max_cgroups: 4, linger: 1m");
    book.entries[1].container = "first";
    cgroup_play_make(&play, 1);
    cgroup_play_drop(&play, 1);
    book.entries[1].container = "second";
    cgroup_play_make(&play, 1);
    assert_true(has_info(&play, "second"));
    assert_false(has_info(&play, "first"));
    cgroup_play_drop(&play, 1);
    cgroup_play_done(&play);
}

/* Whether that is known when it is opened, or only later: it has no descriptor, and nothing is shown of it. */
static void test_pause_is_left_out(void **state)
{
    (void)state;
    for (size_t late = 0; late < 2; late++) {
        struct cgroup_play play;
        play_init_with_book(&play, "max_cgroups: 2");
        book.entries[1].is_pause = !late;
        cgroup_play_make(&play, 1);
        if (late)
            book_write(&play, 1, (struct entry){"POD", true});
        assert_int_equal(cgroup_play_state(&play, 1), '-');
        assert_int_equal(play.rig.fake->n_open, cgroup_rig_uses(ENGINE_PERF) ? 0 : 4);
        assert_int_equal(play.rig.snapshot.n_rows, 0);
        cgroup_play_make(&play, 2);
        cgroup_play_make(&play, 3); /* there is room for two others */
        assert_int_equal(play.set.n_wanted, 2);
        assert_int_equal(play.set.n_dropped, 0);
        assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
        assert_int_equal(cgroup_play_state(&play, 1), '-');
        for (unsigned i = 1; i <= 3; i++)
            cgroup_play_drop(&play, i);
        book.entries[1].is_pause = false;
        cgroup_play_make(&play, 1); /* another cgroup of the same path */
        assert_int_equal(cgroup_play_state(&play, 1), 'w');
        cgroup_play_drop(&play, 1);
        cgroup_play_done(&play);
    }
}

static void write_events(const char *directory, const char *text)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/cgroup.events", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Those that were empty when they were found wait for a process; a new one is always empty, and is not left out. */
static void test_vacant(void **state)
{
    struct cgroup_play play;
    char paths[3][144], path[160];

    (void)state;
    play_init_with_book(&play, "max_cgroups: 4");
    for (unsigned i = 0; i < ARRAY_SIZE(paths); i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s%s", cgroup_play_path(&play, i, path), i < 2 ? ".scope" : ".slice");
        assert_int_equal(mkdir(paths[i], 0755), 0);
        write_events(paths[i], "populated 0\nfrozen 0\n");
    }
    cgroup_tree_rescan(play.set.tree); /* as at the start */
    assert_int_equal(cgroup_set_select(&play.set, &play.rig.context), 0);
    assert_int_equal(play.set.n_wanted, 1);
    assert_string_equal(play.set.counts[0]->path, "/c0002.slice");
    write_events(paths[0], "populated 1\nfrozen 0\n");
    cgroup_play_dispatch(&play);
    assert_int_equal(play.set.n_wanted, 2);
    assert_string_equal(play.set.counts[1]->path, "/c0000.scope");
    write_events(paths[0], "populated 0\nfrozen 0\n"); /* it is watched until it is removed */
    cgroup_play_dispatch(&play);
    assert_int_equal(cgroup_set_select(&play.set, &play.rig.context), 0);
    assert_int_equal(play.set.n_wanted, 2);
    cgroup_play_make(&play, 3);
    assert_int_equal(play.set.n_wanted, 3);
    for (unsigned i = 0; i < ARRAY_SIZE(paths); i++) {
        strcat(strcpy(path, paths[i]), "/cgroup.events");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(paths[i]), 0);
    }
    cgroup_play_drop(&play, 3);
    assert_int_equal(play.set.n_wanted, 0);
    cgroup_play_done(&play);
}

/* It is opened when its name is known, and let go when it has another. */
static void test_wanted_by_name(void **state)
{
    struct cgroup_play play;

    (void)state;
    play_init_with_book(&play, "include: 'container=shop*', max_cgroups: 4, linger: 1m");
    book.entries[2].container = "shop-2";
    for (unsigned i = 1; i <= 3; i++)
        cgroup_play_make(&play, i);
    assert_int_equal(cgroup_play_state(&play, 1), '-');
    assert_int_equal(cgroup_play_state(&play, 2), 'w'); /* known from the start: opened at once */
    assert_int_equal(play.set.n_wanted, 1);
    assert_int_equal(play.rig.snapshot.n_rows, 1);
    book_write(&play, 1, (struct entry){"shop-1", false});
    assert_int_equal(cgroup_play_state(&play, 1), 'w');
    assert_true(has_info(&play, "shop-1"));
    assert_int_equal(play.set.n_wanted, 2);
    book_write(&play, 1, (struct entry){"till", false});
    assert_int_equal(cgroup_play_state(&play, 1), 'l');
    assert_int_equal(play.set.n_wanted, 1);
    book_write(&play, 1, (struct entry){"shop-1", false}); /* goes on */
    assert_int_equal(cgroup_play_state(&play, 1), 'w');
    assert_int_equal(play.rig.snapshot.n_rows, 2);
    assert_int_equal(cgroup_set_configure(&play.set, &play.rig.context), 0);
    assert_int_equal(cgroup_play_state(&play, 1), 'w');
    assert_int_equal(cgroup_play_state(&play, 3), '-');
    for (unsigned i = 1; i <= 3; i++)
        cgroup_play_drop(&play, i);
    assert_false(book.asked[3]); /* nobody asks about it any more */
    fake_advance(play.rig.fake, 60 * NSEC_PER_SEC);
    cgroup_play_dispatch(&play);
    assert_false(book.asked[1] || book.asked[2]);
    cgroup_play_done(&play);
}

/* It was counted until its name was known. */
static void test_excluded_by_name(void **state)
{
    struct cgroup_play play;

    (void)state;
    play_init_with_book(&play, "exclude: 'container=noise', max_cgroups: 4, linger: 1m");
    book.entries[2].container = "noise";
    cgroup_play_make(&play, 1);
    cgroup_play_make(&play, 2);
    assert_int_equal(cgroup_play_state(&play, 1), 'w');
    assert_int_equal(cgroup_play_state(&play, 2), '-');
    book_write(&play, 1, (struct entry){"noise", false});
    assert_int_equal(cgroup_play_state(&play, 1), 'l');
    assert_int_equal(play.rig.fake->n_open, cgroup_rig_uses(ENGINE_PERF) ? 0 : 4);
    cgroup_play_drop(&play, 1);
    cgroup_play_drop(&play, 2);
    cgroup_play_done(&play);
}

/* They are there before the book is open. */
static void test_wanted_from_the_start(void **state)
{
    struct fake_sys *fake = fake_machine_no_pmu();
    struct cgroup_play play;

    (void)state;
    memset(&book, 0, sizeof(book));
    book.entries[1].container = "shop";
    fake_file(fake, "/sys/fs/cgroup/c0001/cgroup.procs", "%s", "");
    fake_file(fake, "/sys/fs/cgroup/c0002/cgroup.procs", "%s", "");
    cgroup_play_init_on(&play, fake, "include: [container=shop, '/c0002'], max_cgroups: 4");
    assert_int_equal(cgroup_play_state(&play, 1), 'w');
    assert_int_equal(cgroup_play_state(&play, 2), 'w');
    cgroup_play_done(&play);
}

static size_t count_series(const struct metrics *metrics)
{
    size_t n = 0;

    for (size_t i = 0; i < metrics->n; i++)
        n += metrics->families[i]->n;
    return n;
}

static size_t count_asked(void)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(book.asked); i++)
        n += book.asked[i];
    return n;
}

/* A thousand pods within ten minutes: as many as may linger are known, and not one more. */
static void test_churn(void **state)
{
    static char containers[1000][32];
    struct cgroup_play play;
    size_t series = 0;

    (void)state;
    play_init_with_book(&play, "max_cgroups: 8, linger: 1m");
    for (unsigned i = 0; i < ARRAY_SIZE(containers); i++) {
        cgroup_play_make(&play, i);
        snprintf(containers[i], sizeof(containers[i]), "pod-%u", i);
        book_write(&play, i, (struct entry){containers[i], false});
        fake_advance(play.rig.fake, 600 * NSEC_PER_SEC / ARRAY_SIZE(containers));
        cgroup_play_drop(&play, i);
        assert_true(play.set.n <= 9 && count_asked() <= 9);
        if (i == 20)
            series = count_series(&play.rig.snapshot.metrics);
    }
    assert_int_equal(count_series(&play.rig.snapshot.metrics), series);
    assert_int_equal(play.rig.snapshot.n_rows, 8);
    cgroup_play_done(&play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_renamed),
        cmocka_unit_test(test_lingers_with_its_name),
        cmocka_unit_test(test_comes_back_under_another_name),
        cmocka_unit_test(test_pause_is_left_out),
        cmocka_unit_test(test_vacant),
        cmocka_unit_test(test_wanted_by_name),
        cmocka_unit_test(test_excluded_by_name),
        cmocka_unit_test(test_wanted_from_the_start),
        cmocka_unit_test(test_churn),
    };

    return cgroup_rig_run_tests(tests);
}
