/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that processes have mapped, each once, whoever maps it; and the symbols of those of which an address was
 * asked for. Tables are loaded on demand by the symboliser, and the least recently used is given up where there is no
 * room for all of them: see images_set_room().
 */
#ifndef SYMBOLS_IMAGE_H
#define SYMBOLS_IMAGE_H

#include "perf/sys.h"
#include "symbols/symboliser/symboliser.h"

#define IMAGES_TABLES_MAX ((size_t)6 << 20) /* the kernel's comes on top */

struct images;

enum image_state {
    IMAGE_ABSENT,  /* not asked for, given up, or to be asked for again later */
    IMAGE_PENDING, /* the symboliser has it */
    IMAGE_READY,
    IMAGE_BAD, /* it has no symbols, and will not have */
};

/* What makes two mappings those of the same file. */
struct image_key {
    const char *file;
    uint32_t major, minor;
    uint64_t inode; /* 0: not known */
    const unsigned char *build_id;
    size_t build_id_size;
    uint32_t jit_pid; /* whose functions made at run time are meant, and no file; 0: none's */
};

struct image {
    struct images *images;
    unsigned references;
    char *file;
    uint32_t major, minor;
    uint64_t inode;
    uint32_t jit_pid;
    uint64_t jit_inode, jit_size; /* of the list that was read */
    unsigned char build_id[BUILD_ID_MAX];
    size_t build_id_size;
    enum image_state state;
    uint64_t retry_ns; /* while ABSENT, and of a list that grows: not before */
    bool pinned;       /* its table stays and is not counted: the kernel's, which is always in use */
    struct symbol_table table;
    struct image *next_in_bucket, *newer, *older; /* newer and older of those with a table */
    struct image_number {
        uint64_t offset;
        unsigned number;
    } * numbers;
    size_t n_numbers;
};

int images_new(struct sys *sys, sd_event *event, struct images **ret);
/* Who still refers to an image has to have let go before. */
struct images *images_free(struct images *images);

/* A reference, to an image that is new or known. NULL when out of memory. */
struct image *image_get(struct images *images, const struct image_key *key);
static inline struct image *image_ref(struct image *image)
{
    image->references++;
    return image;
}
struct image *image_unref(struct image *image);

/* The number of the file mapped at `offset`: see struct mapping. */
unsigned image_number(struct image *image, uint64_t offset);

/* Whether image_load() would do something now. */
bool image_is_wanted(const struct image *image);
/* Has the symboliser make the table, anew where it is that of a list that grew; takes `fd`; -1: the file cannot be
 * opened now, to be tried later. */
void image_load(struct image *image, enum symboliser_kind kind, int fd);
/* The table, where it is there; counts as use. */
const struct symbol_table *image_table(struct image *image);

/* Called from the event loop whenever a file has been dealt with. */
void images_when_loaded(struct images *images, void (*loaded)(void *userdata), void *userdata);
bool images_pending(const struct images *images);
/* Bytes of names and identities; those of tables. */
size_t images_bytes(const struct images *images);
size_t images_table_bytes(const struct images *images);
/*
 * Bytes of memory that the tables of files and the process that makes them may take together, whatever the limits above
 * are; small ones have room always.
 */
void images_set_room(struct images *images, size_t room);
/* Whether a file has not all of its symbols, since there was no room for them. */
bool images_were_cut(const struct images *images);
/* Another one since a table was given up: names borrowed before may have gone. */
uint64_t images_generation(const struct images *images);
/* Whether the symboliser said so. */
bool images_library_is_missing(const struct images *images);
bool images_symboliser_is_unconfined(const struct images *images);
pid_t images_symboliser_pid(const struct images *images);

#endif
