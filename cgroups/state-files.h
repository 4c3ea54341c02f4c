/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state files of container runtimes: a fixed list of places, and the request for a file of such a place. The opener
 * makes the path from the request, so that the requester cannot name any other file. This module makes no system calls.
 */
#ifndef CGROUPS_STATE_FILES_H
#define CGROUPS_STATE_FILES_H

#include <sys/stat.h>

#include "base/util.h"

#define STATE_ID_LENGTH 64 /* number of hexadecimal digits of a container's id */
#define STATE_HOME_MAX 135 /* maximum size of a path; chosen so that struct state_request has no padding */
#define STATE_PATH_MAX 512
/* Larger files are not read. */
#define STATE_FILE_MAX ((size_t)4 << 20)

/* The format of a file. */
enum state_format {
    STATE_DOCKER,  /* config.v2.json, which describes one container */
    STATE_STORAGE, /* containers.json of containers/storage, which lists all containers */
    STATE_BUNDLE,  /* config.json of an OCI bundle, which describes one container */
    N_STATE_FORMATS
};

struct state_place {
    const char *source; /* source of the names: "docker", "podman", "containerd"; also the default runtime */
    enum state_format format;
    /*
     * '%' stands for the id. A path that begins with "~/" is in a user's home, and a path that begins with "&/" is in
     * the user's directory below /run/user; in both cases the file must belong to that user.
     */
    const char *path;
};

/* Returns NULL after the last place. */
const struct state_place *state_place(size_t n);
bool state_place_is_of_user(const struct state_place *place);
/* Whether each file of the place describes one container, whose id is in the path. */
bool state_place_is_of_one(const struct state_place *place);

struct state_request {
    uint32_t place;
    uint32_t user;                /* the owner of the file, or 0 for system-wide places */
    uint64_t ticket;              /* sent back with the records */
    uint64_t version;             /* version of the file that was read last; 0: none */
    char id[STATE_ID_LENGTH + 1]; /* "" if the file lists all containers */
    char home[STATE_HOME_MAX];    /* home directory of the user, or "" for system-wide places */
};
_Static_assert(sizeof(struct state_request) == 24 + STATE_ID_LENGTH + 1 + STATE_HOME_MAX, "it is sent as it is");

/*
 * How this process sends state files to the reader: by itself (opener/opener-server.h), or through its opener
 * (opener/client.h). A zeroed struct means that no state files are read.
 */
struct state_files {
    void *owner; /* the first argument of read() */
    /*
     * Asks for a file to be read. After it has returned 0, records with the request's ticket arrive on `records`.
     * Returns -EALREADY if the file has not changed; -EAGAIN if the reader is busy; -ENOSYS if the reader has exited;
     * -EBADRQC if the request is refused; errors of open(2).
     */
    int (*read)(void *owner, const struct state_request *request);
    int records; /* socket that receives the packets of cgroups/names-reader.h */
};

/* Makes the path of the file. Returns -EINVAL if the request is not valid; the opener must then refuse it. */
int state_request_path(const struct state_request *request, char *ret, size_t size);
/* A hash that changes with the file's identity, size and times; never 0. */
uint64_t state_file_version(const struct stat *status);

#endif
