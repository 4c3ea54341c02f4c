// SPDX-License-Identifier: Apache-2.0
// The records of a stream, /api/v1/samples: JSON, a line each. A line that cannot be read is counted and left out,
// since a stream is about programs of strangers and may break off anywhere.

// The longest line, in characters. A stack of 1,024 frames with names of 1 KB is as long.
const longestLine = 1 << 20;

// Cuts text that comes in pieces into lines, and holds no more than one line.
class Lines {
    constructor(take) {
        this.take = take;
        this.begun = ""; // the start of a line whose end has not come
        this.skips = false; // that line is too long
        this.long = 0;
    }

    // Text that does not end the line.
    keep(text) {
        if (!this.skips && this.begun.length + text.length <= longestLine) {
            this.begun += text;
            return;
        }
        this.long += this.skips ? 0 : 1;
        this.skips = true;
        this.begun = "";
    }

    add(text) {
        let from = 0;

        for (let end; (end = text.indexOf("\n", from)) >= 0; from = end + 1) {
            this.keep(text.slice(from, end));
            if (!this.skips)
                this.take(this.begun);
            this.begun = "";
            this.skips = false;
        }
        this.keep(text.slice(from));
    }
}

function recordOf(line) {
    try {
        const record = JSON.parse(line);

        return typeof record === "object" && !Array.isArray(record) ? record : null;
    } catch {
        return null;
    }
}

// Calls `take` with the object of each line, until the stream ends or `signal` is aborted. Returns
//   records, broken, long: how many lines were taken, were not an object of JSON, and were longer than 1 MB;
//   ended: "whole"; "stopped" by the signal; or "cut", if the connection broke or the last line has no end.
// Throws only what `take` throws.
export async function readRecords(response, take, signal) {
    const counts = { records: 0, broken: 0, long: 0, ended: "whole" };
    const decoder = new TextDecoder(); // bytes that are not UTF-8 become U+FFFD
    const reader = response.body.getReader();
    const stop = () => reader.cancel().catch(() => {});
    const lines = new Lines((line) => {
        const record = recordOf(line);

        if (record !== null && !signal?.aborted) {
            counts.records++;
            take(record);
        } else if (record === null && line.trim() !== "") {
            counts.broken++;
        }
    });

    signal?.addEventListener("abort", stop);
    try {
        while (!signal?.aborted) {
            const piece = await reader.read().catch(() => null);
            if (piece === null || piece.done) {
                lines.add(decoder.decode());
                counts.ended = piece === null || lines.begun.trim() !== "" || lines.skips ? "cut" : "whole";
                break;
            }
            lines.add(decoder.decode(piece.value, { stream: true }));
        }
    } finally {
        signal?.removeEventListener("abort", stop);
        stop();
    }
    return { ...counts, long: lines.long, ended: signal?.aborted ? "stopped" : counts.ended };
}

// --- The stack of a sample, named as /api/v1/folded names it, so that a graph and that text have the same frames.

const unknown = "[unknown]";
const kernel = "[kernel.kallsyms]"; // the module of all functions of the kernel, those of its modules included

function textOf(value, otherwise) {
    return typeof value === "string" && value !== "" ? value : otherwise;
}

// An address without a symbol is its file, "[libc.so.6]", or "[unknown]".
function nameOf(symbol, module) {
    if (symbol !== unknown)
        return symbol;
    if (module.startsWith("["))
        return module;
    const file = module.startsWith("//") ? "" : module.slice(module.lastIndexOf("/") + 1);

    return module.includes("/") && file !== "" ? `[${file}]` : unknown;
}

function frameOf(entry) {
    const module = textOf(entry?.module, unknown);

    const name = nameOf(textOf(entry?.symbol, unknown), module);

    return { name, module, kind: module === kernel ? "kernel" : "user" };
}

// A sample without callers is where it was taken.
function framesOf(sample) {
    if (Array.isArray(sample.callchain) && sample.callchain.length > 0)
        return sample.callchain.map(frameOf).reverse();
    return [frameOf(sample.ip === "0x0" ? null : sample)];
}

// The frames of a sample, the outermost first: {name, module, kind}. The first one is its process, by the name of the
// thread, which may change; a process whose name is not known is ":PID". The others are of `kind` "user" or "kernel".
export function stackOf(sample) {
    const name = textOf(sample.comm, `:${Number(sample.pid ?? -1)}`);

    return [{ name, module: "", kind: "process" }, ...framesOf(sample)];
}

// The stacks of a sample, with their weights: [[frames, weight]]. Of off-CPU time the weight is in nanoseconds, and the
// outermost frame is the state of the task; the part of the wait in which it could have run is in the state "runnable".
export function stacksOf(sample) {
    const frames = stackOf(sample), { off_cpu_ns: ns, runnable_ns: runnable = 0 } = sample;
    const inState = (name) => [{ name, module: "", kind: "state" }, ...frames];

    return ns === undefined ? [[frames, 1]]
        : [[inState(textOf(sample.state, unknown)), ns - runnable], [inState("runnable"), runnable]];
}
