/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/flame.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "base/text.h"
#include "formats/flame.inc"

/* All sizes are in pixels, and equal to those in web/flame/export.js. */
#define WIDTH 1200
#define ROW 18
#define MARGIN 10
#define HEAD 52      /* height of the title, the script's buttons, and the line with a frame's description */
#define LETTER 7.3   /* width of a character in the name of a frame */
#define TITLE_MAX 80 /* maximum number of characters, which leaves room for the script's buttons to the right */
#define NAME_MAX_CHARACTERS 400

#define NARROWEST 10000 /* a frame with less than 1/NARROWEST of all samples is left out */

#define KERNEL_SUFFIX "_[k]"

void flame_done(struct flame *flame)
{
    free(flame->text);
    free(flame->lines);
    *flame = (struct flame){0};
}

/* --- parsing --- */

static bool is_unnamed(const char *stack)
{
    const char *last = strrchr(stack, FLAME_SEPARATOR);
    size_t size = last ? strlen(++last) : 0;

    return size >= 2 && last[0] == '[' && last[size - 1] == ']' && !str_equal(last, "[truncated]");
}

/* Adds a line of the form "STACK SAMPLES". Overwrites the text of the line. Returns -ENOMEM on failure. */
static int add_line(struct flame *flame, char *line)
{
    char *space = strrchr(line, ' ');
    uint64_t samples;

    if (!space || space == line || number_parse_u64(space + 1, &samples) < 0 || samples == 0 ||
        samples > FLAME_SAMPLES_MAX - flame->samples) {
        flame->note = str_starts(line, "# ") ? line + 2 : flame->note;
        return 0;
    }
    *space = '\0';
    for (char *c = line; *c; c++)
        *c = *c == ';' ? FLAME_SEPARATOR : (unsigned char)*c < ' ' ? '?' : *c;
    if (array_grow(&flame->lines, flame->n) < 0)
        return -ENOMEM;
    flame->lines[flame->n++] = (struct flame_line){.stack = line, .samples = samples};
    flame->samples += samples;
    flame->unnamed += is_unnamed(line) ? samples : 0;
    return 0;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(((const struct flame_line *)a)->stack, ((const struct flame_line *)b)->stack);
}

int flame_parse(const char *text, size_t size, struct flame *ret)
{
    _cleanup_(flame_done) struct flame flame = {.text = malloc(size + 1)};
    char *rest = flame.text, *line;
    int r = rest ? 0 : -ENOMEM;

    if (rest)
        *put_bytes(rest, text, size) = '\0';
    while (r == 0 && (line = strsep(&rest, "\n")))
        r = add_line(&flame, line);
    if (r < 0)
        return r;
    if (flame.n)
        qsort(flame.lines, flame.n, sizeof(flame.lines[0]), compare_lines);
    *ret = flame;
    flame = (struct flame){0};
    return 0;
}

/* --- frames --- */

struct frame_box {
    const char *name; /* not NUL-terminated */
    size_t size;
    size_t depth;       /* depth; the frame of all samples has depth 0 */
    uint64_t at, total; /* number of samples to the left of the frame, and in the frame */
};

/*
 * The frames of the lines read so far. A frame comes before the frames that it calls, which are ordered from left to
 * right.
 */
struct boxes {
    struct frame_box *boxes;
    size_t n;
    size_t *open; /* the last line's frames, as indices into `boxes`, by depth */
    size_t n_open;
    uint64_t at;    /* number of samples in the lines read so far */
    uint64_t least; /* frames with fewer samples are left out */
};

static void boxes_done(struct boxes *boxes)
{
    free(boxes->boxes);
    free(boxes->open);
}

/*
 * Ends the open frames at this depth and deeper. A frame that is too narrow is removed, together with all frames that
 * it calls.
 */
static void close_boxes(struct boxes *boxes, size_t depth)
{
    while (boxes->n_open > depth) {
        size_t i = boxes->open[--boxes->n_open];
        boxes->boxes[i].total = boxes->at - boxes->boxes[i].at;
        if (i > 0 && boxes->boxes[i].total < boxes->least)
            boxes->n = i;
    }
}

static int open_box(struct boxes *boxes, const char *name, size_t size)
{
    if (array_grow(&boxes->boxes, boxes->n) < 0 || array_grow(&boxes->open, boxes->n_open) < 0)
        return -ENOMEM;
    boxes->boxes[boxes->n] = (struct frame_box){.name = name, .size = size, .depth = boxes->n_open, .at = boxes->at};
    boxes->open[boxes->n_open++] = boxes->n++;
    return 0;
}

static bool is_open(const struct boxes *boxes, size_t depth, const char *name, size_t size)
{
    const struct frame_box *box = depth < boxes->n_open ? &boxes->boxes[boxes->open[depth]] : NULL;

    return box && box->size == size && memcmp(box->name, name, size) == 0;
}

static int add_boxes(struct boxes *boxes, const struct flame_line *line)
{
    const char *name = line->stack;
    size_t depth = 1;
    int r = 0;

    for (; name && depth <= FLAME_DEPTH_MAX && r == 0; depth++) {
        size_t size = strcspn(name, (const char[]){FLAME_SEPARATOR, '\0'});
        if (!is_open(boxes, depth, name, size)) {
            close_boxes(boxes, depth);
            r = open_box(boxes, name, size);
        }
        name = name[size] ? name + size + 1 : NULL;
    }
    close_boxes(boxes, depth);
    boxes->at += line->samples;
    return r;
}

static int make_boxes(const struct flame *flame, struct boxes *boxes)
{
    int r = open_box(boxes, "all", strlen("all"));

    boxes->least = MAX(flame->samples / NARROWEST, (uint64_t)1);
    for (size_t i = 0; i < flame->n && r == 0; i++)
        r = add_boxes(boxes, &flame->lines[i]);
    if (r == 0)
        close_boxes(boxes, 0);
    return r;
}

/* --- SVG --- */

/* Appends at most `limit` characters of the name. If the name is longer, the last character is an ellipsis. */
static void append_cut(struct buffer *out, const char *name, size_t size, size_t limit)
{
    _cleanup_(freep) char *text = malloc(size * strlen(UTF8_REPLACEMENT) + 1);
    size_t at = 0, last = 0, n = 0;

    if (!text) {
        out->failed = true;
        return;
    }
    size = utf8_copy_printable(text, size * strlen(UTF8_REPLACEMENT) + 1, name, size);
    for (; at < size && n < limit; n++) {
        last = at;
        at += MAX(utf8_character(text + at, size - at), (size_t)1);
    }
    text[at < size ? last : size] = '\0';
    escape_append(out, text, ESCAPE_XML);
    if (at < size)
        buffer_append_text(out, "\xe2\x80\xa6");
}

/*
 * Returns the CSS class of a frame, which sets its colour. Removes the suffix "_[k]" of kernel functions from the name.
 */
static const char *classify(struct frame_box *box)
{
    size_t suffix = strlen(KERNEL_SUFFIX);

    if (box->depth <= 1)
        return box->depth ? "process" : "all";
    if (box->size <= suffix || memcmp(box->name + box->size - suffix, KERNEL_SUFFIX, suffix) != 0)
        return "user";
    box->size -= suffix;
    return "kernel";
}

static void append_amount(const struct flame *flame, uint64_t n, struct buffer *out)
{
    if (flame->is_time)
        buffer_appendf(out, "%.1f ms", (double)n / 1000);
    else
        buffer_appendf(out, "%" PRIu64 " sample%s", n, plural(n));
}

static void write_box(struct frame_box box, const struct flame *flame, struct buffer *out)
{
    uint64_t samples = flame->samples;
    const char *class = classify(&box);
    double scale = (WIDTH - 2 * MARGIN) / (double)MAX(samples, (uint64_t)1);
    double x = MARGIN + scale * (double)box.at, width = samples ? scale * (double)box.total : WIDTH - 2 * MARGIN;
    size_t y = HEAD + box.depth * ROW, room = width > 6 ? (size_t)((width - 6) / LETTER) : 0;

    buffer_appendf(out, "<g class=\"%s\" data-at=\"%" PRIu64 "\" data-n=\"%" PRIu64 "\"><title>", class, box.at,
                   box.total);
    append_cut(out, box.name, box.size, NAME_MAX_CHARACTERS);
    buffer_append_text(out, ": ");
    append_amount(flame, box.total, out);
    buffer_appendf(out, ", %.2f %%</title>", 100 * (double)box.total / (double)MAX(samples, (uint64_t)1));
    buffer_appendf(out, "<rect x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"%d\"/>", x, y, width, ROW - 1);
    buffer_appendf(out, "<text x=\"%.1f\" y=\"%zu\">", x + 3, y + 13);
    if (room >= 3)
        append_cut(out, box.name, box.size, room);
    buffer_append_text(out, "</text></g>\n");
}

static void write_head(const char *title, size_t height, struct buffer *out)
{
    buffer_appendf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" viewBox=\"0 0 %d %zu\">\n<title>",
        WIDTH, height, WIDTH, height);
    escape_append(out, title, ESCAPE_XML);
    buffer_append_text(out, "</title>\n<style>\n");
    buffer_append(out, flame_style, sizeof(flame_style));
    buffer_appendf(out,
                   "</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n<text class=\"heading\" "
                   "x=\"%d\" y=\"22\">",
                   MARGIN);
    append_cut(out, title, strlen(title), TITLE_MAX);
    buffer_append_text(out, "</text>\n<g id=\"frames\">\n");
}

void flame_write(const struct flame *flame, const char *title, struct buffer *out)
{
    _cleanup_(boxes_done) struct boxes boxes = {0};
    size_t depth = 0;

    if (make_boxes(flame, &boxes) < 0) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < boxes.n; i++)
        depth = MAX(depth, boxes.boxes[i].depth);
    size_t height = HEAD + (depth + 1) * ROW + MARGIN;
    write_head(title, height, out);
    for (size_t i = 0; i < boxes.n; i++)
        write_box(boxes.boxes[i], flame, out);
    buffer_append_text(out, "</g>\n<script><![CDATA[\n");
    buffer_append(out, flame_script, sizeof(flame_script));
    buffer_append_text(out, "]]></script>\n</svg>\n");
}
