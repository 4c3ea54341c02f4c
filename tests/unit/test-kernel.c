/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that the kernel hides from this process stay hidden, even if an opener reported them. */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "symbols/kernel.h"
#include "tests/unit/hidden-kernel.h"
#include "tests/unit/test.h"

static const char x86[] = "0000000000000000 A fixed_percpu_data\n"
                          "0000000000001000 A cpu_debug_store\n"
                          "ffffffffa3400000 T startup_64\n"
                          "ffffffffa3400000 T _text\n"
                          "ffffffffa3400100 T do_idle\n";
static const char x86_modules[] = "ext4 1011712 1 - Live 0xffffffffc0a21000\n"
                                  "jbd2 100 1 ext4, Live 0xffffffffc0a00000 (E)\n"
                                  "inner 4096 1 - Live 0xffffffffc0a22000\n";
static const char arm64[] = "ffffb5a3c8a10000 T _text\n"
                            "ffffb5a3c8a20000 T _stext\n";
static const char arm64_modules[] = "near 8192 0 - Live 0xffffb5a3c9a10000\n";
static const char arm[] = "c0208000 T _text\n";
static const char arm_modules[] = "low 8192 0 - Live 0xbf000000\n";

static const struct machine {
    const char *kallsyms, *modules, *maps;
} machines[] = {
    {x86, x86_modules,
     "ffffffff81000000-ffffffff85000000 [kernel.kallsyms]_text\n"
     "ffffffff85000000-ffffffff850f7000 [ext4]\n"
     "ffffffff850f8000-ffffffff850f8064 [jbd2]\n"
     "ffffffff850fa000-ffffffff850fb000 [inner]\n"},
    {arm64, arm64_modules,
     "ffff800080000000-ffff800084000000 [kernel.kallsyms]_text\n"
     "ffff800084000000-ffff800084002000 [near]\n"},
    {arm, arm_modules, "c0008000-c4008000 [kernel.kallsyms]_text\nc4008000-c400a000 [low]\n"},
    {"0000000000000000 T _text\n", NULL, ""}, /* the opener cannot see the addresses either */
    {NULL, NULL, ""},
};

struct fixture {
    struct fake_sys *fake;
    struct kernel_view view;
};

static void start(struct fixture *fixture, const struct machine *machine)
{
    fixture->fake = fake_sys_new();
    hide_kernel(fixture->fake, machine->kallsyms, machine->modules);
    kernel_view_init(&fixture->view, &fixture->fake->sys);
}

static void end(struct fixture *fixture)
{
    kernel_view_done(&fixture->view);
    fake_sys_free(fixture->fake);
}

static void show_map(void *userdata, const struct kernel_map *map)
{
    buffer_appendf(userdata, "%llx-%llx %s\n", (unsigned long long)map->start, (unsigned long long)map->end, map->name);
}

static void check_maps(struct kernel_view *view, const char *expected)
{
    struct buffer maps = {0};

    kernel_view_each(view, show_map, &maps);
    _cleanup_(freep) char *text = buffer_string(&maps);
    assert_string_equal(text ? text : "", expected);
}

TEST(test_hidden_maps)
{
    struct fixture fixture;

    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        start(&fixture, &machines[i]);
        assert_false(fixture.view.open);
        check_maps(&fixture.view, machines[i].maps);
        end(&fixture);
    }
}

static const struct {
    size_t machine;
    bool kernel;
    uint64_t in, out;
} addresses[] = {
    {0, true, 0xffffffffa3400000, 0xffffffff81000000},
    {0, true, 0xffffffffa3400123, 0xffffffff81000123},
    {0, true, 0xffffffffa73fffff, 0xffffffff84ffffff},
    {0, true, 0xffffffffa7400000, KERNEL_VIEW_UNKNOWN},
    {0, true, 0xffffffffa33fffff, KERNEL_VIEW_UNKNOWN},
    {0, true, 0xffffffffc0a21010, 0xffffffff85000010},
    {0, true, 0xffffffffc0a00010, 0xffffffff850f8010},
    {0, true, 0xffffffffc0a22010, 0xffffffff850fa010}, /* two modules contain this address; the inner one is used */
    {0, true, 0xfffffe0000001000, KERNEL_VIEW_UNKNOWN},
    {0, true, 0xffff888100000000, KERNEL_VIEW_UNKNOWN},
    {0, true, 0x401000, KERNEL_VIEW_UNKNOWN_32},
    {0, false, 0x401000, 0x401000},
    {0, false, 0x7fffffffffff, 0x7fffffffffff},
    {0, false, 0xffffffffa3400123, KERNEL_VIEW_UNKNOWN},
    {0, false, 0xffffffffff600010, 0xffffffffff600010}, /* vsyscall */
    {1, true, 0xffffb5a3c8a10010, 0xffff800080000010},
    {1, true, 0xffffb5a3c9a10010, 0xffff800084000010},
    {1, true, 0xffffb5a3c9a12010, KERNEL_VIEW_UNKNOWN},
    {2, true, 0xc0208010, 0xc0008010},
    {2, true, 0xbf000010, 0xc4008010},
    {2, true, 0xbe000010, KERNEL_VIEW_UNKNOWN_32},
    {2, false, 0xbe000010, 0xbe000010},
    {3, true, 0xffffffffa3400123, KERNEL_VIEW_UNKNOWN},
    {4, true, 0xffffffffa3400123, KERNEL_VIEW_UNKNOWN},
};

TEST(test_addresses)
{
    struct fixture fixture;

    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        start(&fixture, &machines[addresses[i].machine]);
        uint64_t shown = kernel_view_address(&fixture.view, addresses[i].kernel, addresses[i].in);
        if (shown != addresses[i].out)
            print_message("%llx\n", (unsigned long long)addresses[i].in);
        assert_int_equal(shown, addresses[i].out);
        assert_int_equal(kernel_view_hides(&fixture.view, addresses[i].kernel, addresses[i].in),
                         addresses[i].kernel || addresses[i].in == 0xffffffffa3400123);
        end(&fixture);
    }
    assert_int_equal(kernel_view_address(NULL, true, 0xffffffffa3400000), KERNEL_VIEW_UNKNOWN);
    assert_int_equal(kernel_view_address(NULL, false, 0x401000), 0x401000);
}

/* Addresses that the kernel shows to this process are not hidden. */
TEST(test_open)
{
    static const struct machine open_machines[] = {
        {x86, "ext4 4096 1 - Live 0xffffffffc0a21000\n",
         "ffffffffa3400000-ffffffffa7400000 [kernel.kallsyms]_text\n"
         "ffffffffc0a21000-ffffffffc0a22000 [ext4]\n"},
        {"ffff800008000000 t _head\nffff800008010000 T _stext\n", "",
         "ffff800008010000-ffff80000c010000 [kernel.kallsyms]_stext\n"},
        {"ffff800008000000 T _text\nffff800008010000 T _stext\n", "",
         "ffff800008000000-ffff80000c000000 [kernel.kallsyms]_text\n"},
        {" T _text\n", "", ""},
        {"", "", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(open_machines); i++) {
        struct fixture fixture = {.fake = fake_sys_new()};
        fake_file(fixture.fake, "/proc/kallsyms", "%s", open_machines[i].kallsyms);
        fake_file(fixture.fake, "/proc/modules", "%s", open_machines[i].modules);
        kernel_view_init(&fixture.view, &fixture.fake->sys);
        check_maps(&fixture.view, open_machines[i].maps);
        if (open_machines[i].kallsyms == x86) {
            assert_true(fixture.view.open);
            assert_false(kernel_view_hides(&fixture.view, true, 0xffffffffa3400123));
            assert_int_equal(kernel_view_address(&fixture.view, true, 0xfffffe0000001000), 0xfffffe0000001000);
        }
        end(&fixture);
    }
}

TEST_MAIN(NULL, NULL)
