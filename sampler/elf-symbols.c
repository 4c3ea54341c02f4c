/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of an ELF file, by libdwfl: see elf-symbols.h. */
#include "sampler/elf-symbols.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sampler/demangle.h"

struct library {
    __typeof__(&dwfl_begin) begin;
    __typeof__(&dwfl_end) end;
    __typeof__(&dwfl_report_offline) report_offline;
    __typeof__(&dwfl_report_end) report_end;
    __typeof__(&dwfl_module_getelf) getelf;
    __typeof__(&dwfl_module_getsymtab) getsymtab;
    __typeof__(&dwfl_module_getsym_info) getsym_info;
    __typeof__(&dwfl_module_build_id) build_id;
    __typeof__(&dwfl_build_id_find_elf) find_elf;
    __typeof__(&dwfl_standard_find_debuginfo) find_debuginfo;
    __typeof__(&dwfl_offline_section_address) section_address;
    __typeof__(&elf_getphdrnum) getphdrnum;
    __typeof__(&gelf_getphdr) getphdr;
    __typeof__(&gelf_getehdr) getehdr;
};

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    {"dwfl_begin", offsetof(struct library, begin)},
    {"dwfl_end", offsetof(struct library, end)},
    {"dwfl_report_offline", offsetof(struct library, report_offline)},
    {"dwfl_report_end", offsetof(struct library, report_end)},
    {"dwfl_module_getelf", offsetof(struct library, getelf)},
    {"dwfl_module_getsymtab", offsetof(struct library, getsymtab)},
    {"dwfl_module_getsym_info", offsetof(struct library, getsym_info)},
    {"dwfl_module_build_id", offsetof(struct library, build_id)},
    {"dwfl_build_id_find_elf", offsetof(struct library, find_elf)},
    {"dwfl_standard_find_debuginfo", offsetof(struct library, find_debuginfo)},
    {"dwfl_offline_section_address", offsetof(struct library, section_address)},
    {"elf_getphdrnum", offsetof(struct library, getphdrnum)},
    {"gelf_getphdr", offsetof(struct library, getphdr)},
    {"gelf_getehdr", offsetof(struct library, getehdr)},
};

const char *elf_symbols_built(void)
{
    return "yes";
}

const char *elf_symbols_remedy(void)
{
    return "the symbols of programs are not known, since libdw cannot be loaded; install the package libdw1";
}

static int load(struct library *ret)
{
    struct library library;

    unsetenv("DEBUGINFOD_URLS"); /* libdw would ask servers for debug information */
    void *handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return -ENOPKG;
    for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
        void *function = dlsym(handle, functions[i].name); /* also in libelf, which libdw brings */
        if (!function)
            return -ENOPKG;
        memcpy((char *)&library + functions[i].offset, &function, sizeof(function));
    }
    dlclose(handle);
    *ret = library;
    return 0;
}

static int take_segments(const struct library *library, Elf *elf, struct symbol_list *list)
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

static int take_symbol(const GElf_Sym *symbol, const char *name, uint64_t address, struct symbol_list *list)
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
    /* Assembly has functions without a type; the linker has marks ("__bss_start") without a size. */
    if (type == STT_NOTYPE && symbol->st_size == 0)
        return 0;
    char readable[SYMBOL_NAME_MAX + 1];
    return symbol_list_add(list, address, symbol->st_size, binding < ARRAY_SIZE(ranks) ? ranks[binding] : SYMBOL_GLOBAL,
                           demangle(name, readable, sizeof(readable)) ? readable : name);
}

static int take_symbols(const struct library *library, Dwfl_Module *module, struct symbol_list *list)
{
    GElf_Addr bias;

    Elf *elf = library->getelf(module, &bias);
    int r = elf ? take_segments(library, elf, list) : -EBADMSG;
    if (r < 0)
        return r;
    const unsigned char *id = NULL;
    GElf_Addr where;
    int id_size = library->build_id(module, &id, &where);
    if (id && id_size > 0 && id_size <= BUILD_ID_MAX) {
        memcpy(list->build_id, id, (size_t)id_size);
        list->build_id_size = (size_t)id_size;
    }
    int n = library->getsymtab(module); /* -1: it has none */
    for (int i = 1; i < n && r == 0; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *name = library->getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
        r = take_symbol(&symbol, name, address - bias, list);
    }
    return r;
}

int elf_symbols_read(int fd, struct symbol_list *list)
{
    char directories[] = "/usr/lib/debug", *path = directories;
    struct library library;

    int r = load(&library);
    if (r < 0)
        return r;
    const Dwfl_Callbacks callbacks = {
        .find_elf = library.find_elf,
        .find_debuginfo = library.find_debuginfo,
        .section_address = library.section_address,
        .debuginfo_path = &path,
    };
    _cleanup_(closep) int own = dup(fd); /* the library takes it where it succeeds */
    Dwfl *dwfl = own < 0 ? NULL : library.begin(&callbacks);
    if (!dwfl)
        return -ENOMEM;
    Dwfl_Module *module = library.report_offline(dwfl, "file", "file", own);
    if (module)
        own = -1;
    library.report_end(dwfl, NULL, NULL);
    r = module ? take_symbols(&library, module, list) : -EBADMSG;
    library.end(dwfl);
    return r;
}
