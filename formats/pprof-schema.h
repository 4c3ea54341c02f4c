/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of profile.proto, as protoc-c makes C of them; and protobuf-c, which packs them, loaded on first use. */
#ifndef FORMATS_PPROF_SCHEMA_H
#define FORMATS_PPROF_SCHEMA_H

#include "base/error.h"
#include "formats/profile.pb-c.h"

typedef size_t (*pprof_pack)(const ProtobufCMessage *message, ProtobufCBuffer *buffer);

/* The library stays loaded. -ENOSYS with a sentence where it is missing. */
int pprof_load(pprof_pack *ret, struct error *error);

#endif
