/* SPDX-License-Identifier: Apache-2.0 */
/* The containers whose cgroups were asked about: by user and id, known as long as one of their cgroups is. */
#include "collectors/names/container.h"

#include <stdio.h>

#include "tests/unit/test.h"

#define USERS 3
#define IDS 40
#define PATHS 4

static const char *id_of(unsigned i)
{
    static char id[STATE_ID_LENGTH + 1];

    snprintf(id, sizeof(id), "%064x", i * 2654435761U);
    return id;
}

static const char *path_of(unsigned i)
{
    static char path[16];

    snprintf(path, sizeof(path), "/%u", i);
    return path;
}

/* Adding and forgetting at random, against a table of those that are there. */
static void test_as_long_as_a_cgroup(void **state)
{
    static bool known[USERS][IDS][PATHS];
    struct containers containers = {0};
    size_t n = 0;

    (void)state;
    srand(16);
    for (unsigned round = 0; round < 20000; round++) {
        unsigned user = (unsigned)rand() % USERS, i = (unsigned)rand() % IDS, path = (unsigned)rand() % PATHS;
        const bool *paths = known[user][i];
        bool before = paths[0] || paths[1] || paths[2] || paths[3];
        struct container *container = containers_find(&containers, user, id_of(i));
        assert_int_equal(container != NULL, before);
        known[user][i][path] = rand() % 2;
        if (known[user][i][path]) {
            assert_int_equal(containers_add(&containers, user, id_of(i), path_of(path), &container), 0);
            assert_string_equal(container->id, id_of(i));
            assert_int_equal(container->user, user);
        } else {
            containers_forget(&containers, user, id_of(i), path_of(path));
        }
        bool after = paths[0] || paths[1] || paths[2] || paths[3];
        n += (size_t)after - (size_t)before;
        assert_int_equal(containers.n, n);
        assert_false(containers_have_user(&containers, USERS));
    }
    containers_done(&containers);
}

/* A place that is listed before another is believed, unless it does not name the container. */
static void test_places(void **state)
{
    static const struct {
        uint32_t place;
        const char *name;
        bool out_new, out_named;
        const char *out_name;
    } steps[] = {
        {5, NULL, true, false, NULL},       {6, NULL, false, false, NULL},    {6, "six", true, true, "six"},
        {7, "seven", false, true, "six"},   {3, NULL, false, true, "six"},    {3, "three", true, true, "three"},
        {3, "three", false, true, "three"}, {6, "six", false, true, "three"}, {3, "other", true, true, "other"},
    };
    struct containers containers = {0};
    struct container *container;

    (void)state;
    assert_int_equal(containers_add(&containers, 0, id_of(1), "/", &container), 0);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        struct names names = {0};
        if (steps[i].name)
            assert_int_equal(names_set(&names, NAME_CONTAINER, steps[i].name, strlen(steps[i].name)), 0);
        assert_int_equal(container_take(container, steps[i].place, &names), steps[i].out_new);
        assert_int_equal(container_is_named(container), steps[i].out_named);
        if (steps[i].out_name)
            assert_string_equal(container->names.texts[NAME_CONTAINER], steps[i].out_name);
        names_done(&names);
    }
    containers_done(&containers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_long_as_a_cgroup),
        cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
