/* SPDX-License-Identifier: Apache-2.0 */
/* A process of root's that somebody may want to hurt: it executes one function all the time and notes what befalls it.
 */
#ifndef TESTS_IMPOSTOR_WITNESS_H
#define TESTS_IMPOSTOR_WITNESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Shared between the processes. */
struct witness {
    pid_t pid;
    atomic_uint beats;   /* how often the function was called */
    atomic_uint wrong;   /* how often it did not return what it should */
    atomic_uint signals; /* how many were sent to it */
};

/* Starts it; NULL where that fails. It ends with its parent. */
struct witness *witness_start(void);
/* Whether it is well: its function goes on, and is right. */
bool witness_lives(const struct witness *witness);
/* The function, which begins with an instruction of several bytes. */
unsigned witness_victim(unsigned value);

#endif
