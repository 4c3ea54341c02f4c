/* SPDX-License-Identifier: Apache-2.0 */
/* What the header Host tells: see host.h. */
#include "http/host.h"

static bool ends_with(const char *name, size_t size, const char *end)
{
    size_t length = strlen(end);

    return size >= length && strncasecmp(name + size - length, end, length) == 0;
}

/* No domain at the top is a number, and browsers take what ends in one for an address. */
bool host_is_private(const char *host)
{
    size_t size = strcspn(host, ":"), label;

    if (host[0] == '[')
        return true;
    if (size && host[size - 1] == '.')
        size--;
    for (label = size; label > 0 && host[label - 1] != '.'; label--)
        continue;
    bool number = label < size && strspn(host + label, "0123456789") >= size - label;
    return label == 0 || number || ends_with(host, size, ".localhost");
}
