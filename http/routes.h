/* SPDX-License-Identifier: Apache-2.0 */
/* All that the server answers: one row for each path and method. */
#ifndef HTTP_ROUTES_H
#define HTTP_ROUTES_H

#include "http/route.h"

extern const struct route routes[];
extern const size_t n_routes;

#endif
