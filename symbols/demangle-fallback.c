/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces demangle.c if perfcountd is built without libiberty: see demangle.h. */
#include "symbols/demangle.h"

const char *demangle_built(void)
{
    return "no";
}

bool demangle(const char *name, char *ret_text, size_t size)
{
    (void)name;
    (void)ret_text;
    (void)size;
    return false;
}
