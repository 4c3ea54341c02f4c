/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped files and their symbols: see image.h. */
#include "symbols/image.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "perf/descriptors.h"

#define BUCKETS 1024
#define NUMBERS_MAX 64
#define RETRY_NS (10 * NSEC_PER_SEC)
#define REREAD_NS (2 * NSEC_PER_SEC) /* a list that grows */
/* Small programs always have their symbols. */
#define ROOM_MIN ((size_t)768 << 10)
/* Of the process that makes tables, without what it makes one from. */
#define PROCESS_BYTES ((size_t)5 << 19)

struct images {
    struct sys *sys;
    struct symboliser *symboliser;
    struct image *buckets[BUCKETS];
    struct image *newest, *oldest; /* of those with a table */
    size_t bytes, table_bytes, n_pending;
    size_t tables_max;
    uint64_t generation;
    unsigned next_number;
    bool library_is_missing, were_cut;
    void (*loaded)(void *userdata);
    void *userdata;
};

int images_new(struct sys *sys, sd_event *event, struct images **ret)
{
    struct images *images = calloc(1, sizeof(*images));

    if (!images)
        return -ENOMEM;
    images->sys = sys;
    images->tables_max = IMAGES_TABLES_MAX;
    int r = symboliser_new(event, &images->symboliser);
    if (r < 0) {
        free(images);
        return r;
    }
    *ret = images;
    return 0;
}

struct images *images_free(struct images *images)
{
    if (!images)
        return NULL;
    images->loaded = NULL;
    symboliser_free(images->symboliser);
    free(images);
    return NULL;
}

static struct image **bucket_of(struct images *images, const char *file, uint64_t inode, uint32_t jit_pid)
{
    uint64_t hash = (inode + jit_pid) * UINT64_C(0x9e3779b97f4a7c15);

    for (; *file; file++)
        hash = (hash ^ (unsigned char)*file) * UINT64_C(0x100000001b3);
    return &images->buckets[hash >> 32 & (BUCKETS - 1)];
}

/* A file of which the inode is known goes by that, also where its build id was learned since. */
static bool is_of(const struct image *image, const struct image_key *key)
{
    if (image->inode != key->inode || image->jit_pid != key->jit_pid || !str_equal(image->file, key->file))
        return false;
    if (key->inode)
        return image->major == key->major && image->minor == key->minor;
    return image->build_id_size == key->build_id_size &&
           memcmp(image->build_id, key->build_id ? key->build_id : image->build_id, key->build_id_size) == 0;
}

static size_t own_bytes(const struct image *image)
{
    return sizeof(*image) + strlen(image->file) + 1 + NUMBERS_MAX / 8 * sizeof(image->numbers[0]);
}

struct image *image_get(struct images *images, const struct image_key *key)
{
    struct image **bucket = bucket_of(images, key->file, key->inode, key->jit_pid);

    for (struct image *image = *bucket; image; image = image->next_in_bucket)
        if (is_of(image, key))
            return image_ref(image);
    struct image *image = calloc(1, sizeof(*image));
    if (!image)
        return NULL;
    image->file = strdup(key->file);
    if (!image->file) {
        free(image);
        return NULL;
    }
    image->images = images;
    image->references = 1;
    image->major = key->major;
    image->minor = key->minor;
    image->inode = key->inode;
    image->jit_pid = key->jit_pid;
    image->build_id_size = MIN(key->build_id_size, BUILD_ID_MAX);
    if (image->build_id_size)
        memcpy(image->build_id, key->build_id, image->build_id_size);
    image->next_in_bucket = *bucket;
    *bucket = image;
    images->bytes += own_bytes(image);
    return image;
}

static void unlink_use(struct image *image)
{
    struct images *images = image->images;

    *(image->newer ? &image->newer->older : &images->newest) = image->older;
    *(image->older ? &image->older->newer : &images->oldest) = image->newer;
    image->newer = image->older = NULL;
}

static void link_use(struct image *image)
{
    struct images *images = image->images;

    image->older = images->newest;
    *(images->newest ? &images->newest->newer : &images->oldest) = image;
    images->newest = image;
}

static void drop_table(struct image *image)
{
    if (image->state != IMAGE_READY)
        return;
    if (!image->pinned) {
        unlink_use(image);
        image->images->table_bytes -= image->table.size;
    }
    image->images->generation++;
    /* What takes long to make is not made again at once. */
    uint64_t pause = NSEC_PER_SEC + RETRY_NS * image->table.size / SYMBOLISER_FILE_MAX;
    symbol_table_close(&image->table);
    image->state = IMAGE_ABSENT;
    image->retry_ns = image->images->sys->now(image->images->sys, CLOCK_MONOTONIC) + pause;
}

struct image *image_unref(struct image *image)
{
    if (!image || --image->references)
        return NULL;
    struct image **at = bucket_of(image->images, image->file, image->inode, image->jit_pid);
    while (*at != image)
        at = &(*at)->next_in_bucket;
    *at = image->next_in_bucket;
    drop_table(image);
    image->images->bytes -= own_bytes(image);
    free(image->numbers);
    free(image->file);
    free(image);
    return NULL;
}

unsigned image_number(struct image *image, uint64_t offset)
{
    for (size_t i = 0; i < image->n_numbers; i++)
        if (image->numbers[i].offset == offset)
            return image->numbers[i].number;
    /* Past the most, and without memory, a number of its own each time: correct, and only less compact. */
    unsigned number = ++image->images->next_number;
    if (image->n_numbers < NUMBERS_MAX && array_grow(&image->numbers, image->n_numbers) == 0)
        image->numbers[image->n_numbers++] = (struct image_number){offset, number};
    return number;
}

bool image_is_wanted(const struct image *image)
{
    struct images *images = image->images;

    return (image->state == IMAGE_ABSENT || (image->state == IMAGE_READY && image->jit_pid)) &&
           !symboliser_is_full(images->symboliser) && images->n_pending < descriptors_files(images->sys) &&
           (!image->retry_ns || images->sys->now(images->sys, CLOCK_MONOTONIC) >= image->retry_ns);
}

static void shrink(struct images *images)
{
    while (images->table_bytes > images->tables_max)
        drop_table(images->oldest);
}

/* Of what the process leaves, a third is for the next table, which while it is made takes half as much again. */
void images_set_room(struct images *images, size_t room)
{
    size_t rest = MAX(room, PROCESS_BYTES + ROOM_MIN) - PROCESS_BYTES;

    images->tables_max = MIN(rest / 3 * 2, IMAGES_TABLES_MAX);
    symboliser_set_max(images->symboliser, rest / 9 * 2);
    shrink(images);
}

static void take_table(struct image *image, struct symbol_table *table)
{
    image->table = *table;
    *table = (struct symbol_table){0};
    image->state = IMAGE_READY;
    image->images->were_cut |= !image->pinned && image->table.head->was_cut;
    if (!image->build_id_size) {
        image->build_id_size = image->table.head->build_id_size;
        memcpy(image->build_id, image->table.head->build_id, image->build_id_size);
    }
    if (image->pinned)
        return;
    image->images->table_bytes += image->table.size;
    link_use(image);
}

/* Where only the build id says which file was mapped, another file at its path has other symbols. */
static bool is_another(const struct image *image, const struct symbol_table *table)
{
    const struct symbol_table_head *head = table->head;

    return image->build_id_size && head->build_id_size &&
           (head->build_id_size != image->build_id_size ||
            memcmp(head->build_id, image->build_id, image->build_id_size) != 0);
}

static void on_table(void *userdata, int result, struct symbol_table *table)
{
    struct image *image = userdata;
    struct images *images = image->images;

    images->n_pending--;
    images->library_is_missing |= result == -ENOPKG;
    images->were_cut |= result == -ENOMEM;
    if (result == 0 && !is_another(image, table)) {
        drop_table(image);
        take_table(image, table);
        shrink(images);
    } else if (image->state == IMAGE_READY) {
        image->jit_size = 0; /* what there is stays, and the list is read again later */
    } else if (result == -EAGAIN || result == -ECANCELED) {
        image->state = IMAGE_ABSENT;
        image->retry_ns = images->sys->now(images->sys, CLOCK_MONOTONIC) + RETRY_NS;
    } else {
        image->state = IMAGE_BAD;
    }
    image_unref(image);
    if (images->loaded)
        images->loaded(images->userdata);
}

/* Whether the list is another one than was read. */
static bool has_grown(struct image *image, int fd)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return false;
    bool grown = status.st_ino != image->jit_inode || (uint64_t)status.st_size != image->jit_size;
    image->jit_inode = status.st_ino;
    image->jit_size = (uint64_t)status.st_size;
    return grown;
}

void image_load(struct image *image, enum symboliser_kind kind, int fd)
{
    struct images *images = image->images;

    if (fd < 0 || kind == SYMBOLISER_JIT)
        image->retry_ns = images->sys->now(images->sys, CLOCK_MONOTONIC) + (fd < 0 ? RETRY_NS : REREAD_NS);
    if (fd < 0)
        return;
    if (kind == SYMBOLISER_JIT && !has_grown(image, fd) && image->state == IMAGE_READY) {
        close(fd);
        return;
    }
    if (image->state == IMAGE_ABSENT)
        image->state = IMAGE_PENDING;
    images->n_pending++;
    if (symboliser_ask(images->symboliser, kind, fd, on_table, image_ref(image)) < 0)
        on_table(image, -EAGAIN, NULL);
}

const struct symbol_table *image_table(struct image *image)
{
    if (image->state != IMAGE_READY)
        return NULL;
    if (image->newer) {
        unlink_use(image);
        link_use(image);
    }
    return &image->table;
}

void images_when_loaded(struct images *images, void (*loaded)(void *userdata), void *userdata)
{
    images->loaded = loaded;
    images->userdata = userdata;
}

bool images_pending(const struct images *images)
{
    return images->n_pending > 0;
}

size_t images_bytes(const struct images *images)
{
    return images->bytes;
}

size_t images_table_bytes(const struct images *images)
{
    return images->table_bytes;
}

bool images_were_cut(const struct images *images)
{
    return images->were_cut;
}

bool images_library_is_missing(const struct images *images)
{
    return images->library_is_missing;
}

bool images_symboliser_is_unconfined(const struct images *images)
{
    return symboliser_is_unconfined(images->symboliser);
}

pid_t images_symboliser_pid(const struct images *images)
{
    return symboliser_pid(images->symboliser);
}

uint64_t images_generation(const struct images *images)
{
    return images->generation;
}
