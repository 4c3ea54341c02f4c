/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbpf, which adapts a BPF program to the types of the running kernel. It is loaded when it is first needed, and its
 * functions are declared here, so that perfcountd is built the same with and without its headers. They are those that
 * libbpf 0.3 (Debian 11) and 1.x have in common.
 */
#ifndef BPF_LIBBPF_API_H
#define BPF_LIBBPF_API_H

#include <stdarg.h>

#include "base/error.h"

struct bpf_map;
struct bpf_object;
struct bpf_program;

/* Of an object that is opened; the first fields of libbpf's own struct. */
struct libbpf_options {
    size_t size;             /* of this struct */
    const char *object_name; /* starts the names of the maps of constants and variables */
};

struct libbpf {
    /* The print function gets a level, 0 for a warning. */
    int (*(*set_print)(int (*print)(int level, const char *format, va_list arguments)))(int, const char *, va_list);
    long (*get_error)(const void *pointer); /* 0 or -errno: 0.x gives pointers that are errors */
    struct bpf_object *(*open_mem)(const void *bytes, size_t size, const struct libbpf_options *options);
    int (*load)(struct bpf_object *object);
    void (*close)(struct bpf_object *object);
    struct bpf_map *(*find_map)(const struct bpf_object *object, const char *name);
    struct bpf_program *(*find_program)(const struct bpf_object *object, const char *name);
    int (*map_set_max_entries)(struct bpf_map *map, uint32_t n);
    int (*map_set_value_size)(struct bpf_map *map, uint32_t size);
    int (*map_set_initial_value)(struct bpf_map *map, const void *value, size_t size);
    int (*map_fd)(const struct bpf_map *map);
    int (*program_fd)(const struct bpf_program *program);
};

/* -ENOSYS with a sentence. */
int libbpf_load(struct libbpf *ret, struct error *error);
/* Loads libbpf ahead of time, so that a later libbpf_load() maps no file. Reports nothing: libbpf_load() does. */
void libbpf_preload(void);

#endif
