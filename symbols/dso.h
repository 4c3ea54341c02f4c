/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: the files that processes have mapped, and their symbol tables. Processes that map the same file share one
 * image. The functions that a process compiles at run time are also an image.
 *
 * Images are reference-counted. The symboliser (symbols/symboliser.h) makes a table when an address of the file is
 * first resolved. Table memory is limited, see images_set_room(): the least recently used table is dropped first.
 */
#ifndef SYMBOLS_DSO_H
#define SYMBOLS_DSO_H

#include <sys/queue.h>

#include "perf/sys.h"
#include "symbols/symboliser.h"

#define IMAGES_TABLES_MAX ((size_t)6 << 20) /* bytes of all tables, not counting the kernel's */

struct images;

enum image_state {
    IMAGE_ABSENT,  /* the table was not requested yet, was dropped, or failed and will be retried */
    IMAGE_PENDING, /* the symboliser is making the table */
    IMAGE_READY,
    IMAGE_BAD, /* no table can be made; never retried */
};

/* Mappings with equal keys share an image. */
struct image_key {
    const char *file;
    uint32_t major, minor;
    uint64_t inode; /* 0: unknown; then the build ID identifies the file */
    const unsigned char *build_id;
    size_t build_id_size;
    uint32_t jit_pid; /* the process whose run-time compiled functions this is; 0: a file */
};

struct image {
    struct images *images;
    unsigned references;
    char *file;
    uint32_t major, minor;
    uint64_t inode;
    uint32_t jit_pid;
    uint64_t seen_inode, seen_size; /* file from which the current table was made; detects a changed perf-PID.map */
    unsigned char build_id[BUILD_ID_MAX];
    size_t build_id_size;
    enum image_state state;
    uint64_t retry_ns; /* CLOCK_MONOTONIC; no table is requested earlier; 0: no delay */
    bool pinned;       /* the kernel's image: its table is never dropped for room and is not counted */
    struct symbol_table table;
    LIST_ENTRY(image) bucket;
    TAILQ_ENTRY(image) use; /* in the list only while IMAGE_READY and not pinned */
    struct image_number {
        uint64_t offset;
        unsigned number;
    } * numbers;
    size_t n_numbers;
};

int images_new(struct sys *sys, sd_event *event, struct images **ret);
/* All images must have been released. */
struct images *images_free(struct images *images);

/* Returns a new reference to the image with this key and creates the image if needed. NULL when out of memory. */
struct image *image_get(struct images *images, const struct image_key *key);
static inline struct image *image_ref(struct image *image)
{
    image->references++;
    return image;
}
struct image *image_unref(struct image *image);

/* Returns the `number` of a mapping (struct mapping) of this image at this file offset. */
unsigned image_number(struct image *image, uint64_t offset);

/*
 * Whether to call image_load() now: there is no table, or the functions of a process may have changed; no retry delay
 * is running; and the symboliser's queue has room.
 */
bool image_needs_load(const struct image *image);
/*
 * Requests the table, or a new table if the process's list of functions has changed. To be called only if
 * image_needs_load(). Takes `file->fd`. A file that cannot be opened now is retried after 10 s; for FIND_NOTHING, a
 * negative `file->fd` (-1 or -errno) means that the caller could not open it.
 */
void image_load(struct image *image, const struct symboliser_file *file);
/*
 * After image_needs_load() and image_load(): whether the table is being made, or will be requested once the
 * symboliser's queue has room.
 */
static inline bool image_is_awaited(const struct image *image)
{
    return image->state == IMAGE_PENDING || (image->state == IMAGE_ABSENT && !image->retry_ns);
}
/*
 * Returns the table and marks it as recently used; NULL unless IMAGE_READY. Borrowed until images_set_room() or until
 * the event loop runs again.
 */
const struct symbol_table *image_table(struct image *image);

/* Sets a function to call after each request for a table has finished or failed, also from within image_load(). */
void images_when_loaded(struct images *images, void (*loaded)(void *userdata), void *userdata);
/* Whether any table is being made. */
bool images_pending(const struct images *images);
/* Bytes of memory of all images, without their tables. */
size_t images_bytes(const struct images *images);
/*
 * Limits the bytes of memory that the tables of files and the symboliser's process take together. IMAGES_TABLES_MAX
 * also applies. Any `room` below 3.25 MiB counts as 3.25 MiB, so small tables always fit.
 */
void images_set_room(struct images *images, size_t room);
/* Whether symbols of some file were left out, or a file got no table, for lack of memory. */
bool images_were_cut(const struct images *images);
/* Whether files of some user hung within the last hour and are therefore not read. */
bool images_have_hung(const struct images *images);
/* Whether the last table could not be made for a reason other than the format or size of its file. */
bool images_have_failed(const struct images *images);
/* Changes whenever a table is dropped; pointers into tables are invalid after a change. */
uint64_t images_generation(const struct images *images);
/* Whether libdw could not be loaded. */
bool images_library_is_missing(const struct images *images);
/* Whether the symboliser could not be jailed, so that it reads no files. */
bool images_symboliser_is_unconfined(const struct images *images);
/* The symboliser, which also reads the mappings of processes (symbols/proc.h). Owned by `images`. */
struct symboliser *images_symboliser(const struct images *images);
/* As symboliser_set_child(). */
void images_set_child(struct images *images, struct child *child);

#endif
