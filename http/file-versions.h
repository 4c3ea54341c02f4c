/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of a few files, so that a change of one is noticed: by stat(2), through symbolic links. */
#ifndef HTTP_FILE_VERSIONS_H
#define HTTP_FILE_VERSIONS_H

#include <sys/stat.h>
#include <time.h>

#include "base/file.h"

#define FILE_VERSIONS_MAX 4

struct file_version {
    char *path;
    int error; /* of stat(2), else: */
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed; /* changed: rights as well */
};

struct file_versions {
    const struct file_opener *opener; /* opens files that this process may not stat; NULL: none. Borrowed */
    struct file_version items[FILE_VERSIONS_MAX];
    size_t n;
};

/* Notes the version of a file, if `path` is not NULL; call it before the file is read. -ENOMEM. */
int file_versions_add(struct file_versions *versions, const char *path);
/* Whether one of the files has changed, gone or come. */
bool file_versions_changed(const struct file_versions *versions);
void file_versions_done(struct file_versions *versions);

#endif
