/* SPDX-License-Identifier: Apache-2.0 */
/* Raw requests to the opener, written without asking whether they are allowed. */
#ifndef TESTS_IMPOSTOR_ASK_H
#define TESTS_IMPOSTOR_ASK_H

#include "base/process/fd-socket.h"
#include "tests/impostor/impostor.h"

/* Errors that the opener gives by itself, without asking the kernel. */
#define REFUSED MUST(EBADRQC, EUNATCH, ENOPKG, ENOKEY, EBADMSG, EXDEV)

/*
 * Sends a packet with its descriptors. The error of the request or of its first result, 0 where it was opened. A
 * descriptor that came is put into *ret_fd, where that is not NULL, and closed otherwise.
 */
long ask_raw(struct impostor *impostor, const void *packet, size_t size, const struct fd_list *fds, int *ret_fd);
/* One event; `directory` and `leader` are descriptors or -1. */
long ask_event(struct impostor *impostor, const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags,
               int directory, int leader, int *ret_fd);
/* A probe, with its text beside it: a path or a function. */
long ask_probe(struct impostor *impostor, uint32_t type, uint64_t config, const char *text, uint64_t offset,
               int *ret_fd);
long ask_file(struct impostor *impostor, const char *path, int *ret_fd);

#endif
