/* SPDX-License-Identifier: Apache-2.0 */
/* Names of what runs in a cgroup: hostile names, names from two sources, and how the best name is chosen. */
#include "cgroups/names.h"
#include "cgroups/resolver.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define FFFD "\xef\xbf\xbd"

static void set(struct names *names, enum name_kind kind, const char *text)
{
    assert_int_equal(names_set(names, kind, text, strlen(text)), 0);
}

TEST(test_cleans)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"shop-db-1", "shop-db-1"},
        {"<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"}, /* escaped only where HTML is written */
        {"", NULL},
        {"a\nb\"c", "a" FFFD "b\"c"},
        {"\x1b[31m", FFFD "[31m"},
        {"\xc2\x9b", FFFD FFFD},
        {"\xff\xfe", FFFD FFFD},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"\xc3", FFFD},
    };
    struct names names = {0};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        set(&names, NAME_CONTAINER, cases[i].in);
        if (cases[i].out)
            assert_string_equal(names.texts[NAME_CONTAINER], cases[i].out);
        else
            assert_null(names.texts[NAME_CONTAINER]);
    }
    names_done(&names);
}

/* A name that is too long is cut between two characters, never inside one. */
TEST(test_cuts)
{
    char text[4096];
    struct names names = {0};

    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', sizeof(text));
        for (size_t i = shift; i + 3 <= sizeof(text); i += 3)
            memcpy(text + i, "\xe2\x82\xac", 3);
        assert_int_equal(names_set(&names, NAME_IMAGE, text, sizeof(text)), 0);
        size_t length = strlen(names.texts[NAME_IMAGE]);
        assert_in_range(length, NAME_SIZE_MAX - 2, NAME_SIZE_MAX);
        assert_int_equal((length - shift) % 3, 0);
    }
    names_done(&names);
}

TEST(test_merges)
{
    struct names names = {0}, other = {.source = "docker", .is_pause = true}, third = {.source = "kubernetes"};

    set(&names, NAME_UNIT, "docker.scope");
    set(&other, NAME_UNIT, "other.scope");
    set(&other, NAME_CONTAINER, "shop");
    set(&third, NAME_CONTAINER, "late");
    assert_false(names_equal(&names, &other));
    assert_int_equal(names_merge(&names, &other), 0);
    assert_int_equal(names_merge(&names, &third), 0);
    assert_string_equal(names.texts[NAME_UNIT], "docker.scope");
    assert_string_equal(names.texts[NAME_CONTAINER], "shop");
    assert_string_equal(names.source, "docker");
    assert_true(names.is_pause);
    assert_true(names_equal(&names, &names));
    names_done(&names);
    assert_null(names.texts[NAME_UNIT]);
    names_done(&other);
    names_done(&third);
}

/* The reason why a container has no name is merged too, until a name is known. */
TEST(test_merges_reason)
{
    struct names names = {0}, other = {.unnamed = "nobody knows it"}, third = {.unnamed = "too late"}, named = {0};

    set(&named, NAME_CONTAINER, "shop");
    assert_int_equal(names_merge(&names, &other), 0);
    assert_int_equal(names_merge(&names, &third), 0);
    assert_string_equal(names.unnamed, "nobody knows it");
    assert_int_equal(names_merge(&names, &named), 0);
    assert_null(names.unnamed);
    assert_int_equal(names_merge(&names, &other), 0);
    assert_null(names.unnamed);
    names_done(&names);
    names_done(&named);
}

TEST(test_best)
{
    static const struct {
        const char *in[N_NAME_KINDS], *out;
    } cases[] = {
        {{NULL}, NULL},
        {{[NAME_SLICE] = "a.slice"}, "a.slice"},
        {{[NAME_SLICE] = "a.slice", [NAME_UNIT] = "a.service"}, "a.service"},
        {{[NAME_UNIT] = "docker-1.scope", [NAME_CONTAINER] = "shop-db-1"}, "shop-db-1"},
        {{[NAME_CONTAINER] = "shop-db-1", [NAME_COMPOSE_PROJECT] = "shop", [NAME_COMPOSE_SERVICE] = "db"}, "shop/db"},
        {{[NAME_CONTAINER] = "shop-db-1", [NAME_COMPOSE_SERVICE] = "db"}, "db"},
        {{[NAME_CONTAINER] = "shop-db-1", [NAME_COMPOSE_PROJECT] = "shop"}, "shop-db-1"},
        {{[NAME_CONTAINER] = "c", [NAME_POD] = "p", [NAME_NAMESPACE] = "n"}, "n/p/c"},
        {{[NAME_CONTAINER] = "c", [NAME_POD] = "p"}, "p/c"},
        {{[NAME_UNIT] = "kubepods.slice", [NAME_POD] = "p", [NAME_NAMESPACE] = "n"}, "n/p"},
        {{[NAME_DESCRIPTION] = "Database", [NAME_UNIT] = "db.service"}, "db.service"},
    };
    char room[NAMES_BEST_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct names names = {0};
        for (size_t kind = 0; kind < N_NAME_KINDS; kind++)
            if (cases[i].in[kind])
                set(&names, (enum name_kind)kind, cases[i].in[kind]);
        const char *best = names_best(&names, room);
        if (cases[i].out)
            assert_string_equal(best, cases[i].out);
        else
            assert_null(best);
        names_done(&names);
    }
}

/* The best name has room for three names of the maximum length. */
TEST(test_best_has_room)
{
    char text[NAME_SIZE_MAX + 1] = "", room[NAMES_BEST_MAX];
    struct names names = {0};

    memset(text, 'x', NAME_SIZE_MAX);
    set(&names, NAME_NAMESPACE, text);
    set(&names, NAME_POD, text);
    set(&names, NAME_CONTAINER, text);
    assert_int_equal(strlen(names_best(&names, room)), NAMES_BEST_MAX - 1);
    names_done(&names);
}

#define CONTAINER "/system.slice/docker-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.scope"

TEST(test_each_container_has_a_name_or_a_reason)
{
    static const struct {
        const char *path, *container;
        bool out_unnamed;
    } cases[] = {
        {"/", NULL, false},      {"/system.slice/ssh.service", NULL, false}, {"/lxc.payload.web", "web", false},
        {CONTAINER, NULL, true}, {CONTAINER "/init.scope", NULL, true},
    };
    struct fake_sys *fake = fake_machine_no_pmu();
    struct resolver *resolver = NULL;
    int fds[RESOLVER_FDS];

    assert_int_equal(resolver_new(&fake->sys, NULL, &resolver), 0);
    assert_true(resolver_fds(resolver, fds) <= RESOLVER_FDS);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct names names = {0};
        assert_int_equal(resolver_find(resolver, cases[i].path, &names), 0);
        assert_int_equal(names.unnamed != NULL, cases[i].out_unnamed);
        if (cases[i].container)
            assert_string_equal(names.texts[NAME_CONTAINER], cases[i].container);
        else
            assert_null(names.texts[NAME_CONTAINER]);
        names_done(&names);
        resolver_forget(resolver, cases[i].path);
    }
    assert_false(resolver_dispatch(resolver));
    resolver_free(resolver);
    fake_sys_free(fake);
}

TEST_MAIN(NULL, NULL)
