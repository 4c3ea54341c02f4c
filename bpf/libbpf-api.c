/* SPDX-License-Identifier: Apache-2.0 */
/* libbpf, when it is needed: see libbpf.h. */
#include "bpf/libbpf-api.h"

#include "base/library.h"

static const struct library_function functions[] = {
    {"libbpf_set_print", offsetof(struct libbpf, set_print)},
    {"libbpf_get_error", offsetof(struct libbpf, get_error)},
    {"bpf_object__open_mem", offsetof(struct libbpf, open_mem)},
    {"bpf_object__load", offsetof(struct libbpf, load)},
    {"bpf_object__close", offsetof(struct libbpf, close)},
    {"bpf_object__find_map_by_name", offsetof(struct libbpf, find_map)},
    {"bpf_object__find_program_by_name", offsetof(struct libbpf, find_program)},
    {"bpf_map__set_max_entries", offsetof(struct libbpf, map_set_max_entries)},
    {"bpf_map__set_value_size", offsetof(struct libbpf, map_set_value_size)},
    {"bpf_map__set_initial_value", offsetof(struct libbpf, map_set_initial_value)},
    {"bpf_map__fd", offsetof(struct libbpf, map_fd)},
    {"bpf_program__fd", offsetof(struct libbpf, program_fd)},
};

static const struct library libbpf_library = {
    .name = "libbpf, which loads the program that counts cgroups,",
    .package = "libbpf1 (libbpf0 on Debian 11)",
    .files = {"libbpf.so.1", "libbpf.so.0"},
    .functions = functions,
    .n_functions = ARRAY_SIZE(functions),
};

int libbpf_load(struct libbpf *ret, struct error *error)
{
    return library_load(&libbpf_library, ret, error);
}

void libbpf_preload(void)
{
    struct libbpf unused;

    (void)libbpf_load(&unused, NULL);
}
