/* SPDX-License-Identifier: Apache-2.0 */
/* Records that tests write field by field, and decode cut short at every length and with every word changed. */
#ifndef TESTS_UNIT_BUILD_RECORD_H
#define TESTS_UNIT_BUILD_RECORD_H

#include "perf/record.h"

/* Constants that are newer than some kernel headers. */
#define SAMPLE_DATA_PAGE_SIZE (UINT64_C(1) << 22)
#define SAMPLE_CODE_PAGE_SIZE (UINT64_C(1) << 23)
#define SAMPLE_WEIGHT_STRUCT (UINT64_C(1) << 24)
#define SAMPLE_ALL ((UINT64_C(1) << 25) - 1)
#define FORMAT_LOST (UINT64_C(1) << 4)
#define FORMAT_ALL ((UINT64_C(1) << 5) - 1)
#define BRANCH_COUNTERS (UINT64_C(1) << 19)
#define MISC_BUILD_ID (1 << 14)

#define BUILT_MAX 4096

struct built {
    _Alignas(8) unsigned char bytes[BUILT_MAX];
    size_t size;
};

/* The header; set_record_size() sets its size at the end. */
void start_record(struct built *built, uint32_t type, uint16_t misc);
void built_bytes(struct built *built, const void *bytes, size_t size);
void put8(struct built *built, uint64_t value);
void put4(struct built *built, uint32_t value);
void put2(struct built *built, uint16_t value);
/* `n` words: first, first + 1, ... */
void put_array(struct built *built, size_t n, uint64_t first);
/* `size` bytes that are all `byte`. */
void put_filled(struct built *built, size_t size, int byte);
/* With its NUL, padded to the next multiple of 8. */
void built_text(struct built *built, const char *text);
/* The trailer behind the body of all records but samples. */
void put_trailer(struct built *built, uint64_t sample_type);
/* Asserts that it is the one of put_trailer(). */
void check_id(const struct record_id *id, uint64_t sample_type);
void set_record_size(void *bytes, size_t size);

/* A copy that ends where the memory ends; the caller frees it. */
void *exact_copy(const void *bytes, size_t size);
/* Decodes, reads everything that was decoded, and returns the result of record_decode(). */
int try_decode(const void *bytes, size_t size, const struct record_layout *layout);
/* Decoding changed bytes is -EBADMSG or well, and reads nothing outside. `tight`: every byte is needed. */
void try_cut_and_lies(const struct built *built, const struct record_layout *layout, bool tight);

#endif
