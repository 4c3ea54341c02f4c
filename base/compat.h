/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions that older kernel headers, C libraries and compilers lack. The oldest supported build environment has the
 * headers of Linux 5.10 and glibc 2.31 (Debian 11).
 *
 * Each comment names the version that introduced the name. System calls added since Linux 5.1 have the same number on
 * every architecture except Alpha (scripts/syscall.tbl).
 */
#ifndef BASE_COMPAT_H
#define BASE_COMPAT_H

#include <linux/capability.h>
#include <sys/syscall.h>

/* Linux 5.1, fs/io_uring.c; in glibc's <sys/syscall.h> since 2.30 */
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif

/* Linux 5.3, kernel/fork.c; glibc 2.31 */
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

/* Linux 5.6, fs/open.c; glibc 2.32 */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* Linux 5.6, kernel/pid.c; glibc 2.32 */
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* Linux 5.9, fs/open.c; glibc 2.33 */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Linux 5.8, include/uapi/linux/capability.h */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* glibc 2.33. The macro replaces both the function and its struct by mallinfo(3), whose fields are ints. */
#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 33)
#define mallinfo2 mallinfo
#endif

/*
 * AddressSanitizer reserves terabytes of address space, so memory limits cannot apply. Its leak check at exit
 * (LeakSanitizer) traces the threads of the process with ptrace(2).
 */
#ifdef __has_feature
#define HAS_ASAN __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#else
#define HAS_ASAN 0
#endif
#define HAS_LEAK_CHECK HAS_ASAN

#endif
