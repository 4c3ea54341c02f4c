/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that release their resource when they go out of scope.
 *
 * For a heap type T, DEFINE_CLEANUP(T *, t_free) defines t_freep(), which skips NULL:
 *
 *     _cleanup_(t_freep) T *t = NULL;
 *
 * An embedded type with `void t_done(T *)` needs no definition:
 *
 *     _cleanup_(t_done) T t = {0};
 *
 * steal() and steal_fd() return the pointer or descriptor and leave NULL or -1 in the variable, so that it survives the
 * scope.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

#define DEFINE_CLEANUP(type, func)                                                                                     \
    static inline void func##p(type *p)                                                                                \
    {                                                                                                                  \
        if (*p)                                                                                                        \
            func(*p);                                                                                                  \
    }                                                                                                                  \
    struct cleanup_needs_semicolon

static inline void freep(void *p)
{
    free(*(void **)p);
}

static inline void fclosep(FILE **f)
{
    if (*f)
        fclose(*f);
}

static inline void closedirp(DIR **directory)
{
    if (*directory)
        closedir(*directory);
}

static inline void closep(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

#define steal(pointer)                                                                                                 \
    ({                                                                                                                 \
        __typeof__(pointer) *steal_from = &(pointer);                                                                  \
        __typeof__(pointer) stolen = *steal_from;                                                                      \
        *steal_from = NULL;                                                                                            \
        stolen;                                                                                                        \
    })

static inline int steal_fd(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}

#endif
