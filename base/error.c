/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"

/*
 * The buffer is three bytes longer than a message: if vsnprintf() truncates a UTF-8 character, that character starts
 * beyond the end of the message and is dropped instead of being replaced by U+FFFD.
 */
struct draft {
    char text[sizeof(((struct error *)NULL)->message) + 3];
};

/* Messages quote untrusted names and may be printed on a terminal. */
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

/* strerrorname_np(3) exists only in glibc, since 2.32. */
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

int error_of_file(struct error *error, int code, const char *verb, const char *path)
{
    return error_set(error, code, "cannot %s %.256s: %s", verb, path, strerror(-code));
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

/* --- lists --- */

void error_list_done(struct error_list *list)
{
    free(list->items);
    *list = (struct error_list){0};
}

int error_list_add(struct error_list *list, const struct error *error)
{
    if (list->n == ERROR_LIST_MAX)
        return -ENOSPC;
    if (array_grow(&list->items, list->n) < 0)
        return -ENOMEM;
    list->items[list->n++] = *error;
    return 0;
}

static int compare_positions(const void *a, const void *b)
{
    const struct error *one = a, *other = b;

    if (one->line != other->line)
        return one->line < other->line ? -1 : 1;
    return (one->column > other->column) - (one->column < other->column);
}

void error_list_sort(struct error_list *list)
{
    if (list->n > 1)
        qsort(list->items, list->n, sizeof(*list->items), compare_positions);
}

/* --- unknown names --- */

/* At most this many known names are suggested or listed. */
#define NAMES_MAX 1024
/* The list of known names ends with "..." after this many bytes; a longer list would not help. */
#define LIST_MAX 320

void unknown_done(struct unknown *unknown)
{
    free(unknown->known);
}

void unknown_consider(struct unknown *unknown, const char *name)
{
    for (size_t i = 0; i < unknown->n; i++)
        if (unknown->known[i] == name || str_equal(unknown->known[i], name))
            return;
    if (unknown->n == NAMES_MAX)
        return;
    suggest_consider(&unknown->suggest, name);
    if (array_grow(&unknown->known, unknown->n) < 0)
        unknown->failed = true;
    else
        unknown->known[unknown->n++] = name;
}

static void append_known(struct buffer *sentence, const struct unknown *unknown)
{
    size_t start = sentence->size;

    for (size_t i = 0; i < unknown->n; i++) {
        if (sentence->size - start + strlen(unknown->known[i]) > LIST_MAX) {
            buffer_append_text(sentence, ", ...");
            return;
        }
        buffer_appendf(sentence, "%s%s", i ? ", " : "", unknown->known[i]);
    }
}

int unknown_error(const struct unknown *unknown, struct error *error, const char *format, ...)
{
    _cleanup_(buffer_done) struct buffer sentence = {0};
    char start[256], suggestion[3 * 64 + 64];
    va_list args;

    va_start(args, format);
    vsnprintf(start, sizeof(start), format, args);
    va_end(args);
    suggest_format(&unknown->suggest, suggestion, sizeof(suggestion));
    buffer_appendf(&sentence, "%s%s", start, suggestion);
    if (unknown->n > 0 && !unknown->failed) {
        buffer_append_text(&sentence, suggestion[0] ? " Known are " : "; known are ");
        append_known(&sentence, unknown);
    }
    buffer_append_char(&sentence, '\0');
    return error_set(error, -EINVAL, "%s", sentence.failed ? start : sentence.data);
}
