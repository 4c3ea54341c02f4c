/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd top` in the event loop: readings and keys come in, frames go to the terminal or to standard output. */
#ifndef TOP_TOP_LOOP_H
#define TOP_TOP_LOOP_H

#include <systemd/sd-event.h>

#include "base/error.h"
#include "top/readings.h"

#define TOP_LIVE UINT64_MAX

struct top_loop_settings {
    const char *host, *source; /* as the first line shows them */
    const char *filter;        /* of cgroups, "" for all */
    const char *sort;          /* a column; NULL: the default */
    uint64_t interval_ns;
    uint64_t count; /* of frames as plain text, 0 for no end; TOP_LIVE on the terminal */
};

struct top_loop;

/* Borrows the texts. -EINVAL for a column that is not known; errors of top_screen_open(); with a sentence. */
int top_loop_new(sd_event *event, const struct top_loop_settings *settings, struct top_loop **ret, struct error *error);
/* The terminal is as it was before. */
struct top_loop *top_loop_free(struct top_loop *loop);

/* For a source to report to. */
struct top_listener top_loop_listener(struct top_loop *loop);
/* Calls it when the user changes the interval. */
void top_loop_when_interval(struct top_loop *loop, void (*on_interval)(void *userdata, uint64_t interval_ns),
                            void *userdata);
/* The signal that ended the loop; 0 where none did. */
int top_loop_signal(const struct top_loop *loop);

#endif
