/* SPDX-License-Identifier: Apache-2.0 */
/* Names from the kubelet's log links and directories. */
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroups/kubernetes.h"
#include "cgroups/name-source.h"
#include "cgroups/path.h"
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

/* State of the running test. */
static struct sim {
    struct fake_sys *fake;
    void *state;
} sim;

static void sim_link(const char *path)
{
    assert_int_equal(symlink("/nowhere", fake_path(sim.fake, path)), 0);
}

static void sim_unlink(const char *path)
{
    assert_int_equal(unlink(fake_path(sim.fake, path)), 0);
}

static void sim_open(void)
{
    int fd;

    assert_int_equal(name_source_kubernetes.open(&sim.fake->sys, NULL, &sim.state, &fd), 0);
    assert_true(fd >= 0);
}

static bool sim_dispatch(void)
{
    return name_source_kubernetes.dispatch(sim.state);
}

static struct names sim_find(const char *path)
{
    struct names names = {0};

    assert_int_equal(names_from_path(&names, path), 0);
    assert_int_equal(name_source_kubernetes.find(sim.state, path, &names), 0);
    return names;
}

static const char *text_of(const struct names *names, enum name_kind kind)
{
    return names->texts[kind] ? names->texts[kind] : "";
}

/* `expected` has the form "NAMESPACE/POD/CONTAINER". */
static void assert_found(const char *path, const char *expected)
{
    _cleanup_(names_done) struct names names = sim_find(path);
    char text[512];

    snprintf(text, sizeof(text), "%s/%s/%s", text_of(&names, NAME_NAMESPACE), text_of(&names, NAME_POD),
             text_of(&names, NAME_CONTAINER));
    assert_string_equal(text, expected);
    assert_string_equal(names.source ? names.source : "", names.texts[NAME_CONTAINER] ? "kubernetes" : "");
}

/* Checks the reason why the container has no name. An empty `words` means that no reason is given. */
static void assert_unnamed(const char *path, const char *words)
{
    _cleanup_(names_done) struct names names = sim_find(path);

    if (*words)
        assert_non_null(strstr(names.unnamed ? names.unnamed : "", words));
    else
        assert_null(names.unnamed);
}

static int setup(void **state)
{
    memset(&sim, 0, sizeof(sim));
    umask(022);
    sim.fake = fake_sys_new();
    return 0;
}

/* The directory of log links exists. */
static int setup_links(void **state)
{
    setup(state);
    fake_file(sim.fake, LINKS ".x", "x");
    sim_open();
    return 0;
}

static int setup_kubelet(void **state)
{
    setup_links(state);
    sim_link(LINK);
    sim_dispatch();
    return 0;
}

static int teardown(void **state)
{
    if (sim.state)
        name_source_kubernetes.close(sim.state);
    fake_sys_free(sim.fake);
    return 0;
}

/* Cgroup paths of the cgroupfs and systemd drivers with every container runtime are recognized. */
TEST_WITH(test_found, setup_kubelet, teardown)
{
    static const char *const paths[] = {SYSTEMD "/cri-containerd-" ID ".scope", SYSTEMD "/crio-" ID ".scope/container",
                                        PLAIN "/" ID, "/kubepods.slice/kubepods-pod1a2b.slice:cri-containerd:" ID,

                                        SYSTEMD "/docker-" ID ".scope/system.slice/x.service"};
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_found(paths[i], "kube-system/coredns-5d78c9869d-x2l8p/coredns");
    assert_found(PLAIN "/" OTHER, "//");
    assert_found("/system.slice/ssh.service", "//");
    /* A container can create cgroups with any name; such cgroups must not be mistaken for containers. */
    assert_found(PLAIN "/" OTHER "/docker/" ID, "//");
    assert_found("/docker/" OTHER "/kubelet/kubepods/pod1/" ID, "//");
    assert_found("/lxc.payload.web" PLAIN "/" ID, "//");
    /* Cgroups that an unprivileged user creates must not be mistaken for containers, either. */
    assert_found("/user.slice/user-1000.slice/user@1000.service/docker-" ID ".scope", "//");
    assert_unnamed("/user.slice/user-1000.slice/user@1000.service/docker-" OTHER ".scope", "");
}

TEST_WITH(test_comes_and_goes, setup, teardown)
{
    sim_open();
    assert_found(PLAIN "/" ID, "//");
    assert_unnamed(PLAIN "/" ID, "there is no directory /var/log/containers");
    assert_unnamed("/docker/" ID, "");
    assert_unnamed(PLAIN, "");
    fake_file(sim.fake, LINKS ".x", "x");
    assert_true(sim_dispatch());
    assert_unnamed(PLAIN "/" ID, "no link in /var/log/containers has its id");
    sim_link(LINK);
    assert_true(sim_dispatch());
    assert_false(sim_dispatch());
    assert_found(PLAIN "/" ID, "kube-system/coredns-5d78c9869d-x2l8p/coredns");
    assert_unnamed(PLAIN "/" ID, "");
    /* A restarted container has a new id; its old link remains for a while. */
    sim_link(LINKS "coredns-5d78c9869d-x2l8p_kube-system_coredns-" OTHER ".log");
    assert_true(sim_dispatch());
    assert_found(PLAIN "/" OTHER, "kube-system/coredns-5d78c9869d-x2l8p/coredns");
    sim_unlink(LINK);
    assert_true(sim_dispatch());
    assert_found(PLAIN "/" ID, "//");
    assert_found(PLAIN "/" OTHER, "kube-system/coredns-5d78c9869d-x2l8p/coredns");
}

static const struct {
    const char *link, *out; /* `out` is "//" if the kubelet never creates such a link */
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

TEST_WITH(test_names_of_links, setup_links, teardown)
{
    char path[512];

    for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
        print_message("%s\n", links[i].link);
        snprintf(path, sizeof(path), LINKS "%s", links[i].link);
        sim_link(path);
        sim_dispatch();
        assert_found(PLAIN "/" ID, links[i].out);
        sim_unlink(path);
        sim_dispatch();
        assert_found(PLAIN "/" ID, "//");
    }
}

/* The kubelet's logSymlink() truncates names to 255 bytes, which cuts off the id at the end. */
TEST_WITH(test_cut_link, setup_links, teardown)
{
    char whole[600], path[600], found[600], pod[600];

    for (size_t length = 160; length < 260; length++) {
        memset(pod, 'p', length);
        pod[length] = '\0';
        snprintf(whole, sizeof(whole), "%s_space_name-" ID, pod);
        snprintf(path, sizeof(path), LINKS "%.251s.log", whole);
        sim_link(path);
        sim_dispatch();
        size_t digits = length + strlen("_space_name-") < 251 ? 251 - length - strlen("_space_name-") : 0;
        snprintf(found, sizeof(found), "space/%s/name", pod);
        assert_found(PLAIN "/" ID, digits >= NAME_KEY_MIN ? found : "//");
        assert_found(PLAIN "/0123456789abcdeff123456789abcdef0123456789abcdef0123456789abcdef",
                     digits == NAME_KEY_MIN ? found : "//");
        sim_unlink(path);
        sim_dispatch();
    }
}

/* The pause container and the pod's own cgroup have no log link; the pod's log directory names the pod instead. */
TEST_WITH(test_pods, setup, teardown)
{
    sim_open();
    assert_found(PLAIN, "//");
    fake_file(sim.fake, "/var/log/pods/kube-system_coredns_" UID "/.x", "x");
    fake_file(sim.fake, "/var/log/pods/kube-system_etcd-node1_" STATIC "/.x", "x");
    fake_file(sim.fake, "/var/log/pods/x_evil_name_" UID "/.x", "x");
    fake_file(sim.fake, "/var/log/pods/x_<b>_" UID "/.x", "x");
    fake_file(sim.fake, "/var/log/pods/x_y_" UID "0/.x", "x");
    assert_true(sim_dispatch());
    assert_found(PLAIN, "kube-system/coredns/");
    assert_found(SYSTEMD, "kube-system/coredns/");
    assert_found(SYSTEMD "/cri-containerd-" ID ".scope", "kube-system/coredns/");
    assert_found("/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" STATIC ".slice/cri-" ID,
                 "kube-system/etcd-node1/");
    /* A container can create cgroups with any name; such cgroups must not be mistaken for pods. */
    assert_found("/docker/" ID PLAIN, "//");
    assert_found("/system.slice/docker-" ID ".scope/x" SYSTEMD, "//");
    assert_found(PLAIN "/" ID "/pod" STATIC, "kube-system/coredns/");
    assert_found("/kubepods/xpod" UID, "//");
    assert_found("/kubepods/pod" UID "0", "//");
    assert_found("/kubepods/pod1a2b3c4d-0000-4000", "//");
    assert_found("/kubepods/pod", "//");
    assert_unnamed(SYSTEMD "/cri-containerd-" ID ".scope", "there is no directory /var/log/containers");
    assert_unnamed(SYSTEMD, "");
}

TEST_WITH(test_refused, setup_kubelet, teardown)
{
    const char *path = fake_path(sim.fake, LINKS);

    assert_int_equal(chmod(path, 0777), 0);
    assert_true(sim_dispatch());
    assert_found(PLAIN "/" ID, "//");
    assert_unnamed(PLAIN "/" ID, "users other than root can write to /var/log/containers");
    assert_int_equal(chmod(path, 0755), 0);
    assert_true(sim_dispatch());
    assert_found(PLAIN "/" ID, "kube-system/coredns-5d78c9869d-x2l8p/coredns");
}

static void name_of(size_t i, const char *directory, char path[256])
{
    snprintf(path, 256, "%spod-%zu_space_name-%08" PRIx32 "%.56s.log", directory, i, (uint32_t)i * 2654435761u, ID);
}

/* The number of stale links is bounded, whether they exist at startup or come and go later. */
TEST_WITH(test_many, setup, teardown)
{
    const size_t n = NAME_LIST_MAX + 10;
    char path[256], id[256], expected[64];

    fake_file(sim.fake, LINKS ".x", "x");
    for (size_t i = 0; i < n; i++) {
        name_of(i, LINKS, path);
        sim_link(path);
        if (i == 5000)
            sim_open();
        if (i % 5000 == 0 && sim.state)
            sim_dispatch();
    }
    while (sim_dispatch())
        ;
    for (size_t i = 0; i < n; i += i < NAME_LIST_MAX - 10 ? 10 : 1) {
        snprintf(id, sizeof(id), PLAIN "/%08" PRIx32 "%.56s", (uint32_t)i * 2654435761u, ID);
        snprintf(expected, sizeof(expected), "space/pod-%zu/name", i);
        assert_found(id, i < NAME_LIST_MAX ? expected : "//");
        assert_unnamed(id, i < NAME_LIST_MAX ? "" : "has too many names");
    }
    for (size_t i = 0; i < n; i++) {
        name_of(i, LINKS, path);
        sim_unlink(path);
        if (i % 5000 == 0)
            while (sim_dispatch())
                ;
    }
    while (sim_dispatch())
        ;
    assert_unnamed(PLAIN "/" ID, "no link in /var/log/containers has its id");
}

TEST_MAIN(NULL, NULL)
