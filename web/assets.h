/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the page, each compressed with gzip. web/compile.sh generates the table, web/assets.inc, at build time.
 *
 * The table contains no pointers, so it needs no relocation: it stays in the pages of the executable, and only files
 * that are sent become resident.
 */
#ifndef WEB_ASSETS_H
#define WEB_ASSETS_H

#include <stddef.h>
#include <stdint.h>

enum asset_type { ASSET_CSS, ASSET_HTML, ASSET_JS, ASSET_SVG };

struct asset {
    char path[48]; /* path below web/ */
    char tag[17];  /* for the ETag: 64 bits of the SHA-256 of the compressed bytes */
    uint8_t type;
    uint32_t begin, size; /* position of the compressed bytes in asset_bytes */
    uint32_t full_size;   /* size before compression */
};

extern const struct asset assets[];
extern const size_t n_assets;
extern const unsigned char asset_bytes[];

/* Returns NULL if there is no such file. */
const struct asset *asset_find(const char *path);

#endif
