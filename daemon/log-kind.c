/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of log messages: see kind.h. A new kind is a row here, in the manual and in the journal's catalog. */
#include "daemon/log-kind.h"

/* Made by systemd-id128(1). */
static const struct log_kind_facts kinds[N_LOG_KINDS] = {
    [LOG_KIND_START_FAILED] = {"start-failed", "c3ebffe0f1f54d10920f918e56e4c559", LOG_LEVEL_ERROR},
    [LOG_KIND_CONFIG_BAD] = {"configuration-bad", "3508f198a00549779c2d8e1d5b82b01f", LOG_LEVEL_ERROR},
    [LOG_KIND_CONFIG_DEPRECATED] = {"configuration-deprecated", "32d1c1ce6ad744c2bd166b1f93769c4f", LOG_LEVEL_WARNING},
    [LOG_KIND_LISTEN_FAILED] = {"listen-failed", "5d8270c44ac14504a7cc112a1ca15064", LOG_LEVEL_ERROR},
    [LOG_KIND_RELOADED] = {"reloaded", "08e4098f79894d9580231d50b9812484", LOG_LEVEL_INFO},
    [LOG_KIND_RELOAD_FAILED] = {"reload-failed", "8533ddab6c9748c38c1d3a244cba5765", LOG_LEVEL_ERROR},
    [LOG_KIND_EVENTS_UNAVAILABLE] = {"events-unavailable", "0982c9f38683418b9c0e27eea3f6f746", LOG_LEVEL_WARNING},
    [LOG_KIND_CGROUPS_DROPPED] = {"cgroups-dropped", "5c63a03060324c2cafa120127a8489b0", LOG_LEVEL_WARNING},
    [LOG_KIND_CGROUPS_UNSEEN] = {"cgroups-unseen", "7fbc5422f9f449c186415ed7d437ba3f", LOG_LEVEL_WARNING},
    [LOG_KIND_COLLECTOR_FAILED] = {"collector-failed", "15657d7596b54f2ca0026ba25763106b", LOG_LEVEL_WARNING},
    [LOG_KIND_WEB] = {"web", "6c198da51a9b48aeab2ba1fa3f7442f4", LOG_LEVEL_WARNING},
    [LOG_KIND_OPENER_LOST] = {"opener-lost", "bb14e0be056341bc8a732281f32e5d89", LOG_LEVEL_ERROR},
    [LOG_KIND_CPUS_CHANGED] = {"cpus-changed", "fd12b014a7df4d7daa191340cd8a193f", LOG_LEVEL_INFO},
    [LOG_KIND_CPUS_LOST] = {"cpus-lost", "b2cf71ae98b44e94800490876cabceec", LOG_LEVEL_ERROR},
    [LOG_KIND_CHANGES_UNHEARD] = {"changes-unheard", "8396e16e97e54ff99ceaa6703b9b767d", LOG_LEVEL_WARNING},
    [LOG_KIND_ADDRESSES_IGNORED] = {"addresses-ignored", "93d5513b2874491db9311f7e29609d12", LOG_LEVEL_WARNING},
    [LOG_KIND_PAUSED] = {"paused", "cdc2e8d759ce4478ba80796977e56bf4", LOG_LEVEL_INFO},
    [LOG_KIND_RESUMED] = {"resumed", "79711cac1dab4ab0abf044f8fb1947c3", LOG_LEVEL_INFO},
    [LOG_KIND_COUNTING] = {"counting", "9ac8a6c1ce9e4f21b39418671bed95d4", LOG_LEVEL_INFO},
};

const struct log_kind_facts *log_kind_facts(enum log_kind kind)
{
    return &kinds[kind];
}
