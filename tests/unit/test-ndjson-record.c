/* SPDX-License-Identifier: Apache-2.0 */
/* Records other than samples as NDJSON. */
#include <stdio.h>

#include "base/cleanup.h"
#include "tests/unit/fake-program.h"
#include "tests/unit/ndjson-stream.h"
#include "tests/unit/test.h"

static void put_mapping(struct built *built)
{
    put4(built, 1);
    put4(built, 2);
    put8(built, 0x7f0000001000);
    put8(built, 8192);
    put8(built, 0x3000);
}

static void put_mmap(struct built *built)
{
    put_mapping(built);
    put_text(built, "/lib/\xff.so");
}

static void put_mmap2(struct built *built)
{
    put_mapping(built);
    put4(built, 254);
    put4(built, 1);
    put8(built, 99);
    put8(built, 0);
    put8(built, 0);
    put_text(built, "/lib/x.so");
}

static void put_mmap2_build_id(struct built *built)
{
    static const unsigned char id[24] = {4, 0, 0, 0, 0xde, 0xad, 0xbe, 0x0f};

    put_mapping(built);
    put_bytes(built, id, sizeof(id));
    put8(built, 0);
    put_text(built, "/lib/x.so");
}

static void put_comm(struct built *built)
{
    put4(built, 5);
    put4(built, 6);
    put_text(built, "a\"b\\c\x1b");
}

static void put_task(struct built *built)
{
    put4(built, 10);
    put4(built, UINT32_MAX);
    put4(built, 12);
    put4(built, 13);
    put8(built, 1);
}

static void put_lost(struct built *built)
{
    put8(built, 100);
    put8(built, 77);
}

static void put_three(struct built *built)
{
    put8(built, 1);
    put8(built, 100);
    put8(built, 100);
}

static void put_lost_samples(struct built *built)
{
    put8(built, 5);
}

static void put_nothing(struct built *built)
{
    (void)built;
}

static void put_next(struct built *built)
{
    put4(built, 20);
    put4(built, 21);
}

static void put_cgroup(struct built *built)
{
    put8(built, 42);
    put_text(built, "/system.slice");
}

static void put_ksymbol(struct built *built)
{
    put8(built, FAKE_KERNEL_IP);
    put4(built, 64);
    put2(built, 1);
    put2(built, 1);
    put_text(built, "bpf_prog_1");
}

#define MAPPING "\"pid\":1,\"tid\":2,\"address\":\"0x7f0000001000\",\"length\":8192,\"offset\":\"0x3000\",\"file\":"
#define WHO "\"pid\":901,\"tid\":902"

static const struct {
    uint32_t type;
    uint16_t misc;
    void (*put)(struct built *built);
    const char *name, *out;
} cases[] = {
    {PERF_RECORD_MMAP, 0, put_mmap, "mmap", MAPPING "\"/lib/\xef\xbf\xbd.so\""},
    {PERF_RECORD_MMAP2, 0, put_mmap2, "mmap2", MAPPING "\"/lib/x.so\",\"major\":254,\"minor\":1,\"inode\":99"},
    {PERF_RECORD_MMAP2, MISC_BUILD_ID, put_mmap2_build_id, "mmap2", MAPPING "\"/lib/x.so\",\"build_id\":\"deadbe0f\""},
    {PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, put_comm, "comm",
     "\"pid\":5,\"tid\":6,\"comm\":\"a\\\"b\\\\c\\u001b\",\"exec\":true"},
    {PERF_RECORD_COMM, 0, put_comm, "comm", "\"pid\":5,\"tid\":6,\"comm\":\"a\\\"b\\\\c\\u001b\",\"exec\":false"},
    {PERF_RECORD_FORK, 0, put_task, "fork", "\"pid\":10,\"tid\":12,\"parent_pid\":-1,\"parent_tid\":13"},
    {PERF_RECORD_EXIT, 0, put_task, "exit", "\"pid\":10,\"tid\":12,\"parent_pid\":-1,\"parent_tid\":13"},
    {PERF_RECORD_LOST, 0, put_lost, "lost", WHO ",\"lost\":77"},
    {PERF_RECORD_LOST_SAMPLES, 0, put_lost_samples, "lost_samples", WHO ",\"lost\":5"},
    {PERF_RECORD_THROTTLE, 0, put_three, "throttle", WHO},
    {PERF_RECORD_UNTHROTTLE, 0, put_three, "unthrottle", WHO},
    {PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, put_nothing, "switch", WHO ",\"out\":true"},
    {PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, put_next, "switch_cpu_wide",
     WHO ",\"out\":true,\"next_pid\":20,\"next_tid\":21"},
    {PERF_RECORD_SWITCH_CPU_WIDE, 0, put_next, "switch_cpu_wide",
     WHO ",\"out\":false,\"previous_pid\":20,\"previous_tid\":21"},
    {PERF_RECORD_CGROUP, 0, put_cgroup, "cgroup", "\"id\":42,\"path\":\"/system.slice\""},
    {PERF_RECORD_KSYMBOL, 0, put_ksymbol, "ksymbol",
     "\"address\":\"0xffffffff81000010\",\"length\":64,\"name\":\"bpf_prog_1\",\"unregister\":true"},
    {PERF_RECORD_AUX, 0, put_three, "aux", WHO},
};

static void test_others(void **state)
{
    struct ndjson_stream stream;
    struct built built;

    (void)state;
    ndjson_stream_begin(&stream, 0, 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char expected[512];
        buffer_clear(&stream.out);
        start_record(&built, cases[i].type, cases[i].misc);
        cases[i].put(&built);
        put_trailer(&built, stream.source.layout.sample_type);
        ndjson_stream_take(&stream, &built, true);
        snprintf(expected, sizeof(expected), "{\"type\":\"%s\"" WHEN ",%s}\n", cases[i].name, cases[i].out);
        ndjson_stream_expect(&stream, expected);
    }
    ndjson_stream_finish(&stream);
}

static void test_hidden_ksymbol(void **state)
{
    struct ndjson_stream stream;
    struct built built;

    (void)state;
    ndjson_stream_begin(&stream, 0, 0);
    stream.kernel.open = false;
    buffer_clear(&stream.out);
    start_record(&built, PERF_RECORD_KSYMBOL, 0);
    put_ksymbol(&built);
    put_trailer(&built, stream.source.layout.sample_type);
    ndjson_stream_take(&stream, &built, true);
    ndjson_stream_expect(&stream,
                         "{\"type\":\"ksymbol\"" WHEN ",\"length\":64,\"name\":\"bpf_prog_1\",\"unregister\":true}\n");
    ndjson_stream_finish(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_hidden_ksymbol),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
