/* SPDX-License-Identifier: Apache-2.0 */
/* Build ids: see build-id.h. */
#include "symbols/build-id.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/file.h"

#define NOTES_MAX (64 * 1024)
#define ALIGNED(size) (((size_t)(size) + 3) & ~(size_t)3)

size_t build_id_of_notes(const void *notes, size_t size, unsigned char *id)
{
    const char *at = notes;
    Elf64_Nhdr note;

    while (size >= sizeof(note)) {
        memcpy(&note, at, sizeof(note));
        at += sizeof(note);
        size -= sizeof(note);
        size_t name = ALIGNED(note.n_namesz), value = ALIGNED(note.n_descsz);
        if (name > size || value > size - name)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") && memcmp(at, "GNU", 4) == 0 &&
            note.n_descsz <= BUILD_ID_MAX) {
            memcpy(id, at + name, note.n_descsz);
            return note.n_descsz;
        }
        at += name + value;
        size -= name + value;
    }
    return 0;
}

size_t build_id_of_kernel(struct sys *sys, unsigned char *id)
{
    _cleanup_(freep) char *notes = NULL;
    char path[PATH_MAX];
    size_t size;

    snprintf(path, sizeof(path), "%s/sys/kernel/notes", sys->root);
    if (file_read(AT_FDCWD, path, NOTES_MAX, &notes, &size) < 0)
        return 0;
    return build_id_of_notes(notes, size, id);
}
