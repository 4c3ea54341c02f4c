/* SPDX-License-Identifier: Apache-2.0 */
/* A real reader of state files, on a machine that has docker's directory and nothing else. */
#ifndef TESTS_UNIT_READER_RIG_H
#define TESTS_UNIT_READER_RIG_H

#include "collectors/names/reader/reader.h"
#include "collectors/names/record.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct reader_rig {
    char root[32];
    struct sys sys;
    struct name_reader reader;
};

/* Of a test: *state is the rig. */
int reader_rig_setup(void **state);
int reader_rig_teardown(void **state);

/* Sends a request for ID. The file stays the caller's. */
void reader_rig_ask(struct reader_rig *rig, uint64_t ticket, uint32_t place, int file);
/* The next packet, which has no descriptor and nothing of "secret". Its size; 0 at the end of the reader. */
size_t reader_rig_hear(struct reader_rig *rig, struct name_record *ret);
void reader_rig_hear_last(struct reader_rig *rig, uint64_t ticket, int error);

/* Files without a name: of any content, and of a store of `n` containers "c0" and so on. */
int reader_rig_make_file(const char *content, size_t size);
int reader_rig_make_store(size_t n);
uint32_t reader_rig_place_of_store(void);
uint64_t reader_rig_version(int fd);

/* Asserts that the names in a file of docker's leave, with its version. */
void reader_rig_reads(struct reader_rig *rig, uint64_t ticket);

#endif
