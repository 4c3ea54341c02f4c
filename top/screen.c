/* SPDX-License-Identifier: Apache-2.0 */
#define NCURSES_NOMACROS
#include "top/screen.h"

#ifdef HAVE_NCURSES
#include <curses.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#endif

#include "base/cleanup.h"
#include "base/library.h"
#include "base/text.h"
#include "top/view.h"

#ifdef HAVE_NCURSES

/* --- restoring after a signal --- */

/* Signals that kill a process by default, except SIGKILL and the signals that the event loop handles. */
static const int deadly[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT,   SIGSYS,  SIGTRAP, SIGQUIT,
                             SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGVTALRM, SIGXFSZ, SIGPROF, SIGPIPE};

static struct {
    int fd;
    struct termios modes;
    char bytes[256];
    size_t size;
    char stack[64 * 1024]; /* the handler's stack: a stack overflow leaves no room on the normal stack */
} terminal;

static void terminal_on_signal(int signal)
{
    ssize_t n = write(terminal.fd, terminal.bytes, terminal.size);

    (void)n;
    tcsetattr(terminal.fd, TCSANOW, &terminal.modes);
    raise(signal); /* pending until the handler returns, and then fatal, because of SA_RESETHAND */
}

/*
 * Saves the terminal modes before ncurses changes them, and installs the handler. The handler needs global state, so a
 * process can save only one terminal. Returns 0 or the error from tcgetattr(3).
 */
static int top_terminal_arm(int fd)
{
    struct sigaction action = {.sa_handler = terminal_on_signal, .sa_flags = SA_RESETHAND | SA_ONSTACK};
    stack_t stack = {.ss_sp = terminal.stack, .ss_size = sizeof(terminal.stack)};

    terminal.fd = fd;
    terminal.size = 0;
    if (tcgetattr(fd, &terminal.modes) < 0)
        return -errno;
    sigaltstack(&stack, NULL);
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
        sigaction(deadly[i], &action, NULL);
    return 0;
}

/*
 * Copies the bytes, at most 256, that the handler writes to show the normal screen and the cursor.
 */
static void top_terminal_set_bytes(const char *bytes, size_t size)
{
    terminal.size = MIN(size, sizeof(terminal.bytes));
    memcpy(terminal.bytes, bytes, terminal.size);
}

static void top_terminal_disarm(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
        signal(deadly[i], SIG_DFL);
}

/* --- screen --- */

#define ESCAPE_MS 25 /* wait after an Escape byte, which may be the Escape key or start another key's sequence */
#define PAIR_WARNING 1

struct ncurses {
    __typeof__(&newterm) newterm;
    __typeof__(&delscreen) delscreen;
    __typeof__(&endwin) endwin;
    __typeof__(&newwin) newwin;
    __typeof__(&delwin) delwin;
    __typeof__(&cbreak) cbreak;
    __typeof__(&noecho) noecho;
    __typeof__(&nonl) nonl;
    __typeof__(&keypad) keypad;
    __typeof__(&nodelay) nodelay;
    __typeof__(&curs_set) curs_set;
    __typeof__(&set_escdelay) set_escdelay;
    __typeof__(&has_colors) has_colors;
    __typeof__(&start_color) start_color;
    __typeof__(&use_default_colors) use_default_colors;
    __typeof__(&init_pair) init_pair;
    __typeof__(&werase) werase;
    __typeof__(&wmove) wmove;
    __typeof__(&wattrset) wattrset;
    __typeof__(&waddnstr) waddnstr;
    __typeof__(&wnoutrefresh) wnoutrefresh;
    __typeof__(&doupdate) doupdate;
    __typeof__(&clearok) clearok;
    __typeof__(&resizeterm) resizeterm;
    __typeof__(&wresize) wresize;
    __typeof__(&wgetch) wgetch;
    __typeof__(&tigetstr) tigetstr;
    __typeof__(&COLOR_PAIR) COLOR_PAIR;
};

#define FUNCTION(name)                                                                                                 \
    {                                                                                                                  \
#name, offsetof(struct ncurses, name)                                                                          \
    }
static const struct library_function functions[] = {
    FUNCTION(newterm),    FUNCTION(delscreen),   FUNCTION(endwin),
    FUNCTION(newwin),     FUNCTION(delwin),      FUNCTION(cbreak),
    FUNCTION(noecho),     FUNCTION(nonl),        FUNCTION(keypad),
    FUNCTION(nodelay),    FUNCTION(curs_set),    FUNCTION(set_escdelay),
    FUNCTION(has_colors), FUNCTION(start_color), FUNCTION(use_default_colors),
    FUNCTION(init_pair),  FUNCTION(werase),      FUNCTION(wmove),
    FUNCTION(wattrset),   FUNCTION(waddnstr),    FUNCTION(wnoutrefresh),
    FUNCTION(doupdate),   FUNCTION(clearok),     FUNCTION(resizeterm),
    FUNCTION(wresize),    FUNCTION(wgetch),      FUNCTION(tigetstr),
    FUNCTION(COLOR_PAIR),
};

static const struct library library = {
    .name = "ncurses, which draws on terminals,",
    .package = "libncursesw6",
    .files = {"libncursesw.so.6"},
    .functions = functions,
    .n_functions = ARRAY_SIZE(functions),
};

struct top_screen {
    struct ncurses ncurses;
    SCREEN *terminal;
    WINDOW *window;
    size_t width, height;
    bool colours;
};

/* Returns a string capability from terminfo(5), or "" if the terminal does not have the capability. */
static const char *capability_text(const struct top_screen *screen, const char *name)
{
    const char *text = screen->ncurses.tigetstr(name);

    return text && text != (const char *)-1 ? text : "";
}

/*
 * Appends the capability without padding such as "$<5>", which only tputs(3) understands. Returns the number of bytes
 * appended.
 */
static size_t append_capability(const char *text, char *to, size_t room)
{
    size_t used = 0;

    while (*text && used < room) {
        const char *end = str_starts(text, "$<") ? strchr(text, '>') : NULL;
        if (end)
            text = end + 1;
        else
            to[used++] = *text++;
    }
    return used;
}

/* Saves the bytes that restore the terminal when endwin() cannot be called. */
static void remember_bytes(const struct top_screen *screen)
{
    static const char *const names[] = {"rmkx", "sgr0", "op", "cnorm", "rmcup"};
    char bytes[256];
    size_t size = 0;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        size += append_capability(capability_text(screen, names[i]), bytes + size, sizeof(bytes) - size);
    top_terminal_set_bytes(bytes, size);
}

void top_screen_update_size(struct top_screen *screen)
{
    struct winsize size = {0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    screen->width = size.ws_col;
    screen->height = size.ws_row;
    screen->ncurses.resizeterm(size.ws_row, size.ws_col);
    screen->ncurses.wresize(screen->window, size.ws_row, size.ws_col);
}

static void prepare_colours(struct top_screen *screen)
{
    const struct ncurses *ncurses = &screen->ncurses;

    screen->colours = text_has_colour(STDOUT_FILENO) && ncurses->has_colors() && ncurses->start_color() == OK &&
                      ncurses->use_default_colors() == OK && ncurses->init_pair(PAIR_WARNING, COLOR_YELLOW, -1) == OK;
}

static int open_window(struct top_screen *screen, const char *type, struct error *error)
{
    const struct ncurses *ncurses = &screen->ncurses;

    screen->terminal = ncurses->newterm(NULL, stdout, stdin);
    if (!screen->terminal)
        return error_set(error, -ENODEV,
                         "the terminal type is unknown: TERM is \"%.64s\"; set it to a known type, as in "
                         "TERM=xterm, or print plain text with --count=1",
                         type);
    screen->window = *capability_text(screen, "cup") ? ncurses->newwin(0, 0, 0, 0) : NULL;
    if (!screen->window)
        return error_set(error, -ENODEV,
                         "this terminal cannot move its cursor: TERM is \"%.64s\"; set it to a type "
                         "that can, as in TERM=xterm, or print plain text with --count=1",
                         type);
    return 0;
}

static void prepare_window(struct top_screen *screen)
{
    const struct ncurses *ncurses = &screen->ncurses;

    remember_bytes(screen);
    ncurses->cbreak();
    ncurses->noecho();
    ncurses->nonl();
    ncurses->set_escdelay(ESCAPE_MS);
    ncurses->keypad(screen->window, TRUE);
    ncurses->nodelay(screen->window, TRUE);
    ncurses->curs_set(0);
    prepare_colours(screen);
    top_screen_update_size(screen);
}

DEFINE_CLEANUP(struct top_screen *, top_screen_close);

int top_screen_open(struct top_screen **ret, struct error *error)
{
    const char *type = getenv("TERM");

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return error_set(error, -ENOTTY, "standard input and output must be a terminal; --count=1 prints plain text");
    _cleanup_(top_screen_closep) struct top_screen *screen = calloc(1, sizeof(*screen));
    if (!screen)
        return error_oom(error);
    int r = library_load(&library, &screen->ncurses, error);
    if (r < 0)
        return r;
    r = top_terminal_arm(STDOUT_FILENO);
    if (r < 0)
        return error_set(error, r, "cannot read the terminal modes: %s", strerror(-r));
    r = open_window(screen, type && *type ? type : "", error);
    if (r < 0)
        return r;
    prepare_window(screen);
    *ret = steal(screen);
    return 0;
}

struct top_screen *top_screen_close(struct top_screen *screen)
{
    if (!screen)
        return NULL;
    if (screen->window)
        screen->ncurses.delwin(screen->window);
    if (screen->terminal) {
        screen->ncurses.endwin();
        screen->ncurses.delscreen(screen->terminal);
    }
    top_terminal_disarm();
    free(screen);
    return NULL;
}

size_t top_screen_width(const struct top_screen *screen)
{
    return screen->width;
}

size_t top_screen_height(const struct top_screen *screen)
{
    return screen->height;
}

static int attributes_of(const struct top_screen *screen, enum top_style style)
{
    switch (style) {
    case TOP_BOLD:
        return (int)A_BOLD;
    case TOP_DIM:
        return (int)A_DIM;
    case TOP_WARNING:
        return screen->colours ? (int)screen->ncurses.COLOR_PAIR(PAIR_WARNING) : (int)A_BOLD;
    case TOP_TITLE:
        return (int)A_REVERSE;
    case TOP_TITLE_SORTED:
        return (int)(A_BOLD | A_UNDERLINE);
    default:
        return (int)A_NORMAL;
    }
}

void top_screen_show(struct top_screen *screen, const struct top_frame *frame)
{
    const struct ncurses *ncurses = &screen->ncurses;
    unsigned line = 0;

    ncurses->werase(screen->window);
    ncurses->wmove(screen->window, 0, 0);
    for (size_t i = 0; i < frame->n; i++) {
        const struct top_piece *piece = &frame->pieces[i];
        if (piece->line != line)
            ncurses->wmove(screen->window, (int)piece->line, 0);
        line = piece->line;
        ncurses->wattrset(screen->window, attributes_of(screen, piece->style));
        ncurses->waddnstr(screen->window, frame->text.data + piece->offset, (int)piece->size);
    }
    ncurses->wattrset(screen->window, (int)A_NORMAL);
    ncurses->wnoutrefresh(screen->window);
    ncurses->doupdate();
}

int top_screen_read_key(struct top_screen *screen)
{
    static const struct {
        int key, meaning;
    } keys[] = {
        {KEY_UP, TOP_KEY_UP},           {KEY_DOWN, TOP_KEY_DOWN},   {KEY_PPAGE, TOP_KEY_PAGE_UP},
        {KEY_NPAGE, TOP_KEY_PAGE_DOWN}, {KEY_HOME, TOP_KEY_HOME},   {KEY_END, TOP_KEY_END},
        {KEY_LEFT, TOP_KEY_LEFT},       {KEY_RIGHT, TOP_KEY_RIGHT}, {KEY_ENTER, TOP_KEY_ENTER},
        {'\r', TOP_KEY_ENTER},          {'\n', TOP_KEY_ENTER},      {27, TOP_KEY_ESCAPE},
        {KEY_BACKSPACE, TOP_KEY_ERASE}, {127, TOP_KEY_ERASE},       {'\b', TOP_KEY_ERASE},
    };
    int key = screen->ncurses.wgetch(screen->window);

    if (key == ERR)
        return -EAGAIN;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (key == keys[i].key)
            return keys[i].meaning;
    return key < 256 ? key : 0;
}

void top_screen_suspend(struct top_screen *screen)
{
    screen->ncurses.endwin();
}

void top_screen_resume(struct top_screen *screen)
{
    top_screen_update_size(screen);
    screen->ncurses.clearok(screen->window, TRUE);
}

#else

/* --- build without ncurses --- */

int top_screen_open(struct top_screen **ret, struct error *error)
{
    (void)ret;
    return error_set(error, -ENOSYS,
                     "perfcountd was built without ncurses, which draws on terminals; print plain text "
                     "with --count=1, or build perfcountd with libncurses-dev");
}

struct top_screen *top_screen_close(struct top_screen *screen)
{
    (void)screen;
    return NULL;
}

size_t top_screen_width(const struct top_screen *screen)
{
    (void)screen;
    return 80;
}

size_t top_screen_height(const struct top_screen *screen)
{
    (void)screen;
    return 24;
}

void top_screen_update_size(struct top_screen *screen)
{
    (void)screen;
}

void top_screen_show(struct top_screen *screen, const struct top_frame *frame)
{
    (void)screen;
    (void)frame;
}

int top_screen_read_key(struct top_screen *screen)
{
    (void)screen;
    return -EAGAIN;
}

void top_screen_suspend(struct top_screen *screen)
{
    (void)screen;
}

void top_screen_resume(struct top_screen *screen)
{
    (void)screen;
}

#endif
