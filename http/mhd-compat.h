/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are missing from libmicrohttpd 0.9.72, the oldest supported version. */
#ifndef HTTP_MHD_COMPAT_H
#define HTTP_MHD_COMPAT_H

#include <microhttpd.h>

#include "base/util.h"

/* Added in libmicrohttpd 0.9.74; older versions use the status name of RFC 7231. */
#ifndef MHD_HTTP_CONTENT_TOO_LARGE
#define MHD_HTTP_CONTENT_TOO_LARGE MHD_HTTP_PAYLOAD_TOO_LARGE
#endif

/*
 * Added in libmicrohttpd 0.9.72.07. Older versions do not use ALPN, so there is nothing to disable, and this value just
 * ends the option list.
 */
#if MHD_VERSION < 0x00097207
#define MHD_OPTION_TLS_NO_ALPN MHD_OPTION_END
#endif

/* The option that makes a libmicrohttpd daemon reject malformed requests; renamed in libmicrohttpd 0.9.77.01. */
#if MHD_VERSION >= 0x00097701
#define HEAD_CHECK_STRICT MHD_OPTION_CLIENT_DISCIPLINE_LVL
#else
#define HEAD_CHECK_STRICT MHD_OPTION_STRICT_FOR_CLIENT
#endif

/* Added in libmicrohttpd 0.9.73.02. With older versions, the data are copied block by block. */
#if MHD_VERSION < 0x00097302
#define SHARED_BLOCK_SIZE ((size_t)64 * 1024)

struct shared_content {
    const char *data;
    size_t size;
    void (*free)(void *userdata);
    void *userdata;
};

static inline ssize_t shared_content_read(void *userdata, uint64_t position, char *buffer, size_t size)
{
    const struct shared_content *content = userdata;
    size_t n = MIN(size, content->size - (size_t)position);

    memcpy(buffer, content->data + position, n);
    return (ssize_t)n;
}

static inline void shared_content_free(void *userdata)
{
    struct shared_content *content = userdata;

    content->free(content->userdata);
    free(content);
}

static inline struct MHD_Response *
MHD_create_response_from_buffer_with_free_callback_cls(size_t size, const void *data, void (*on_free)(void *userdata),
                                                       void *userdata)
{
    struct shared_content *content = malloc(sizeof(*content));
    struct MHD_Response *response = NULL;

    if (!content)
        return NULL;
    *content = (struct shared_content){data, size, on_free, userdata};
    response = MHD_create_response_from_callback(size, MIN(MAX(size, 1), SHARED_BLOCK_SIZE), shared_content_read,
                                                 content, shared_content_free);
    if (!response)
        free(content);
    return response;
}
#endif

#endif
