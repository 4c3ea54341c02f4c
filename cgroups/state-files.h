/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state files of container runtimes: a fixed list of places, and a request for one file of it. The opener makes the
 * path from the request, so that whoever asks cannot name another file. Pure.
 */
#ifndef CGROUPS_STATE_FILES_H
#define CGROUPS_STATE_FILES_H

#include <sys/stat.h>

#include "base/util.h"

#define STATE_ID_LENGTH 64 /* hexadecimal digits of a container's id */
#define STATE_HOME_MAX 135 /* with it, struct state_request has no padding */
#define STATE_PATH_MAX 512
/* Larger files are not read. */
#define STATE_FILE_MAX ((size_t)4 << 20)

/* How a file is written, and so how it is read. */
enum state_format {
    STATE_DOCKER,  /* config.v2.json: one container */
    STATE_STORAGE, /* containers.json of containers/storage: all containers */
    STATE_BUNDLE,  /* config.json of an OCI bundle: one container */
    N_STATE_FORMATS
};

struct state_place {
    const char *source; /* "docker", "podman", "containerd": who said so, and the runtime where the file does not say */
    enum state_format format;
    /*
     * '%' is the id. "~/" is the home of a user, and "&/" the user's directory below /run/user: then the file must be
     * the user's.
     */
    const char *path;
};

/* NULL past the last. */
const struct state_place *state_place(size_t n);
bool state_place_is_of_user(const struct state_place *place);
bool state_place_is_of_one(const struct state_place *place); /* container: its path has the id */

struct state_request {
    uint32_t place;
    uint32_t user;                /* whose file it is; 0 for root's places */
    uint64_t ticket;              /* comes back with the records */
    uint64_t version;             /* of the file that was read last; 0: none */
    char id[STATE_ID_LENGTH + 1]; /* "" where the place has all containers */
    char home[STATE_HOME_MAX];    /* of the user, "" for root's places */
};
_Static_assert(sizeof(struct state_request) == 24 + STATE_ID_LENGTH + 1 + STATE_HOME_MAX, "it is sent as it is");

/* The path of the file. -EINVAL where the request is not one that the opener follows. */
int state_request_path(const struct state_request *request, char *ret, size_t size);
/* Changes with the file's content; never 0. */
uint64_t state_file_version(const struct stat *status);

#endif
