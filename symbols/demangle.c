/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ and Rust, by libiberty, which limits its recursion, and allocates nothing for C++. See demangle.h. */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>

/*
 * A name of Rust's newer kind ("_R") may refer back to a part that it is in itself. libiberty/rust-demangle.c follows
 * that without end in GCC before 12 (CVE-2021-46195): there, names that may refer back ('B') stay as they are.
 */
static bool is_endless(const char *name)
{
    return !DEMANGLE_LIMITS_RUST && str_starts(name, "_R") && strchr(name, 'B');
}

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

    if (n > 0) /* an empty part may be NULL: the name of a crate has none */
        memcpy(text->data + text->used, part, n);
    text->used += n;
}

/* GCC before 12 does not know a suffix of the compiler (".llvm.") behind such a name, which itself has no stop. */
static const char *stem_of(const char *name, char stem[static DEMANGLE_SIZE_MAX])
{
    if (!str_starts(name, "_R"))
        return name;
    size_t size = strcspn(name, ".");
    memcpy(stem, name, size);
    stem[size] = '\0';
    return stem;
}

bool demangle(const char *name, char *ret_text, size_t size)
{
    /* Rust first: its legacy names are valid names of C++ as well. */
    char stem[DEMANGLE_SIZE_MAX];
    static int (*const languages[])(const char *name, int options, demangle_callbackref callback,
                                    void *userdata) = {rust_demangle_callback, cplus_demangle_v3_callback};

    if (name[0] != '_' || strnlen(name, DEMANGLE_SIZE_MAX) == DEMANGLE_SIZE_MAX || is_endless(name))
        return false;
    name = stem_of(name, stem);
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
