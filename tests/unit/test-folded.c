/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks, the input of flame graphs. */
#include <stdio.h>

#include "base/cleanup.h"
#include "cgroups/path.h"
#include "formats/writers.h"
#include "tests/unit/fake-symbols.h"
#include "tests/unit/fake-sys.h"
#include "tests/unit/test.h"

static const struct writer_end good_end = {.reason = "seconds"};

struct written {
    struct symbols symbols;
    struct writer_source source;
    void *state;
    struct buffer out;
};

static void start(struct written *written)
{
    *written = (struct written){0};
    fake_symbols_init(&written->symbols);
    written->source = (struct writer_source){.symbols = &written->symbols};
    written->state = writer_folded.begin(&written->source, &written->out);
    assert_non_null(written->state);
}

static void add(struct written *written, uint32_t pid, const uint64_t *chain, size_t n)
{
    struct record record = {.type = PERF_RECORD_SAMPLE,
                            .id = {.pid = pid, .tid = pid},
                            .sample = {.period = 1000, .callchain = chain, .n_callchain = n}};

    assert_true(writer_folded.record(written->state, &record, &written->out));
    writer_folded.mark(written->state, &(struct writer_mark){.kind = WRITER_ROUND}, &written->out);
}

static char *end(struct written *written)
{
    assert_int_equal(written->out.size, 0);
    writer_folded.end(written->state, &good_end, &written->out);
    writer_folded.free(written->state);
    assert_int_equal(written->symbols.kept, 0);
    return buffer_string(&written->out);
}

/* Names the container "web" in all cgroups that belong to a container. */
static int name_web(void *userdata, const char *path, struct names *names)
{
    (void)userdata;
    int r = names_from_path(names, path);
    return r == 0 && names->texts[NAME_CONTAINER_ID] ? names_set(names, NAME_CONTAINER, "web", 3) : r;
}

TEST(test_lines)
{
    static const uint64_t
        kernel[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff82000010, PERF_CONTEXT_USER, 0x10110, 0x10010},
        user[] = {PERF_CONTEXT_USER, 0x10210, 0x10010}, same[] = {PERF_CONTEXT_USER, 0x10310, 0x10020},
        moved[] = {PERF_CONTEXT_USER, 0x50220, 0x50020}, unknown[] = {PERF_CONTEXT_USER, 0x7f0010, 1, 0x10020};
    struct written written;

    start(&written);
    add(&written, 100, user, ARRAY_SIZE(user));
    add(&written, 100, unknown, ARRAY_SIZE(unknown));
    add(&written, 100, same, ARRAY_SIZE(same));
    add(&written, 200, moved, ARRAY_SIZE(moved));
    add(&written, 100, kernel, ARRAY_SIZE(kernel));
    add(&written, 100, NULL, 0);
    written.symbols.comm = "a;b\n/0:1";
    add(&written, 100, user, ARRAY_SIZE(user));
    add(&written, UINT32_MAX, kernel, 2);
    written.symbols.comm = "";
    add(&written, 100, kernel, 2);
    _cleanup_(freep) char *text = end(&written);
    assert_string_equal(text, ":-1;sys_read_[k] 1\n"
                              ":100;sys_read_[k] 1\n"
                              "a:b\xef\xbf\xbd/0:1;main;leaf 1\n"
                              "my_app;[unknown] 1\n"
                              "my_app;main;[unknown];[libx.so.1] 1\n"
                              "my_app;main;leaf 3\n"
                              "my_app;main;operator()(a: b);entry_[k];sys_read_[k] 1\n");
}

/* Each line is printable UTF-8, whatever the names of the files that a program has mapped. */
TEST(test_file_names)
{
    static const struct fake_mapping mappings[] = {
        {100, {0x10000, 0x20000, 0, "/tmp/a\xe9;b\n", NULL, 0, .number = 1}},
        {100, {0x30000, 0x40000, 0, "[a\xff]", NULL, 0, .number = 2}},
        {0},
    };
    static const uint64_t chain[] = {PERF_CONTEXT_USER, 0x10010, 0x30010};
    struct written written;

    start(&written);
    written.symbols.mappings = mappings;
    add(&written, 100, chain, ARRAY_SIZE(chain));
    _cleanup_(freep) char *text = end(&written);
    assert_string_equal(text, "my_app;[a\xef\xbf\xbd];[a\xef\xbf\xbd:b\xef\xbf\xbd] 1\n");
}

/* The first frame names the process, thread, cgroup or container. No label can end a frame or a line. */
TEST(test_first_frames)
{
    static const uint64_t chain[] = {PERF_CONTEXT_USER, 0x10210};
    static const char id[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const struct {
        enum first_frame in;
        const char *out;
    } cases[] = {
        {BY_PROCESS, "my_app;leaf 3\n"},
        {BY_THREAD, "my_app-100/100;leaf 3\n"},
        {BY_CGROUP, "/a: \xef\xbf\xbd 1;my_app;leaf 1\n"
                    "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef;my_app;leaf 1\n"
                    "[unknown];my_app;leaf 1\n"},
        {BY_CONTAINER, "[no container];my_app;leaf 1\n"
                       "[unknown];my_app;leaf 1\n"
                       "web;my_app;leaf 1\n"},
    };
    struct fake_sys *fake = fake_sys_new();
    char docker[80];

    snprintf(docker, sizeof(docker), "/docker/%s", id);
    fake_file(fake, "/proc/self/mountinfo", "1 0 0:1 / /c rw - cgroup2 none rw\n");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct written written;
        start(&written);
        writer_folded.free(written.state);
        assert_int_equal(cgroup_lookup_new(&fake->sys, &written.source.cgroups), 0);
        cgroup_lookup_set_namer(written.source.cgroups, name_web, NULL);
        written.source.by = cases[i].in;
        written.state = writer_folded.begin(&written.source, &written.out);
        const struct record made[] = {{.type = PERF_RECORD_CGROUP, .cgroup = {1, "/a; \n 1"}},
                                      {.type = PERF_RECORD_CGROUP, .cgroup = {2, docker}}};
        for (size_t k = 0; k < ARRAY_SIZE(made); k++)
            cgroup_lookup_update(written.source.cgroups, &made[k]);
        for (uint64_t k = 1; k <= 3; k++) {
            const struct record record = {.type = PERF_RECORD_SAMPLE,
                                          .id = {.pid = 100, .tid = 100},
                                          .sample = {.callchain = chain, .n_callchain = 2, .cgroup = k}};
            assert_true(writer_folded.record(written.state, &record, &written.out));
        }
        _cleanup_(freep) char *text = end(&written);
        assert_string_equal(text, cases[i].out);
        cgroup_lookup_free(written.source.cgroups);
    }
    fake_sys_free(fake);
}

static unsigned long long sum_of(const char *text)
{
    unsigned long long sum = 0;

    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        sum += strtoull(strchr(line, ' '), NULL, 10);
    return sum;
}

TEST(test_no_samples)
{
    struct written written;

    start(&written);
    _cleanup_(freep) char *text = end(&written);
    assert_string_equal(text ?: "", "");
}

/* Samples that exceed the memory of the profile, or whose lines would be too long, are counted as truncated. */
TEST(test_truncated)
{
    static const struct {
        unsigned in_samples;
        size_t in_depth;
        bool in_long_names;
    } cases[] = {{30000, 2, false}, {10000, 20, true}};
    char name[101] = "";
    const struct fake_symbol symbols[2] = {{"[kernel.kallsyms]", name, 0xffffffff81000000, 0x100}};
    uint64_t chain[20] = {PERF_CONTEXT_KERNEL};

    memset(name, 'x', sizeof(name) - 1);
    for (size_t i = 1; i < ARRAY_SIZE(chain); i++)
        chain[i] = 0xffffffff81000010;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct written written;
        start(&written);
        if (cases[i].in_long_names)
            written.symbols.symbols = symbols;
        for (unsigned n = 0; n < cases[i].in_samples; n++) {
            char comm[16];
            snprintf(comm, sizeof(comm), "c%u", n);
            written.symbols.comm = comm;
            add(&written, 100, chain, cases[i].in_depth);
        }
        _cleanup_(freep) char *text = end(&written);
        assert_int_equal(sum_of(text), cases[i].in_samples);
        assert_non_null(strstr(text, "\n[truncated] "));
        assert_true(strlen(text) < (size_t)8 << 20);
    }
}

TEST_MAIN(NULL, NULL)
