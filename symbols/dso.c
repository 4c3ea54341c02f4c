/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/dso.h"

#include "base/cleanup.h"

#define BUCKETS 1024
#define NUMBERS_MAX 64               /* offsets of an image that keep their number */
#define RETRY_NS (10 * NSEC_PER_SEC) /* delay after an error that may pass */
#define RESEND_NS NSEC_PER_SEC       /* delay after the table was made, but could not be passed on */
#define REREAD_NS (2 * NSEC_PER_SEC) /* interval for reading a perf-PID.map again, which may grow */
/* Minimum of images_set_room() for tables and for making them, in bytes, so that small programs always have symbols. */
#define ROOM_MIN ((size_t)768 << 10)
/* Memory of the symboliser's process, without the table that it is making. */
#define PROCESS_BYTES ((size_t)5 << 19)

struct images {
    struct sys *sys;
    struct symboliser *symboliser;
    LIST_HEAD(image_bucket, image) buckets[BUCKETS];
    TAILQ_HEAD(, image) in_use;           /* images with a table, except pinned ones; least recently used first */
    size_t bytes, table_bytes, n_pending; /* of images without tables; of tables; requests to the symboliser */
    size_t tables_max;                    /* limit of `table_bytes` */
    uint64_t generation;
    unsigned next_number;
    bool library_is_missing, were_cut, have_failed; /* see the functions with these names */
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
    TAILQ_INIT(&images->in_use);
    int r = symboliser_new(sys, event, &images->symboliser);
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

static struct image_bucket *image_bucket_of(struct images *images, const char *file, uint64_t inode, uint32_t jit_pid)
{
    uint64_t hash = (inode + jit_pid) * UINT64_C(0x9e3779b97f4a7c15);

    for (; *file; file++)
        hash = (hash ^ (unsigned char)*file) * UINT64_C(0x100000001b3);
    return &images->buckets[hash >> 32 & (BUCKETS - 1)];
}

/* A file is identified by its inode if that is known, and not by its build ID, which may become known only later. */
static bool image_has_key(const struct image *image, const struct image_key *key)
{
    if (image->inode != key->inode || image->jit_pid != key->jit_pid || !str_equal(image->file, key->file))
        return false;
    if (key->inode)
        return image->major == key->major && image->minor == key->minor;
    return image->build_id_size == key->build_id_size &&
           memcmp(image->build_id, key->build_id ? key->build_id : image->build_id, key->build_id_size) == 0;
}

static size_t image_bytes(const struct image *image)
{
    return sizeof(*image) + strlen(image->file) + 1 + NUMBERS_MAX / 8 * sizeof(image->numbers[0]);
}

struct image *image_get(struct images *images, const struct image_key *key)
{
    struct image_bucket *bucket = image_bucket_of(images, key->file, key->inode, key->jit_pid);

    struct image *image;

    LIST_FOREACH (image, bucket, bucket)
        if (image_has_key(image, key))
            return image_ref(image);
    image = calloc(1, sizeof(*image));
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
    LIST_INSERT_HEAD(bucket, image, bucket);
    images->bytes += image_bytes(image);
    return image;
}

/* No table is requested for `ns` from now on. */
static void image_pause(struct image *image, uint64_t ns)
{
    image->retry_ns = image->images->sys->now(image->images->sys, CLOCK_MONOTONIC) + ns;
}

static void image_drop_table(struct image *image)
{
    if (image->state != IMAGE_READY)
        return;
    if (!image->pinned) {
        TAILQ_REMOVE(&image->images->in_use, image, use);
        image->images->table_bytes -= image->table.size;
    }
    image->images->generation++;
    /* The larger the table, the longer it takes to make, and the later it is made again. */
    uint64_t pause = NSEC_PER_SEC + RETRY_NS * image->table.size / SYMBOLISER_FILE_MAX;
    symbol_table_close(&image->table);
    image->state = IMAGE_ABSENT;
    image_pause(image, pause);
}

struct image *image_unref(struct image *image)
{
    if (!image || --image->references)
        return NULL;
    LIST_REMOVE(image, bucket);
    image_drop_table(image);
    image->images->bytes -= image_bytes(image);
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
    /* If there is no room, the offset gets a new number each time, which only makes tables of callers larger. */
    unsigned number = ++image->images->next_number;
    if (image->n_numbers < NUMBERS_MAX && array_grow(&image->numbers, image->n_numbers) == 0)
        image->numbers[image->n_numbers++] = (struct image_number){offset, number};
    return number;
}

bool image_needs_load(const struct image *image)
{
    struct images *images = image->images;

    return (image->state == IMAGE_ABSENT || (image->state == IMAGE_READY && image->jit_pid)) &&
           !symboliser_is_full(images->symboliser) &&
           (!image->retry_ns || images->sys->now(images->sys, CLOCK_MONOTONIC) >= image->retry_ns);
}

static void images_shrink(struct images *images)
{
    while (images->table_bytes > images->tables_max)
        image_drop_table(TAILQ_FIRST(&images->in_use));
}

/*
 * Two thirds of the room are for tables. The last third is for the table being made, which takes half as much again as
 * its final size: so that is limited to two ninths.
 */
void images_set_room(struct images *images, size_t room)
{
    size_t rest = MAX(room, PROCESS_BYTES + ROOM_MIN) - PROCESS_BYTES;

    images->tables_max = MIN(rest / 3 * 2, IMAGES_TABLES_MAX);
    symboliser_set_max(images->symboliser, rest / 9 * 2);
    images_shrink(images);
}

static void image_set_table(struct image *image, struct symbol_table *table)
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
    TAILQ_INSERT_TAIL(&image->images->in_use, image, use);
}

/* Compares build IDs. If a mapping is known only by path and build ID, there may be another file at the path now. */
static bool is_of_another_file(const struct image *image, const struct symbol_table *table)
{
    const struct symbol_table_head *head = table->head;

    return image->build_id_size && head->build_id_size &&
           (head->build_id_size != image->build_id_size ||
            memcmp(head->build_id, image->build_id, image->build_id_size) != 0);
}

/* Whether a retry may succeed: resources were short, the symboliser was not available, or the file could not be opened.
 */
static bool error_passes(int error)
{
    static const int passing[] = {-EAGAIN, -ECANCELED, -EMFILE, -ENFILE, -ENOBUFS, -ETOOMANYREFS, -EHOSTDOWN, -ENOENT};

    for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
        if (error == passing[i])
            return true;
    return false;
}

static void images_note_result(const struct image *image, int result)
{
    struct images *images = image->images;

    if (result == -ENOPKG || (result == 0 && !image->pinned && !image->jit_pid))
        images->library_is_missing = result < 0;
    images->were_cut |= result == -ENOMEM;
    if (result == -ECANCELED || result == -ENOENT || result == -EHOSTDOWN)
        return;
    if (result == 0 || result == -EIO || result == -ETIME || error_passes(result))
        images->have_failed = result < 0;
}

static void image_take_table(struct image *image, struct symbol_table *table)
{
    image_drop_table(image);
    image_set_table(image, table);
    images_shrink(image->images);
}

/* Sets the state of an image after its table could not be made. */
static void image_give_up(struct image *image, int result)
{
    if (image->state == IMAGE_READY) { /* keep the old table of a perf-PID.map, which is read again after REREAD_NS */
        if (result != -EALREADY)
            image->seen_size = 0;
    } else if (error_passes(result)) {
        image->state = IMAGE_ABSENT;
        image_pause(image, result == -ETOOMANYREFS ? RESEND_NS : RETRY_NS);
    } else {
        image->state = IMAGE_BAD;
    }
}

static void image_on_table(void *userdata, const struct symboliser_answer *answer, struct symbol_table *table)
{
    struct image *image = userdata;
    struct images *images = image->images;

    images->n_pending--;
    images_note_result(image, answer->result);
    if (answer->result == 0) {
        image->seen_inode = answer->inode;
        image->seen_size = answer->size;
    }
    if (answer->result == 0 && !is_of_another_file(image, table))
        image_take_table(image, table);
    else
        image_give_up(image, answer->result);
    image_unref(image);
    if (images->loaded)
        images->loaded(images->userdata);
}

void image_load(struct image *image, const struct symboliser_file *file)
{
    struct images *images = image->images;

    if (file->find == FIND_NOTHING && file->fd < 0) {
        image_pause(image, RETRY_NS);
        images->have_failed |= error_passes(file->fd);
        return;
    }
    if (file->kind == SYMBOLISER_JIT)
        image_pause(image, REREAD_NS);
    if (image->state == IMAGE_ABSENT)
        image->state = IMAGE_PENDING;
    images->n_pending++;
    int r = symboliser_ask(images->symboliser, file, image_on_table, image_ref(image));
    if (r < 0)
        image_on_table(image, &(struct symboliser_answer){.result = r == -EHOSTDOWN ? r : -EAGAIN}, NULL);
}

const struct symbol_table *image_table(struct image *image)
{
    if (image->state != IMAGE_READY)
        return NULL;
    if (TAILQ_NEXT(image, use)) {
        TAILQ_REMOVE(&image->images->in_use, image, use);
        TAILQ_INSERT_TAIL(&image->images->in_use, image, use);
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

bool images_were_cut(const struct images *images)
{
    return images->were_cut;
}

bool images_have_hung(const struct images *images)
{
    return symboliser_has_hung(images->symboliser);
}

bool images_have_failed(const struct images *images)
{
    return images->have_failed;
}

bool images_library_is_missing(const struct images *images)
{
    return images->library_is_missing;
}

bool images_symboliser_is_unconfined(const struct images *images)
{
    return symboliser_is_unconfined(images->symboliser);
}

struct symboliser *images_symboliser(const struct images *images)
{
    return images->symboliser;
}

void images_set_child(struct images *images, struct child *child)
{
    symboliser_set_child(images->symboliser, child);
}

uint64_t images_generation(const struct images *images)
{
    return images->generation;
}
