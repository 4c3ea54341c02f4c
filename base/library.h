/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Optional shared libraries, loaded when first needed. Until then, they take no memory, and a machine without the
 * library lacks only the features that need it.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include "base/error.h"

struct library_function {
    const char *name; /* "pfm_initialize" */
    size_t offset;    /* offset of the function's pointer in the struct that library_load() fills */
};

/* Describes a library to load; constant. */
struct library {
    const char *name;           /* name and purpose, for an error message: "libpfm4, which knows such names," */
    const char *package;        /* Debian package: "libpfm4" */
    const char *const files[4]; /* file names for dlopen(3), tried in order */
    const struct library_function *functions;
    size_t n_functions;
};

/*
 * Loads the library and fills the function pointers in `ret`. The library is never unloaded, so the pointers stay valid
 * for the life of the process. Returns -ENOSYS, with a message that names the package to install or the missing
 * function; `ret` is then untouched.
 */
int library_load(const struct library *library, void *ret, struct error *error);

#endif
