/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the page, each compressed by gzip. The table is web/assets.inc, which web/compile.sh makes
 * at build time.
 *
 * There are no pointers in it: it needs no relocation, and only what is sent becomes resident, as pages of the file.
 */
#ifndef WEB_ASSETS_H
#define WEB_ASSETS_H

#include <stddef.h>
#include <stdint.h>

enum asset_type { ASSET_CSS, ASSET_HTML, ASSET_JS, ASSET_SVG };

struct asset {
    char path[48]; /* below web/ */
    char tag[17];  /* of the compressed bytes: 64 bits of their SHA-256 */
    uint8_t type;
    uint32_t begin, size; /* of the compressed bytes, in asset_bytes */
    uint32_t full_size;
};

extern const struct asset assets[];
extern const size_t n_assets;
extern const unsigned char asset_bytes[];

/* NULL: there is none. */
const struct asset *asset_find(const char *path);

#endif
