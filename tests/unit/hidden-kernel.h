/* SPDX-License-Identifier: Apache-2.0 */
/* A machine whose kernel hides where it is from this process, and says it to an opener. */
#ifndef TESTS_UNIT_HIDDEN_KERNEL_H
#define TESTS_UNIT_HIDDEN_KERNEL_H

#include <limits.h>
#include <stdio.h>

#include "tests/unit/fake-sys.h"
#include "tests/unit/wrap-calls.h"

/* Each address of kallsyms and modules that an opener reads, as the process itself reads it. */
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

/* `kallsyms` and `modules` as an opener reads them; NULL: there is none. */
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
