/* SPDX-License-Identifier: Apache-2.0 */
/* Board names, read from the files that each board provides. */
#include "perf/board.h"

#include <sys/utsname.h>

#include "tests/unit/find-series.h"
#include "tests/unit/rig.h"
#include "tests/unit/test.h"

#define TREE "/proc/device-tree/"
#define SYS_TREE "/sys/firmware/devicetree/base/"
#define DMI "/sys/class/dmi/id/"
#define LONG_16 "0123456789abcdef"
#define LONG_128 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16 LONG_16
/* A string constant and its size, since device tree files contain NULs. */
#define TEXT(text) text, sizeof(text) - 1

static const struct {
    struct {
        const char *path, *text;
        size_t size;
    } in[3];
    struct {
        const char *model, *soc;
    } out;
} boards[] = {
    {{{TREE "model", TEXT("Orange Pi 5\0")},
      {TREE "compatible", TEXT("rockchip,rk3588s-orangepi-5\0rockchip,rk3588\0")}},
     {"Orange Pi 5", "rockchip,rk3588"}},
    {{{TREE "model", TEXT("Raspberry Pi 4 Model B Rev 1.4\0")},
      {TREE "compatible", TEXT("raspberrypi,4-model-b\0brcm,bcm2711\0")}},
     {"Raspberry Pi 4 Model B Rev 1.4", "brcm,bcm2711"}},
    {{{SYS_TREE "model", TEXT("FriendlyElec NanoPC-T6\0")},
      {SYS_TREE "compatible", TEXT("friendlyarm,nanopc-t6\0rockchip,rk3588\0")}},
     {"FriendlyElec NanoPC-T6", "rockchip,rk3588"}},
    /* QEMU's machine type `virt`. */
    {{{TREE "compatible", TEXT("linux,dummy-virt\0")}}, {"", "linux,dummy-virt"}},
    /* The device tree takes precedence over DMI, as on a board with EDK2. */
    {{{TREE "model", TEXT("Orange Pi 5\0")}, {DMI "board_name", TEXT("Orange Pi 5 (EDK2)\n")}}, {"Orange Pi 5", ""}},
    {{{DMI "board_vendor", TEXT("ASRockRack\n")},
      {DMI "board_name", TEXT("X570D4U  \n")},
      {DMI "product_name", TEXT("x\n")}},
     {"ASRockRack X570D4U", ""}},
    {{{DMI "product_name", TEXT("Standard PC (Q35 + ICH9, 2009)\n")}}, {"Standard PC (Q35 + ICH9, 2009)", ""}},
    {{{DMI "board_vendor", TEXT("Intel\n")}}, {"Intel", ""}},
    /* Empty files, and files that contain only NULs, yield no name. */
    {.out = {"", ""}},
    {{{TREE "model", TEXT("")}, {TREE "compatible", TEXT("")}}, {"", ""}},
    {{{TREE "model", TEXT("\0")}, {TREE "compatible", TEXT("\0\0\0")}}, {"", ""}},
    {{{TREE "compatible", TEXT("no-end,chip")}}, {"", "no-end,chip"}},
    {{{TREE "compatible", TEXT("a,b\0no-end")}}, {"", "no-end"}},
    /* Control characters and invalid UTF-8 are replaced. */
    {{{TREE "model", TEXT("a\033[2Jb\nc\xff\0")}}, {"a\ufffd[2Jb\ufffdc\ufffd", ""}},
    {{{DMI "board_name", TEXT("a\0b\n")}}, {"a", ""}},
    /* A long name is cut before the first character that does not fit. */
    {{{TREE "model", TEXT(LONG_128 "x\0")}},
     {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde",
      ""}},
};

/* Hides the PMUs from sysfs, as in a container. */
static void hide_pmus(struct fake_sys *fake)
{
    char *directory = strdup(fake_path(fake, "/sys/bus/event_source/devices"));

    assert_non_null(directory);
    assert_int_equal(rename(directory, fake_path(fake, "/hidden")), 0);
    free(directory);
}

static void write_file(struct fake_sys *fake, const char *path, const char *text, size_t size)
{
    fake_file(fake, path, "%s", ""); /* also makes the parent directories */
    FILE *file = fopen(fake_path(fake, path), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

TEST(test_boards)
{
    for (size_t i = 0; i < ARRAY_SIZE(boards); i++) {
        _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_no_pmu();
        struct board board;
        for (size_t k = 0; k < ARRAY_SIZE(boards[i].in) && boards[i].in[k].path; k++)
            write_file(fake, boards[i].in[k].path, boards[i].in[k].text, boards[i].in[k].size);
        assert_int_equal(board_load(&fake->sys, &board), 0);
        assert_string_equal(board.model, boards[i].out.model);
        assert_string_equal(board.soc, boards[i].out.soc);
    }
}

/* A file that is larger than any name is ignored. */
TEST(test_board_of_large_files)
{
    _cleanup_(fake_sys_freep) struct fake_sys *fake = fake_machine_no_pmu();
    char text[5000];
    struct board board;

    memset(text, 'a', sizeof(text));
    write_file(fake, TREE "model", text, sizeof(text));
    write_file(fake, DMI "board_name", TEXT("a board"));
    assert_int_equal(board_load(&fake->sys, &board), 0);
    assert_string_equal(board.model, "a board");
}

/* Returns the value of the series with these labels and the kernel release of this machine. */
static uint64_t board_series(struct rig *rig, const char *model, const char *soc, const char *pmus)
{
    struct utsname name;

    assert_int_equal(uname(&name), 0);
    return series_value(rig_read(rig), "perfcountd_board_info{model=\"%s\",soc=\"%s\",kernel=\"%s\",pmus=\"%s\"}",
                        model, soc, name.release, pmus);
}

/* The series stays the same after a reload. */
TEST(test_board_series)
{
    struct fake_sys *fake = fake_machine_big_little();
    struct rig rig;

    write_file(fake, TREE "model", TEXT("A \"board\"\0"));
    write_file(fake, TREE "compatible", TEXT("b,board\0v,soc\0"));
    rig_init(&rig, fake, "{}");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(board_series(&rig, "A \\\"board\\\"", "v,soc", "armv8_cortex_a55,armv8_cortex_a76"), 1);
        rig_configure(&rig, "collectors: {cpu: {groups: []}}");
    }
    rig_done(&rig);
}

/*
 * A name that is not available yet is read later, and until then there is no series, rather than one with wrong labels.
 */
TEST(test_board_later)
{
    struct fake_sys *fake = fake_machine_no_pmu();
    struct rig rig;

    write_file(fake, DMI "board_name", TEXT(""));
    rig_init(&rig, fake, "{}");
    assert_int_equal(board_series(&rig, "", "", ""), NOT_SHOWN);
    fake_file(fake, DMI "board_name", "a board\n");
    fake_advance(fake, NSEC_PER_SEC);
    assert_int_equal(board_series(&rig, "a board", "", ""), 1);
    rig_done(&rig);
}

/* A virtual machine without files that name the board still has the series. */
RIG_TEST(test_board_unknown, fake_machine_no_pmu, "{}")
{
    assert_int_equal(board_series(*state, "", "", ""), 1);
}

/*
 * If sysfs lists no PMU but hardware events can be opened, the label `pmus` has the same value as the label `pmu` of
 * their series.
 */
TEST(test_board_without_sysfs)
{
    struct fake_sys *fake = fake_machine_two_counters();
    struct rig rig;

    hide_pmus(fake);
    rig_init(&rig, fake, "{}");
    assert_int_equal(board_series(&rig, "", "", "cpu"), 1);
    rig_done(&rig);
}

TEST_MAIN(NULL, NULL)
