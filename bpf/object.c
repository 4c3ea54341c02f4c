/* SPDX-License-Identifier: Apache-2.0 */
/* The object is in the daemon compressed, since it is seldom needed, and for a moment only. */
#include "bpf/object.h"

#include <errno.h>
#include <libdeflate.h>

#include "base/cleanup.h"
#include TALLY_OBJECT

DEFINE_CLEANUP(struct libdeflate_decompressor *, libdeflate_free_decompressor);

int tally_object_make(void **ret, size_t *ret_size)
{
    _cleanup_(libdeflate_free_decompressorp) struct libdeflate_decompressor *decompressor =
        libdeflate_alloc_decompressor();
    _cleanup_(freep) void *object = malloc(OBJECT_SIZE);

    if (!decompressor || !object ||
        libdeflate_gzip_decompress(decompressor, compressed, sizeof(compressed), object, OBJECT_SIZE, NULL) !=
            LIBDEFLATE_SUCCESS)
        return -ENOMEM;
    *ret = steal(object);
    *ret_size = OBJECT_SIZE;
    return 0;
}
