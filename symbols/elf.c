/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/elf.h"

#ifdef HAVE_LIBIBERTY
#include <libiberty/demangle.h>
#endif

#ifdef HAVE_LIBDW
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <unistd.h>
#endif

#include "base/cleanup.h"
#include "base/library.h"

#ifdef HAVE_LIBIBERTY

/* --- demangling --- */

/*
 * libiberty limits its recursion and allocates no memory for C++ names. However, in GCC before 12, rust-demangle.c
 * recurses without limit if a Rust v0 name ("_R") has a back reference to a part that contains it (CVE-2021-46195). If
 * libiberty is that old, Rust v0 names that contain a 'B', which may be a back reference, are not demangled.
 */
static bool is_endless(const char *name)
{
    return !DEMANGLE_LIMITS_RUST && str_starts(name, "_R") && strchr(name, 'B');
}

struct text {
    char *data;
    size_t size, used;
};

const char *demangle_built(void)
{
    return "yes";
}

static void text_append(const char *part, size_t size, void *userdata)
{
    struct text *text = userdata;
    size_t room = text->size - 1 - text->used, n = MIN(size, room);

    if (n > 0) /* libiberty may pass NULL for an empty part */
        memcpy(text->data + text->used, part, n);
    text->used += n;
}

/*
 * Removes a compiler's suffix (".llvm.1234") from a Rust v0 name, which libiberty before GCC 12 rejects. Apart from the
 * suffix, a Rust v0 name contains no dot.
 */
static const char *stem_of(const char *name, char stem[static DEMANGLE_SIZE_MAX])
{
    if (!str_starts(name, "_R"))
        return name;
    size_t size = strcspn(name, ".");
    memcpy(stem, name, size);
    stem[size] = '\0';
    return stem;
}

bool demangle(const char *name, char *ret_text, size_t size)
{
    /* Rust is tried first, since its legacy names are valid C++ names, too. */
    char stem[DEMANGLE_SIZE_MAX];
    static int (*const languages[])(const char *name, int options, demangle_callbackref callback,
                                    void *userdata) = {rust_demangle_callback, cplus_demangle_v3_callback};

    if (name[0] != '_' || strnlen(name, DEMANGLE_SIZE_MAX) == DEMANGLE_SIZE_MAX || is_endless(name))
        return false;
    name = stem_of(name, stem);
    for (size_t i = 0; i < ARRAY_SIZE(languages); i++) {
        char part[DEMANGLE_SIZE_MAX];
        struct text text = {.data = part, .size = MIN(size, sizeof(part))};
        if (languages[i](name, DMGL_NO_OPTS, text_append, &text) && text.used) {
            memcpy(ret_text, part, text.used);
            ret_text[text.used] = '\0';
            return true;
        }
    }
    return false;
}

#else

/* Without libiberty. */

const char *demangle_built(void)
{
    return "no";
}

bool demangle(const char *name, char *ret_text, size_t size)
{
    (void)name;
    (void)ret_text;
    (void)size;
    return false;
}

#endif

#ifdef HAVE_LIBDW

/* --- symbols of an ELF file --- */

struct elf_library {
    __typeof__(&dwfl_begin) begin;
    __typeof__(&dwfl_end) end;
    __typeof__(&dwfl_report_offline) report_offline;
    __typeof__(&dwfl_report_end) report_end;
    __typeof__(&dwfl_module_getelf) getelf;
    __typeof__(&dwfl_module_getsymtab) getsymtab;
    __typeof__(&dwfl_module_getsym_info) getsym_info;
    __typeof__(&dwfl_module_build_id) build_id;
    __typeof__(&dwfl_offline_section_address) section_address;
    __typeof__(&elf_getphdrnum) getphdrnum;
    __typeof__(&gelf_getphdr) getphdr;
    __typeof__(&gelf_getehdr) getehdr;
    __typeof__(&elf_nextscn) nextscn;
    __typeof__(&gelf_getshdr) getshdr;
};

static const struct library_function functions[] = {
    {"dwfl_begin", offsetof(struct elf_library, begin)},
    {"dwfl_end", offsetof(struct elf_library, end)},
    {"dwfl_report_offline", offsetof(struct elf_library, report_offline)},
    {"dwfl_report_end", offsetof(struct elf_library, report_end)},
    {"dwfl_module_getelf", offsetof(struct elf_library, getelf)},
    {"dwfl_module_getsymtab", offsetof(struct elf_library, getsymtab)},
    {"dwfl_module_getsym_info", offsetof(struct elf_library, getsym_info)},
    {"dwfl_module_build_id", offsetof(struct elf_library, build_id)},
    {"dwfl_offline_section_address", offsetof(struct elf_library, section_address)},
    {"elf_getphdrnum", offsetof(struct elf_library, getphdrnum)},
    {"gelf_getphdr", offsetof(struct elf_library, getphdr)},
    {"gelf_getehdr", offsetof(struct elf_library, getehdr)},
    {"elf_nextscn", offsetof(struct elf_library, nextscn)},
    {"gelf_getshdr", offsetof(struct elf_library, getshdr)},
};

static const struct library libdw = {
    .name = "libdw, which reads symbols,",
    .package = "libdw1",
    .files = {"libdw.so.1"},
    .functions = functions, /* also those of libelf, on which libdw depends */
    .n_functions = ARRAY_SIZE(functions),
};

const char *elf_symbols_built(void)
{
    return "yes";
}

const char *elf_symbols_remedy(void)
{
    return "program symbols are unknown, because libdw cannot be loaded; install the package libdw1";
}

const struct elf_library *elf_symbols_load(void)
{
    struct elf_library *library = malloc(sizeof(*library));

    unsetenv("DEBUGINFOD_URLS"); /* else libdw would download debug information */
    if (library && library_load(&libdw, library, NULL) == 0)
        return library;
    free(library);
    return NULL;
}

/* Callbacks that keep libdwfl from opening the file by another path, and from opening a separate debug file. */
static int find_no_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, char **ret_file,
                       Elf **ret_elf)
{
    (void)module, (void)userdata, (void)name, (void)base, (void)ret_file, (void)ret_elf;
    return -1;
}

static int find_no_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
                             const char *file_name, const char *link, GElf_Word crc, char **ret_file)
{
    (void)module, (void)userdata, (void)name, (void)base, (void)file_name, (void)link, (void)crc, (void)ret_file;
    return -1;
}

static int add_segments(const struct elf_library *library, Elf *elf, struct symbol_list *list)
{
    size_t n;
    GElf_Ehdr header;

    if (!library->getehdr(elf, &header) || (header.e_type != ET_EXEC && header.e_type != ET_DYN))
        return -EBADMSG;
    if (library->getphdrnum(elf, &n) < 0)
        return -EBADMSG;
    for (size_t i = 0; i < n && list->n_segments < SYMBOL_SEGMENTS_MAX; i++) {
        GElf_Phdr segment;
        if (!library->getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD || segment.p_filesz == 0)
            continue;
        list->segments[list->n_segments++] =
            (struct symbol_segment){segment.p_offset, segment.p_filesz, segment.p_vaddr};
    }
    return 0;
}

static bool has_symtab(const struct elf_library *library, Elf *elf)
{
    GElf_Shdr header;

    for (Elf_Scn *section = NULL; (section = library->nextscn(elf, section));)
        if (library->getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
            return true;
    return false;
}

static int add_symbol(const GElf_Sym *symbol, const char *name, uint64_t address, struct symbol_list *list)
{
    static const enum symbol_rank ranks[] = {
        [STB_LOCAL] = SYMBOL_LOCAL,
        [STB_GLOBAL] = SYMBOL_GLOBAL,
        [STB_WEAK] = SYMBOL_WEAK,
    };
    unsigned type = GELF_ST_TYPE(symbol->st_info), binding = GELF_ST_BIND(symbol->st_info);

    if (!name || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS)
        return 0;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return 0;
    /* Functions in assembly may have no type. Linker symbols such as "__bss_start" have neither type nor size. */
    if (type == STT_NOTYPE && symbol->st_size == 0)
        return 0;
    char readable[SYMBOL_NAME_MAX + 1];
    return symbol_list_add(list, address, symbol->st_size, binding < ARRAY_SIZE(ranks) ? ranks[binding] : SYMBOL_GLOBAL,
                           demangle(name, readable, sizeof(readable)) ? readable : name);
}

static int add_symbols(const struct elf_library *library, Dwfl_Module *module, struct symbol_list *list)
{
    GElf_Addr bias;

    Elf *elf = library->getelf(module, &bias);
    int r = elf ? add_segments(library, elf, list) : -EBADMSG;
    if (r < 0)
        return r;
    list->is_stripped = !has_symtab(library, elf);
    const unsigned char *id = NULL;
    GElf_Addr where;
    int id_size = library->build_id(module, &id, &where);
    if (id && id_size > 0 && id_size <= BUILD_ID_MAX) {
        memcpy(list->build_id, id, (size_t)id_size);
        list->build_id_size = (size_t)id_size;
    }
    int n = library->getsymtab(module); /* -1 if there is no symbol table */
    for (int i = 1; i < n && r == 0; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *name = library->getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
        r = add_symbol(&symbol, name, address - bias, list);
    }
    return r;
}

int elf_symbols_read(const struct elf_library *library, int fd, struct symbol_list *list)
{
    if (!library)
        return -ENOPKG;
    const Dwfl_Callbacks callbacks = {
        .find_elf = find_no_elf,
        .find_debuginfo = find_no_debuginfo,
        .section_address = library->section_address,
    };
    _cleanup_(closep) int own = dup(fd); /* on success, dwfl_report_offline() takes ownership of it */
    Dwfl *dwfl = own < 0 ? NULL : library->begin(&callbacks);
    if (!dwfl)
        return -ENOMEM;
    Dwfl_Module *module = library->report_offline(dwfl, "file", "file", own);
    if (module)
        own = -1;
    library->report_end(dwfl, NULL, NULL);
    int r = module ? add_symbols(library, module, list) : -EBADMSG;
    library->end(dwfl);
    return r;
}

#else

/* Without libdw. */

const char *elf_symbols_built(void)
{
    return "no";
}

const char *elf_symbols_remedy(void)
{
    return "program symbols are unknown, because libdw is not built into this perfcountd (configure "
           "--with-libdw)";
}

const struct elf_library *elf_symbols_load(void)
{
    return NULL;
}

int elf_symbols_read(const struct elf_library *library, int fd, struct symbol_list *list)
{
    (void)library;
    (void)fd;
    (void)list;
    return -ENOPKG;
}

#endif
