// SPDX-License-Identifier: Apache-2.0
// The daemon under test, on a free port of the loopback interface. PERFCOUNTD is the path of the binary.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Processes to kill and folders to remove at exit.
const children = new Set(), folders = new Set();

export function started(command, parameters, options = {}) {
    const child = spawn(command, parameters, { stdio: ["ignore", "pipe", "pipe"], ...options });

    children.add(child);
    child.unref(); // node exits without waiting for the child
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

// Calls `ask` until its result is true, and returns the result. After `seconds`, throws an error that
// contains `what`.
export async function eventually(what, ask, seconds = 60) {
    const until = performance.now() + seconds * 1000;
    let answer;

    while (!(answer = await ask())) {
        if (performance.now() > until)
            throw new Error(`still not after ${seconds} s: ${typeof what === "function" ? what() : what}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return answer;
}

// Returns the cgroup hierarchy that perf uses: the v1 hierarchy with the perf_event controller if it is mounted,
// otherwise v2. tests/e2e/cgroup-lib.sh finds it in the same way.
export function hierarchy() {
    const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n").map((line) => line.split(" "));
    const of = (wanted) => mounts.find((fields) => wanted(fields.slice(fields.indexOf("-") + 1)))?.[4];

    return of(([type, , options]) => type === "cgroup" && options.split(",").includes("perf_event")) ??
           of(([type]) => type === "cgroup2");
}

export class Daemon {
    // `config`: the text of the configuration file. `flags`: additional command-line options.
    static async start({ config = "", flags = [] } = {}) {
        const daemon = Object.assign(new Daemon(), { folder: scratch(), flags, address: "127.0.0.1:0" });

        daemon.configure(config);
        await daemon.again();
        return daemon;
    }

    // Writes the configuration file for the next start or reload.
    configure(config) {
        this.config = config;
        writeFileSync(join(this.folder, "perfcountd.yaml"), config.trim() ? config : "{}\n");
    }

    // Reloads the daemon with another configuration.
    async reload(config) {
        this.configure(config);
        await this.get("/-/reload", { method: "POST" });
    }

    // Restarts the daemon with another configuration.
    async restart(config = this.config) {
        await this.stop();
        this.configure(config);
        await this.again();
    }

    // Starts the daemon again, on the same port.
    async again() {
        const binary = process.env.PERFCOUNTD;

        if (!binary)
            throw new Error("set PERFCOUNTD to the path of the daemon");
        this.log = "";
        this.child = started(binary, ["run", `--config.file=${this.folder}/perfcountd.yaml`,
            `--web.listen-address=${this.address}`, ...this.flags]);
        for (const stream of [this.child.stdout, this.child.stderr])
            stream.on("data", (text) => this.log += text);
        const [, url] = await eventually(() => `a daemon that listens: ${this.log}`,
            () => this.log.match(/listening on (https?:\/\/[^ "]*)\//) || this.hasEnded());
        this.url = url ?? "";
        if (!this.url)
            throw new Error(`the daemon does not start: ${this.log}`);
        this.address = new URL(this.url).host;
    }

    hasEnded() {
        return this.child.exitCode !== null || this.child.signalCode !== null ? [] : null;
    }

    // Sends a signal and waits until the daemon exits. Returns the exit status, or null if a signal killed it.
    async stop(signal = "SIGTERM") {
        if (!this.hasEnded()) {
            const ended = new Promise((resolve) => this.child.once("exit", resolve));

            this.child.ref();
            this.child.kill(signal);
            await ended;
        }
        return this.child.exitCode;
    }

    // Returns how many ring buffers the sampler has mapped.
    rings() {
        return readFileSync(`/proc/${this.child.pid}/maps`, "latin1").split("\n")
            .filter((line) => line.includes("perf_event")).length;
    }

    // Sends a request and returns the response body, parsed if it is JSON.
    async get(path, options = {}) {
        // node sets Sec-Fetch-Mode as browsers do, so the header X-Requested-With has to prove that the request is not
        // from another site's page.
        const headers = { "X-Requested-With": "perfcountd", ...options.headers };
        const response = await fetch(this.url + path, { ...options, headers });
        const text = await response.text();

        if (!response.ok)
            throw new Error(`${path}: status ${response.status}: ${text}`);
        return response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
    }
}
