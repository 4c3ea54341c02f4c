/* SPDX-License-Identifier: Apache-2.0 */
/* What the sanitizers that a build has ask of the process. */
#ifndef BASE_SANITIZER_H
#define BASE_SANITIZER_H

/* AddressSanitizer reserves terabytes of addresses, and looks for leaks at the end of the process by ptrace(2). */
#ifdef __has_feature
#define HAS_ASAN __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#else
#define HAS_ASAN 0
#endif
#define HAS_LEAK_CHECK HAS_ASAN

#endif
