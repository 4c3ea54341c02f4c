/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the files of the page by path. */
#include "web/assets.h"

#include <string.h>

#include "web/assets.inc"

const struct asset *asset_find(const char *path)
{
    for (size_t i = 0; i < n_assets; i++)
        if (strcmp(assets[i].path, path) == 0)
            return &assets[i];
    return NULL;
}
