/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of a pprof profile, and what packs them: see pprof-schema.h.
 *
 * Descriptors are data, but protoc-c adds to them functions that call the library, so to compile these as they are
 * would be to link it. Nobody calls them: here they call nothing.
 */
#include "formats/pprof-schema.h"

#include <dlfcn.h>

static const char no_text[] = "";

#define protobuf_c_message_get_packed_size(message) ((void)(message), (size_t)0)
#define protobuf_c_message_pack(message, out) ((void)(message), (void)(out), (size_t)0)
#define protobuf_c_message_pack_to_buffer(message, buffer) ((void)(message), (void)(buffer), (size_t)0)
#define protobuf_c_message_unpack(descriptor, allocator, size, data)                                                   \
    ((void)(allocator), (void)(size), (void)(data), NULL)
#define protobuf_c_message_free_unpacked(message, allocator) ((void)(message), (void)(allocator))
#define protobuf_c_empty_string no_text[0]
#include "formats/profile.pb-c.c"

int pprof_load(pprof_pack *ret, struct error *error)
{
    void *handle = dlopen("libprotobuf-c.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (!handle)
        return error_set(error, -ENOSYS,
                         "libprotobuf-c, which writes pprof, cannot be loaded (%s); install the package "
                         "libprotobuf-c1",
                         dlerror());
    void *function = dlsym(handle, "protobuf_c_message_pack_to_buffer");
    dlclose(handle);
    if (!function)
        return error_set(error, -ENOSYS,
                         "libprotobuf-c, which writes pprof, is of a version that is not understood: it has no "
                         "protobuf_c_message_pack_to_buffer()");
    memcpy(ret, &function, sizeof(function));
    return 0;
}
