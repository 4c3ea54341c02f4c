/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/board.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#define DMI "/sys/class/dmi/id"

/* Maximum size of each file, in bytes. */
#define FILE_MAX 4096

/*
 * Documentation/ABI/testing/sysfs-firmware-ofw asks programs to use the path in /proc, a symbolic link to the one in
 * /sys. The link is missing if /proc is mounted with subset=pid.
 */
static const char *const trees[] = {"/proc/device-tree", "/sys/firmware/devicetree/base"};

/* Whether the error is permanent, so that another read would fail in the same way. */
static bool is_lasting(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -EFBIG;
}

/* If the board does not have the file, returns 0 and leaves *ret_text unchanged. */
static int read_file(struct sys *sys, const char *directory, const char *name, char **ret_text, size_t *ret_size)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    _cleanup_(closep) int fd = sys_open_file(sys, path, 0);
    int r = fd < 0 ? fd : file_read_fd(fd, FILE_MAX, ret_text, ret_size);
    return is_lasting(r) ? 0 : r;
}

/* Copies a name without the white space around it. */
static void copy_name(char *to, size_t room, const char *text, size_t size)
{
    while (size && strchr(" \t\n", text[size - 1]))
        size--;
    while (size && strchr(" \t\n", *text)) {
        text++;
        size--;
    }
    utf8_copy_printable(to, room, text, size);
}

/*
 * Copies one string of a device tree property, in which each string ends with a NUL. `which` is the string's index; if
 * there are fewer strings, the last one is copied.
 */
static void copy_string(char *to, size_t room, const char *text, size_t size, size_t which)
{
    const char *end = memchr(text, '\0', size);

    for (; which > 0 && end && end + 1 < text + size; which--) {
        size -= (size_t)(end + 1 - text);
        text = end + 1;
        end = memchr(text, '\0', size);
    }
    copy_name(to, room, text, end ? (size_t)(end - text) : size);
}

/*
 * `compatible` lists names from the most specific, the board, to the most general, the chip (Devicetree Specification).
 */
static int load_tree(struct sys *sys, const char *tree, struct board *board)
{
    _cleanup_(freep) char *model = NULL, *compatible = NULL;
    size_t size = 0;

    int r = read_file(sys, tree, "model", &model, &size);
    if (model)
        copy_string(board->model, sizeof(board->model), model, size, 0);
    if (r == 0)
        r = read_file(sys, tree, "compatible", &compatible, &size);
    if (compatible)
        copy_string(board->soc, sizeof(board->soc), compatible, size, SIZE_MAX);
    return r;
}

/* Copies the text of a file, or "" if there is no file. Returns -ENODATA if the file is empty. */
static int load_name(struct sys *sys, const char *directory, const char *file, char name[BOARD_NAME_SIZE])
{
    _cleanup_(freep) char *text = NULL;
    size_t size = 0;

    int r = read_file(sys, directory, file, &text, &size);
    copy_name(name, BOARD_NAME_SIZE, text ? text : "", text ? strnlen(text, size) : 0);
    return text && size == 0 ? -ENODATA : r;
}

/* Virtual machines often have a product name and no board name. */
static int load_dmi(struct sys *sys, struct board *board)
{
    char vendor[BOARD_NAME_SIZE], name[BOARD_NAME_SIZE], both[2 * BOARD_NAME_SIZE];

    int r = load_name(sys, DMI, "board_vendor", vendor);
    if (r == 0)
        r = load_name(sys, DMI, "board_name", name);
    if (r == 0 && !name[0])
        r = load_name(sys, DMI, "product_name", name);
    if (r < 0)
        return r;
    int n = snprintf(both, sizeof(both), "%s%s%s", vendor, vendor[0] && name[0] ? " " : "", name);
    utf8_copy_printable(board->model, sizeof(board->model), both, (size_t)n);
    return 0;
}

int board_load(struct sys *sys, struct board *ret)
{
    struct board board = {0};
    struct utsname name;
    int r = uname(&name) < 0 ? -errno : 0;

    if (r == 0)
        copy_name(board.kernel, sizeof(board.kernel), name.release, strlen(name.release));
    for (size_t i = 0; r == 0 && !board.model[0] && !board.soc[0] && i < ARRAY_SIZE(trees); i++)
        r = load_tree(sys, trees[i], &board);
    if (r == 0 && !board.model[0] && !board.soc[0])
        r = load_dmi(sys, &board);
    if (r == 0)
        *ret = board;
    return r;
}
