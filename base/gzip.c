/* SPDX-License-Identifier: Apache-2.0 */
#include "base/gzip.h"

#include <libdeflate.h>

#include "base/cleanup.h"

/*
 * Measured once for 1,000 series (71 kB): level 1 takes 0.22 ms and yields 9.1 kB, level 2 takes 0.39 ms and yields 8.9
 * kB, level 6 takes 0.83 ms and yields 8.2 kB. A level 1 compressor uses 0.2 MB, the others 0.67 MB. Allocating a
 * compressor for each call costs a few microseconds, because the heap retains that much memory (cmd/main.c).
 */
#define LEVEL 1

int gzip_prepare(struct gzip *gzip, size_t size)
{
    *gzip = (struct gzip){0};
    /*
     * The compressor is allocated after the result, which lives longer, so that freeing the compressor leaves no hole
     * in the heap.
     */
    if (buffer_reserve(&gzip->compressed, libdeflate_gzip_compress_bound(NULL, size)) &&
        (gzip->compressor = libdeflate_alloc_compressor(LEVEL)))
        return 0;
    gzip_done(gzip);
    return -ENOMEM;
}

int gzip_run(struct gzip *gzip, const struct buffer *content)
{
    struct buffer *to = &gzip->compressed;

    to->size = libdeflate_gzip_compress(gzip->compressor, content->data, content->size, to->data, to->capacity);
    return to->size ? 0 : -ENOMEM;
}

void gzip_take(struct gzip *gzip, struct buffer *content)
{
    buffer_trim(&gzip->compressed);
    buffer_done(content);
    *content = gzip->compressed;
    gzip->compressed = (struct buffer){0};
}

void gzip_done(struct gzip *gzip)
{
    if (gzip->compressor)
        libdeflate_free_compressor(gzip->compressor);
    buffer_done(&gzip->compressed);
    *gzip = (struct gzip){0};
}

int gzip_compress(struct buffer *buffer)
{
    _cleanup_(gzip_done) struct gzip gzip;

    int r = gzip_prepare(&gzip, buffer->size);
    if (r == 0)
        r = gzip_run(&gzip, buffer);
    if (r == 0)
        gzip_take(&gzip, buffer);
    return r;
}

DEFINE_CLEANUP(struct libdeflate_decompressor *, libdeflate_free_decompressor);

int gzip_decode(struct buffer *buffer, const void *compressed, size_t size, size_t full_size)
{
    _cleanup_(libdeflate_free_decompressorp) struct libdeflate_decompressor *decompressor =
        libdeflate_alloc_decompressor();
    char *room = buffer_reserve(buffer, full_size);

    if (!decompressor || !room)
        return -ENOMEM;
    if (libdeflate_gzip_decompress(decompressor, compressed, size, room, full_size, NULL) != LIBDEFLATE_SUCCESS)
        return -EBADMSG;
    buffer_advance(buffer, full_size);
    return 0;
}
