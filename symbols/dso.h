/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that processes have mapped, each once even if many map it, and their tables of symbols. The symboliser
 * makes a table when an address of the file is resolved. If there is no room for all tables, the least recently used
 * one is given up: see images_set_room().
 */
#ifndef SYMBOLS_DSO_H
#define SYMBOLS_DSO_H

#include <sys/queue.h>

#include "perf/sys.h"
#include "symbols/symboliser.h"

#define IMAGES_TABLES_MAX ((size_t)6 << 20) /* bytes, without the kernel's table */

struct images;

enum image_state {
    IMAGE_ABSENT,  /* its table was not needed yet, was given up, or will be made later */
    IMAGE_PENDING, /* the symboliser makes its table */
    IMAGE_READY,
    IMAGE_BAD, /* it has no symbols, and never will */
};

/* Two mappings with equal keys are of the same file. */
struct image_key {
    const char *file;
    uint32_t major, minor;
    uint64_t inode; /* 0: not known */
    const unsigned char *build_id;
    size_t build_id_size;
    uint32_t jit_pid; /* not a file, but the functions that this process made at run time; 0: a file */
};

struct image {
    struct images *images;
    unsigned references;
    char *file;
    uint32_t major, minor;
    uint64_t inode;
    uint32_t jit_pid;
    uint64_t seen_inode, seen_size; /* of the list of functions that was read last */
    unsigned char build_id[BUILD_ID_MAX];
    size_t build_id_size;
    enum image_state state;
    uint64_t retry_ns; /* its table is not made (again) before this time */
    bool pinned;       /* its table is never given up, nor counted: the kernel's */
    struct symbol_table table;
    LIST_ENTRY(image) bucket;
    TAILQ_ENTRY(image) use; /* while it has a table, unless pinned */
    struct image_number {
        uint64_t offset;
        unsigned number;
    } * numbers;
    size_t n_numbers;
};

int images_new(struct sys *sys, sd_event *event, struct images **ret);
/* No references to images may be left. */
struct images *images_free(struct images *images);

/* A reference to the image of this key, which is made if it is not known. NULL when out of memory. */
struct image *image_get(struct images *images, const struct image_key *key);
static inline struct image *image_ref(struct image *image)
{
    image->references++;
    return image;
}
struct image *image_unref(struct image *image);

/* The number of the image at this offset: see struct mapping. */
unsigned image_number(struct image *image, uint64_t offset);

/* Whether image_load() would do something now. */
bool image_needs_load(const struct image *image);
/*
 * Has the symboliser make the table, or make it again if the list of functions has changed. A file that cannot be
 * opened now is tried again later; that is also so where `file->fd` is -1 with FIND_NOTHING.
 */
void image_load(struct image *image, const struct symboliser_file *file);
/* After image_load(): whether the table is being made, or will be when there is room for it. */
static inline bool image_is_awaited(const struct image *image)
{
    return image->state == IMAGE_PENDING || (image->state == IMAGE_ABSENT && !image->retry_ns);
}
/* The table, NULL if it is not there. Counts as use. */
const struct symbol_table *image_table(struct image *image);

/* `loaded` is called from the event loop whenever the symboliser has answered. */
void images_when_loaded(struct images *images, void (*loaded)(void *userdata), void *userdata);
bool images_pending(const struct images *images);
/* Bytes of memory for the images without their tables. */
size_t images_bytes(const struct images *images);
/*
 * The bytes of memory that the tables of files and the process that makes them may take together, besides the limit
 * above. Small tables always have room.
 */
void images_set_room(struct images *images, size_t room);
/* Whether a table misses symbols of its file, since there was no room for them. */
bool images_were_cut(const struct images *images);
/* Whether files of some user hang, and are left alone. */
bool images_have_hung(const struct images *images);
/* Whether the last table could not be made, for a reason that is not its file's format or size. */
bool images_have_failed(const struct images *images);
/* Changes when a table is given up: names that were borrowed before may be gone. */
uint64_t images_generation(const struct images *images);
/* Whether the symboliser has no libdw; whether it could not be jailed, and reads nothing. */
bool images_library_is_missing(const struct images *images);
bool images_symboliser_is_unconfined(const struct images *images);
/* The symboliser of these images, which also reads the mappings of processes. It stays theirs. */
struct symboliser *images_symboliser(const struct images *images);
/* See symboliser_set_child(). */
void images_set_child(struct images *images, struct child *child);

#endif
