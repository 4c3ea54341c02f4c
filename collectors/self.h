/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of another process of the daemon, as perfcountd_process_*{process="NAME"}. While none runs there is nothing
 * but the time of those that have ended, a total that never falls.
 *
 * The daemon's own cost in hardware events: perfcountd_self_cycles_total and the like. An event that cannot be
 * counted has no series; a series that is starved is left out of the scrape.
 */
#ifndef COLLECTORS_SELF_H
#define COLLECTORS_SELF_H

#endif
