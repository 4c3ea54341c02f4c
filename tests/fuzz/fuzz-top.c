/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses arbitrary bytes as a daemon's response to `perfcountd top`, and draws it; the first bytes choose the size and
 * the keys. No line is wider than the screen or contains a control character.
 */
#include <locale.h>

#include "tests/fuzz/fuzz.h"
#include "top/draw.h"
#include "top/frame.h"
#include "top/http-get.h"

DEFINE_CLEANUP(struct top_table *, top_table_free);

#define KEYS 8

static void check_frame(const struct top_frame *frame)
{
    size_t columns = 0;

    for (size_t i = 0; i < frame->n; i++) {
        const struct top_piece *piece = &frame->pieces[i];
        _cleanup_(freep) char *text = strndup(frame->text.data + piece->offset, piece->size);
        assert(text && strlen(text) == piece->size);
        for (const char *c = text; *c; c++)
            assert((unsigned char)*c >= ' ' && *c != 0x7f);
        columns = (i > 0 && piece[-1].line == piece->line ? columns : 0) + top_text_width(text);
        assert(columns <= frame->width);
        assert(!frame->height || piece->line < frame->height);
    }
}

static void draw(json_t *document, const uint8_t *choices)
{
    struct top_scene scene = {.host = "h", .kernel = "", .source = "s", .clock = "", .error = ""};
    struct top_page_extent extent = {0};
    struct top_view view;

    top_view_init(&view, NSEC_PER_SEC);
    for (size_t i = 0; i < KEYS; i++) {
        _cleanup_(top_frame_done) struct top_frame frame = {.width = choices[0], .height = choices[1] % 64};
        _cleanup_(top_table_freep) struct top_table *table = top_table_new(document, document, view.kind, view.by_pmu);
        _cleanup_(top_table_freep) struct top_table *pmus = top_table_new(document, NULL, TOP_PMUS, false);
        scene.table = table;
        scene.pmus = pmus;
        scene.failures = json_object_get(document, "failures");
        assert(table && pmus);
        top_scene_write(&scene, &view, &frame, &extent);
        check_frame(&frame);
        top_view_apply_key(&view, choices[2 + i] < 240 ? choices[2 + i] : TOP_KEY_UP + choices[2 + i] - 240, &extent);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct top_reply reply;

    setlocale(LC_CTYPE, "C.UTF-8");
    if (size < KEYS + 2 || top_reply_parse((const char *)data + KEYS + 2, size - KEYS - 2, true, &reply, NULL) < 0)
        return 0;
    assert(reply.body >= (const char *)data && reply.body + reply.size <= (const char *)data + size);
    json_t *document = json_loadb(reply.body, reply.size, 0, NULL);
    if (document)
        draw(document, data);
    json_decref(document);
    return 0;
}
