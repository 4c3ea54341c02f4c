/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block of memory that holds a history consists of a head and a ring of records. A record is the description of a
 * row, which has a number, or a frame, which refers to rows by number. A description is written before the first frame
 * that needs it, and is in the ring only once. If it becomes the oldest record while a frame still needs it, it is
 * moved to the end of the ring. Descriptions may therefore use only a part of the ring.
 *
 * The head of the block is read once, in history_new(). After history_new() the process uses its own copy of the
 * positions and of the list of descriptions. If another process writes to the block, only the content of records can be
 * wrong.
 */
#include "collectors/history.h"

#include "base/cleanup.h"
#include "base/number.h"
#include "perf/group.h"

#define MAGIC UINT64_C(0x7473696864637066) /* "fpcdhist" */
#define LAYOUT_VERSION 2

struct head {
    uint64_t magic, version, size;
    uint64_t begin, end; /* range of the records; positions only grow, and are offsets modulo the ring size */
    uint64_t next_row;
};

enum record_kind { RECORD_ROW = 1, RECORD_FRAME };

struct record_head {
    uint32_t size; /* size of the record including this head, in bytes */
    uint32_t kind;
};

/* A recorded row whose description is in the ring and still needed. */
struct known_row {
    uint32_t number;
    uint32_t size;       /* size of the record that describes the row, in bytes */
    uint32_t hash;       /* hash of the description */
    bool uneven;         /* copy of `uneven` in the row `row_id` */
    uint64_t at;         /* position of the description */
    uint64_t last_frame; /* position of the last frame that needs it; UINT64_MAX: the frame being written */
    uint64_t row_id;     /* id of the snapshot row recorded under this number, or UINT64_MAX */
};

struct history {
    struct head *head;
    uint8_t *ring;
    size_t ring_size;
    struct history_settings settings;
    uint64_t begin, end, next_row; /* copies of the members of the head */
    struct known_row *rows;        /* rows in ascending order of their numbers */
    size_t n_rows;
    size_t described; /* total size of the rows' descriptions, in bytes */
    size_t n_frames;
    struct baseline *baseline;
    uint64_t last_ns, pauses;         /* CLOCK_MONOTONIC and snapshot.pauses of the baseline */
    struct buffer frame, description; /* scratch space */
};

/*
 * The fraction of the ring that descriptions may use, and the fraction of that part reserved for rows other than those
 * of cgroups.
 */
#define DESCRIPTIONS_SHARE 4
#define CGROUPS_LEAVE 8
/*
 * The maximum size of a record as a fraction of the ring, so that such a record fits into the ring together with all
 * descriptions.
 */
#define RECORD_SHARE 2
/* A block's history is continued only if its row numbers are below this limit, so that new numbers never run out. */
#define ROWS_MAX (UINT32_MAX / 2)

/* --- bytes --- */

static void put_u64(struct buffer *to, uint64_t value)
{
    while (value >= 0x80) {
        buffer_append_char(to, (char)(value | 0x80));
        value >>= 7;
    }
    buffer_append_char(to, (char)value);
}

static void put_string(struct buffer *to, const char *text)
{
    buffer_append(to, text, strlen(text) + 1);
}

/* The part of a record that has not been read yet. After an error the unread part is empty and `failed` is set. */
struct reader {
    const uint8_t *at, *end;
    bool failed;
};

static uint64_t get_u64(struct reader *from)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && from->at < from->end; shift += 7) {
        uint8_t byte = *from->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    from->failed = true;
    from->at = from->end;
    return 0;
}

static const char *get_string(struct reader *from)
{
    const char *text = (const char *)from->at;
    const uint8_t *nul = from->at < from->end ? memchr(from->at, 0, (size_t)(from->end - from->at)) : NULL;

    if (!nul) {
        from->failed = true;
        from->at = from->end;
        return "";
    }
    from->at = nul + 1;
    return text;
}

/* --- ring --- */

static void ring_copy_in(struct history *history, uint64_t position, const void *data, size_t size)
{
    size_t at = (size_t)(position % history->ring_size), first = MIN(size, history->ring_size - at);

    memcpy(history->ring + at, data, first);
    memcpy(history->ring, (const uint8_t *)data + first, size - first);
}

static void ring_copy_out(const struct history *history, uint64_t position, void *data, size_t size)
{
    size_t at = (size_t)(position % history->ring_size), first = MIN(size, history->ring_size - at);

    memcpy(data, history->ring + at, first);
    memcpy((uint8_t *)data + first, history->ring, size - first);
}

/*
 * Reads the head of the record at a position. Returns false at the end of the ring, or if this position cannot hold a
 * valid record.
 */
static bool ring_head(const struct history *history, uint64_t position, struct record_head *ret)
{
    if (position >= history->end || history->end - position < sizeof(*ret))
        return false;
    ring_copy_out(history, position, ret, sizeof(*ret));
    return ret->size >= sizeof(*ret) && ret->size <= history->end - position;
}

/* Replaces the content of `ret` with the content of a record. */
static bool ring_content(const struct history *history, uint64_t position, const struct record_head *head,
                         struct buffer *ret)
{
    size_t size = head->size - sizeof(*head);

    buffer_clear(ret);
    char *room = buffer_reserve(ret, size);
    if (!room)
        return false;
    ring_copy_out(history, position + sizeof(*head), room, size);
    buffer_advance(ret, size);
    return true;
}

static struct reader reader_of(const struct buffer *buffer)
{
    const uint8_t *data = (const uint8_t *)buffer->data;

    return (struct reader){.at = data, .end = data + buffer->size};
}

/*
 * Writes the positions to the head. The order of writes matters because the file outlives the process: the head must
 * never include a half-written record.
 */
static void publish(struct history *history)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    history->head->next_row = history->next_row;
    history->head->begin = history->begin;
    history->head->end = history->end;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void empty(struct history *history)
{
    history->begin = history->end = history->next_row = 0;
    history->n_rows = history->described = history->n_frames = 0;
    *history->head =
        (struct head){.magic = MAGIC, .version = LAYOUT_VERSION, .size = sizeof(struct head) + history->ring_size};
}

static struct known_row *known_of(const struct history *history, uint32_t number)
{
    size_t i = array_search(history->n_rows, k, history->rows[k].number < number);

    return i < history->n_rows && history->rows[i].number == number ? &history->rows[i] : NULL;
}

static struct known_row *known_at(const struct history *history, uint64_t position)
{
    for (size_t i = 0; i < history->n_rows; i++)
        if (history->rows[i].at == position)
            return &history->rows[i];
    return NULL;
}

/*
 * Forgets the rows that no frame in the ring needs any more. Returns false if the description of a row is gone although
 * it is still needed.
 */
static bool forget_rows(struct history *history)
{
    size_t n = 0;
    bool complete = true;

    history->described = 0;
    for (size_t i = 0; i < history->n_rows; i++) {
        const struct known_row *row = &history->rows[i];
        if (row->last_frame < history->begin)
            continue;
        complete &= row->at >= history->begin;
        history->described += row->size;
        history->rows[n++] = *row;
    }
    history->n_rows = n;
    return complete;
}

/* Moves the oldest record to the end of the ring. The record's old and new places may overlap. */
static void move_oldest(struct history *history, size_t size)
{
    for (size_t i = 0; i < size; i++)
        history->ring[(history->end + i) % history->ring_size] =
            history->ring[(history->begin + i) % history->ring_size];
    history->end += size;
}

/*
 * Drops the oldest record. A description that is still needed is moved to the end instead. Returns -EBADMSG if another
 * process has overwritten the ring, which is then emptied.
 */
static int drop_oldest(struct history *history)
{
    struct known_row *row = known_at(history, history->begin);
    struct record_head head;

    if (!ring_head(history, history->begin, &head) || (row && row->size != head.size)) {
        empty(history);
        return -EBADMSG;
    }
    if (row) {
        row->at = history->end;
        move_oldest(history, head.size);
    } else if (head.kind == RECORD_FRAME && history->n_frames > 0) {
        history->n_frames--;
    }
    history->begin += head.size;
    publish(history);
    if (row || forget_rows(history))
        return 0;
    empty(history);
    return -EBADMSG;
}

/* Appends a record, and drops the oldest records to make room. Sets *ret_at to the position of the new record. */
static int ring_append(struct history *history, enum record_kind kind, const struct buffer *content, uint64_t *ret_at)
{
    struct record_head head = {(uint32_t)(sizeof(head) + content->size), kind};
    uint64_t last = history->end;
    int r = 0;

    if (content->size > MIN(history->ring_size / RECORD_SHARE, INT32_MAX) - sizeof(head))
        return -ENOSPC;
    while (r == 0 && history->ring_size - (history->end - history->begin) < head.size)
        r = history->begin < last ? drop_oldest(history) : -ENOSPC;
    if (r < 0)
        return r;
    *ret_at = history->end;
    ring_copy_in(history, history->end, &head, sizeof(head));
    ring_copy_in(history, history->end + sizeof(head), content->data, content->size);
    history->end += head.size;
    history->n_frames += kind == RECORD_FRAME;
    publish(history);
    return 0;
}

/* --- rows --- */

#define FLAG_CGROUP 1
#define FLAG_OTHERS 2
#define FLAG_UNEVEN 4

/* Writes the description of a row, which follows the row's number in the record. */
static void describe(const struct row *row, bool others, struct buffer *to)
{
    unsigned flags =
        (row->cgroup && !others ? FLAG_CGROUP : 0) | (others ? FLAG_OTHERS : 0) | (row->uneven ? FLAG_UNEVEN : 0);

    buffer_clear(to);
    put_u64(to, flags);
    put_string(to, row->collector_name);
    put_string(to, row->group);
    put_string(to, row->pmu);
    put_string(to, row->cgroup && !others ? row->cgroup : "");
    put_u64(to, others ? 0 : (uint64_t)(row->cpu + 1));
    put_u64(to, row->n_counters);
    for (size_t i = 0; i < row->n_counters; i++) {
        put_string(to, row->counters[i].event);
        put_string(to, row->counters[i].pmu);
        put_string(to, row->counters[i].unit);
        put_u64(to, row->counters[i].decimals);
    }
}

static uint32_t hash_bytes(const char *data, size_t size)
{
    return hash_fold(hash_mix_bytes(size, data, size));
}

/* Returns whether `content`, a row number and a description, contains the given description. */
static bool is_description(const struct buffer *content, const struct buffer *description)
{
    struct reader reader = reader_of(content);

    get_u64(&reader);
    return (size_t)(reader.end - reader.at) == description->size &&
           memcmp(reader.at, description->data, description->size) == 0;
}

/* Returns the row that history->description describes, or NULL if the description is not in the ring. */
static struct known_row *find_described(struct history *history, uint32_t hash)
{
    _cleanup_(buffer_done) struct buffer content = {0};
    struct record_head head;

    for (size_t i = 0; i < history->n_rows; i++) {
        struct known_row *row = &history->rows[i];
        if (row->hash == hash && ring_head(history, row->at, &head) &&
            ring_content(history, row->at, &head, &content) && is_description(&content, &history->description))
            return row;
    }
    return NULL;
}

static uint64_t frames_to_keep(const struct history *history)
{
    return MAX(history->settings.keep_ns / MAX(history->settings.interval_ns, 1), 1);
}

/* Drops frames older than `keep` if their rows' descriptions take up the room that a new description needs. */
static int make_room_to_describe(struct history *history, size_t size, bool of_cgroup)
{
    size_t share = history->ring_size / DESCRIPTIONS_SHARE;
    size_t most = share - (of_cgroup ? share / CGROUPS_LEAVE : 0);
    uint64_t last = history->end;
    int r = 0;

    while (r == 0 && history->described + size > most && history->n_frames > frames_to_keep(history) &&
           history->begin < last)
        r = drop_oldest(history);
    return r < 0 ? r : history->described + size > most ? -ENOSPC : 0;
}

/* Adds the row that history->description describes to the ring, for the frame being written. */
static int add_described(struct history *history, uint32_t hash, bool of_cgroup, struct known_row **ret)
{
    _cleanup_(buffer_done) struct buffer content = {0};
    struct known_row row = {
        .number = (uint32_t)history->next_row, .hash = hash, .last_frame = UINT64_MAX, .row_id = UINT64_MAX};

    if (history->next_row >= UINT32_MAX)
        return -ENOSPC;
    put_u64(&content, row.number);
    buffer_append(&content, history->description.data, history->description.size);
    row.size = (uint32_t)(sizeof(struct record_head) + content.size);
    if (content.failed || array_grow(&history->rows, history->n_rows) < 0)
        return -ENOMEM;
    int r = make_room_to_describe(history, row.size, of_cgroup);
    if (r < 0)
        return r;
    history->next_row++;
    r = ring_append(history, RECORD_ROW, &content, &row.at);
    if (r < 0)
        return r;
    history->described += row.size;
    history->rows[history->n_rows] = row;
    *ret = &history->rows[history->n_rows++];
    return 0;
}

/*
 * Finds the number under which a row of the snapshot is recorded, or adds a description of the row. Returns -ENOSPC if
 * there is no room for the description.
 */
static int place(struct history *history, const struct row *row, bool others, struct known_row **ret)
{
    for (size_t i = 0; i < history->n_rows && !others; i++)
        if (history->rows[i].row_id == row->id && history->rows[i].uneven == row->uneven) {
            *ret = &history->rows[i];
            return 0;
        }
    describe(row, others, &history->description);
    if (history->description.failed)
        return -ENOMEM;
    uint32_t hash = hash_bytes(history->description.data, history->description.size);
    *ret = find_described(history, hash);
    int r = *ret ? 0 : add_described(history, hash, row->cgroup && !others, ret);
    if (r == 0 && !others) {
        (*ret)->row_id = row->id;
        (*ret)->uneven = row->uneven;
    }
    return r;
}

/* --- frames --- */

#define STATE_UNKNOWN 0
#define STATE_KNOWN 1
#define STATE_PARTIAL 2 /* flag: only some events are known, and the mask of the known events follows */
#define STATE_BUSY 4    /* flag: the busy time of the CPU follows after the events */
#define STATE_LIMITED 8 /* flag: the last number is limited_ns (struct growth), which is otherwise 0 */
#define STATES 16

/* A row that may be written to a frame. */
struct candidate {
    const struct row *row;
    struct growth growth;
    struct growth_event *events;
    bool inside; /* an ancestor of the cgroup is watched too, and its growth includes this one's */
};

static void put_growth(struct buffer *to, const struct row *row, const struct growth *growth,
                       const struct growth_event *events)
{
    size_t n = row->n_counters;
    uint64_t known = 0, all = n < 64 ? event_bit(n) - 1 : UINT64_MAX;

    for (size_t i = 0; i < n; i++)
        known |= events[i].known ? event_bit(i) : 0;
    if (!growth->known || !growth->has_times) {
        put_u64(to, STATE_UNKNOWN);
        return;
    }
    put_u64(to, (known == all ? STATE_KNOWN : STATE_PARTIAL) | (growth->has_busy ? STATE_BUSY : 0) |
                    (growth->limited_ns ? STATE_LIMITED : 0));
    if (known != all)
        put_u64(to, known);
    put_u64(to, growth->enabled_ns);
    put_u64(to, growth->enabled_ns - growth->running_ns);
    for (size_t i = 0; i < n; i++) {
        if (!events[i].known)
            continue;
        if (row->counters[i].decimals == SERIES_REAL)
            buffer_append(to, &events[i].value, sizeof(events[i].value));
        else
            put_u64(to, events[i].value);
    }
    if (growth->has_busy)
        put_u64(to, growth->busy_ns);
    if (growth->limited_ns)
        put_u64(to, growth->limited_ns);
}

/*
 * Returns whether the row's enabled time is at most twice the interval. A longer enabled time shows that the totals did
 * not start in this interval.
 */
static bool started_in_interval(const struct history *history, const struct snapshot *snapshot, const struct row *row)
{
    uint64_t cpus = MAX(cpuset_count(&snapshot->possible), 1);

    return row->enabled_ns / cpus / 2 <= snapshot->monotonic_ns - history->last_ns;
}

/* Sets the growth of a row that was created after the baseline to the row's totals, which started at 0. */
static bool take_new(const struct history *history, const struct snapshot *snapshot, const struct row *row,
                     struct candidate *ret)
{
    bool paused = snapshot->pauses != history->pauses || snapshot->pauses % 2 != 0;

    if (!baseline_predates(history->baseline, row) || row->absent || row->state == ROW_UNAVAILABLE)
        return false;
    ret->growth = (struct growth){
        .known = row->cgroup && row->state != ROW_STARVED && !snapshot_row_failed(snapshot, row) && !paused &&
                 started_in_interval(history, snapshot, row),
        .has_times = true,
        .enabled_ns = row->enabled_ns,
        .running_ns = MIN(row->running_ns, row->enabled_ns),
    };
    for (size_t i = 0; i < row->n_counters; i++)
        ret->events[i] = (struct growth_event){row->counters[i].value, ret->growth.known && row->counters[i].known};
    return true;
}

static bool take(const struct history *history, const struct snapshot *snapshot, const struct row *row,
                 struct candidate *ret)
{
    ret->row = row;
    if (row->removed || row->n_counters > GROUP_MEMBERS_MAX)
        return false;
    return baseline_growth(history->baseline, snapshot, row, ret->events, &ret->growth) == 0 ||
           take_new(history, snapshot, row, ret);
}

/* Comparison for qsort(3): puts rows other than those of cgroups first, then the cgroups that have run longest. */
static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    uint64_t ran_x = x->growth.known ? x->growth.enabled_ns : 0, ran_y = y->growth.known ? y->growth.enabled_ns : 0;

    if (!x->row->cgroup != !y->row->cgroup)
        return x->row->cgroup ? 1 : -1;
    if (x->row->cgroup && ran_x != ran_y)
        return ran_x < ran_y ? 1 : -1;
    return (x->row->id > y->row->id) - (x->row->id < y->row->id);
}

/* Groups and PMUs are interned, so their addresses can be compared. */
static int compare_targets(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    int order = strcmp(x->cgroup, y->cgroup);

    if (order == 0)
        order = (x->group > y->group) - (x->group < y->group);
    return order != 0 ? order : (x->pmu > y->pmu) - (x->pmu < y->pmu);
}

/*
 * Returns whether the sorted rows contain a row with the same group and PMU for a cgroup above this row's cgroup.
 * Overwrites `path`.
 */
static bool has_above(const struct row *const *rows, size_t n, const struct row *row, char *path)
{
    struct row above = {.cgroup = path, .group = row->group, .pmu = row->pmu};
    char *slash;

    while ((slash = strrchr(path, '/')) && !str_equal(path, "/")) {
        slash[slash == path] = '\0'; /* the cgroup above "/a" is "/" */
        if (bsearch(&(const struct row *){&above}, rows, n, sizeof(*rows), compare_targets))
            return true;
    }
    return false;
}

/*
 * Sets `inside` of each candidate whose cgroup is inside the cgroup of another candidate with the same group and PMU.
 */
static int find_inside(struct candidate *candidates, size_t n)
{
    _cleanup_(freep) const struct row **rows = calloc(n + 1, sizeof(*rows));
    _cleanup_(buffer_done) struct buffer path = {0};
    size_t n_rows = 0;

    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (candidates[i].row->cgroup)
            rows[n_rows++] = candidates[i].row;
    qsort(rows, n_rows, sizeof(*rows), compare_targets);
    for (size_t i = 0; i < n; i++) {
        if (!candidates[i].row->cgroup)
            continue;
        buffer_clear(&path);
        put_string(&path, candidates[i].row->cgroup);
        if (path.failed)
            return -ENOMEM;
        candidates[i].inside = has_above(rows, n_rows, candidates[i].row, path.data);
    }
    return 0;
}

/*
 * The sum over the rows of cgroups that there was no room for. The rows of a sum differ only in their cgroup and CPU.
 */
struct others {
    const struct row *row; /* the first row of the sum */
    struct growth growth;
    struct growth_event events[GROUP_MEMBERS_MAX];
};

static bool are_alike(const struct row *a, const struct row *b)
{
    bool alike = a->group == b->group && a->pmu == b->pmu && a->uneven == b->uneven && a->n_counters == b->n_counters;

    for (size_t i = 0; alike && i < a->n_counters; i++)
        alike = a->counters[i].event == b->counters[i].event;
    return alike;
}

static int others_add(struct others **others, size_t *n, const struct candidate *candidate)
{
    const struct row *row = candidate->row;
    size_t i = 0;

    while (i < *n && !are_alike((*others)[i].row, row))
        i++;
    if (i == *n) {
        if (array_grow(others, *n) < 0)
            return -ENOMEM;
        (*others)[(*n)++] = (struct others){.row = row, .growth = {.known = true, .has_times = true}};
        for (size_t k = 0; k < row->n_counters; k++)
            (*others)[i].events[k].known = true;
    }
    struct others *sum = &(*others)[i];
    if (!candidate->growth.known || !candidate->growth.has_times) {
        sum->growth.known = false;
        return 0;
    }
    sum->growth.enabled_ns += candidate->growth.enabled_ns;
    sum->growth.running_ns += candidate->growth.running_ns;
    for (size_t k = 0; k < row->n_counters; k++)
        growth_event_add(&sum->events[k], &candidate->events[k], row->counters[k].decimals);
    return 0;
}

/*
 * Returns the size in bytes above which no more cgroups are added to a frame, so that the ring can hold all frames of
 * the last settings.keep_ns.
 */
static size_t frame_room(const struct history *history)
{
    size_t ring = history->ring_size - history->ring_size / DESCRIPTIONS_SHARE;
    size_t room = MIN(ring / frames_to_keep(history), history->ring_size / RECORD_SHARE / 2);

    return room - room / 8; /* leaves an eighth for the head, the last row and the sums of other cgroups */
}

/* A frame that is being written, and the rows that are in it. */
struct draft {
    struct buffer rows;
    uint32_t *numbers;
    size_t n;
    struct others *others;
    size_t n_others, left_out;
};

static void draft_done(struct draft *draft)
{
    buffer_done(&draft->rows);
    free(draft->numbers);
    free(draft->others);
}

static int draft_put(struct history *history, struct draft *draft, const struct row *row, bool others,
                     const struct growth *growth, const struct growth_event *events)
{
    struct known_row *known;
    int r = array_grow(&draft->numbers, draft->n) < 0 ? -ENOMEM : place(history, row, others, &known);

    if (r < 0)
        return r;
    draft->numbers[draft->n++] = known->number;
    known->last_frame = UINT64_MAX;
    put_u64(&draft->rows, known->number);
    put_growth(&draft->rows, row, growth, events);
    return draft->rows.failed ? -ENOMEM : 0;
}

/*
 * Writes one row if there is room. Otherwise, the row of a cgroup is added to the sum of the other cgroups, unless the
 * growth of a cgroup above already includes it.
 */
static int draft_add(struct history *history, struct draft *draft, const struct candidate *candidate)
{
    bool full = candidate->row->cgroup && draft->rows.size >= frame_room(history);
    int r = full ? -ENOSPC : draft_put(history, draft, candidate->row, false, &candidate->growth, candidate->events);

    if (r != -ENOSPC)
        return r;
    draft->left_out++;
    if (!candidate->row->cgroup || candidate->inside)
        return 0;
    return others_add(&draft->others, &draft->n_others, candidate);
}

static int draft_make(struct history *history, struct candidate *candidates, size_t n, struct draft *ret)
{
    int r = find_inside(candidates, n);

    qsort(candidates, n, sizeof(*candidates), compare_candidates);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = draft_add(history, ret, &candidates[i]);
    for (size_t i = 0; r == 0 && i < ret->n_others; i++) {
        struct others *others = &ret->others[i];
        r = draft_put(history, ret, others->row, true, &others->growth, others->events);
        r = r == -ENOSPC ? 0 : r;
    }
    return r;
}

/*
 * Stores the position of this frame in each row of the draft, because their descriptions are needed as long as the
 * frame is in the ring.
 */
static void settle(struct history *history, const struct draft *draft, uint64_t at)
{
    for (size_t i = 0; i < draft->n; i++) {
        struct known_row *row = known_of(history, draft->numbers[i]);
        if (row)
            row->last_frame = at;
    }
}

static int write_frame(struct history *history, const struct snapshot *snapshot, struct draft *draft)
{
    struct buffer *frame = &history->frame;
    uint64_t at = history->end;

    buffer_clear(frame);
    put_u64(frame, snapshot->realtime_ns);
    put_u64(frame, snapshot->monotonic_ns - history->last_ns);
    put_u64(frame, draft->left_out);
    put_u64(frame, snapshot->clock_limits.causes);
    put_u64(frame, draft->n);
    buffer_append(frame, draft->rows.data, draft->rows.size);
    int r = frame->failed ? -ENOMEM : ring_append(history, RECORD_FRAME, frame, &at);
    settle(history, draft, at);
    return r;
}

static int record_growth(struct history *history, const struct snapshot *snapshot)
{
    _cleanup_(freep) struct candidate *candidates = calloc(snapshot->n_rows + 1, sizeof(*candidates));
    _cleanup_(freep) struct growth_event *events = NULL;
    _cleanup_(draft_done) struct draft draft = {0};
    size_t n = 0, n_events = 0;

    for (size_t i = 0; i < snapshot->n_rows; i++)
        n_events += snapshot->rows[i]->n_counters;
    events = calloc(n_events + 1, sizeof(*events));
    if (!candidates || !events)
        return -ENOMEM;
    n_events = 0;
    for (size_t i = 0; i < snapshot->n_rows; i++) {
        candidates[n] = (struct candidate){.events = events + n_events};
        if (!take(history, snapshot, snapshot->rows[i], &candidates[n]))
            continue;
        n_events += candidates[n++].row->n_counters;
    }
    int r = draft_make(history, candidates, n, &draft);
    if (r == 0)
        return write_frame(history, snapshot, &draft);
    settle(history, &draft, history->end);
    return r;
}

bool history_is_due(const struct history *history, uint64_t monotonic_ns)
{
    return !history->baseline || monotonic_ns - history->last_ns >= history->settings.interval_ns;
}

int history_record(struct history *history, const struct snapshot *snapshot)
{
    if (history->baseline && snapshot->monotonic_ns <= history->last_ns)
        return 0;
    struct baseline *baseline = baseline_new(snapshot);
    int r = baseline ? 0 : -ENOMEM;
    if (baseline && history->baseline)
        r = record_growth(history, snapshot);
    baseline_free(history->baseline);
    history->baseline = baseline;
    history->last_ns = snapshot->monotonic_ns;
    history->pauses = snapshot->pauses;
    return r;
}

/* --- decoding --- */

/*
 * Reads the description that follows a row's number. The strings of *ret point into the record; ret->events has room
 * for GROUP_MEMBERS_MAX events.
 */
static bool read_row(struct reader *from, struct history_row *ret)
{
    uint64_t flags = get_u64(from), n;

    ret->collector = get_string(from);
    ret->group = get_string(from);
    ret->pmu = get_string(from);
    const char *cgroup = get_string(from);
    ret->cgroup = flags & FLAG_CGROUP ? cgroup : NULL;
    ret->others = flags & FLAG_OTHERS;
    ret->uneven = flags & FLAG_UNEVEN;
    uint64_t cpu = get_u64(from);
    ret->cpu = cpu <= INT32_MAX ? (int)cpu - 1 : -1;
    n = get_u64(from);
    if (from->failed || n > GROUP_MEMBERS_MAX)
        return false;
    ret->n_events = (size_t)n;
    for (size_t i = 0; i < n; i++) {
        ret->events[i].event = get_string(from);
        ret->events[i].pmu = get_string(from);
        ret->events[i].unit = get_string(from);
        uint64_t decimals = get_u64(from);
        ret->events[i].decimals = decimals == SERIES_REAL ? SERIES_REAL : (uint8_t)MIN(decimals, 19);
    }
    return !from->failed;
}

/* Reads the growth that follows a row's number. Returns false if the frame ends before the growth does. */
static bool read_growth(struct reader *from, const struct history_row *row, struct growth *ret,
                        struct growth_event *events)
{
    uint64_t state = get_u64(from), known = UINT64_MAX, missing;

    *ret = (struct growth){.known = state != STATE_UNKNOWN, .has_times = state != STATE_UNKNOWN};
    memset(events, 0, row->n_events * sizeof(*events));
    if (state >= STATES)
        return false;
    if (!ret->known)
        return !from->failed;
    if (state & STATE_PARTIAL)
        known = get_u64(from);
    ret->enabled_ns = get_u64(from);
    missing = get_u64(from);
    ret->running_ns = ret->enabled_ns - MIN(missing, ret->enabled_ns);
    for (size_t i = 0; i < row->n_events && !from->failed; i++) {
        events[i].known = known >> i & 1;
        if (!events[i].known)
            continue;
        if (row->events[i].decimals != SERIES_REAL) {
            events[i].value = get_u64(from);
        } else if (from->end - from->at >= (ptrdiff_t)sizeof(events[i].value)) {
            memcpy(&events[i].value, from->at, sizeof(events[i].value));
            from->at += sizeof(events[i].value);
        } else {
            from->failed = true;
        }
    }
    ret->has_busy = state & STATE_BUSY;
    if (ret->has_busy)
        ret->busy_ns = get_u64(from);
    if (state & STATE_LIMITED)
        ret->limited_ns = get_u64(from);
    return !from->failed;
}

struct frame {
    uint64_t realtime_ns, duration_ns, left_out, limited_by, n_rows;
};

static struct frame read_frame(struct reader *from)
{
    struct frame frame;

    frame.realtime_ns = get_u64(from);
    frame.duration_ns = get_u64(from);
    frame.left_out = get_u64(from);
    frame.limited_by = get_u64(from);
    frame.n_rows = get_u64(from);
    return frame;
}

/* --- descriptions --- */

struct described {
    uint32_t number;
    struct history_row row;
};

/* The rows of a history by ascending number, except those whose description cannot be read. */
struct dictionary {
    struct described *items;
    size_t n;
    char *texts; /* the bytes of all descriptions; the strings of the rows point into them */
};

static void dictionary_done(struct dictionary *dictionary)
{
    for (size_t i = 0; i < dictionary->n; i++)
        free(dictionary->items[i].row.events);
    free(dictionary->items);
    free(dictionary->texts);
}

/* Copies a description to `text`. */
static int dictionary_add(struct dictionary *dictionary, const struct history *history, const struct known_row *known,
                          uint8_t *text)
{
    size_t size = known->size - sizeof(struct record_head);
    struct reader reader = {text, text + size, false};
    struct history_event events[GROUP_MEMBERS_MAX];
    struct history_row row = {.events = events};

    ring_copy_out(history, known->at + sizeof(struct record_head), text, size);
    if (get_u64(&reader) != known->number || !read_row(&reader, &row))
        return 0;
    row.events = calloc(row.n_events + 1, sizeof(events[0]));
    if (!row.events)
        return -ENOMEM;
    memcpy(row.events, events, row.n_events * sizeof(events[0]));
    dictionary->items[dictionary->n++] = (struct described){known->number, row};
    return 0;
}

static int dictionary_read(const struct history *history, struct dictionary *ret)
{
    size_t size = 0;
    int r = 0;

    for (size_t i = 0; i < history->n_rows; i++)
        size += history->rows[i].size;
    ret->items = calloc(history->n_rows + 1, sizeof(ret->items[0]));
    ret->texts = malloc(size + 1);
    if (!ret->items || !ret->texts)
        return -ENOMEM;
    uint8_t *text = (uint8_t *)ret->texts;
    for (size_t i = 0; r == 0 && i < history->n_rows; text += history->rows[i++].size)
        r = dictionary_add(ret, history, &history->rows[i], text);
    return r;
}

/* Returns the index of a row in the dictionary, or dictionary->n if the row has no description. */
static size_t dictionary_find(const struct dictionary *dictionary, uint64_t number)
{
    size_t i = array_search(dictionary->n, k, dictionary->items[k].number < number);

    return i < dictionary->n && dictionary->items[i].number == number ? i : dictionary->n;
}

/*
 * A function that is called for each row of a frame, with the row's index in the dictionary. The function may return
 * -errno to end the visit.
 */
typedef int (*row_visitor)(void *userdata, size_t row, const struct growth *growth, const struct growth_event *events);

static int visit_rows(struct reader *reader, const struct frame *frame, const struct dictionary *dictionary,
                      row_visitor visit, void *userdata)
{
    struct growth_event events[GROUP_MEMBERS_MAX];
    struct growth growth;
    int r = 0;

    for (uint64_t i = 0; i < frame->n_rows && r == 0; i++) {
        uint64_t number = get_u64(reader);
        size_t row = reader->failed ? dictionary->n : dictionary_find(dictionary, number);
        if (row == dictionary->n || !read_growth(reader, &dictionary->items[row].row, &growth, events))
            return -EBADMSG;
        r = visit(userdata, row, &growth, events);
    }
    return r;
}

/* --- existing content of the block --- */

struct adoption {
    struct history *history;
    struct dictionary dictionary;
    uint64_t at; /* position of the frame */
};

/* Adds a row from its description. Whether any frame needs the row is not known until the frames are read. */
static int adopt_row(struct history *history, uint64_t at, const struct record_head *head, const struct buffer *content)
{
    struct reader reader = reader_of(content);
    uint64_t number = get_u64(&reader);

    if (reader.failed || number >= history->next_row)
        return -EBADMSG;
    if (array_grow(&history->rows, history->n_rows) < 0)
        return -ENOMEM;
    history->rows[history->n_rows++] = (struct known_row){
        .number = (uint32_t)number,
        .size = head->size,
        .hash = hash_bytes((const char *)reader.at, (size_t)(reader.end - reader.at)),
        .at = at,
        .row_id = UINT64_MAX,
    };
    return 0;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = ((const struct known_row *)a)->number, y = ((const struct known_row *)b)->number;

    return (x > y) - (x < y);
}

static int sort_rows(struct history *history)
{
    if (history->rows) /* qsort() does not accept NULL */
        qsort(history->rows, history->n_rows, sizeof(history->rows[0]), compare_numbers);
    for (size_t i = 1; i < history->n_rows; i++)
        if (history->rows[i].number == history->rows[i - 1].number)
            return -EBADMSG;
    return 0;
}

static int adopt_reference(void *userdata, size_t row, const struct growth *growth, const struct growth_event *events)
{
    struct adoption *adoption = userdata;

    (void)growth, (void)events;
    known_of(adoption->history, adoption->dictionary.items[row].number)->last_frame = adoption->at;
    return 0;
}

static int adopt_frame(struct adoption *adoption, uint64_t at, const struct buffer *content)
{
    struct reader reader = reader_of(content);
    struct frame frame = read_frame(&reader);

    adoption->at = at;
    adoption->history->n_frames++;
    return reader.failed ? -EBADMSG : visit_rows(&reader, &frame, &adoption->dictionary, adopt_reference, adoption);
}

/*
 * Reads all records of one kind. Descriptions and frames are read separately, because a frame may precede the
 * description of one of its rows.
 */
static int adopt_records(struct adoption *adoption, enum record_kind kind)
{
    struct history *history = adoption->history;
    _cleanup_(buffer_done) struct buffer content = {0};
    struct record_head head;
    uint64_t at = history->begin;
    int r = 0;

    for (; r == 0 && ring_head(history, at, &head); at += head.size) {
        if (head.kind != RECORD_ROW && head.kind != RECORD_FRAME)
            return -EBADMSG;
        if (head.kind != kind)
            continue;
        if (!ring_content(history, at, &head, &content))
            return -ENOMEM;
        r = kind == RECORD_ROW ? adopt_row(history, at, &head, &content) : adopt_frame(adoption, at, &content);
    }
    return r < 0 ? r : at == history->end ? 0 : -EBADMSG;
}

/* Reads the head. */
static int adopt_head(struct history *history)
{
    const struct head head = *history->head;

    if (head.magic != MAGIC || head.version != LAYOUT_VERSION || head.size != sizeof(head) + history->ring_size ||
        head.begin > head.end || head.end - head.begin > history->ring_size || head.end > UINT64_MAX / 2 ||
        head.next_row > ROWS_MAX)
        return -EBADMSG;
    history->begin = head.begin;
    history->end = head.end;
    history->next_row = head.next_row;
    return 0;
}

/* Returns -EBADMSG if the block is not consistent. */
static int adopt(struct history *history)
{
    struct adoption adoption = {.history = history};
    int r = adopt_head(history);

    if (r == 0)
        r = adopt_records(&adoption, RECORD_ROW);
    if (r == 0)
        r = sort_rows(history);
    if (r == 0)
        r = dictionary_read(history, &adoption.dictionary);
    if (r == 0)
        r = adopt_records(&adoption, RECORD_FRAME);
    dictionary_done(&adoption.dictionary);
    if (r < 0)
        return r;
    forget_rows(history);
    return history->described <= history->ring_size / DESCRIPTIONS_SHARE ? 0 : -EBADMSG;
}

int history_new(void *block, size_t size, const struct history_settings *settings, struct history **ret)
{
    struct history *history = size < HISTORY_SIZE_MIN ? NULL : calloc(1, sizeof(*history));

    if (!history)
        return size < HISTORY_SIZE_MIN ? -EINVAL : -ENOMEM;
    *history = (struct history){.head = block,
                                .ring = (uint8_t *)block + sizeof(struct head),
                                .ring_size = size - sizeof(struct head),
                                .settings = *settings};
    int r = adopt(history);
    if (r == -ENOMEM) {
        history_free(history);
        return r;
    }
    if (r < 0)
        empty(history);
    *ret = history;
    return 0;
}

struct history *history_free(struct history *history)
{
    if (!history)
        return NULL;
    baseline_free(history->baseline);
    buffer_done(&history->frame);
    buffer_done(&history->description);
    free(history->rows);
    free(history);
    return NULL;
}

/* --- reading a range --- */

#define TABLE_BYTES_MAX ((size_t)64 << 20)

/* A frame in the time range that is read. */
struct located {
    uint64_t at;
    size_t step;
};

struct reading {
    const struct history_range *range;
    bool (*passes)(const void *userdata, const struct history_row *row);
    const void *userdata;
    struct located *frames;
    size_t n_frames;
    struct dictionary dictionary;
    uint32_t *lines; /* index of the line, plus 1, of each row of the dictionary; 0 for no line */
    struct history_table *table;
    size_t bytes; /* size of the table in bytes */
    size_t step;  /* step of the frame */
};

static void reading_done(struct reading *reading)
{
    free(reading->frames);
    free(reading->lines);
    dictionary_done(&reading->dictionary);
}

static bool is_in_range(const struct history_range *range, const struct frame *frame)
{
    return frame->realtime_ns > range->since_ns && frame->realtime_ns <= range->until_ns;
}

/* Returns the step of a frame that ends at `end_ns`, if all steps have the same length. */
static size_t step_of(const struct history_range *range, uint64_t end_ns)
{
    return (size_t)((end_ns - range->since_ns - 1) / range->step_ns);
}

static int add_step(struct history_table *table, const struct history_step *step)
{
    if (table->n_steps >= HISTORY_STEPS_MAX)
        return -E2BIG;
    if (array_grow(&table->steps, table->n_steps) < 0)
        return -ENOMEM;
    table->steps[table->n_steps++] = *step;
    return 0;
}

/*
 * CLOCK_REALTIME and CLOCK_MONOTONIC are assumed to drift apart by less than 1/GAP_SHARE, and to be read less than
 * GAP_NS apart.
 */
#define GAP_SHARE 100
#define GAP_NS (50 * NSEC_PER_MSEC)

/*
 * Returns whether there is a gap between two frames, because the clock was set, the machine slept, or nothing was
 * recorded.
 */
static bool is_gap(const struct frame *frame, uint64_t last_end_ns)
{
    uint64_t begin = frame->realtime_ns - MIN(frame->duration_ns, frame->realtime_ns);

    return begin > last_end_ns && begin - last_end_ns > frame->duration_ns / GAP_SHARE + GAP_NS;
}

/* With a step length of 0, each frame is a step, and so is each gap between two frames. */
static int add_frame_step(struct history_table *table, const struct frame *frame)
{
    const struct history_step *last = table->n_steps ? &table->steps[table->n_steps - 1] : NULL;
    struct history_step gap = {.end_ns = frame->realtime_ns - MIN(frame->duration_ns, frame->realtime_ns)};
    int r = last && is_gap(frame, last->end_ns) ? add_step(table, &gap) : 0;

    return r < 0 ? r
                 : add_step(table, &(struct history_step){frame->realtime_ns, frame->duration_ns, frame->left_out,
                                                          frame->limited_by});
}

static int make_even_steps(const struct history_range *range, struct history_table *table)
{
    uint64_t last = (range->until_ns - range->since_ns - 1) / range->step_ns;
    int r = last < HISTORY_STEPS_MAX ? 0 : -E2BIG;

    for (uint64_t i = 0; r == 0 && i <= last; i++) {
        uint64_t begin = range->since_ns + i * range->step_ns;
        r = add_step(table, &(struct history_step){.end_ns = begin + MIN(range->step_ns, range->until_ns - begin)});
    }
    return r;
}

/* Finds or adds the line of a row of the dictionary. */
static struct history_line *find_line(struct reading *reading, size_t row, int *ret_error)
{
    const struct described *described = &reading->dictionary.items[row];
    struct history_table *table = reading->table;
    uint32_t *line = &reading->lines[row];
    size_t cells = table->n_steps * sizeof(struct history_cell);
    size_t values = table->n_steps * (described->row.n_events + 1) * sizeof(struct growth_event);

    *ret_error = 0;
    if (*line)
        return &table->lines[*line - 1];
    reading->bytes += cells + values;
    *ret_error = reading->bytes > TABLE_BYTES_MAX ? -E2BIG : array_grow(&table->lines, table->n_lines);
    if (*ret_error < 0)
        return NULL;
    struct history_line *added = &table->lines[table->n_lines];
    *added = (struct history_line){.row = described->row, .cells = calloc(1, cells), .values = calloc(1, values)};
    added->row.events = calloc(described->row.n_events + 1, sizeof(added->row.events[0]));
    *line = (uint32_t)++table->n_lines;
    if (!added->cells || !added->values || !added->row.events) {
        *ret_error = -ENOMEM;
        return NULL;
    }
    memcpy(added->row.events, described->row.events, described->row.n_events * sizeof(added->row.events[0]));
    return added;
}

static int add_growth(void *userdata, size_t row, const struct growth *growth, const struct growth_event *events)
{
    struct reading *reading = userdata;
    int r;

    if (reading->passes && !reading->passes(reading->userdata, &reading->dictionary.items[row].row))
        return 0;
    struct history_line *line = find_line(reading, row, &r);
    if (!line)
        return r;
    const struct history_cell cell = {
        .state = !growth->known                            ? HISTORY_UNKNOWN
                 : growth->running_ns < growth->enabled_ns ? HISTORY_MULTIPLEXED
                                                           : HISTORY_COUNTING,
        .enabled_ns = growth->enabled_ns,
        .running_ns = growth->running_ns,
        .has_busy = growth->has_busy,
        .busy_ns = growth->busy_ns,
        .limited_ns = growth->limited_ns,
    };
    history_add(&line->row, &line->cells[reading->step], &line->values[reading->step * line->row.n_events], &cell,
                events);
    return 0;
}

/* Finds the step of a frame, or adds a step if every frame is a step of its own. */
static int find_step(struct reading *reading, const struct frame *frame, size_t *ret)
{
    struct history_table *table = reading->table;

    if (reading->range->step_ns == 0) {
        int r = add_frame_step(table, frame);
        *ret = table->n_steps - 1;
        return r;
    }
    *ret = step_of(reading->range, frame->realtime_ns);
    table->steps[*ret].covered_ns += frame->duration_ns;
    table->steps[*ret].limited_by |= frame->limited_by;
    table->steps[*ret].left_out = MAX(table->steps[*ret].left_out, frame->left_out);
    return 0;
}

static int locate_frame(struct reading *reading, const struct frame *frame, uint64_t at)
{
    size_t step;
    int r = find_step(reading, frame, &step);

    if (r < 0)
        return r;
    if (array_grow(&reading->frames, reading->n_frames) < 0)
        return -ENOMEM;
    reading->frames[reading->n_frames++] = (struct located){at, step};
    return 0;
}

static int locate_frames(const struct history *history, struct reading *reading)
{
    _cleanup_(buffer_done) struct buffer content = {0};
    struct record_head head;
    int r = 0;

    for (uint64_t at = history->begin; r == 0 && ring_head(history, at, &head); at += head.size) {
        if (head.kind != RECORD_FRAME)
            continue;
        if (!ring_content(history, at, &head, &content))
            return -ENOMEM;
        struct reader reader = reader_of(&content);
        struct frame frame = read_frame(&reader);
        if (!reader.failed && is_in_range(reading->range, &frame))
            r = locate_frame(reading, &frame, at);
    }
    return r;
}

/* If a frame was overwritten in the meantime, the rest of the frame is left out. */
static int read_frames(const struct history *history, struct reading *reading)
{
    _cleanup_(buffer_done) struct buffer content = {0};
    struct record_head head;

    for (size_t i = 0; i < reading->n_frames; i++) {
        if (!ring_head(history, reading->frames[i].at, &head))
            continue;
        if (!ring_content(history, reading->frames[i].at, &head, &content))
            return -ENOMEM;
        struct reader reader = reader_of(&content);
        struct frame frame = read_frame(&reader);
        reading->step = reading->frames[i].step;
        int r = visit_rows(&reader, &frame, &reading->dictionary, add_growth, reading);
        if (r < 0 && r != -EBADMSG)
            return r;
    }
    return 0;
}

int history_read(const struct history *history, const struct history_range *range,
                 bool (*passes)(const void *userdata, const struct history_row *row), const void *userdata,
                 struct history_table *ret)
{
    _cleanup_(reading_done) struct reading reading = {
        .range = range, .passes = passes, .userdata = userdata, .table = ret};

    *ret = (struct history_table){0};
    if (range->since_ns >= range->until_ns)
        return 0;
    int r = range->step_ns ? make_even_steps(range, ret) : 0;
    if (r == 0)
        r = locate_frames(history, &reading);
    if (r == 0)
        r = dictionary_read(history, &reading.dictionary);
    reading.lines = calloc(reading.dictionary.n + 1, sizeof(*reading.lines));
    if (r == 0)
        r = reading.lines ? read_frames(history, &reading) : -ENOMEM;
    ret->texts = steal(reading.dictionary.texts);
    return r;
}

void history_span(const struct history *history, uint64_t *ret_begin_ns, uint64_t *ret_end_ns)
{
    _cleanup_(buffer_done) struct buffer content = {0};
    struct record_head head;
    bool found = false;

    *ret_begin_ns = *ret_end_ns = 0;
    for (uint64_t at = history->begin; ring_head(history, at, &head); at += head.size) {
        if (head.kind != RECORD_FRAME || !ring_content(history, at, &head, &content))
            continue;
        struct reader reader = reader_of(&content);
        struct frame frame = read_frame(&reader);
        if (!found)
            *ret_begin_ns = frame.realtime_ns - MIN(frame.duration_ns, frame.realtime_ns);
        *ret_end_ns = frame.realtime_ns;
        found = true;
    }
}
