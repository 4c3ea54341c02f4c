/* SPDX-License-Identifier: Apache-2.0 */
/* The names that the kubelet's links and directories give, and links that are not the kubelet's. */
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/names/name-list.h"
#include "collectors/names/path.h"
#include "collectors/names/source.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define UID "1a2b3c4d-0000-4000-8000-00000000000f"
#define STATIC "0123456789abcdef0123456789abcdef"
#define LINKS "/var/log/containers/"
#define LINK LINKS "coredns-5d78c9869d-x2l8p_kube-system_coredns-" ID ".log"
#define SYSTEMD                                                                                                        \
    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1a2b3c4d_0000_4000_8000_00000000000f.slice"
#define PLAIN "/kubepods/burstable/pod" UID

struct play {
    struct fake_sys *fake;
    void *state;
};

static void play_link(const struct play *play, const char *path)
{
    char at[PATH_MAX];

    snprintf(at, sizeof(at), "%s%s", play->fake->root, path);
    assert_int_equal(symlink("/nowhere", at), 0);
}

static void play_unlink(const struct play *play, const char *path)
{
    char at[PATH_MAX];

    snprintf(at, sizeof(at), "%s%s", play->fake->root, path);
    assert_int_equal(unlink(at), 0);
}

static void play_open(struct play *play)
{
    int fd;

    assert_int_equal(name_source_kubernetes.open(&play->fake->sys, &play->state, &fd), 0);
    assert_true(fd >= 0);
}

static bool play_dispatch(struct play *play)
{
    return name_source_kubernetes.dispatch(play->state);
}

static struct names play_find(struct play *play, const char *path)
{
    struct names names = {0};

    assert_int_equal(names_from_path(&names, path), 0);
    assert_int_equal(name_source_kubernetes.find(play->state, path, &names), 0);
    return names;
}

static const char *text_of(const struct names *names, enum name_kind kind)
{
    return names->texts[kind] ? names->texts[kind] : "";
}

/* "NAMESPACE/POD/CONTAINER" */
static void assert_found(struct play *play, const char *path, const char *expected)
{
    _cleanup_(names_done) struct names names = play_find(play, path);
    char text[512];

    snprintf(text, sizeof(text), "%s/%s/%s", text_of(&names, NAME_NAMESPACE), text_of(&names, NAME_POD),
             text_of(&names, NAME_CONTAINER));
    assert_string_equal(text, expected);
    assert_string_equal(names.source ? names.source : "", names.texts[NAME_CONTAINER] ? "kubernetes" : "");
}

/* Why the container has no name; "" where that is not said. */
static void assert_unnamed(struct play *play, const char *path, const char *words)
{
    _cleanup_(names_done) struct names names = play_find(play, path);

    if (*words)
        assert_non_null(strstr(names.unnamed ? names.unnamed : "", words));
    else
        assert_null(names.unnamed);
}

static int setup(void **state)
{
    struct play *play = calloc(1, sizeof(*play));

    umask(022);
    play->fake = fake_sys_new();
    *state = play;
    return 0;
}

static int setup_kubelet(void **state)
{
    setup(state);
    struct play *play = *state;
    fake_file(play->fake, LINKS ".x", "x");
    play_link(play, LINK);
    play_open(play);
    return 0;
}

static int teardown(void **state)
{
    struct play *play = *state;

    if (play->state)
        name_source_kubernetes.close(play->state);
    fake_sys_free(play->fake);
    free(play);
    return 0;
}

/* Both drivers, all runtimes. */
static void test_found(void **state)
{
    static const char *const paths[] = {SYSTEMD "/cri-containerd-" ID ".scope", SYSTEMD "/crio-" ID ".scope/container",
                                        PLAIN "/" ID, "/kubepods.slice/kubepods-pod1a2b.slice:cri-containerd:" ID,

                                        SYSTEMD "/docker-" ID ".scope/system.slice/x.service"};
    struct play *play = *state;

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_found(play, paths[i], "kube-system/coredns-5d78c9869d-x2l8p/coredns");
    assert_found(play, PLAIN "/" OTHER, "//");
    assert_found(play, "/system.slice/ssh.service", "//");
    /* A container may make a cgroup of any name. */
    assert_found(play, PLAIN "/" OTHER "/docker/" ID, "//");
    assert_found(play, "/docker/" OTHER "/kubelet/kubepods/pod1/" ID, "//");
    assert_found(play, "/lxc.payload.web" PLAIN "/" ID, "//");
    /* So may a user. */
    assert_found(play, "/user.slice/user-1000.slice/user@1000.service/docker-" ID ".scope", "//");
    assert_unnamed(play, "/user.slice/user-1000.slice/user@1000.service/docker-" OTHER ".scope", "");
}

static void test_comes_and_goes(void **state)
{
    struct play *play = *state;

    play_open(play);
    assert_found(play, PLAIN "/" ID, "//");
    assert_unnamed(play, PLAIN "/" ID, "there is no directory /var/log/containers");
    assert_unnamed(play, "/docker/" ID, "");
    assert_unnamed(play, PLAIN, "");
    fake_file(play->fake, LINKS ".x", "x");
    assert_true(play_dispatch(play));
    assert_unnamed(play, PLAIN "/" ID, "no link in /var/log/containers has its id");
    play_link(play, LINK);
    assert_true(play_dispatch(play));
    assert_false(play_dispatch(play));
    assert_found(play, PLAIN "/" ID, "kube-system/coredns-5d78c9869d-x2l8p/coredns");
    assert_unnamed(play, PLAIN "/" ID, "");
    /* A container that is started again has another id; the old link stays for a while. */
    play_link(play, LINKS "coredns-5d78c9869d-x2l8p_kube-system_coredns-" OTHER ".log");
    assert_true(play_dispatch(play));
    assert_found(play, PLAIN "/" OTHER, "kube-system/coredns-5d78c9869d-x2l8p/coredns");
    play_unlink(play, LINK);
    assert_true(play_dispatch(play));
    assert_found(play, PLAIN "/" ID, "//");
    assert_found(play, PLAIN "/" OTHER, "kube-system/coredns-5d78c9869d-x2l8p/coredns");
}

static const struct {
    const char *link, *out; /* `out` is "//" where the link is none of the kubelet's */
} links[] = {
    {"a_b_c-" ID ".log", "b/a/c"},
    {"a.b_c_d-e-f-" ID ".log", "c/a.b/d-e-f"},
    {"a_b_c-" ID, "//"},
    {"a_b_c-" ID ".log.1", "//"},
    {"a_b_c-" ID "0.log", "//"},
    {"a_b_c-0123456789abcdef0123.log", "//"},
    {"a_b_c" ID ".log", "//"},
    {"a_b-" ID ".log", "//"},
    {"a_b_c_d-" ID ".log", "//"},
    {"_b_c-" ID ".log", "//"},
    {"a__c-" ID ".log", "//"},
    {"a_b_-" ID ".log", "//"},
    {"-" ID ".log", "//"},
    {ID ".log", "//"},
    {".log", "//"},
    {"A_b_c-" ID ".log", "//"},
    {"a\"_b_c-" ID ".log", "//"},
    {"a_b\n_c-" ID ".log", "//"},
    {"a_b_<img src=x onerror=alert(1)>-" ID ".log", "//"},
    {"a_b_\xff-" ID ".log", "//"},
    {"a_b_\xe2\x80\xae-" ID ".log", "//"},
    {"a b_c_d-" ID ".log", "//"},
};

static void test_names_of_links(void **state)
{
    struct play *play = *state;
    char path[512];

    fake_file(play->fake, LINKS ".x", "x");
    play_open(play);
    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        print_message("%s\n", links[i].link);
        snprintf(path, sizeof(path), LINKS "%s", links[i].link);
        play_link(play, path);
        play_dispatch(play);
        assert_found(play, PLAIN "/" ID, links[i].out);
        play_unlink(play, path);
        play_dispatch(play);
        assert_found(play, PLAIN "/" ID, "//");
    }
}

/* logSymlink() cuts the name to what is left of 255 bytes, and so the id. */
static void test_cut_link(void **state)
{
    struct play *play = *state;
    char whole[600], path[600], found[600], pod[600];

    fake_file(play->fake, LINKS ".x", "x");
    play_open(play);
    for (size_t length = 160; length < 260; length++) {
        memset(pod, 'p', length);
        pod[length] = '\0';
        snprintf(whole, sizeof(whole), "%s_space_name-" ID, pod);
        snprintf(path, sizeof(path), LINKS "%.251s.log", whole);
        play_link(play, path);
        play_dispatch(play);
        size_t digits = length + strlen("_space_name-") < 251 ? 251 - length - strlen("_space_name-") : 0;
        snprintf(found, sizeof(found), "space/%s/name", pod);
        assert_found(play, PLAIN "/" ID, digits >= NAME_KEY_MIN ? found : "//");
        assert_found(play, PLAIN "/0123456789abcdeff123456789abcdef0123456789abcdef0123456789abcdef",
                     digits == NAME_KEY_MIN ? found : "//");
        play_unlink(play, path);
        play_dispatch(play);
    }
}

/* The pause container, and the pod's own cgroup, have no link; the directory of the pod's logs names the pod. */
static void test_pods(void **state)
{
    struct play *play = *state;

    play_open(play);
    assert_found(play, PLAIN, "//");
    fake_file(play->fake, "/var/log/pods/kube-system_coredns_" UID "/.x", "x");
    fake_file(play->fake, "/var/log/pods/kube-system_etcd-node1_" STATIC "/.x", "x");
    fake_file(play->fake, "/var/log/pods/x_evil_name_" UID "/.x", "x");
    fake_file(play->fake, "/var/log/pods/x_<b>_" UID "/.x", "x");
    fake_file(play->fake, "/var/log/pods/x_y_" UID "0/.x", "x");
    assert_true(play_dispatch(play));
    assert_found(play, PLAIN, "kube-system/coredns/");
    assert_found(play, SYSTEMD, "kube-system/coredns/");
    assert_found(play, SYSTEMD "/cri-containerd-" ID ".scope", "kube-system/coredns/");
    assert_found(play, "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" STATIC ".slice/cri-" ID,
                 "kube-system/etcd-node1/");
    /* A container may make a cgroup of any name. */
    assert_found(play, "/docker/" ID PLAIN, "//");
    assert_found(play, "/system.slice/docker-" ID ".scope/x" SYSTEMD, "//");
    assert_found(play, PLAIN "/" ID "/pod" STATIC, "kube-system/coredns/");
    assert_found(play, "/kubepods/xpod" UID, "//");
    assert_found(play, "/kubepods/pod" UID "0", "//");
    assert_found(play, "/kubepods/pod1a2b3c4d-0000-4000", "//");
    assert_found(play, "/kubepods/pod", "//");
    assert_unnamed(play, SYSTEMD "/cri-containerd-" ID ".scope", "there is no directory /var/log/containers");
    assert_unnamed(play, SYSTEMD, "");
}

static void test_refused(void **state)
{
    struct play *play = *state;
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s" LINKS, play->fake->root);
    assert_int_equal(chmod(path, 0777), 0);
    assert_true(play_dispatch(play));
    assert_found(play, PLAIN "/" ID, "//");
    assert_unnamed(play, PLAIN "/" ID, "others than root may write to /var/log/containers");
    assert_int_equal(chmod(path, 0755), 0);
    assert_true(play_dispatch(play));
    assert_found(play, PLAIN "/" ID, "kube-system/coredns-5d78c9869d-x2l8p/coredns");
}

static void name_of(size_t i, const char *directory, char path[256])
{
    snprintf(path, 256, "%spod-%zu_space_name-%08" PRIx32 "%.56s.log", directory, i, (uint32_t)i * 2654435761u, ID);
}

/* Links that are left behind: found before, and as they come and go. */
static void test_many(void **state)
{
    const size_t n = NAME_LIST_MAX + 10;
    struct play *play = *state;
    char path[256], id[256], expected[64];

    fake_file(play->fake, LINKS ".x", "x");
    for (size_t i = 0; i < n; i++) {
        name_of(i, LINKS, path);
        play_link(play, path);
        if (i == 5000)
            play_open(play);
        if (i % 5000 == 0 && play->state)
            play_dispatch(play);
    }
    while (play_dispatch(play))
        ;
    for (size_t i = 0; i < n; i += i < NAME_LIST_MAX - 10 ? 10 : 1) {
        snprintf(id, sizeof(id), PLAIN "/%08" PRIx32 "%.56s", (uint32_t)i * 2654435761u, ID);
        snprintf(expected, sizeof(expected), "space/pod-%zu/name", i);
        assert_found(play, id, i < NAME_LIST_MAX ? expected : "//");
        assert_unnamed(play, id, i < NAME_LIST_MAX ? "" : "more names than are kept");
    }
    for (size_t i = 0; i < n; i++) {
        name_of(i, LINKS, path);
        play_unlink(play, path);
        if (i % 5000 == 0)
            while (play_dispatch(play))
                ;
    }
    while (play_dispatch(play))
        ;
    assert_unnamed(play, PLAIN "/" ID, "no link in /var/log/containers has its id");
}

int main(void)
{
#define PLAYED(test, set) cmocka_unit_test_setup_teardown(test, set, teardown)
    const struct CMUnitTest tests[] = {
        PLAYED(test_found, setup_kubelet), PLAYED(test_comes_and_goes, setup), PLAYED(test_names_of_links, setup),
        PLAYED(test_cut_link, setup),      PLAYED(test_pods, setup),           PLAYED(test_refused, setup_kubelet),
        PLAYED(test_many, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
