/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/dso.h"

#include <limits.h>
#include <stdio.h>

#include "base/cleanup.h"

#define BUCKETS 1024
#define NUMBERS_MAX 64               /* maximum number of offsets per DSO whose numbers are remembered */
#define RETRY_NS (10 * NSEC_PER_SEC) /* delay before a retry after a temporary error */
#define RESEND_NS NSEC_PER_SEC       /* delay before a retry if the table was built but could not be sent */
#define DEBUG_DIRECTORY "/usr/lib/debug/.build-id"
#define REREAD_NS (2 * NSEC_PER_SEC) /* a perf-PID.map, which may grow, is read again at this interval */
/* Minimum room for tables in bytes, so that small programs always have symbols. */
#define ROOM_MIN ((size_t)768 << 10)
/* Memory of the symboliser's process in bytes, not counting the table that it is building. */
#define PROCESS_BYTES ((size_t)5 << 19)

struct dsos {
    struct sys *sys;
    struct symboliser *symboliser;
    LIST_HEAD(dso_bucket, dso) buckets[BUCKETS];
    TAILQ_HEAD(, dso) in_use;             /* DSOs with a table, except pinned ones, from least to most recently used */
    size_t bytes, table_bytes, n_pending; /* bytes of the DSOs themselves; bytes of tables; pending requests */
    size_t tables_max;                    /* upper limit of `table_bytes` */
    uint64_t generation;
    unsigned next_number;
    bool library_is_missing, were_cut, have_failed; /* returned by dsos_library_is_missing() and so on */
    void (*loaded)(void *userdata);
    void *userdata;
};

int dsos_new(struct sys *sys, sd_event *event, struct dsos **ret)
{
    struct dsos *dsos = calloc(1, sizeof(*dsos));

    if (!dsos)
        return -ENOMEM;
    dsos->sys = sys;
    dsos->tables_max = DSOS_TABLES_MAX;
    TAILQ_INIT(&dsos->in_use);
    int r = symboliser_new(sys, event, &dsos->symboliser);
    if (r < 0) {
        free(dsos);
        return r;
    }
    *ret = dsos;
    return 0;
}

struct dsos *dsos_free(struct dsos *dsos)
{
    if (!dsos)
        return NULL;
    dsos->loaded = NULL;
    symboliser_free(dsos->symboliser);
    free(dsos);
    return NULL;
}

static struct dso_bucket *dso_bucket_of(struct dsos *dsos, const char *file, uint64_t inode, uint32_t jit_pid)
{
    uint64_t hash = (inode + jit_pid) * UINT64_C(0x9e3779b97f4a7c15);

    for (; *file; file++)
        hash = (hash ^ (unsigned char)*file) * UINT64_C(0x100000001b3);
    return &dsos->buckets[hash >> 32 & (BUCKETS - 1)];
}

/* A file is identified by its inode if that is known, and not by its build ID, which may become known only later. */
static bool dso_has_key(const struct dso *dso, const struct dso_key *key)
{
    if (dso->inode != key->inode || dso->jit_pid != key->jit_pid || !str_equal(dso->file, key->file))
        return false;
    if (key->inode)
        return dso->major == key->major && dso->minor == key->minor;
    return dso->build_id_size == key->build_id_size &&
           memcmp(dso->build_id, key->build_id ? key->build_id : dso->build_id, key->build_id_size) == 0;
}

static size_t dso_bytes(const struct dso *dso)
{
    return sizeof(*dso) + strlen(dso->file) + 1 + NUMBERS_MAX / 8 * sizeof(dso->numbers[0]);
}

struct dso *dso_get(struct dsos *dsos, const struct dso_key *key)
{
    struct dso_bucket *bucket = dso_bucket_of(dsos, key->file, key->inode, key->jit_pid);

    struct dso *dso;

    LIST_FOREACH (dso, bucket, bucket)
        if (dso_has_key(dso, key))
            return dso_ref(dso);
    dso = calloc(1, sizeof(*dso));
    if (!dso)
        return NULL;
    dso->file = strdup(key->file);
    if (!dso->file) {
        free(dso);
        return NULL;
    }
    dso->dsos = dsos;
    dso->references = 1;
    dso->major = key->major;
    dso->minor = key->minor;
    dso->inode = key->inode;
    dso->jit_pid = key->jit_pid;
    dso->build_id_size = MIN(key->build_id_size, BUILD_ID_MAX);
    if (dso->build_id_size)
        memcpy(dso->build_id, key->build_id, dso->build_id_size);
    LIST_INSERT_HEAD(bucket, dso, bucket);
    dsos->bytes += dso_bytes(dso);
    return dso;
}

/* Delays the next request for a table by `ns`. */
static void dso_pause(struct dso *dso, uint64_t ns)
{
    dso->retry_ns = sys_now(dso->dsos->sys, CLOCK_MONOTONIC) + ns;
}

static void dso_drop_table(struct dso *dso)
{
    if (dso->state != DSO_READY)
        return;
    if (!dso->pinned) {
        TAILQ_REMOVE(&dso->dsos->in_use, dso, use);
        dso->dsos->table_bytes -= dso->table.size + dso->debug.size;
    }
    dso->dsos->generation++;
    /* The larger a table, the longer it takes to build, so the delay before it is built again grows with its size. */
    uint64_t pause = NSEC_PER_SEC + RETRY_NS * (dso->table.size + dso->debug.size) / SYMBOLISER_FILE_MAX;
    symbol_table_close(&dso->table);
    symbol_table_close(&dso->debug);
    dso->state = DSO_ABSENT;
    dso_pause(dso, pause);
}

struct dso *dso_unref(struct dso *dso)
{
    if (!dso || --dso->references)
        return NULL;
    LIST_REMOVE(dso, bucket);
    dso_drop_table(dso);
    dso->dsos->bytes -= dso_bytes(dso);
    free(dso->numbers);
    free(dso->file);
    free(dso);
    return NULL;
}

unsigned dso_number(struct dso *dso, uint64_t offset)
{
    for (size_t i = 0; i < dso->n_numbers; i++)
        if (dso->numbers[i].offset == offset)
            return dso->numbers[i].number;
    /* If the array is full, the offset gets a new number on each call, which only makes the callers' tables grow. */
    unsigned number = ++dso->dsos->next_number;
    if (dso->n_numbers < NUMBERS_MAX && array_grow(&dso->numbers, dso->n_numbers) == 0)
        dso->numbers[dso->n_numbers++] = (struct dso_number){offset, number};
    return number;
}

bool dso_needs_load(const struct dso *dso)
{
    struct dsos *dsos = dso->dsos;

    return (dso->state == DSO_ABSENT || (dso->state == DSO_READY && dso->jit_pid)) &&
           !symboliser_is_full(dsos->symboliser) &&
           (!dso->retry_ns || sys_now(dsos->sys, CLOCK_MONOTONIC) >= dso->retry_ns);
}

static void dsos_shrink(struct dsos *dsos)
{
    while (dsos->table_bytes > dsos->tables_max)
        dso_drop_table(TAILQ_FIRST(&dsos->in_use));
}

/*
 * Two thirds of the room are for tables. The last third is for the table that is being built. Building a table takes
 * 1.5 times its final size, so the final size is limited to two ninths of the room.
 */
void dsos_set_room(struct dsos *dsos, size_t room)
{
    size_t rest = MAX(room, PROCESS_BYTES + ROOM_MIN) - PROCESS_BYTES;

    dsos->tables_max = MIN(rest / 3 * 2, MAX(rest / 9 * 4, DSOS_TABLES_MAX));
    symboliser_set_max(dsos->symboliser, rest / 9 * 2);
    dsos_shrink(dsos);
}

static void dso_set_table(struct dso *dso, struct symbol_table *table)
{
    dso->table = *table;
    *table = (struct symbol_table){0};
    dso->state = DSO_READY;
    dso->dsos->were_cut |= !dso->pinned && dso_names(dso)->head->was_cut;
    if (!dso->build_id_size) {
        dso->build_id_size = dso->table.head->build_id_size;
        memcpy(dso->build_id, dso->table.head->build_id, dso->build_id_size);
    }
    if (dso->pinned)
        return;
    dso->dsos->table_bytes += dso->table.size + dso->debug.size;
    TAILQ_INSERT_TAIL(&dso->dsos->in_use, dso, use);
}

/* Compares build IDs: if a mapping is known only by path and build ID, the file at the path may have been replaced. */
static bool is_of_another_file(const struct dso *dso, const struct symbol_table *table)
{
    const struct symbol_table_head *head = table->head;

    return dso->build_id_size && head->build_id_size &&
           (head->build_id_size != dso->build_id_size ||
            memcmp(head->build_id, dso->build_id, dso->build_id_size) != 0);
}

/*
 * Returns whether a retry may succeed: resources had run out, the symboliser was not available, or the file could not
 * be opened.
 */
static bool error_passes(int error)
{
    static const int passing[] = {-EAGAIN, -ECANCELED, -EMFILE, -ENFILE, -ENOBUFS, -ETOOMANYREFS, -EHOSTDOWN, -ENOENT};

    for (size_t i = 0; i < ARRAY_SIZE(passing); i++)
        if (error == passing[i])
            return true;
    return false;
}

static void dsos_note_result(const struct dso *dso, int result)
{
    struct dsos *dsos = dso->dsos;

    if (result == -ENOPKG || (result == 0 && !dso->pinned && !dso->jit_pid))
        dsos->library_is_missing = result < 0;
    dsos->were_cut |= result == -ENOMEM;
    if (result == -ECANCELED || result == -ENOENT || result == -EHOSTDOWN)
        return;
    if (result == 0 || result == -EIO || result == -ETIME || error_passes(result))
        dsos->have_failed = result < 0;
}

static void dso_take_table(struct dso *dso, struct symbol_table *table)
{
    dso_drop_table(dso);
    dso_set_table(dso, table);
    dsos_shrink(dso->dsos);
}

/* Sets the state of a DSO after its table could not be built. */
static void dso_give_up(struct dso *dso, int result)
{
    if (dso->state == DSO_READY) { /* the old table of a perf-PID.map is kept; the file is read again after REREAD_NS */
        if (result != -EALREADY)
            dso->seen_size = 0;
    } else if (error_passes(result)) {
        dso->state = DSO_ABSENT;
        dso_pause(dso, result == -ETOOMANYREFS ? RESEND_NS : RETRY_NS);
    } else {
        dso->state = DSO_BAD;
    }
}

static void dso_end_request(struct dso *dso)
{
    struct dsos *dsos = dso->dsos;

    dsos->n_pending--;
    dso_unref(dso);
    if (dsos->loaded)
        dsos->loaded(dsos->userdata);
}

/*
 * Called with the table of the debug file. The table of the file itself is already in dso->table, and is used even if
 * there is no debug file.
 */
static void dso_on_debug(void *userdata, const struct symboliser_answer *answer, struct symbol_table *debug)
{
    struct dso *dso = userdata;
    struct symbol_table table = dso->table;

    if (answer->result == 0 && debug->head->build_id_size == table.head->build_id_size &&
        memcmp(debug->head->build_id, table.head->build_id, table.head->build_id_size) == 0) {
        dso->debug = *debug;
        *debug = (struct symbol_table){0};
    }
    dso->dsos->were_cut |= answer->result == -ENOMEM;
    dso_take_table(dso, &table);
    dso_end_request(dso);
}

/* Requests the debug file's table; `table` is used once that request has succeeded or failed. */
static void dso_load_debug(struct dso *dso, struct symbol_table *table)
{
    const struct symbol_table_head *head = table->head;
    char path[PATH_MAX];

    int used = snprintf(path, sizeof(path), "%s" DEBUG_DIRECTORY "/%02x/", dso->dsos->sys->root, head->build_id[0]);
    for (uint32_t i = 1; i < head->build_id_size && used < PATH_MAX; i++)
        used += snprintf(path + used, sizeof(path) - (size_t)used, "%02x", head->build_id[i]);
    if (used < PATH_MAX)
        snprintf(path + used, sizeof(path) - (size_t)used, ".debug");
    dso->table = *table;
    *table = (struct symbol_table){0};
    dso->dsos->n_pending++;
    const struct symboliser_file file = {.kind = SYMBOLISER_ELF, .find = FIND_DEBUG, .fd = -1, .path = path};
    int r = symboliser_ask(dso->dsos->symboliser, &file, dso_on_debug, dso_ref(dso));
    if (r < 0)
        dso_on_debug(dso, &(struct symboliser_answer){.result = r}, NULL);
}

static void dso_on_table(void *userdata, const struct symboliser_answer *answer, struct symbol_table *table)
{
    struct dso *dso = userdata;

    dsos_note_result(dso, answer->result);
    if (answer->result == 0) {
        dso->seen_inode = answer->inode;
        dso->seen_size = answer->size;
    }
    if (answer->result < 0 || is_of_another_file(dso, table))
        dso_give_up(dso, answer->result);
    else if (dso->state == DSO_PENDING && table->head->is_stripped && table->head->build_id_size > 1)
        dso_load_debug(dso, table);
    else
        dso_take_table(dso, table);
    dso_end_request(dso);
}

void dso_load(struct dso *dso, const struct symboliser_file *file)
{
    struct dsos *dsos = dso->dsos;

    if (file->find == FIND_NOTHING && file->fd < 0) {
        dso_pause(dso, RETRY_NS);
        dsos->have_failed |= error_passes(file->fd);
        return;
    }
    if (file->kind == SYMBOLISER_JIT)
        dso_pause(dso, REREAD_NS);
    if (dso->state == DSO_ABSENT)
        dso->state = DSO_PENDING;
    dsos->n_pending++;
    int r = symboliser_ask(dsos->symboliser, file, dso_on_table, dso_ref(dso));
    if (r < 0)
        dso_on_table(dso, &(struct symboliser_answer){.result = r == -EHOSTDOWN ? r : -EAGAIN}, NULL);
}

const struct symbol_table *dso_table(struct dso *dso)
{
    if (dso->state != DSO_READY)
        return NULL;
    if (TAILQ_NEXT(dso, use)) {
        TAILQ_REMOVE(&dso->dsos->in_use, dso, use);
        TAILQ_INSERT_TAIL(&dso->dsos->in_use, dso, use);
    }
    return &dso->table;
}

void dsos_when_loaded(struct dsos *dsos, void (*loaded)(void *userdata), void *userdata)
{
    dsos->loaded = loaded;
    dsos->userdata = userdata;
}

bool dsos_pending(const struct dsos *dsos)
{
    return dsos->n_pending > 0;
}

size_t dsos_bytes(const struct dsos *dsos)
{
    return dsos->bytes;
}

bool dsos_were_cut(const struct dsos *dsos)
{
    return dsos->were_cut;
}

bool dsos_have_hung(const struct dsos *dsos)
{
    return symboliser_has_hung(dsos->symboliser);
}

bool dsos_have_failed(const struct dsos *dsos)
{
    return dsos->have_failed;
}

bool dsos_library_is_missing(const struct dsos *dsos)
{
    return dsos->library_is_missing;
}

bool dsos_symboliser_is_unconfined(const struct dsos *dsos)
{
    return symboliser_is_unconfined(dsos->symboliser);
}

struct symboliser *dsos_symboliser(const struct dsos *dsos)
{
    return dsos->symboliser;
}

void dsos_set_child(struct dsos *dsos, struct child *child)
{
    symboliser_set_child(dsos->symboliser, child);
}

uint64_t dsos_generation(const struct dsos *dsos)
{
    return dsos->generation;
}
