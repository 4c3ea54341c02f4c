// SPDX-License-Identifier: Apache-2.0
// A daemon of a test's own, on a free port of the loopback. PERFCOUNTD names the binary.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Ended when this process ends, however it does.
const children = new Set(), folders = new Set();

export function started(command, parameters, options = {}) {
    const child = spawn(command, parameters, { stdio: ["ignore", "pipe", "pipe"], ...options });

    children.add(child);
    child.unref(); // the end of the tests does not wait for it
    child.stdout?.unref();
    child.stderr?.unref();
    child.on("exit", () => children.delete(child));
    child.on("error", (error) => console.error(`${command}: ${error.message}`));
    return child;
}

export function scratch() {
    const folder = mkdtempSync(join(tmpdir(), "perfcountd-page."));

    folders.add(folder);
    return folder;
}

process.on("exit", () => {
    for (const child of children)
        child.kill("SIGKILL");
    for (const folder of folders)
        rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});
for (const signal of ["SIGINT", "SIGTERM"])
    process.on(signal, () => process.exit(1));

export function rest(ms) {
    return new Promise((resolve) => setTimeout(resolve, ms));
}

// Asks until the answer is true, or throws what was waited for after `seconds`. Returns the answer.
export async function eventually(what, ask, seconds = 20) {
    const until = performance.now() + seconds * 1000;
    let answer;

    while (!(answer = await ask())) {
        if (performance.now() > until)
            throw new Error(`after ${seconds} s there is still not: ${typeof what === "function" ? what() : what}`);
        await rest(50);
    }
    return answer;
}

export class Daemon {
    // `config` is the text of its configuration. `flags` are further ones of the command line.
    constructor(config, flags) {
        this.folder = scratch();
        this.flags = flags;
        this.address = "127.0.0.1:0";
        this.configure(config);
    }

    static async start({ config = "", flags = [] } = {}) {
        const daemon = new Daemon(config, flags);

        await daemon.again();
        return daemon;
    }

    // Writes the configuration that the next start or reload takes.
    configure(config) {
        this.config = config;
        writeFileSync(join(this.folder, "perfcountd.yaml"), config.trim() ? config : "{}\n");
    }

    // Starts it, at the port that it had before.
    async again() {
        const binary = process.env.PERFCOUNTD;

        if (!binary)
            throw new Error("name the daemon by PERFCOUNTD=/path");
        this.log = "";
        this.child = started(binary, ["run", `--config.file=${this.folder}/perfcountd.yaml`,
            `--web.listen-address=${this.address}`, ...this.flags]);
        for (const stream of [this.child.stdout, this.child.stderr])
            stream.on("data", (text) => this.log += text);
        const [, url] = await eventually(() => `a daemon that listens: ${this.log}`,
            () => this.log.match(/listening on (https?:\/\/[^ "]*)\//) || this.has_ended());
        this.url = url ?? "";
        if (!this.url)
            throw new Error(`the daemon does not start: ${this.log}`);
        this.address = new URL(this.url).host;
    }

    has_ended() {
        return this.child.exitCode !== null || this.child.signalCode !== null ? [] : null;
    }

    get pid() {
        return this.child.pid;
    }

    // Ends it by a signal and waits for that. Returns its exit status, null where the signal ended it.
    async stop(signal = "SIGTERM") {
        if (!this.has_ended()) {
            const ended = new Promise((resolve) => this.child.once("exit", resolve));

            this.child.ref();
            this.child.kill(signal);
            await ended;
        }
        return this.child.exitCode;
    }

    signal(name) {
        this.child.kill(name);
    }

    // How many performance events it has open.
    events() {
        const folder = `/proc/${this.pid}/fd`;

        return readdirSync(folder).filter((fd) => {
            try {
                return readlinkSync(join(folder, fd)).includes("perf_event");
            } catch {
                return false; // closed meanwhile
            }
        }).length;
    }

    // The rings of the sampler that are mapped.
    rings() {
        return readFileSync(`/proc/${this.pid}/maps`, "latin1").split("\n")
            .filter((line) => line.includes("perf_event")).length;
    }

    // An answer's body, as JSON where it is.
    async get(path, options = {}) {
        // node's requests look like a browser's
        const headers = { "X-Requested-With": "perfcountd", ...options.headers };
        const response = await fetch(this.url + path, { ...options, headers });
        const text = await response.text();

        if (!response.ok)
            throw new Error(`${path}: status ${response.status}: ${text}`);
        return response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
    }
}
