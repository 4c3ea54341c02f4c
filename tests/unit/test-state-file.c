/* SPDX-License-Identifier: Apache-2.0 */
/* The places of state files: the path that a request names, and the requests that name none. */
#include "perf/files/state-file.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct state_place *find_place(const char *path, uint32_t *ret)
{
    for (uint32_t i = 0; state_place(i); i++)
        if (str_equal(state_place(i)->path, path)) {
            *ret = i;
            return state_place(i);
        }
    fail_msg("there is no place %s", path);
    return NULL;
}

#define DOCKER "/var/lib/docker/containers/%/config.v2.json"
#define STORED "/var/lib/containers/storage/overlay-containers/containers.json"
#define THEIRS "~/.local/share/containers/storage/overlay-containers/containers.json"
#define THEIR_DOCKER "~/.local/share/docker/containers/%/config.v2.json"
#define THEIR_RUN "&/containers/overlay-containers/volatile-containers.json"
#define BUNDLE "/run/containerd/io.containerd.runtime.v2.task/k8s.io/%/config.json"

/* `out` is NULL where the request is refused. */
static const struct {
    const char *place, *id, *home;
    uint32_t user;
    const char *out;
} path_cases[] = {
    {DOCKER, ID, "", 0, "/var/lib/docker/containers/" ID "/config.v2.json"},
    {BUNDLE, ID, "", 0, "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json"},
    {STORED, "", "", 0, STORED},
    {THEIRS, "", "/home/ann", 1000, "/home/ann/.local/share/containers/storage/overlay-containers/containers.json"},
    {THEIR_DOCKER, ID, "/home/ann", 1000, "/home/ann/.local/share/docker/containers/" ID "/config.v2.json"},
    {THEIR_RUN, "", "/home/ann", 1000, "/run/user/1000/containers/overlay-containers/volatile-containers.json"},
    {THEIR_RUN, "", "", 4294967294, "/run/user/4294967294/containers/overlay-containers/volatile-containers.json"},
    /* ids */
    {DOCKER, "", "", 0, NULL},
    {DOCKER, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde", "", 0, NULL},
    {DOCKER, "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "", 0, NULL},
    {DOCKER, "../../../../../../etc/shadow/../0123456789abcdef0123456789abcdef", "", 0, NULL},
    {DOCKER, "..", "", 0, NULL},
    {DOCKER, "0123456789abcdef0123456789abcdef/123456789abcdef0123456789abcdef", "", 0, NULL},
    {STORED, ID, "", 0, NULL},
    {THEIRS, ID, "/home/ann", 1000, NULL},
    /* users */
    {DOCKER, ID, "", 1000, NULL},
    {DOCKER, ID, "/home/ann", 0, NULL},
    {THEIRS, "", "/root", 0, NULL},
    {THEIR_RUN, "", "", 0, NULL},
    {THEIRS, "", "", 1000, NULL},
    {THEIRS, "", "home/ann", 1000, NULL},
    {THEIRS, "", "/home/ann/..", 1000, NULL},
    {THEIRS, "", "/home/../root", 1000, NULL},
    {THEIRS, "", "/home/./ann", 1000, NULL},
    {THEIRS, "", "/home/ann/.", 1000, NULL},
};

static void request_names_a_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(path_cases); i++) {
        struct state_request request = {.user = path_cases[i].user};
        char path[STATE_PATH_MAX] = "untouched";
        find_place(path_cases[i].place, &request.place);
        strcpy(request.id, path_cases[i].id);
        strcpy(request.home, path_cases[i].home);
        assert_int_equal(state_request_path(&request, path, sizeof(path)), path_cases[i].out ? 0 : -EINVAL);
        assert_string_equal(path, path_cases[i].out ? path_cases[i].out : "untouched");
    }
}

static void bytes_without_an_end_are_no_request(void **state)
{
    struct state_request request = {.user = 1000};
    char path[STATE_PATH_MAX];

    (void)state;
    find_place(THEIRS, &request.place);
    memset(request.home, '/', sizeof(request.home));
    assert_int_equal(state_request_path(&request, path, sizeof(path)), -EINVAL);
    request.home[sizeof(request.home) - 1] = '\0';
    assert_int_equal(state_request_path(&request, path, sizeof(path)), 0);
    assert_int_equal(state_request_path(&request, path, 40), -EINVAL);
    memset(request.id, 'a', sizeof(request.id));
    assert_int_equal(state_request_path(&request, path, sizeof(path)), -EINVAL);
    request = (struct state_request){.place = UINT32_MAX};
    assert_int_equal(state_request_path(&request, path, sizeof(path)), -EINVAL);
}

/* A place that is misspelt would name another file than the one that its owner is asked about. */
static void places_are_well_formed(void **state)
{
    static const char *const names[N_STATE_FORMATS] = {"config.v2.json", "containers.json", "config.json"};
    size_t n = 0;

    (void)state;
    for (const struct state_place *place; (place = state_place(n)); n++) {
        assert_true(place->format < N_STATE_FORMATS);
        assert_non_null(strstr(place->path, names[place->format]));
        assert_int_equal(state_place_is_of_user(place), place->path[0] != '/');
        assert_int_equal(state_place_is_of_one(place), place->format != STATE_STORAGE);
        assert_null(strstr(place->path, "//"));
        for (size_t i = 0; i < n; i++)
            assert_string_not_equal(place->path, state_place(i)->path);
    }
    assert_true(n > 20);
    assert_null(state_place(SIZE_MAX));
}

static void version_changes_with_the_file(void **state)
{
    const struct stat before = {.st_ino = 7, .st_size = 100, .st_mtim = {5, 6}, .st_ctim = {5, 6}};
    struct stat after[5] = {before, before, before, before, before};

    (void)state;
    after[0].st_ino++;
    after[1].st_size++;
    after[2].st_mtim.tv_nsec++;
    after[3].st_ctim.tv_sec++;
    after[4].st_dev++;
    assert_int_equal(state_file_version(&before), state_file_version(&before));
    for (size_t i = 0; i < ARRAY_SIZE(after); i++)
        assert_true(state_file_version(&after[i]) != state_file_version(&before));
    assert_true(state_file_version(&(struct stat){0}) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_names_a_path),
        cmocka_unit_test(bytes_without_an_end_are_no_request),
        cmocka_unit_test(places_are_well_formed),
        cmocka_unit_test(version_changes_with_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
