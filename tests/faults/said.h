/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentences of the product in this run: the warnings and errors of its log, and the sentences that were returned to
 * the test, which prints them by said_add() as a user would see them.
 */
#ifndef TESTS_FAULTS_SAID_H
#define TESTS_FAULTS_SAID_H

#include <stdbool.h>
#include <stddef.h>

/* Standard output and standard error of this process go to a file in memory from now on. Returns it, or -errno. */
int said_begin(int fd);
void said_add(const char *sentence);
/* How many sentences were said so far. */
size_t said_count(void);
/* Whether any of them has this text. */
bool said_has(const char *text);
/* Fails the point where a sentence was said more than `n` times. */
void said_check_repeats(unsigned n);

#endif
