/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/kernel.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/number.h"
#include "base/util.h"
#include "symbols/symbol-table.h"

/* Assumed size of the kernel if no module starts within it. Real kernels are smaller. */
#define KERNEL_MAP_SIZE ((uint64_t)64 * 1024 * 1024)

/* --- build IDs --- */

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

/* --- vdso --- */

#define VDSO_SIZE_MAX (64 * 1024)

/* Returns the size of the ELF file: the end of its section headers or of its last segment. */
static size_t vdso_size(const ElfW(Ehdr) * header)
{
    size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)((const char *)header + header->e_phoff);

    for (unsigned i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD)
            size = MAX(size, segments[i].p_offset + segments[i].p_filesz);
    return size;
}

int vdso_open(void)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);

    if (!header)
        return -ENOENT;
    size_t size = vdso_size(header);
    _cleanup_(closep) int fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (size > VDSO_SIZE_MAX || write(fd, header, size) != (ssize_t)size)
        return -EIO;
    return steal_fd(&fd);
}

/* --- kernel and modules --- */

#define KALLSYMS_START ((size_t)256 * 1024) /* number of bytes to read from the start of /proc/kallsyms */
#define MODULES_MAX ((size_t)1024 * 1024)   /* maximum number of bytes to read from /proc/modules */

/*
 * Returns the address of a symbol in /proc/kallsyms, or 0 if not found. `symbol` is the end of a line, including "\n".
 */
static uint64_t address_of(const char *lines, const char *symbol)
{
    uint64_t address = 0;
    const char *found = strstr(lines, symbol);

    if (!found)
        return 0;
    const char *start = found;
    while (start > lines && start[-1] != '\n')
        start--;
    const char *blank = strchr(start, ' ');
    if (number_parse_hex_n(start, (size_t)(blank - start), &address) < 0)
        return 0;
    return address;
}

/*
 * Reads only the start of /proc/kallsyms, which contains the symbol _text, because the kernel takes a long time to
 * generate the whole file. Returns NULL on failure.
 */
static char *read_start(int fd)
{
    char *text = malloc(KALLSYMS_START + 1);
    size_t size = 0;
    ssize_t n = -1;

    if (!text || fd < 0) {
        free(text);
        return NULL;
    }
    do {
        n = read(fd, text + size, MIN(KALLSYMS_START - size, (size_t)16 * 1024));
        size += n > 0 ? (size_t)n : 0;
        text[size] = '\0';
    } while (n > 0 && !strstr(text, " T _text\n") && size < KALLSYMS_START);
    return text;
}

/*
 * Finds the start of the kernel by the symbols that perf uses, in the same order (tools/perf/util/machine.c,
 * ref_reloc_sym_names). `map->start` is 0 if neither is found.
 */
static void find_kernel(struct sys *sys, struct kernel_map *map)
{
    static const struct {
        const char *symbol, *name;
    } references[] = {
        {" T _text\n", "[kernel.kallsyms]_text"},
        {" T _stext\n", "[kernel.kallsyms]_stext"},
    };
    _cleanup_(closep) int fd = sys_open_file(sys, "/proc/kallsyms", 0);
    _cleanup_(freep) char *lines = read_start(fd);

    for (size_t i = 0; lines && i < ARRAY_SIZE(references) && !map->start; i++) {
        map->start = address_of(lines, references[i].symbol);
        map->name = references[i].name;
    }
}

/*
 * Parses a line of /proc/modules: "ext4 1015808 1 - Live 0xffffffffc0400000 (E)". Returns false if the line is
 * malformed or its address is hidden (0). `name` has room for NAME_MAX bytes.
 */
static bool parse_module(char *line, char *name, struct kernel_map *map)
{
    char *fields[6], *rest = NULL;
    uint64_t size, address;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (!(fields[i] = strtok_r(i ? NULL : line, " ", &rest)))
            return false;
    if (strlen(fields[0]) >= NAME_MAX - 2 || number_parse_u64(fields[1], &size) < 0 ||
        number_parse_u64(fields[5], &address) < 0 || address == 0)
        return false;
    snprintf(name, NAME_MAX, "[%s]", fields[0]);
    *map = (struct kernel_map){.start = address, .end = address + size, .name = name};
    return true;
}

typedef void (*visit_map)(void *userdata, const struct kernel_map *map);

static void each_module(const char *text, visit_map visit, void *userdata)
{
    _cleanup_(freep) char *lines = strdup(text);
    char name[NAME_MAX], *rest = NULL;
    struct kernel_map map;

    for (char *line = lines ? strtok_r(lines, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        if (parse_module(line, name, &map))
            visit(userdata, &map);
}

/* The kernel ends no later than the start of the first module after it. */
static void end_kernel(void *userdata, const struct kernel_map *module)
{
    struct kernel_map *kernel = userdata;

    if (module->start > kernel->start)
        kernel->end = MIN(kernel->end, module->start);
}

/*
 * Calls `visit` for the kernel, then for each module, with their true addresses. `map` is borrowed until `visit`
 * returns. Does nothing if the kernel hides its addresses (kernel.kptr_restrict) from this process and from the opener.
 */
static void kernel_map_each(struct sys *sys, visit_map visit, void *userdata)
{
    _cleanup_(freep) char *modules = NULL;
    struct kernel_map kernel = {0};
    size_t size;

    find_kernel(sys, &kernel);
    if (!kernel.start)
        return;
    kernel.end = kernel.start + KERNEL_MAP_SIZE;
    /* Kernels without CONFIG_MODULES do not have /proc/modules. */
    _cleanup_(closep) int fd = sys_open_file(sys, "/proc/modules", 0);
    if (fd >= 0)
        (void)file_read_fd(fd, MODULES_MAX, &modules, &size);
    if (modules)
        each_module(modules, end_kernel, &kernel);
    visit(userdata, &kernel);
    if (modules)
        each_module(modules, visit, userdata);
}

/* Returns whether /proc/kallsyms shows addresses to this process; hidden addresses are 0. Does not use the opener. */
static bool kernel_map_is_shown(struct sys *sys)
{
    _cleanup_(closep) int fd = sys_own_open_file(sys, "/proc/kallsyms", 0);
    _cleanup_(freep) char *lines = read_start(fd);
    uint64_t address = 0;

    for (const char *line = lines; line && address == 0;) {
        number_parse_hex_n(line, strcspn(line, " \n"), &address);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return address != 0;
}

/* --- kernel view --- */

#define KERNEL_HALF (UINT64_C(1) << 63)
#define VSYSCALL UINT64_C(0xffffffffff600000)
#define PAGE UINT64_C(4096)

/*
 * Returns the address at which the kernel is linked. There is one address for 32-bit kernels, one for x86-64 and
 * riscv64, and one for arm64.
 */
static uint64_t link_address_of_kernel(uint64_t start)
{
    if (start <= UINT32_MAX)
        return UINT64_C(0xc0008000);
    return start >> 32 == UINT32_MAX ? UINT64_C(0xffffffff81000000) : UINT64_C(0xffff800080000000);
}

void kernel_view_init(struct kernel_view *view, struct sys *sys)
{
    *view = (struct kernel_view){.sys = sys, .open = kernel_map_is_shown(sys)};
}

void kernel_view_done(struct kernel_view *view)
{
    for (size_t i = 0; i < view->n; i++)
        free(view->parts[i].name);
    free(view->parts);
    *view = (struct kernel_view){0};
}

bool kernel_view_hides(const struct kernel_view *view, bool kernel, uint64_t address)
{
    if ((view && view->open) || address - VSYSCALL < PAGE)
        return false;
    return kernel || address >= KERNEL_HALF;
}

/*
 * Adds the kernel or a module. If memory runs out, the part is left out, and its addresses are shown as
 * KERNEL_VIEW_UNKNOWN.
 */
static void view_add_part(void *userdata, const struct kernel_map *map)
{
    struct kernel_view *view = userdata;
    struct kernel_view_part part = {.start = map->start, .end = map->end, .name = strdup(map->name)};
    const struct kernel_view_part *last = view->n ? &view->parts[view->n - 1] : NULL;

    if (!last)
        part.nominal = link_address_of_kernel(map->start);
    else if (view->n == 1) /* hides the true distance between the kernel and its modules */
        part.nominal = last->nominal + KERNEL_MAP_SIZE;
    else
        part.nominal = last->nominal + (last->end - last->start + PAGE - 1) / PAGE * PAGE + PAGE;
    if (!part.name || array_grow(&view->parts, view->n) < 0) {
        free(part.name);
        return;
    }
    view->parts[view->n++] = part;
}

static void load_parts(struct kernel_view *view)
{
    if (view->loaded || !view->sys)
        return;
    view->loaded = true;
    kernel_map_each(view->sys, view_add_part, view);
}

/*
 * Returns the part that contains the address, or NULL if none does. Since Linux 6.4 the memory of a module is not
 * contiguous, so ranges that are computed from start and total size can overlap. In that case the part with the highest
 * start is used.
 */
static const struct kernel_view_part *part_of(const struct kernel_view *view, uint64_t address)
{
    const struct kernel_view_part *found = NULL;

    for (size_t i = 0; i < view->n; i++) {
        const struct kernel_view_part *part = &view->parts[i];
        if (address >= part->start && address < part->end && (!found || part->start > found->start))
            found = part;
    }
    return found;
}

uint64_t kernel_view_address(struct kernel_view *view, bool kernel, uint64_t address)
{
    if (!kernel_view_hides(view, kernel, address))
        return address;
    if (view && kernel)
        load_parts(view);
    const struct kernel_view_part *part = view && kernel ? part_of(view, address) : NULL;
    if (part)
        return address - part->start + part->nominal;
    return address > UINT32_MAX ? KERNEL_VIEW_UNKNOWN : KERNEL_VIEW_UNKNOWN_32;
}

void kernel_view_each(struct kernel_view *view, void (*visit)(void *userdata, const struct kernel_map *map),
                      void *userdata)
{
    if (view->open) {
        kernel_map_each(view->sys, visit, userdata);
        return;
    }
    load_parts(view);
    for (size_t i = 0; i < view->n; i++) {
        const struct kernel_view_part *part = &view->parts[i];
        uint64_t size = i == 0 ? KERNEL_MAP_SIZE : part->end - part->start;
        const struct kernel_map map = {.start = part->nominal, .end = part->nominal + size, .name = part->name};
        visit(userdata, &map);
    }
}
