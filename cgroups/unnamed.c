/* SPDX-License-Identifier: Apache-2.0 */
/* Why no state file gives a container's name: see unnamed.h. */
#include "cgroups/unnamed.h"

#define UNNAMED_YET "the state file of its runtime is being looked for"
#define WITHOUT_READER                                                                                                 \
    "no container runtime had a state file when perfcountd started, or the process that reads such files has ended; "  \
    "restart perfcountd"
#define NOT_FOUND                                                                                                      \
    "no state file of a container runtime has it, at the places that doc/names.md lists; where its runtime has its "   \
    "files elsewhere, make a symbolic link there"
#define HIDDEN_HOMES                                                                                                   \
    "; where the service hides homes, ProtectHome=read-only shows them, by user-containers.conf (perfcountd(8), "      \
    "Systemd)"
#define NOT_FOUND_OF_USER "no state file of its user's container runtime has it" HIDDEN_HOMES
#define NO_ACCESS                                                                                                      \
    "the state file of its runtime may not be read; start perfcountd as root, with its opener, or as the user whose "  \
    "container it is"

#define NO_FILES                                                                                                       \
    "the state file of its runtime cannot be opened, since too many files are open; raise LimitNOFILE= or fs.file-max"

static const struct {
    int error;
    const char *reason;
} reasons[] = {
    {0, UNNAMED_YET},
    {-ENOSYS, WITHOUT_READER},
    {-EPIPE, "the opener, which opens state files, is gone; restart perfcountd"},
    {-EBADRQC, "the state file of its runtime is refused, since another account than its owner could have written it; "
               "check the owners and modes of its directories"},
    {-EMFILE, NO_FILES},
    {-ENFILE, NO_FILES},
    {-ENOMEM, "the state file of its runtime cannot be opened, since the kernel is out of memory"},
    {-EACCES, NO_ACCESS},
    {-EHOSTDOWN,
     "the file system of its runtime's state file does not answer, or took too long; perfcountd tries again; check the "
     "mounts of its user's directories (FUSE, NFS)"},
    {-EFBIG, "the state file of its runtime is too large to be read; remove containers that are stopped"},
    {-EBADMSG,
     "the state file of its runtime is not what such a file should be; doc/names.md has the versions that are "
     "understood"},
    {-ENOENT, NOT_FOUND},
};

const char *const unnamed_by_runtime = "its runtime has given it no name; name it when it is created (--name)";

size_t unnamed_rank(int error)
{
    size_t i = 0;

    while (i < ARRAY_SIZE(reasons) - 1 && reasons[i].error != (error == -EPERM ? -EACCES : error))
        i++;
    return i;
}

const char *unnamed_reason(int error, bool is_of_user)
{
    int reason = reasons[unnamed_rank(error)].error;

    if (is_of_user && reason == -ENOENT)
        return NOT_FOUND_OF_USER;
    /* Hidden homes are directories that nobody may enter. */
    return is_of_user && reason == -EACCES ? NO_ACCESS HIDDEN_HOMES : reasons[unnamed_rank(error)].reason;
}
