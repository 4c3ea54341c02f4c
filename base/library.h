/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An optional shared library, loaded when it is first needed: until then it costs no memory, and a machine without it
 * only misses the feature that needs it.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include "base/error.h"

struct library_function {
    const char *name; /* "pfm_initialize" */
    size_t offset;    /* where its pointer goes, in the struct of pointers that is filled */
};

/* What to load, for a const table. All is static. */
struct library {
    const char *name;           /* what a sentence calls it, with what it is for: "libpfm4, which knows such names," */
    const char *package;        /* Debian's package: "libpfm4" */
    const char *const files[4]; /* names for dlopen(3), the best first; the first that loads is used */
    const struct library_function *functions;
    size_t n_functions;
};

/*
 * Fills the pointers of `ret`, a struct that the offsets of the functions belong to. A later call finds the library
 * loaded: it is never unloaded, so the pointers last as long as the process.
 * -ENOSYS, with a sentence that ends in the package to install or the function that is missing; `ret` is then
 * untouched.
 */
int library_load(const struct library *library, void *ret, struct error *error);

#endif
