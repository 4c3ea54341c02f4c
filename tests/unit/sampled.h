/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sampler of this machine and its clients. The writers print one line per record; the symbols are stubs that resolve
 * nothing.
 */
#ifndef TESTS_UNIT_SAMPLED_H
#define TESTS_UNIT_SAMPLED_H

#include "process/child.h"
#include "sampler/stream.h"

struct sampled {
    struct sys sys;
    sd_event *event;
    struct machine *machine;
    struct config_sampler config;
    enum trust admits; /* the lowest trust that may sample; 0: every client may */
    struct sampler *sampler;
    struct child symboliser;
};
int sampled_begin(void **state);
/* Fails the test if a perf event is still open. */
int sampled_end(void **state);

/*
 * Writers that write one line for each record or notice: "begin N", "sample TIME CPU PID", "dropped N", "pause TIME",
 * "resume TIME", "rescanned", "end REASON RECORDS DROPPED" and "malformed N". A stream of writer_settled only ends once
 * all symbols are resolved.
 */
extern const struct writer writer_lines, writer_settled;

/* The stub that stands in for symbols/symbols.c. */
struct symbols {
    sd_event *event;
    struct scan { /* the current scan; zeroed if there is none */
        void (*done)(void *userdata);
        void *userdata;
    } scans[8];
    const void *cancelled;
    bool all_ended;
};

/* Calls that the stubs received from the sampler, and settings for how the stubs respond. */
extern struct seen {
    unsigned unsettled; /* settle() reports that all symbols are resolved after this many calls */
    unsigned n_scans;
    char renamed[16];        /* "COMM-CPU" of the last comm record that begins with "renamed" */
    struct symbols *symbols; /* the argument of the last symbols_scan() */
    size_t room;             /* the argument of the last symbols_set_room() */
} seen;

struct reader {
    struct stream *stream;
    struct buffer text;
    unsigned calls;
    bool ended;
};

/* Open a stream. The test is skipped if this machine or container does not permit sampling. */
void sampled_start_writer(struct sampled *f, const struct record_request *request, const struct writer *writer,
                          struct reader *reader);
void sampled_start(struct sampled *f, const struct record_request *request, struct reader *reader);
/*
 * Runs the event loop until the condition holds; the test fails after a minute. Only reader_has() and reader_ended()
 * read data from the stream.
 */
#define sampled_until(f, condition)                                                                                    \
    do {                                                                                                               \
        time_t limit_ = 0;                                                                                             \
        while (!(condition))                                                                                           \
            sampled_turn((f), #condition, &limit_);                                                                    \
    } while (0)
void sampled_turn(struct sampled *f, const char *condition, time_t *limit);
/* Disables the sampler, which ends every stream with "end reload". Returns the text of this reader's stream. */
const char *sampled_disable(struct sampled *f, struct reader *reader);

/* The callback for stream_open(), which counts its calls. */
void reader_on_ready(void *userdata);
/* Reads what is available; returns whether the text contains `word` at least n times. */
bool reader_has(struct reader *reader, const char *word, unsigned n);
bool reader_ended(struct reader *reader);
/* Returns the text so far. The text is valid until more is read. */
const char *reader_text_of(struct reader *reader);
void reader_stop(struct reader *reader);

unsigned count_perf_fds(void);
unsigned count_words(const char *text, const char *word);

#endif
