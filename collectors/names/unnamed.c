/* SPDX-License-Identifier: Apache-2.0 */
/* Why no state file gives a container's name: see unnamed.h. */
#include "collectors/names/unnamed.h"

#define UNNAMED_YET "the state file of its runtime is being looked for"
#define WITHOUT_READER                                                                                                 \
    "no container runtime had a state file when perfcountd started, or the process that reads such files has ended; "  \
    "restart perfcountd"
#define NOT_FOUND                                                                                                      \
    "no state file of a container runtime has it, at the places that doc/names.md lists; where its runtime has its "   \
    "files elsewhere, make a symbolic link there"
#define NOT_FOUND_OF_USER                                                                                              \
    "no state file of its user's container runtime has it, or perfcountd may not read it; where the service hides "    \
    "homes, ProtectHome=read-only shows them, by user-containers.conf (perfcountd(8), Systemd)"

static const struct {
    int error;
    const char *reason;
} reasons[] = {
    {0, UNNAMED_YET},
    {-ENOSYS, WITHOUT_READER},
    {-EPIPE, "the opener, which opens state files, is gone; restart perfcountd"},
    {-EBADRQC, "the state file of its runtime is refused, since another account than its owner could have written it; "
               "check the owners and modes of its directories"},
    {-EACCES,
     "the state file of its runtime may not be read; start perfcountd as root, with its opener, or as the user "
     "whose container it is"},
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
    bool is_hidden = error == -ENOENT || error == -EACCES || error == -EPERM;

    return is_of_user && is_hidden ? NOT_FOUND_OF_USER : reasons[unnamed_rank(error)].reason;
}
