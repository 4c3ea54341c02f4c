/* SPDX-License-Identifier: Apache-2.0 */
/* State files as each runtime writes them, reduced to the relevant members. */
#include <fcntl.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "cgroups/state-formats.h"
#include "tests/unit/test.h"
#include "tests/unit/testdata.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static uint32_t place_of(enum state_format format)
{
    uint32_t i = 0;

    while (state_place(i)->format != format)
        i++;
    return i;
}

/*
 * Appends a line for each container: its id unless that is ID, "pause" for a pause container, then its names, each
 * after its kind.
 */
static int on_found(void *userdata, const char *id, struct names *names)
{
    struct buffer *lines = userdata;

    if (!str_equal(id, ID))
        buffer_appendf(lines, "%.4s: ", id);
    if (names->is_pause)
        buffer_append_text(lines, "pause ");
    for (size_t i = 0; i < N_NAME_KINDS; i++)
        if (names->texts[i])
            buffer_appendf(lines, "%s=%s ", name_kind_text((enum name_kind)i), names->texts[i]);
    lines->data[lines->size - 1] = '\n'; /* replaces the last space; each container has a runtime */
    return 0;
}

static int read_document(enum state_format format, const char *content, size_t size, char **ret)
{
    const struct state_request request = {.place = place_of(format), .id = ID};
    struct buffer lines = {0};

    int r = state_document_read(&request, content, size, on_found, &lines);
    *ret = buffer_string(&lines);
    return r;
}

static const struct {
    enum state_format format;
    const char *in, *out;
} cases[] = {
    /* docker */
    {STATE_DOCKER,
     "{\"StreamConfig\":{},\"State\":{\"Running\":true,\"Pid\":4711},\"ID\":\"" ID
     "\",\"Managed\":false,\"Path\":\"/x\","
     "\"Config\":{\"Hostname\":\"0123456789ab\",\"Env\":[\"PASSWORD=secret\"],\"Image\":\"grafana/grafana:9.5\","
     "\"Labels\":{}},\"Name\":\"/grafana\",\"Driver\":\"overlay2\",\"RestartCount\":0}",
     "container=grafana image=grafana/grafana:9.5 runtime=docker\n"},
    {STATE_DOCKER,
     "{\"Config\":{\"Image\":\"postgres\",\"Labels\":{\"com.docker.compose.config-hash\":\"1\","
     "\"com.docker.compose.project\":\"shop\",\"com.docker.compose.service\":\"db\"}},\"Name\":\"/shop-db-1\"}\n",
     "container=shop-db-1 image=postgres compose_project=shop compose_service=db runtime=docker\n"},
    {STATE_DOCKER,
     "{\"Config\":{\"Image\":\"sha256:0123\",\"Labels\":{\"io.kubernetes.container.name\":\"coredns\","
     "\"io.kubernetes.docker.type\":\"container\",\"io.kubernetes.pod.name\":\"coredns-5d78c9869d-abcde\","
     "\"io.kubernetes.pod.namespace\":\"kube-system\"}},"
     "\"Name\":\"/k8s_coredns_coredns-5d78c9869d-abcde_kube-system_0f1e_0\"}",
     "container=coredns image=sha256:0123 pod=coredns-5d78c9869d-abcde namespace=kube-system runtime=docker\n"},
    {STATE_DOCKER,
     "{\"Config\":{\"Image\":\"registry.k8s.io/pause:3.9\",\"Labels\":{\"io.kubernetes.container.name\":\"POD\","
     "\"io.kubernetes.docker.type\":\"podsandbox\",\"io.kubernetes.pod.name\":\"a\"}},\"Name\":\"/k8s_POD_a_b_c_0\"}",
     "pause container=POD image=registry.k8s.io/pause:3.9 pod=a runtime=docker\n"},
    {STATE_DOCKER, "{\"Name\":\"no-slash\",\"Config\":null}", "container=no-slash runtime=docker\n"},
    {STATE_DOCKER, "{\"Name\":\"/a\",\"Config\":{\"Image\":7,\"Labels\":[\"x\"]}}", "container=a runtime=docker\n"},
    {STATE_DOCKER, "{\"Name\":\"/a\",\"Config\":{\"Labels\":{\"io.kubernetes.container.name\":\"\"}}}",
     "container=a runtime=docker\n"},
    {STATE_DOCKER, "{\"Name\":\"/a\",\"HostConfig\":{\"NanoCpus\":123456789012345678901234567890}}",
     "container=a runtime=docker\n"},
    {STATE_DOCKER, "{\"Name\":\"/a\\n<img src=x onerror=alert(1)>\\u0000\\u202e\"}",
     "container=a\xef\xbf\xbd<img src=x onerror=alert(1)>\xef\xbf\xbd\xe2\x80\xae runtime=docker\n"},
    /* podman */
    {STATE_STORAGE,
     "[{\"id\":\"" ID
     "\",\"names\":[\"grafana\"],\"image\":\"9876\",\"layer\":\"1\",\"metadata\":\"{\\\"image-name\\\":"
     "\\\"docker.io/grafana/"
     "grafana:9.5\\\",\\\"image-id\\\":\\\"9876\\\",\\\"name\\\":\\\"grafana\\\",\\\"created-at\\\""
     ":1700000000}\",\"created\":\"2023-11-14T22:13:20Z\",\"flags\":{\"MountLabel\":\"\",\"ProcessLabel\":\"\"}}]",
     "container=grafana image=docker.io/grafana/grafana:9.5 runtime=podman\n"},
    {STATE_STORAGE, /* the container was renamed */
     "[{\"id\":\"" ID "\",\"names\":[\"new\"],\"metadata\":\"{\\\"name\\\":\\\"old\\\"}\"},"
     "{\"id\":\"" ID2 "\",\"metadata\":\"{\\\"name\\\":\\\"b\\\"}\"}]",
     "container=new runtime=podman\nfedc: container=b runtime=podman\n"},
    {STATE_STORAGE,
     "[{\"id\":\"" ID "\",\"names\":[\"63c4292d1879-infra\"]},{\"id\":\"" ID2 "\",\"names\":[\"pods-own\"],"
     "\"metadata\":\"{\\\"image-name\\\":\\\"localhost/podman-pause:4.3.1-0\\\"}\"}]",
     "pause container=63c4292d1879-infra runtime=podman\n"
     "fedc: pause container=pods-own image=localhost/podman-pause:4.3.1-0 runtime=podman\n"},
    {STATE_STORAGE, "[{\"id\":\"" ID "\",\"names\":[\"my-infra\"]}]", "container=my-infra runtime=podman\n"},
    {STATE_STORAGE, "[{\"id\":\"" ID "\"}]", "runtime=podman\n"},
    {STATE_STORAGE, "[{\"id\":\"" ID "\",\"names\":\"a\",\"metadata\":\"{\\\"name\\\"\"}]", "runtime=podman\n"},
    {STATE_STORAGE, "[{\"id\":\"../etc\",\"names\":[\"a\"]},7,null,{\"id\":7},{}]", ""},
    {STATE_STORAGE, "[]", ""},
    {STATE_STORAGE, "", ""},
    /* CRI-O */
    {STATE_STORAGE,
     "[{\"id\":\"" ID "\",\"names\":[\"k8s_coredns_coredns-abc_kube-system_0f1e_0\"],\"metadata\":\"{\\\"pod-name\\\":"
     "\\\"k8s_coredns-abc_kube-system_0f1e_0\\\",\\\"pod-id\\\":\\\"" ID2 "\\\",\\\"image-name\\\":"
     "\\\"registry.k8s.io/coredns:1.10\\\",\\\"name\\\":\\\"k8s_coredns_coredns-abc_kube-system_0f1e_0\\\","
     "\\\"metadata-name\\\":\\\"coredns\\\",\\\"created-at\\\":1700000000}\"},"
     "{\"id\":\"" ID2 "\",\"names\":[\"k8s_POD_coredns-abc_kube-system_0f1e_0\"],\"metadata\":\"{\\\"pod-name\\\":"
     "\\\"k8s_coredns-abc_kube-system_0f1e_0\\\",\\\"pod-id\\\":\\\"" ID2
     "\\\",\\\"metadata-name\\\":\\\"coredns-abc\\\","
     "\\\"namespace\\\":\\\"kube-system\\\",\\\"pod\\\":true}\"}]",
     "container=coredns image=registry.k8s.io/coredns:1.10 pod=coredns-abc namespace=kube-system runtime=cri-o\n"
     "fedc: pause container=coredns-abc pod=coredns-abc namespace=kube-system runtime=cri-o\n"},
    {STATE_STORAGE, "[{\"id\":\"" ID "\",\"metadata\":\"{\\\"pod-id\\\":\\\"x\\\",\\\"pod-name\\\":\\\"k8s_\\\"}\"}]",
     "pod=k8s_ runtime=cri-o\n"},
    {STATE_STORAGE, "[{\"id\":\"" ID "\",\"metadata\":\"{\\\"pod-id\\\":\\\"x\\\",\\\"pod-name\\\":\\\"k8s_a\\\"}\"}]",
     "pod=a runtime=cri-o\n"},
    /* containerd */
    {STATE_BUNDLE,
     "{\"ociVersion\":\"1.0.2-dev\",\"process\":{\"env\":[\"TOKEN=secret\"],\"rlimits\":[{\"type\":\"RLIMIT_NOFILE\","
     "\"hard\":18446744073709551615,\"soft\":18446744073709551615}]},\"annotations\":{"
     "\"io.kubernetes.cri.container-name\":\"web\",\"io.kubernetes.cri.container-type\":\"container\","
     "\"io.kubernetes.cri.image-name\":\"docker.io/library/nginx:1.25\",\"io.kubernetes.cri.sandbox-id\":\"" ID2 "\","
     "\"io.kubernetes.cri.sandbox-name\":\"web-0\",\"io.kubernetes.cri.sandbox-namespace\":\"shop\"}}",
     "container=web image=docker.io/library/nginx:1.25 pod=web-0 namespace=shop runtime=containerd\n"},
    {STATE_BUNDLE,
     "{\"ociVersion\":\"1.1.0\",\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\","
     "\"io.kubernetes.cri.sandbox-name\":\"web-0\",\"io.kubernetes.cri.sandbox-namespace\":\"shop\"}}",
     "pause pod=web-0 namespace=shop runtime=containerd\n"},
    {STATE_BUNDLE,
     "{\"ociVersion\":\"1.1.0\",\"annotations\":{\"nerdctl/extraHosts\":\"null\",\"nerdctl/name\":\"alpine-01234\","
     "\"nerdctl/namespace\":\"default\",\"nerdctl/platform\":\"linux/amd64\"}}",
     "container=alpine-01234 runtime=containerd\n"},
    {STATE_BUNDLE, "{\"ociVersion\":\"1.0.2\",\"hooks\":{}}", "runtime=containerd\n"},
};

TEST(test_documents)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(freep) char *out = NULL;
        print_message("%.100s\n", cases[i].in);
        assert_int_equal(read_document(cases[i].format, cases[i].in, strlen(cases[i].in), &out), 0);
        assert_string_equal(out, cases[i].out);
        assert_null(strstr(out, "secret"));
    }
}

/* The file "bundle-ctr-1.6.json" was written by containerd 1.6 for ctr. The expected names are in a file next to it. */
static void check_file(const char *path)
{
    static const char *const formats[] = {
        [STATE_DOCKER] = "docker-", [STATE_STORAGE] = "storage-", [STATE_BUNDLE] = "bundle-"};
    const char *name = strrchr(path, '/') + 1;
    size_t format = 0;

    while (!str_starts(name, formats[format]))
        format++;
    _cleanup_(freep) char *out = NULL, *content = NULL;
    size_t size;
    assert_int_equal(file_read(AT_FDCWD, path, STATE_FILE_MAX, &content, &size), 0);
    assert_int_equal(read_document((enum state_format)format, content, size, &out), 0);
    assert_null(strstr(out, "s3cr3t"));
    out[strlen(out) - 1] = '\0';
    testdata_expect(path, ".names", out);
}

TEST(test_real_files)
{
    assert_int_equal(testdata_each("tests/state-files/*.json", check_file), 5);
}

/* A file that is truncated at any byte is refused. Only trailing white space may be missing. */
TEST(test_half_written)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (size_t size = cases[i].in[0] ? strlen(cases[i].in) - 1 : 0; size > 0; size--) {
            _cleanup_(freep) char *out = NULL, *half = malloc(size);
            memcpy(half, cases[i].in, size);
            if (cases[i].in[size] != '\n')
                assert_int_equal(read_document(cases[i].format, half, size, &out), -EBADMSG);
        }
}

TEST(test_other_documents)
{
    static const struct {
        enum state_format format;
        const char *in;
    } others[] = {
        {STATE_DOCKER, ""},
        {STATE_DOCKER, "null"},
        {STATE_DOCKER, "[]"},
        {STATE_DOCKER, "{}"},
        {STATE_DOCKER, "{\"Name\":\"\"}"},
        {STATE_DOCKER, "{\"Name\":[\"a\"]}"},
        {STATE_DOCKER, "{\"Name\":\"\xff\"}"},
        {STATE_DOCKER, "{\"Name\":\"/a\"}}"},
        {STATE_DOCKER, "{\"Name\":\"/a\",\"x\":1e999}"},
        {STATE_STORAGE, "{}"},
        {STATE_STORAGE, "\"\""},
        {STATE_BUNDLE, ""},
        {STATE_BUNDLE, "{\"annotations\":{\"nerdctl/name\":\"a\"}}"},
        {STATE_BUNDLE, "[{\"ociVersion\":\"1\"}]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        _cleanup_(freep) char *out = NULL;
        print_message("%s\n", others[i].in);
        assert_int_equal(read_document(others[i].format, others[i].in, strlen(others[i].in), &out), -EBADMSG);
        assert_string_equal(out, "");
    }
    const struct state_request nowhere = {.place = UINT32_MAX};
    assert_int_equal(state_document_read(&nowhere, "[]", 2, on_found, NULL), -EBADMSG);
}

static char *repeat(const char *head, const char *part, size_t n, const char *tail)
{
    struct buffer text = {0};

    buffer_append_text(&text, head);
    for (size_t i = 0; i < n; i++)
        buffer_append_text(&text, part);
    buffer_append_text(&text, tail);
    return buffer_string(&text);
}

/*
 * Long labels are truncated, a million levels of nesting are refused, and 100,000 elements besides the name are
 * ignored.
 */
TEST(test_large_documents)
{
    _cleanup_(freep) char *label = repeat("{\"Name\":\"/", "\xc3\xa4", 2048, "\"}");
    _cleanup_(freep) char *deep = repeat("", "[", 1000000, "");
    _cleanup_(freep) char *deep_metadata = repeat("[{\"id\":\"" ID "\",\"metadata\":\"", "[", 1000000, "\"}]");
    _cleanup_(freep) char *wide = repeat("{\"Name\":\"/a\",\"Config\":{\"Labels\":{\"x\":[", "7,", 100000, "7]}}}");
    const struct {
        enum state_format format;
        const char *in;
        int out_result;
        const char *out;
    } large[] = {
        {STATE_DOCKER, deep, -EBADMSG, ""},
        {STATE_STORAGE, deep_metadata, 0, "runtime=podman\n"},
        {STATE_DOCKER, wide, 0, "container=a runtime=docker\n"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(large); i++) {
        _cleanup_(freep) char *out = NULL;
        int r = read_document(large[i].format, large[i].in, strlen(large[i].in), &out);
        assert_int_equal(r, large[i].out_result);
        assert_string_equal(out, large[i].out);
    }
    _cleanup_(freep) char *out = NULL;
    assert_int_equal(read_document(STATE_DOCKER, label, strlen(label), &out), 0);
    assert_int_equal(strlen(out), strlen("container= runtime=docker\n") + NAME_SIZE_MAX);
}

static int on_found_fails(void *userdata, const char *id, struct names *names)
{
    return ++*(int *)userdata == 2 ? -EPIPE : 0;
}

/* Reading stops if the caller accepts no more containers. */
TEST(test_reading_ends)
{
    _cleanup_(freep) char *many = repeat("[", "{\"id\":\"" ID "\"},", 9, "null]");
    const struct state_request request = {.place = place_of(STATE_STORAGE)};
    int calls = 0;

    assert_int_equal(state_document_read(&request, many, strlen(many), on_found_fails, &calls), -EPIPE);
    assert_int_equal(calls, 2);
}

TEST_MAIN(NULL, NULL)
