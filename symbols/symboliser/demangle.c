/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ and Rust, by libiberty, which limits its recursion, and allocates nothing for C++. See demangle.h. */
#include "symbols/symboliser/demangle.h"

#include <libiberty/demangle.h>

struct text {
    char *data;
    size_t size, used;
};

const char *demangle_built(void)
{
    return "yes";
}

static void text_append(const char *part, size_t size, void *userdata)
{
    struct text *text = userdata;
    size_t room = text->size - 1 - text->used, n = MIN(size, room);

    memcpy(text->data + text->used, part, n);
    text->used += n;
}

bool demangle(const char *name, char *ret_text, size_t size)
{
    /* Rust first: its legacy names are valid names of C++ as well. */
    static int (*const languages[])(const char *name, int options, demangle_callbackref callback,
                                    void *userdata) = {rust_demangle_callback, cplus_demangle_v3_callback};

    if (name[0] != '_' || strnlen(name, DEMANGLE_SIZE_MAX) == DEMANGLE_SIZE_MAX)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(languages); i++) {
        char part[DEMANGLE_SIZE_MAX];
        struct text text = {.data = part, .size = MIN(size, sizeof(part))};
        if (languages[i](name, DMGL_NO_OPTS, text_append, &text) && text.used) {
            memcpy(ret_text, part, text.used);
            ret_text[text.used] = '\0';
            return true;
        }
    }
    return false;
}
