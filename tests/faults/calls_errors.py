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
    "capget": "EPERM", "capset": "EPERM",
    "clone": "EAGAIN ENOMEM", "clone3": "EAGAIN ENOSYS", "vfork": "EAGAIN",
    "close": "EINTR EIO", "close_range": "ENOSYS EMFILE",
    "connect": "ECONNREFUSED",
    "dup": "EMFILE", "dup2": "EMFILE EBUSY",
    "epoll_create1": "EMFILE ENOMEM", "epoll_ctl": "ENOMEM ENOSPC", "epoll_wait": "EINTR EINVAL", "epoll_pwait": "EINTR",
    "epoll_pwait2": "EINTR ENOSYS",
    "eventfd2": "EMFILE ENFILE", "execve": "ENOMEM EACCES",
    "fadvise64": "EINVAL", "fcntl": "EMFILE EPERM", "flock": "EINTR", "fstatfs": "EIO ENOSYS",
    "ftruncate": "EIO EPERM",
    "getdents64": "EIO ENOENT", "getpeername": "ENOBUFS", "getsockname": "ENOBUFS", "getsockopt": "ENOMEM",
    "getrandom": "EINTR", "getrusage": "EINVAL",
    "inotify_add_watch": "ENOSPC ENOMEM", "inotify_init1": "EMFILE ENOMEM", "inotify_rm_watch": "EINVAL",
    "ioctl": "EINVAL ENOMEM",
    "kill": "EPERM ESRCH", "lseek": "EINVAL", "madvise": "EINVAL ENOMEM", "memfd_create": "EMFILE ENOMEM",
    "mmap": "ENOMEM", "mprotect": "ENOMEM", "mremap": "ENOMEM", "munmap": "ENOMEM",
    "name_to_handle_at": "EOPNOTSUPP ENOMEM", "newfstatat": "EACCES ENOMEM", "fstat": "ENOMEM", "statx": "ENOMEM",
    "openat": "EMFILE ENFILE ENOMEM EACCES", "open": "EMFILE EACCES",
    "perf_event_open": "EMFILE ENOMEM EACCES EBUSY", "pidfd_open": "EMFILE ENOSYS",
    "poll": "EINTR ENOMEM", "ppoll": "EINTR ENOMEM",
    "prctl": "EINVAL EPERM", "pread64": "EIO", "prlimit64": "EPERM", "setrlimit": "EPERM",
    "read": "EINTR EIO EAGAIN", "readv": "EIO", "readlink": "EACCES ENOMEM", "readlinkat": "ENOMEM",
    "recvfrom": "EINTR EAGAIN ENOMEM", "recvmsg": "EINTR EAGAIN ENOMEM",
    "rt_sigaction": "EINVAL", "rt_sigprocmask": "EINVAL", "sched_getaffinity": "EINVAL",
    "sched_setscheduler": "EPERM", "sched_setattr": "EPERM", "setpriority": "EPERM",
    "seccomp": "EINVAL ENOMEM EACCES",
    "sendfile": "EAGAIN EIO", "sendmsg": "EINTR ENOBUFS ENOMEM", "sendto": "EINTR EAGAIN ENOBUFS EPIPE",
    "sendmmsg": "ENOMEM", "writev": "EPIPE EAGAIN",
    "setgroups": "EPERM ENOMEM", "setresgid": "EPERM", "setresuid": "EPERM EAGAIN",
    "setsockopt": "ENOMEM EINVAL", "shutdown": "ENOTCONN",
    "signalfd4": "EMFILE ENOMEM", "socket": "EMFILE EAFNOSUPPORT ENOBUFS", "socketpair": "EMFILE ENFILE",
    "statfs": "EIO", "sysinfo": "EFAULT", "times": "EFAULT",
    "timerfd_create": "EMFILE ENOMEM", "timerfd_settime": "EINVAL", "uname": "EFAULT",
    "unlink": "EACCES", "wait4": "EINTR ECHILD", "waitid": "EINTR ECHILD",
    "write": "EINTR EAGAIN ENOSPC EIO", "clock_nanosleep": "EINTR",
}
# Calls that cannot fail as they are made here; of futex(2), libc ends the process at what the kernel does not say.
NEVER = {
    "clock_gettime", "futex",
    "alarm", "exit", "exit_group", "getegid", "geteuid", "getgid", "getpid", "getppid", "getresgid", "getresuid",
    "gettid", "getuid", "restart_syscall", "rt_sigreturn", "sched_yield", "set_tid_address", "arch_prctl",
    "set_robust_list", "rseq", "umask", "sigaltstack",
}
# Errors after which one must try again, as the manual pages say: none is for ever.
NOT_EVERY = {"EINTR", "EAGAIN"}
# Memory that recv(2) needs is short for a moment, and an answer in the socket is asked for until it comes; mappings that
# all stay fill the address space.
NOT_EVERY_OF = {("recvfrom", "ENOMEM"), ("munmap", "ENOMEM")}
# Of the event loop itself, which ends with a sentence where it cannot go on; the kernel says it always, or never.
ONLY_EVERY = {("epoll_wait", "EINVAL"), ("timerfd_settime", "EINVAL")}
# Errors that the descriptors of a process do not give, and that libc does not expect.
IMPOSSIBLE = {
    ("worker", "write"): {"ENOSPC", "EIO", "EAGAIN"},  # to an eventfd
    ("daemon", "write"): {"ENOSPC", "EIO", "EAGAIN"},
    # It has the capabilities to read; what it is refused is no file of a program, and nobody misses it.
    ("opener", "openat"): {"EACCES"},
    ("opener", "recvmsg"): {"EAGAIN"}, ("reader", "recvmsg"): {"EAGAIN"}, ("symboliser", "recvmsg"): {"EAGAIN"},
    # of /proc/self/fd, which is always there
    ("opener", "getdents64"): {"ENOENT"}, ("reader", "getdents64"): {"ENOENT"}, ("symboliser", "getdents64"): {"ENOENT"},
    # of a socket that epoll(7) has said to be ready, once
    ("daemon", "recvfrom"): {"EAGAIN"}, ("daemon", "sendto"): {"EAGAIN"},
    ("daemon", "read"): {"EAGAIN"}, ("opener", "read"): {"EAGAIN"}, ("symboliser", "read"): {"EAGAIN"},
    ("reader", "read"): {"EAGAIN"},
}
# Where most calls are EPOLL_CTL_DEL, which does not fail where memory is short: strace cannot aim at EPOLL_CTL_ADD alone.
REMOVES = {("daemon", "serve", "epoll_ctl"), ("daemon", "end", "epoll_ctl")}
# As long as these fail, no client hears anything, and nothing of ours is at fault.
UNHEARD = {"accept4", "recvfrom", "sendto", "sendmsg", "epoll_ctl", "epoll_wait", "setsockopt", "shutdown"}
# An injected failure leaves the descriptor open, or the mapping in place, which the call itself would not.
LEAVES_OPEN = {"close", "munmap", "close_range", "inotify_rm_watch"}

# Where a call that fails each time may end the process while it serves, with a sentence: it cannot work without.
ESSENTIAL = {
    ("daemon", "epoll_wait"), ("daemon", "read"), ("daemon", "timerfd_settime"),
    ("opener", "recvmsg"), ("opener", "sendmsg"), ("reader", "recvmsg"), ("reader", "sendmsg"),
}


def injections(process, call):
    """As strace names them."""
    return [error for error in ERRORS[call].split() if error not in IMPOSSIBLE.get((process, call), ())]


def text(name):
    """The words of a sentence for the error."""
    number = getattr(errno, name, None)
    return os.strerror(number) if number else None
