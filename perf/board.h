/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the machine: the model of its board, its system on a chip, and its kernel release.
 *
 * A device tree names the board and the chip in its root node. On machines without one, the manufacturer's names are in
 * DMI.
 */
#ifndef PERF_BOARD_H
#define PERF_BOARD_H

#include "perf/sys.h"

/* Maximum size of a name in bytes, including the NUL. Longer names are truncated. */
#define BOARD_NAME_SIZE 128

/* Printable UTF-8 (base/text.h); "" if unknown. */
struct board {
    char model[BOARD_NAME_SIZE];  /* "Orange Pi 5" */
    char soc[BOARD_NAME_SIZE];    /* "rockchip,rk3588s": the device tree's name for the chip, or "" */
    char kernel[BOARD_NAME_SIZE]; /* release from uname(2): "5.10.110-rockchip-rk3588" */
};

/*
 * Reads /proc/device-tree, else /sys/class/dmi/id. A file that does not exist, is hidden or is too long counts as "".
 * Returns any other error of open(2) or read(2), which may be temporary; -ENODATA if a file is empty although it never
 * should be; or -ENOMEM.
 */
int board_load(struct sys *sys, struct board *ret);

#endif
