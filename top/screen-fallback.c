/* SPDX-License-Identifier: Apache-2.0 */
/* Without ncurses there is no screen: see top-screen.h. */
#include "top/screen.h"

int top_screen_open(struct top_screen **ret, struct error *error)
{
    (void)ret;
    return error_set(error, -ENOSYS,
                     "perfcountd was built without ncurses, which draws on terminals; --count=1 prints "
                     "plain text, and a build with libncurses-dev has both");
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
