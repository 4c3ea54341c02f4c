/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers for fuzzers, which read the input as a sequence of choices, and make copies whose bounds AddressSanitizer
 * checks.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#undef NDEBUG
#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* After the end of the input, all bytes that are read are 0. */
struct input {
    const uint8_t *at, *end;
};

static inline size_t input_left(const struct input *input)
{
    return (size_t)(input->end - input->at);
}

static inline void input_copy(struct input *input, void *ret, size_t size)
{
    size_t n = MIN(size, input_left(input));

    memset(ret, 0, size);
    if (n > 0)
        memcpy(ret, input->at, n);
    input->at += n;
}

static inline uint8_t input_byte(struct input *input)
{
    uint8_t byte;

    input_copy(input, &byte, sizeof(byte));
    return byte;
}

static inline uint16_t input_half(struct input *input)
{
    uint16_t half;

    input_copy(input, &half, sizeof(half));
    return half;
}

static inline uint64_t input_word(struct input *input)
{
    uint64_t word;

    input_copy(input, &word, sizeof(word));
    return word;
}

/* Returns an allocation of exactly this size. */
static inline void *copy_exact(const void *data, size_t size)
{
    void *copy = malloc(MAX(size, (size_t)1));

    assert(copy);
    memcpy(copy, data, size);
    return copy;
}

static inline char *copy_text(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);

    assert(text);
    return text;
}

/* Splits the input at the first NUL into two texts; without a NUL, the second one is "". */
static inline char *copy_texts(const uint8_t *data, size_t size, const char **ret_second)
{
    char *text = calloc(size + 2, 1);

    assert(text);
    memcpy(text, data, size);
    *ret_second = text + strlen(text) + 1;
    return text;
}

/* Returns a memory file, positioned at its beginning. */
static inline int make_file(const void *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static inline void make_sockets(int type, int ret[2])
{
    assert(socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ret) == 0);
}

static inline unsigned count_fds(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 128; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

#endif
