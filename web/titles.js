// SPDX-License-Identifier: Apache-2.0
// What metrics and events are called on the page.

const titles = { cpu_utilization: "CPUs", ipc: "IPC", ipc_user: "IPC, user", ipc_kernel: "IPC, kernel",
                 frequency_hertz: "Frequency", task_clock: "CPU time", cpu_migrations: "CPU migrations" };

// Below this share of the time a number is an estimate. As perfcountd top has it.
export const whole = 0.9995;

export function title_of(name) {
    const words = name.replace(/_ratio$/, "").replaceAll("_", " ").replace(/\bm?pki$/, (unit) => unit.toUpperCase());

    return titles[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}
