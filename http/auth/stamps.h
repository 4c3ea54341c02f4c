/* SPDX-License-Identifier: Apache-2.0 */
/* What a few files looked like, so that it can be seen that one has changed: by stat(2), through symbolic links. */
#ifndef HTTP_AUTH_STAMPS_H
#define HTTP_AUTH_STAMPS_H

#include <sys/stat.h>
#include <time.h>

#include "base/file.h"

#define STAMPS_MAX 4

struct stamp {
    char *path;
    int error; /* of stat(2), else: */
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed; /* changed: rights as well */
};

struct stamps {
    const struct file_opener *opener; /* opens what this process may not look at; NULL: none. Borrowed */
    struct stamp items[STAMPS_MAX];
    size_t n;
};

/* Stamps a file, if `path` is not NULL; do it before the file is read. -ENOMEM. */
int stamps_add(struct stamps *stamps, const char *path);
/* Whether one of the files is another than it was, or has gone or come. */
bool stamps_outdated(const struct stamps *stamps);
void stamps_done(struct stamps *stamps);

#endif
