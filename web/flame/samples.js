// SPDX-License-Identifier: Apache-2.0
// Reads /api/v1/samples, a stream of JSON records, one per line. Lines that cannot be parsed are counted and skipped,
// since names are untrusted and the stream may end anywhere.

// Maximum length of a line, in characters: 1,024 frames with names of 1 KB.
const longestLine = 1 << 20;

// Splits text that arrives in pieces into lines. Keeps at most one line in memory.
class Lines {
    constructor(take) {
        this.take = take;
        this.begun = ""; // the part of the current line that has arrived
        this.skips = false; // the current line is too long and is skipped
        this.long = 0;
    }

    // Adds text to the current line, which is not complete yet.
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
//   records, broken, long: the number of records, of lines that were not a JSON object, and of lines that were too
//   long;
//   ended: "whole"; "stopped" if `signal` was aborted; "cut" if the connection broke or the last line was incomplete.
// Throws only exceptions of `take`.
export async function readRecords(response, take, signal) {
    const counts = { records: 0, broken: 0, long: 0, ended: "whole" };
    const decoder = new TextDecoder(); // replaces bytes that are not UTF-8 with U+FFFD
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

// --- The stack of a sample. Frames have the same names as in /api/v1/folded, so that the graph and the folded text
// agree.

const unknown = "[unknown]";
const kernel = "[kernel.kallsyms]"; // module of all kernel functions, including those of kernel modules

function textOf(value, otherwise) {
    return typeof value === "string" && value !== "" ? value : otherwise;
}

// A frame without a symbol is named after its file, "[libc.so.6]", or "[unknown]".
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

// A sample without a call chain has one frame, its instruction pointer.
function framesOf(sample) {
    if (Array.isArray(sample.callchain) && sample.callchain.length > 0)
        return sample.callchain.map(frameOf).reverse();
    return [frameOf(sample.ip === "0x0" ? null : sample)];
}

// Returns the frames of a sample, the outermost first: {name, module, kind}. The first frame is the process. This frame
// is named after the thread, whose name may change, or ":PID" if the name is unknown. The `kind` of the other frames is
// "user" or "kernel".
export function stackOf(sample) {
    const name = textOf(sample.comm, `:${Number(sample.pid ?? -1)}`);

    return [{ name, module: "", kind: "process" }, ...framesOf(sample)];
}

// Returns the stacks of a sample with their weights: [[frames, weight]]. For off-CPU time the weight is in nanoseconds
// and the outermost frame is the state of the task. The part of the wait during which the task was runnable becomes a
// separate stack.
export function stacksOf(sample) {
    const frames = stackOf(sample), { off_cpu_ns: ns, runnable_ns: runnable = 0 } = sample;
    const inState = (name) => [{ name, module: "", kind: "state" }, ...frames];

    return ns === undefined ? [[frames, 1]]
        : [[inState(textOf(sample.state, unknown)), ns - runnable], [inState("runnable"), runnable]];
}
