# SPDX-License-Identifier: Apache-2.0
"""The errors that each system call is made to fail with, as its manual page lists them, and what may then end."""
import errno
import os

# Where a call has several kinds of descriptors, the errors are those of all of them.
ERRORS = {
    "accept4": "EMFILE ENFILE ENOMEM ECONNABORTED EINTR",
    "access": "EACCES", "faccessat2": "EACCES ENOSYS",
    "bind": "EADDRINUSE EACCES", "listen": "EADDRINUSE",
    "bpf": "EPERM ENOMEM E2BIG",
    "brk": "retval=0",
    "capget": "EINVAL", "capset": "EPERM",
    "clone": "EAGAIN ENOMEM", "clone3": "EAGAIN ENOSYS", "vfork": "EAGAIN",
    "close": "EINTR EIO", "close_range": "ENOSYS EMFILE",
    "connect": "ECONNREFUSED",
    "dup": "EMFILE", "dup2": "EMFILE EBUSY",
    "epoll_create1": "EMFILE ENOMEM", "epoll_ctl": "ENOMEM ENOSPC", "epoll_wait": "EINTR", "epoll_pwait": "EINTR",
    "epoll_pwait2": "EINTR ENOSYS",
    "eventfd2": "EMFILE ENFILE", "execve": "ENOMEM EACCES",
    "fadvise64": "EINVAL", "fcntl": "EMFILE EPERM", "flock": "EINTR", "fstatfs": "EIO ENOSYS",
    "ftruncate": "EIO EPERM", "futex": "EAGAIN",
    "getdents64": "EIO ENOENT", "getpeername": "ENOBUFS", "getsockname": "ENOBUFS", "getsockopt": "ENOMEM",
    "getrandom": "EINTR", "getrusage": "EINVAL",
    "inotify_add_watch": "ENOSPC ENOMEM", "inotify_init1": "EMFILE ENOMEM", "inotify_rm_watch": "EINVAL",
    "ioctl": "EINVAL EIO ENOMEM",
    "kill": "EPERM ESRCH", "lseek": "EINVAL", "madvise": "EINVAL ENOMEM", "memfd_create": "EMFILE ENOMEM",
    "mmap": "ENOMEM EPERM", "mprotect": "ENOMEM", "mremap": "ENOMEM", "munmap": "ENOMEM",
    "name_to_handle_at": "EOPNOTSUPP ENOMEM", "newfstatat": "EACCES ENOMEM", "fstat": "ENOMEM", "statx": "ENOMEM",
    "openat": "EMFILE ENFILE ENOMEM EACCES", "open": "EMFILE EACCES",
    "perf_event_open": "EMFILE ENOMEM EACCES EBUSY", "pidfd_open": "EMFILE ENOSYS",
    "poll": "EINTR ENOMEM", "ppoll": "EINTR ENOMEM",
    "prctl": "EINVAL EPERM", "pread64": "EIO", "prlimit64": "EPERM", "setrlimit": "EPERM",
    "read": "EINTR EIO EAGAIN", "readv": "EIO", "readlink": "EACCES ENOMEM", "readlinkat": "ENOMEM",
    "recvfrom": "EINTR EAGAIN ENOMEM ECONNRESET", "recvmsg": "EINTR EAGAIN ENOMEM",
    "rt_sigaction": "EINVAL", "rt_sigprocmask": "EINVAL", "sched_getaffinity": "EINVAL",
    "sched_setscheduler": "EPERM", "sched_setattr": "EPERM", "setpriority": "EPERM",
    "seccomp": "EINVAL ENOMEM EACCES",
    "sendfile": "EAGAIN EIO", "sendmsg": "EINTR ENOBUFS ENOMEM EPIPE", "sendto": "EINTR EAGAIN ENOBUFS EPIPE",
    "sendmmsg": "ENOMEM", "writev": "EPIPE EAGAIN",
    "setgroups": "EPERM ENOMEM", "setresgid": "EPERM", "setresuid": "EPERM EAGAIN",
    "setsockopt": "ENOMEM EINVAL", "shutdown": "ENOTCONN",
    "signalfd4": "EMFILE ENOMEM", "socket": "EMFILE EAFNOSUPPORT ENOBUFS", "socketpair": "EMFILE ENFILE",
    "statfs": "EIO", "sysinfo": "EFAULT", "times": "EFAULT",
    "timerfd_create": "EMFILE ENOMEM", "timerfd_settime": "EINVAL", "uname": "EFAULT",
    "unlink": "EACCES", "wait4": "EINTR ECHILD", "waitid": "EINTR ECHILD",
    "write": "EINTR EAGAIN ENOSPC EIO", "clock_gettime": "EINVAL", "clock_nanosleep": "EINTR",
}
# Calls that cannot fail, and two that a process cannot go on without.
NEVER = {
    "alarm", "exit", "exit_group", "getegid", "geteuid", "getgid", "getpid", "getppid", "getresgid", "getresuid",
    "gettid", "getuid", "restart_syscall", "rt_sigreturn", "sched_yield", "set_tid_address", "arch_prctl",
    "set_robust_list", "rseq", "umask", "sigaltstack",
}
# Of libc: it tries these again for ever, as the manual page says that one must.
NOT_EVERY = {("futex", "EAGAIN"), ("getrandom", "EINTR")}
# An injected failure leaves the descriptor open, or the mapping in place, which the call itself would not.
LEAVES_OPEN = {"close", "munmap", "close_range", "inotify_rm_watch"}

# Where a call that fails each time may end the process while it serves, with a sentence: it cannot work without.
ESSENTIAL = {
    ("daemon", "epoll_wait"), ("daemon", "read"), ("daemon", "timerfd_settime"),
    ("opener", "recvmsg"), ("opener", "sendmsg"), ("reader", "recvmsg"), ("reader", "sendmsg"),
}


def injections(call):
    """As strace names them."""
    return ERRORS[call].split()


def text(name):
    """What a sentence says of the error."""
    number = getattr(errno, name, None)
    return os.strerror(number) if number else None
