/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-encoding, held to the letter: see percent.h. */
#include "http/percent.h"

#include <ctype.h>

bool percent_valid(const char *uri)
{
    while ((uri = strchr(uri, '%'))) {
        if (!isxdigit((unsigned char)uri[1]) || !isxdigit((unsigned char)uri[2]))
            return false;
        if (uri[1] == '0' && uri[2] == '0')
            return false;
        uri += 3;
    }
    return true;
}
