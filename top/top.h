/* SPDX-License-Identifier: Apache-2.0 */
/* `perfcountd top` in the event loop: readings and keys come in, frames go to the terminal or to standard output. */
#ifndef TOP_TOP_H
#define TOP_TOP_H

#include <systemd/sd-event.h>

#endif
