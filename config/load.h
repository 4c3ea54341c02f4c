/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a configuration file, and paths that are relative to its directory. */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include "base/error.h"
#include "base/file.h"

/* Of a file that had settings when it was read before. */
#define CONFIG_BLANK "the file is empty, as one is that is being written; where it is to set nothing, write {} into it"

/* The whole text, NUL-terminated; the caller frees it. Errors of config_load(), with a sentence. */
int config_read_file(const struct file_opener *opener, const char *path, char **ret_text, size_t *ret_size,
                     struct error *error);

/* The directory of `path`, "." where it names none; NULL when out of memory. The caller frees it. */
char *config_directory_of(const char *path);
/* `path` below `directory`; unchanged where it is absolute, or the directory is "." or "". Likewise. */
char *config_join_path(const char *directory, const char *path);

#endif
