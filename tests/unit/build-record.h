/* SPDX-License-Identifier: Apache-2.0 */
/* Tests build perf records field by field, then decode them truncated to every length and with every word changed. */
#ifndef TESTS_UNIT_BUILD_RECORD_H
#define TESTS_UNIT_BUILD_RECORD_H

#include "perf/record.h"

/* Constants that some kernel headers lack. */
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

/* Starts a record with its header, whose size set_record_size() fills in at the end. */
void start_record(struct built *built, uint32_t type, uint16_t misc);
void built_bytes(struct built *built, const void *bytes, size_t size);
void put8(struct built *built, uint64_t value);
void put4(struct built *built, uint32_t value);
void put2(struct built *built, uint16_t value);
/* Appends `n` 64-bit words: first, first + 1, ... */
void put_array(struct built *built, size_t n, uint64_t first);
/* Appends `size` bytes with the value `byte`. */
void put_filled(struct built *built, size_t size, int byte);
/* Appends the string with its NUL, padded to the next multiple of 8 bytes. */
void built_text(struct built *built, const char *text);
/* Appends the trailer that all records other than samples have (sample_id_all). */
void put_trailer(struct built *built, uint64_t sample_type);
/* Asserts that `id` has the values that put_trailer() writes. */
void check_id(const struct record_id *id, uint64_t sample_type);
void set_record_size(void *bytes, size_t size);

/*
 * Returns a copy in a heap block of exactly `size` bytes, so that a sanitizer detects reads past its end. The caller
 * frees it.
 */
void *exact_copy(const void *bytes, size_t size);
/* Decodes a record and reads everything that it points to. Returns the result of record_decode(). */
int try_decode(const void *bytes, size_t size, const struct record_layout *layout);
/*
 * Checks that truncated and altered records are either decoded or refused with -EBADMSG, without reads outside the
 * record. `tight`: the record cannot be even one word shorter.
 */
void try_cut_and_lies(const struct built *built, const struct record_layout *layout, bool tight);

#endif
