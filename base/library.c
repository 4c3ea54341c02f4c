/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <dlfcn.h>

static void *library_open(const struct library *library)
{
    void *handle = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(library->files) && library->files[i] && !handle; i++)
        handle = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return handle;
}

static const char *missing_function(const struct library *library, void *handle)
{
    for (size_t i = 0; i < library->n_functions; i++)
        if (!dlsym(handle, library->functions[i].name))
            return library->functions[i].name;
    return NULL;
}

int library_load(const struct library *library, void *ret, struct error *error)
{
    void *handle = library_open(library);

    if (!handle)
        return error_set(error, -ENOSYS, "%s cannot be loaded (%s); install the package %s", library->name, dlerror(),
                         library->package);
    const char *missing = missing_function(library, handle);
    for (size_t i = 0; i < library->n_functions && !missing; i++) {
        void *function = dlsym(handle, library->functions[i].name);
        memcpy((char *)ret + library->functions[i].offset, &function, sizeof(function));
    }
    dlclose(handle);
    return missing ? error_set(error, -ENOSYS, "%s has an unsupported version: it has no function %s()", library->name,
                               missing)
                   : 0;
}
