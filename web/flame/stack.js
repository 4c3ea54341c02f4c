// SPDX-License-Identifier: Apache-2.0
// The stack of a sample, named as /api/v1/folded names it, so that a graph and that text have the same frames.

const unknown = "[unknown]";
const kernel = "[kernel.kallsyms]"; // the module of all functions of the kernel, those of its modules included

function text_of(value, otherwise) {
    return typeof value === "string" && value !== "" ? value : otherwise;
}

// An address without a symbol is its file, "[libc.so.6]", or "[unknown]".
function name_of(symbol, module) {
    if (symbol !== unknown)
        return symbol;
    if (module.startsWith("["))
        return module;
    const file = module.startsWith("//") ? "" : module.slice(module.lastIndexOf("/") + 1);

    return module.includes("/") && file !== "" ? `[${file}]` : unknown;
}

function frame_of(entry) {
    const module = text_of(entry?.module, unknown);

    const name = name_of(text_of(entry?.symbol, unknown), module);

    return { name, module, kind: module === kernel ? "kernel" : "user" };
}

// A sample without callers is where it was taken.
function frames_of(sample) {
    if (Array.isArray(sample.callchain) && sample.callchain.length > 0)
        return sample.callchain.map(frame_of).reverse();
    return [frame_of(sample.ip === "0x0" ? null : sample)];
}

// The frames of a sample, the outermost first: {name, module, kind}. The first one is its process, by the name of the
// thread, which may change; a process whose name is not known is ":PID". The others are of `kind` "user" or "kernel".
export function stackOf(sample) {
    const name = text_of(sample.comm, `:${Number(sample.pid ?? -1)}`);

    return [{ name, module: "", kind: "process" }, ...frames_of(sample)];
}
