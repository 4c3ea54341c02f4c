/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fake-program.h"

static const unsigned char build_id[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
const struct mapping fake_mapping = {
    .start = 0x401000,
    .end = 0x404000,
    .offset = 0x1000,
    .file = "/usr/bin/hot",
    .build_id = build_id,
    .build_id_size = sizeof(build_id),
    .major = 8,
    .minor = 1,
    .inode = 4711,
    .inode_generation = 3,
    .protection = 5,
    .flags = 2,
};
static const struct mapping odd = {.start = 0x500000, .end = 0x501000, .file = "/tmp/\"odd\"\x01\xff"};
static const struct mapping kernel = {.end = UINT64_MAX, .file = "[kernel.kallsyms]"};

static const struct frame frames[] = {
    {.ip = FAKE_IP, .mapping = &fake_mapping, .symbol = "hot", .offset = 16},
    {.ip = FAKE_ODD_IP, .mapping = &fake_mapping, .symbol = "operator\"\" _\\\n\x80\xc3\xa9"},
    {.ip = FAKE_BARE_IP, .mapping = &fake_mapping},
    {.ip = FAKE_KERNEL_IP, .mapping = &kernel, .symbol = "do_idle", .offset = 16, .kernel = true},
};

void symbols_each(struct symbols *symbols, process_visit visit, void *userdata)
{
    (void)symbols;
    visit(userdata, FAKE_PID, FAKE_PID, "hot", NULL);
    visit(userdata, FAKE_PID, FAKE_PID, "hot", &fake_mapping);
    visit(userdata, 2, 2, "odd\t", NULL);
    visit(userdata, 2, 2, "odd\t", &odd);
}

const char *symbols_comm(struct symbols *symbols, const struct record *sample)
{
    (void)symbols;
    return sample->id.pid == FAKE_PID ? "hot" : "";
}

void symbols_resolve(struct symbols *symbols, uint32_t pid, bool is_kernel, uint64_t ip, struct frame *ret)
{
    (void)symbols;
    *ret = (struct frame){.ip = ip, .kernel = is_kernel};
    for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
        if (frames[i].ip == ip && frames[i].kernel == is_kernel && (is_kernel || pid == FAKE_PID))
            *ret = frames[i];
}

const char *symbols_reason_user(const struct symbols *symbols)
{
    (void)symbols;
    return NULL;
}

const char *symbols_reason_kernel(const struct symbols *symbols)
{
    (void)symbols;
    return "the kernel hides its \"symbols\"";
}
