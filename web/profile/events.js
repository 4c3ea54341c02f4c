// SPDX-License-Identifier: Apache-2.0
// The events of /api/v1/events as the picker offers them: one entry for each name, first choices, and searching.

// The first choices: of each line the first event that this machine has, so cpu-clock only where no PMU counts cycles.
const first = [
    ["where the CPUs' time goes", "cycles", "cpu-clock"],
    ["where caches miss", "cache-misses", "LLC-load-misses", "L1-dcache-load-misses"],
    ["where CPUs wait for data", "stalled-cycles-backend", "/stall_backend/"],
    ["where CPUs wait for instructions", "stalled-cycles-frontend", "/stall_frontend/"],
    ["where branches are mispredicted", "branch-misses"],
    ["where memory is touched first", "page-faults"],
    ["where tasks stop and wait", "context-switches"],
];

// [{name, kind, note, text}] of the API's list: an event of several PMUs is one. `tracepoints` are those that clients
// may name.
export function gather(list, tracepoints = []) {
    const byName = new Map();

    for (const { name, pmu, kind, description } of list) {
        if (!name || kind === "note")
            continue;
        const known = byName.get(name) ?? { name, kind, description, pmus: [] };
        known.pmus.push(pmu);
        byName.set(name, known);
    }
    return [...byName.values()].map((event) => offer(event, tracepoints));
}

function offer({ name, kind, description, pmus }, tracepoints) {
    const refused = kind === "tracepoint" && !tracepoints.includes(name);
    const where = kind === "software" || kind === "tracepoint" ? "" : pmus.join(", ");
    const note = refused ? "not listed in sampler.tracepoints" : [description, where].filter(Boolean).join(" ");

    return { name, kind, note, refused, text: `${name} ${kind} ${description} ${pmus.join(" ")}`.toLowerCase() };
}

function has(offer, wanted) {
    return wanted.startsWith("/") ? offer.name.endsWith(wanted) : offer.name === wanted;
}

// The first choices that are there, their note being what they are for.
export function choices(offers) {
    const found = first.map(([use, ...names]) => {
        const event = names.map((name) => offers.find((one) => has(one, name))).find(Boolean);

        return event && { ...event, note: use };
    });

    return found.filter(Boolean);
}

// Those with each word of the text: names that begin with it come first, what clients may not name comes last.
export function find(offers, text) {
    const wanted = text.trim().toLowerCase(), words = wanted.split(/\s+/);
    const rank = (one) => (one.refused ? 2 : 0) + (one.name.toLowerCase().startsWith(wanted) ? 0 : 1);

    return offers.filter((one) => words.every((word) => one.text.includes(word)))
        .map((one) => [rank(one), one]).sort(([a], [b]) => a - b).map(([, one]) => one);
}
