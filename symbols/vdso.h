/* SPDX-License-Identifier: Apache-2.0 */
/* The vdso, an ELF file that the kernel maps into each process. */
#ifndef SYMBOLS_VDSO_H
#define SYMBOLS_VDSO_H

/* A descriptor of a copy of this process's, which the caller closes. All processes of the same kind have an equal one.
 */
int vdso_open(void);

#endif
