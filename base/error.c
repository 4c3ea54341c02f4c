/* SPDX-License-Identifier: Apache-2.0 */
/* An error that a person must fix: see error.h. */
#include "base/error.h"

#include <stdio.h>

#include "base/utf8.h"

/* What is formatted is up to three bytes longer, so that a character cut by vsnprintf() begins where none fits. */
struct draft {
    char text[sizeof(((struct error *)NULL)->message) + 3];
};

/* Names in a message are a stranger's, and it may be printed on a terminal. */
static void error_set_message(struct error *error, const struct draft *draft)
{
    utf8_copy_printable(error->message, sizeof(error->message), draft->text, strlen(draft->text));
}

static int error_vset(struct error *error, int code, size_t offset, const char *format, va_list args)
{
    struct draft draft;

    if (!error)
        return code;
    error->line = error->column = 0;
    error->offset = offset;
    vsnprintf(draft.text, sizeof(draft.text), format, args);
    error_set_message(error, &draft);
    return code;
}

int error_set(struct error *error, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    error_vset(error, code, 0, format, args);
    va_end(args);
    return code;
}

int error_set_at(struct error *error, int code, size_t offset, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    error_vset(error, code, offset, format, args);
    va_end(args);
    return code;
}

/* strerrorname_np(3) is in glibc since 2.32 only, and not in other libraries. */
/* clang-format off */
#define ERRORS(X)                                                                                                      \
    X(EPERM) X(ENOENT) X(ESRCH) X(EINTR) X(EIO) X(ENXIO) X(E2BIG) X(ENOEXEC) X(EBADF) X(ECHILD) X(EAGAIN) X(ENOMEM)    \
    X(EACCES) X(EFAULT) X(ENOTBLK) X(EBUSY) X(EEXIST) X(EXDEV) X(ENODEV) X(ENOTDIR) X(EISDIR) X(EINVAL) X(ENFILE)      \
    X(EMFILE) X(ENOTTY) X(ETXTBSY) X(EFBIG) X(ENOSPC) X(ESPIPE) X(EROFS) X(EMLINK) X(EPIPE) X(EDOM) X(ERANGE)          \
    X(EDEADLK) X(ENAMETOOLONG) X(ENOLCK) X(ENOSYS) X(ENOTEMPTY) X(ELOOP) X(ENOMSG) X(EIDRM) X(ECHRNG) X(EL2NSYNC)      \
    X(EL3HLT) X(EL3RST) X(ELNRNG) X(EUNATCH) X(ENOCSI) X(EL2HLT) X(EBADE) X(EBADR) X(EXFULL) X(ENOANO) X(EBADRQC)      \
    X(EBADSLT) X(EBFONT) X(ENOSTR) X(ENODATA) X(ETIME) X(ENOSR) X(ENONET) X(ENOPKG) X(EREMOTE) X(ENOLINK) X(EADV)      \
    X(ESRMNT) X(ECOMM) X(EPROTO) X(EMULTIHOP) X(EDOTDOT) X(EBADMSG) X(EOVERFLOW) X(ENOTUNIQ) X(EBADFD) X(EREMCHG)      \
    X(ELIBACC) X(ELIBBAD) X(ELIBSCN) X(ELIBMAX) X(ELIBEXEC) X(EILSEQ) X(ERESTART) X(ESTRPIPE) X(EUSERS) X(ENOTSOCK)    \
    X(EDESTADDRREQ) X(EMSGSIZE) X(EPROTOTYPE) X(ENOPROTOOPT) X(EPROTONOSUPPORT) X(ESOCKTNOSUPPORT) X(EOPNOTSUPP)       \
    X(EPFNOSUPPORT) X(EAFNOSUPPORT) X(EADDRINUSE) X(EADDRNOTAVAIL) X(ENETDOWN) X(ENETUNREACH) X(ENETRESET)             \
    X(ECONNABORTED) X(ECONNRESET) X(ENOBUFS) X(EISCONN) X(ENOTCONN) X(ESHUTDOWN) X(ETOOMANYREFS) X(ETIMEDOUT)          \
    X(ECONNREFUSED) X(EHOSTDOWN) X(EHOSTUNREACH) X(EALREADY) X(EINPROGRESS) X(ESTALE) X(EUCLEAN) X(ENOTNAM)            \
    X(ENAVAIL) X(EISNAM) X(EREMOTEIO) X(EDQUOT) X(ENOMEDIUM) X(EMEDIUMTYPE) X(ECANCELED) X(ENOKEY) X(EKEYEXPIRED)      \
    X(EKEYREVOKED) X(EKEYREJECTED) X(EOWNERDEAD) X(ENOTRECOVERABLE) X(ERFKILL) X(EHWPOISON)
/* clang-format on */
#define NAME(error) [error] = #error,

const char *error_name(int error)
{
    static const char *const names[] = {ERRORS(NAME)};
    size_t number = 0U - (unsigned)error;

    return number < ARRAY_SIZE(names) && names[number] ? names[number] : "EUNKNOWN";
}

int error_oom(struct error *error)
{
    return error_set(error, -ENOMEM, "out of memory");
}

void error_set_position(struct error *error, unsigned line, unsigned column)
{
    if (!error)
        return;
    error->line = line;
    error->column = column;
}

void error_prefix(struct error *error, const char *format, ...)
{
    struct draft draft;
    va_list args;

    if (!error)
        return;
    va_start(args, format);
    int n = vsnprintf(draft.text, sizeof(draft.text), format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof(draft.text))
        snprintf(draft.text + n, sizeof(draft.text) - (size_t)n, ": %s", error->message);
    error_set_message(error, &draft);
}
