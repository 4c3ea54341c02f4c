/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/profile.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"

#define LOCATIONS_MAX 24576
#define LOCATION_MAPPINGS_MAX 2048
#define LOCATION_STRINGS_MAX 24576
#define LOCATION_STRINGS_BYTES_MAX ((size_t)512 << 10)
#define PROFILE_FRAMES_MAX (256 * 1024) /* maximum number of frames in all chains together */
#define CGROUPS_BYTES_MAX ((size_t)64 << 10)

/* --- locations --- */

static int locations_init(struct locations *locations, struct symbols *symbols)
{
    *locations = (struct locations){.symbols = symbols};
    return string_table_init(&locations->strings, LOCATION_STRINGS_MAX, LOCATION_STRINGS_BYTES_MAX);
}

static void locations_done(struct locations *locations)
{
    for (size_t i = 0; i < locations->n_mappings; i++)
        symbols_release(&locations->mappings[i]);
    free(locations->mappings);
    free(locations->locations);
    hash_index_done(&locations->index);
    hash_index_done(&locations->mapping_index);
    string_table_done(&locations->strings);
    *locations = (struct locations){0};
}

static int locations_add_mapping(struct locations *locations, uint32_t pid, const struct frame *frame, uint32_t *ret)
{
    uint32_t hash = hash_fold(hash_mix(0, frame->mapping->number)), found;

    for (size_t at = 0; (found = hash_index_next(&locations->mapping_index, hash, &at)) != HASH_INDEX_NONE;)
        if (locations->mappings[found].mapping.number == frame->mapping->number) {
            struct mapping *kept = &locations->mappings[found].mapping;
            uint64_t size = frame->mapping->end - frame->mapping->start;
            kept->end = MAX(kept->end, kept->start + size); /* an earlier process may have mapped less of the file */
            kept->build_id_size = frame->mapping->build_id_size;
            *ret = found;
            return 0;
        }
    if (locations->full || locations->n_mappings >= LOCATION_MAPPINGS_MAX)
        return -ENOSPC;
    if (array_grow(&locations->mappings, locations->n_mappings) < 0 ||
        hash_index_add(&locations->mapping_index, hash, (uint32_t)locations->n_mappings) < 0)
        return -ENOMEM;
    symbols_keep(frame, pid, &locations->mappings[locations->n_mappings]);
    *ret = (uint32_t)locations->n_mappings++;
    return 0;
}

/* If the string table has no room for the name, the symbol remains unknown. */
static void location_set_symbol(struct locations *locations, struct location *location, const char *symbol)
{
    if (symbol && location->symbol == 0)
        string_table_add(&locations->strings, symbol, &location->symbol);
}

static int locations_keep(struct locations *locations, struct location location, uint32_t *ret)
{
    uint32_t hash = hash_fold(hash_mix(hash_mix(0, location.address), location.mapping)), found;

    for (size_t at = 0; (found = hash_index_next(&locations->index, hash, &at)) != HASH_INDEX_NONE;)
        if (locations->locations[found].address == location.address &&
            locations->locations[found].mapping == location.mapping) {
            *ret = found;
            return 0;
        }
    if (locations->full || locations->n >= LOCATIONS_MAX)
        return -ENOSPC;
    if (array_grow(&locations->locations, locations->n) < 0 ||
        hash_index_add(&locations->index, hash, (uint32_t)locations->n) < 0)
        return -ENOMEM;
    locations->locations[locations->n] = location;
    *ret = (uint32_t)locations->n++;
    return 0;
}

/* Finds or adds the location of an address in process `pid`. Returns -ENOSPC if a limit is reached, or -ENOMEM. */
static int locations_add(struct locations *locations, uint32_t pid, enum address_space space, uint64_t ip,
                         uint32_t *ret)
{
    struct location location = {.address = ip, .mapping = LOCATION_UNMAPPED};
    struct frame frame = {0};
    uint32_t number;

    if (space != SPACE_OTHER)
        symbols_resolve(locations->symbols, pid, space == SPACE_KERNEL, ip, &frame);
    if (frame.mapping) {
        int r = locations_add_mapping(locations, pid, &frame, &location.mapping);
        if (r < 0)
            return r;
        location.address = ip - frame.mapping->start + locations->mappings[location.mapping].mapping.start;
    }
    int r = locations_keep(locations, location, &number);
    if (r < 0)
        return r;
    location_set_symbol(locations, &locations->locations[number], frame.symbol);
    *ret = number;
    return 0;
}

/* Requests at most `n` unknown symbols. Returns true if all locations were visited and no symbol is pending. */
static bool locations_settle(struct locations *locations, size_t n)
{
    struct frame frame;

    for (; n && locations->settled < locations->n; locations->settled++) {
        struct location *location = &locations->locations[locations->settled];
        if (location->symbol || location->mapping == LOCATION_UNMAPPED)
            continue;
        symbols_resolve_kept(locations->symbols, &locations->mappings[location->mapping], location->address, &frame);
        location_set_symbol(locations, location, frame.symbol);
        n--;
    }
    if (locations->settled < locations->n)
        return false;
    locations->settled = 0;
    return !symbols_pending(locations->symbols);
}

bool location_is_kernel(const struct locations *locations, const struct location *location)
{
    return location->mapping != LOCATION_UNMAPPED && locations->mappings[location->mapping].kernel;
}

void location_append_name(const struct locations *locations, const struct location *location, struct buffer *name)
{
    if (location->symbol) {
        buffer_append_text(name, string_table_text(&locations->strings, location->symbol));
        return;
    }
    const char *file =
        location->mapping == LOCATION_UNMAPPED ? "" : locations->mappings[location->mapping].mapping.file;
    if (file[0] == '[') {
        escape_append(name, file, ESCAPE_NOTHING);
        return;
    }
    const char *slash = strrchr(file, '/');
    buffer_append_char(name, '[');
    escape_append(name, slash && slash[1] && file[1] != '/' ? slash + 1 : "unknown", ESCAPE_NOTHING);
    buffer_append_char(name, ']');
}

/* --- stacks --- */

/* The frames of one or more stacks. */
struct chain {
    uint32_t first, n; /* range of the chain in `frames` */
};

struct stack {
    uint32_t pid, tid;
    uint16_t comm;   /* thread name, as an index into locations.strings */
    uint16_t cgroup; /* number of the cgroup, as in profile_cgroup() */
    uint16_t chain;
    uint16_t state; /* enum off_cpu_state plus 1; 0 for samples of a running task */
    struct profile_weight weight;
};

_Static_assert(LOCATION_STRINGS_MAX <= UINT16_MAX && PROFILE_STACKS_MAX <= UINT16_MAX &&
                   PROFILE_CGROUPS_MAX < UINT16_MAX,
               "they are indices of struct stack");

struct profile {
    struct symbols *symbols;
    struct profile_keys keys;
    struct locations locations;
    struct stack *stacks;
    size_t n_stacks;
    struct hash_index index;
    struct chain *chains;
    size_t n_chains;
    struct hash_index chain_index;
    uint32_t *frames; /* indices of locations */
    size_t n_frames, frames_capacity;
    struct found_cgroup **cgroups; /* references to the cgroups, which are numbered from 1 */
    size_t n_cgroups, cgroups_bytes;
    uint16_t last_cgroup;
    struct profile_weight total, skipped;
};

_Static_assert(PROFILE_STACKS_MAX *(sizeof(struct stack) + sizeof(struct chain)) * 4 / 3 +
                       PROFILE_FRAMES_MAX * sizeof(uint32_t) + LOCATIONS_MAX * sizeof(struct location) * 4 / 3 +
                       LOCATION_MAPPINGS_MAX * (sizeof(struct symbols_kept) + 4 * sizeof(struct hash_slot)) +
                       LOCATION_STRINGS_BYTES_MAX * 2 + LOCATION_STRINGS_MAX * sizeof(uint32_t) * 4 / 3 +
                       4 * (size_t)32768 * sizeof(struct hash_slot) + CGROUPS_BYTES_MAX <=
                   PROFILE_BYTES_MAX,
               "arrays at their limits are larger than the limit of all");

struct profile *profile_new(struct symbols *symbols, struct profile_keys keys)
{
    struct profile *profile = calloc(1, sizeof(*profile));

    if (!profile)
        return NULL;
    profile->symbols = symbols;
    profile->keys = keys;
    return locations_init(&profile->locations, symbols) < 0 ? profile_free(profile) : profile;
}

struct profile *profile_free(struct profile *profile)
{
    if (!profile)
        return NULL;
    locations_done(&profile->locations);
    free(profile->stacks);
    free(profile->chains);
    free(profile->frames);
    for (size_t i = 0; i < profile->n_cgroups; i++)
        found_cgroup_unref(profile->cgroups[i]);
    free(profile->cgroups);
    hash_index_done(&profile->index);
    hash_index_done(&profile->chain_index);
    free(profile);
    return NULL;
}

/* Makes room for the frames of a sample, whether or not its stack will be kept. */
static int make_frame_room(struct profile *profile)
{
    size_t capacity = profile->frames_capacity ? profile->frames_capacity : (size_t)4 * PROFILE_DEPTH_MAX;

    while (capacity < profile->n_frames + PROFILE_DEPTH_MAX)
        capacity = MIN(2 * capacity, (size_t)PROFILE_FRAMES_MAX + PROFILE_DEPTH_MAX);
    if (capacity == profile->frames_capacity)
        return 0;
    uint32_t *larger = reallocarray(profile->frames, capacity, sizeof(*larger));
    if (!larger)
        return -ENOMEM;
    profile->frames = larger;
    profile->frames_capacity = capacity;
    return 0;
}

/* Writes the frames of a sample to the end of `frames`, after the frames of all chains. */
static int put_frames(struct profile *profile, const struct record *record, size_t *ret_n)
{
    uint32_t *frames = profile->frames + profile->n_frames, pid = record->id.pid;
    struct callchain chain = callchain_begin(record);
    size_t n = 0;
    uint64_t ip;
    int r = 0;

    for (; n < PROFILE_DEPTH_MAX && callchain_next(&chain, &ip); n++) {
        r = locations_add(&profile->locations, pid, chain.space, ip - callchain_is_caller(&chain), &frames[n]);
        if (r < 0)
            return r;
    }
    if (n == 0 && record->sample.ip)
        r = locations_add(&profile->locations, pid, address_space_of(record), record->sample.ip, &frames[n++]);
    *ret_n = n;
    return r;
}

static bool frames_equal(const struct profile *profile, const struct chain *a, const struct chain *b)
{
    return a->n == b->n && memcmp(profile->frames + a->first, profile->frames + b->first, a->n * sizeof(uint32_t)) == 0;
}

/* Finds the chain that equals the `n` frames written by put_frames(), or adds a new chain. */
static int keep_or_find_chain(struct profile *profile, size_t n, uint16_t *ret)
{
    const struct chain wanted = {.first = (uint32_t)profile->n_frames, .n = (uint32_t)n};
    uint64_t mixed = 0;
    uint32_t found;

    for (size_t i = 0; i < n; i++)
        mixed = hash_mix(mixed, profile->frames[wanted.first + i]);
    uint32_t hash = hash_fold(mixed);
    for (size_t at = 0; (found = hash_index_next(&profile->chain_index, hash, &at)) != HASH_INDEX_NONE;)
        if (frames_equal(profile, &profile->chains[found], &wanted)) {
            *ret = (uint16_t)found;
            return 0;
        }
    if (profile->locations.full || profile->n_chains >= PROFILE_STACKS_MAX ||
        profile->n_frames + n > PROFILE_FRAMES_MAX)
        return -ENOSPC;
    if (array_grow(&profile->chains, profile->n_chains) < 0 ||
        hash_index_add(&profile->chain_index, hash, (uint32_t)profile->n_chains) < 0)
        return -ENOMEM;
    profile->n_frames += n;
    profile->chains[profile->n_chains] = wanted;
    *ret = (uint16_t)profile->n_chains++;
    return 0;
}

static bool stack_equal(const struct stack *a, const struct stack *b)
{
    return a->chain == b->chain && a->pid == b->pid && a->tid == b->tid && a->comm == b->comm &&
           a->cgroup == b->cgroup && a->state == b->state;
}

static struct stack *find_stack(struct profile *profile, const struct stack *wanted, uint32_t *ret_hash)
{
    uint64_t hash = hash_mix(hash_mix(wanted->state, (uint64_t)wanted->pid << 32 | wanted->tid),
                             (uint64_t)wanted->comm << 32 | (uint32_t)wanted->cgroup << 16 | wanted->chain);
    uint32_t found;

    *ret_hash = hash_fold(hash);
    for (size_t at = 0; (found = hash_index_next(&profile->index, *ret_hash, &at)) != HASH_INDEX_NONE;)
        if (stack_equal(&profile->stacks[found], wanted))
            return &profile->stacks[found];
    return NULL;
}

/*
 * Finds a stack that equals `wanted`, or adds `wanted`. Once half of the room for stacks is in use, a new stack does
 * not keep its thread.
 */
static int keep_or_find_stack(struct profile *profile, struct stack wanted, struct stack **ret)
{
    uint32_t hash;

    *ret = find_stack(profile, &wanted, &hash);
    if (*ret)
        return 0;
    if (wanted.tid && profile->n_stacks >= PROFILE_STACKS_MAX / 2) {
        wanted.tid = 0;
        return keep_or_find_stack(profile, wanted, ret);
    }
    if (profile->locations.full || profile->n_stacks >= PROFILE_STACKS_MAX)
        return -ENOSPC;
    if (array_grow(&profile->stacks, profile->n_stacks) < 0 ||
        hash_index_add(&profile->index, hash, (uint32_t)profile->n_stacks) < 0)
        return -ENOMEM;
    profile->stacks[profile->n_stacks] = wanted;
    *ret = &profile->stacks[profile->n_stacks++];
    return 0;
}

/* Returns the number of the sample's cgroup, or 0 if the cgroup is unknown or there is no room for it. */
static uint16_t number_of_cgroup(struct profile *profile, const struct record *record)
{
    struct found_cgroup *cgroup = cgroup_lookup_sample(profile->keys.cgroups, record);

    if (!cgroup)
        return 0;
    if (profile->last_cgroup && profile->cgroups[profile->last_cgroup - 1] == cgroup)
        return profile->last_cgroup;
    for (size_t i = 0; i < profile->n_cgroups; i++)
        if (profile->cgroups[i] == cgroup)
            return profile->last_cgroup = (uint16_t)(i + 1);
    size_t bytes = strlen(cgroup->path) + strlen(cgroup->label) + sizeof(*cgroup) + 2 * sizeof(cgroup);
    if (profile->locations.full || profile->n_cgroups >= PROFILE_CGROUPS_MAX ||
        profile->cgroups_bytes + bytes > CGROUPS_BYTES_MAX || array_grow(&profile->cgroups, profile->n_cgroups) < 0)
        return 0;
    profile->cgroups_bytes += bytes;
    profile->cgroups[profile->n_cgroups++] = found_cgroup_ref(cgroup);
    return profile->last_cgroup = (uint16_t)profile->n_cgroups;
}

static int stack_of_sample(struct profile *profile, const struct record *record, uint16_t state, struct stack **ret)
{
    struct stack wanted = {.pid = record->id.pid, .tid = profile->keys.threads ? record->id.tid : 0, .state = state};
    uint32_t comm;
    size_t n = 0;

    int r = make_frame_room(profile);
    if (r == 0)
        r = put_frames(profile, record, &n);
    if (r == 0)
        r = string_table_add(&profile->locations.strings, symbols_comm(profile->symbols, record), &comm);
    if (r == 0)
        r = keep_or_find_chain(profile, n, &wanted.chain);
    if (r < 0)
        return r;
    wanted.comm = (uint16_t)comm;
    wanted.cgroup = number_of_cgroup(profile, record);
    return keep_or_find_stack(profile, wanted, ret);
}

static void weight_add(struct profile_weight *weight, struct profile_weight more)
{
    weight->samples += more.samples;
    weight->period += more.period;
}

static int add_in_state(struct profile *profile, const struct record *record, uint16_t state,
                        struct profile_weight weight)
{
    struct stack *stack = NULL;

    weight_add(&profile->total, weight);
    int r = stack_of_sample(profile, record, state, &stack);
    weight_add(r < 0 ? &profile->skipped : &stack->weight, weight);
    return r < 0 ? -ENOSPC : 0;
}

/*
 * Adds a sample. If a task was woken some time before it ran, its wait has two states, but is counted once, in the
 * first.
 */
int profile_add(struct profile *profile, const struct record *record)
{
    const struct off_cpu_wait *wait = record->sample.wait;

    if (!wait)
        return add_in_state(profile, record, 0, (struct profile_weight){1, record->sample.period});
    uint64_t blocked_ns = wait->ns - wait->runnable_ns;
    uint16_t state = (uint16_t)(wait->state + 1), runnable = OFF_CPU_RUNNABLE + 1;
    if (state == runnable)
        return add_in_state(profile, record, runnable, (struct profile_weight){1, wait->ns});
    int r = add_in_state(profile, record, state, (struct profile_weight){1, blocked_ns});
    if (r == 0 && wait->runnable_ns)
        r = add_in_state(profile, record, runnable, (struct profile_weight){0, wait->runnable_ns});
    return r;
}

bool profile_settle(struct profile *profile, size_t n)
{
    return locations_settle(&profile->locations, n);
}

void profile_finish(struct profile *profile)
{
    profile->locations.settled = 0;
    locations_settle(&profile->locations, SIZE_MAX);
}

struct profile_weight profile_total(const struct profile *profile)
{
    return profile->total;
}

struct profile_weight profile_skipped(const struct profile *profile)
{
    return profile->skipped;
}

/* Adds the samples of a stack whose innermost function has no name. `of_mappings` has a counter for each mapping. */
static void add_unnamed(const struct profile *profile, const struct stack *stack, uint64_t *of_mappings,
                        struct writer_unnamed *unnamed)
{
    const struct chain *chain = &profile->chains[stack->chain];
    const struct location *location = chain->n ? &profile->locations.locations[profile->frames[chain->first]] : NULL;
    uint64_t n = stack->weight.samples;

    if (location && location->symbol)
        return;
    unnamed->samples += n;
    if (location && location_is_kernel(&profile->locations, location))
        unnamed->kernel += n;
    else if (stack->pid == 0)
        unnamed->outside += n;
    else if (location && location->mapping != LOCATION_UNMAPPED && of_mappings)
        of_mappings[location->mapping] += n;
}

void profile_unnamed(const struct profile *profile, struct writer_unnamed *ret)
{
    const struct locations *locations = &profile->locations;
    struct writer_unnamed unnamed = {.samples = profile->skipped.samples};
    /* if memory runs out, the sentence names no file */
    _cleanup_(freep) uint64_t *of_mappings = calloc(locations->n_mappings + 1, sizeof(*of_mappings));

    for (size_t i = 0; i < profile->n_stacks; i++)
        add_unnamed(profile, &profile->stacks[i], of_mappings, &unnamed);
    for (size_t i = 0; i < locations->n_mappings && of_mappings; i++) {
        const char *file = locations->mappings[i].mapping.file, *slash = strrchr(file, '/');
        _cleanup_(buffer_done) struct buffer name = {0};
        if (of_mappings[i] <= unnamed.of_file || file[0] != '/' || file[1] == '/')
            continue;
        escape_append_printable(&name, slash + 1);
        buffer_append_char(&name, '\0');
        unnamed.of_file = of_mappings[i];
        snprintf(unnamed.file, sizeof(unnamed.file), "%s", name.failed ? "" : name.data);
    }
    *ret = unnamed;
}

struct locations *profile_locations(struct profile *profile)
{
    return &profile->locations;
}

int profile_each(const struct profile *profile, profile_visit visit, void *userdata)
{
    int r = 0;

    for (size_t i = 0; i < profile->n_stacks && r == 0; i++) {
        const struct stack *stack = &profile->stacks[i];
        const struct chain *chain = &profile->chains[stack->chain];
        const struct profile_stack shown = {
            .pid = stack->pid,
            .tid = stack->tid,
            .comm = stack->comm,
            .cgroup = stack->cgroup,
            .state = stack->state,
            .locations = profile->frames + chain->first,
            .n = chain->n,
            .weight = stack->weight,
        };
        r = visit(userdata, &shown);
    }
    return r;
}

const struct found_cgroup *profile_cgroup(const struct profile *profile, uint32_t number)
{
    return number ? profile->cgroups[number - 1] : NULL;
}

size_t profile_n_cgroups(const struct profile *profile)
{
    return profile->n_cgroups;
}

struct early_count {
    const struct locations *locations;
    struct early_ends *ends;
};

/* The program's frames are the outermost frames of a stack. */
static int count_early_end(void *userdata, const struct profile_stack *stack)
{
    const struct early_count *count = userdata;
    size_t innermost = stack->n;

    while (innermost > 0 &&
           !location_is_kernel(count->locations, &count->locations->locations[stack->locations[innermost - 1]]))
        innermost--;
    if (innermost == stack->n)
        return 0;
    uint32_t mapping = count->locations->locations[stack->locations[innermost]].mapping;
    if (mapping != LOCATION_UNMAPPED)
        early_ends_add(count->ends, count->locations->mappings[mapping].mapping.file, stack->n - innermost == 1,
                       stack->weight.samples);
    return 0;
}

void profile_count_early_ends(const struct profile *profile, struct early_ends *ret)
{
    struct early_count count = {&profile->locations, ret};

    profile_each(profile, count_early_end, &count);
}

size_t profile_bytes(const struct profile *profile)
{
    const struct locations *locations = &profile->locations;
    size_t slots = profile->index.size + profile->chain_index.size + locations->index.size +
                   locations->mapping_index.size + locations->strings.index.size;

    return sizeof(*profile) + profile->frames_capacity * sizeof(profile->frames[0]) +
           array_bytes(profile->n_stacks, sizeof(profile->stacks[0])) +
           array_bytes(profile->n_chains, sizeof(profile->chains[0])) + profile->cgroups_bytes +
           array_bytes(locations->n, sizeof(locations->locations[0])) +
           array_bytes(locations->n_mappings, sizeof(locations->mappings[0])) +
           array_bytes(locations->strings.n, sizeof(locations->strings.offsets[0])) +
           locations->strings.bytes.capacity + slots * sizeof(struct hash_slot);
}

/* --- writers --- */

/* The number of symbols in one request. A request takes about 0.1 us per symbol. */
#define SETTLE_PER_ROUND 256
#define SETTLE_PER_CALL 8192

void *profile_writer_begin(const struct writer_source *source, struct profile_keys keys)
{
    struct profile_writer *writer = calloc(1, sizeof(*writer));

    if (!writer)
        return NULL;
    writer->source = source;
    writer->profile = profile_new(source->symbols, keys);
    if (!writer->profile) {
        free(writer);
        return NULL;
    }
    return writer;
}

/* A skipped sample still counts in the profile, so it is reported as written. */
bool profile_writer_record(void *state, const struct record *record, struct buffer *out)
{
    struct profile_writer *writer = state;

    (void)out;
    if (record->type != PERF_RECORD_SAMPLE)
        return false;
    profile_locations(writer->profile)->full = writer->source->full;
    profile_add(writer->profile, record);
    return true;
}

void profile_writer_mark(void *state, const struct writer_mark *mark, struct buffer *out)
{
    struct profile_writer *writer = state;

    (void)out;
    if (mark->kind == WRITER_ROUND)
        profile_settle(writer->profile, SETTLE_PER_ROUND);
}

bool profile_writer_settle(void *state)
{
    struct profile_writer *writer = state;

    return profile_settle(writer->profile, SETTLE_PER_CALL);
}

size_t profile_writer_bytes(const void *state)
{
    const struct profile_writer *writer = state;

    return profile_bytes(writer->profile);
}

void profile_writer_unnamed(const void *state, struct writer_unnamed *ret)
{
    const struct profile_writer *writer = state;

    profile_unnamed(writer->profile, ret);
}

void profile_writer_early_ends(const void *state, struct buffer *sentence)
{
    const struct profile_writer *writer = state;
    _cleanup_(early_ends_done) struct early_ends ends = {0};

    if (writer->source->layout.sample_type & PERF_SAMPLE_CALLCHAIN)
        profile_count_early_ends(writer->profile, &ends);
    early_ends_describe(&ends, sentence);
}

void profile_writer_free(void *state)
{
    struct profile_writer *writer = state;

    profile_free(writer->profile);
    free(writer);
}
