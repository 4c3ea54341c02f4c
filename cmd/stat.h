/* SPDX-License-Identifier: Apache-2.0 */
/* A session of `perfcountd stat`, and how its flags want the counts to be shown. */
#ifndef CMD_STAT_H
#define CMD_STAT_H

#include <stdio.h>

#endif
