/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates a kernel that hides its addresses from this process, but not from an opener. */
#ifndef TESTS_UNIT_HIDDEN_KERNEL_H
#define TESTS_UNIT_HIDDEN_KERNEL_H

#include <limits.h>
#include <stdio.h>

#include "tests/unit/fake-sys.h"
#include "tests/unit/wrap-calls.h"

/* Zeroes all addresses in the text of kallsyms or modules, as the kernel does for unprivileged processes. */
static inline void hide_addresses(char *text)
{
    for (char *at = text; *at; at++) {
        bool at_start = at == text || at[-1] == '\n', behind_x = at > text + 1 && at[-1] == 'x' && at[-2] == '0';
        if (at_start || behind_x)
            for (; *at && strchr("0123456789abcdef", *at); at++)
                *at = '0';
        if (!*at)
            return;
    }
}

static inline int ask_opener(struct sys *sys, const char *path, int flags)
{
    char asked[PATH_MAX];

    snprintf(asked, sizeof(asked), "/asked%s", path);
    int fd = sys_own_open_file(sys, asked, flags);
    return fd == -ENOENT ? sys_own_open_file(sys, path, flags) : fd;
}

/* `kallsyms` and `modules` are the texts that the opener reads; with NULL, the file does not exist. */
static inline void hide_kernel(struct fake_sys *fake, const char *kallsyms, const char *modules)
{
    const struct {
        const char *path, *text;
    } files[] = {{"/proc/kallsyms", kallsyms}, {"/proc/modules", modules}};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        if (!files[i].text)
            continue;
        char hidden[4096], asked[64];
        snprintf(hidden, sizeof(hidden), "%s", files[i].text);
        hide_addresses(hidden);
        snprintf(asked, sizeof(asked), "/asked%s", files[i].path);
        fake_file(fake, files[i].path, "%s", hidden);
        fake_file(fake, asked, "%s", files[i].text);
    }
    wrap_calls(&fake->sys, (struct sys_calls){.open_file = ask_opener});
}

#endif
