/* SPDX-License-Identifier: Apache-2.0 */
/* The sanitizers of this build, and what they need of the process. */
#ifndef BASE_SANITIZER_H
#define BASE_SANITIZER_H

/* AddressSanitizer reserves terabytes of addresses, and looks for leaks by ptrace(2) when the process ends. */
#ifdef __has_feature
#define HAS_ASAN __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#else
#define HAS_ASAN 0
#endif
#define HAS_LEAK_CHECK HAS_ASAN

#endif
