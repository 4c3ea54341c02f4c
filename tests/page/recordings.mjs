// SPDX-License-Identifier: Apache-2.0
// What the tests of the view of profiles have in common: a session whose daemon gives samples, the buttons, the graphs,
// and a program whose profile is known.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { Session, root } from "./browser.mjs";
import { eventually, rest, scratch, started } from "./daemon.mjs";

const sampler = "enabled: true, allow: local, event: cpu-clock, max_clients: 2";
const config = (words) => `sampler: {${words}}\n`;
const niced = process.getuid() === 0 ? ["nice", "-n", "-10"] : [];

export const open_session = () => Session.open({ config: config(sampler) });

// tests/e2e/hot.c, under a name of its own.
export function build_hot() {
    const hot = join(scratch(), `hot${process.pid}`);

    execFileSync(process.env.CC ?? "cc", ["-O1", "-fno-omit-frame-pointer", "-o", hot, join(root, "tests/e2e/hot.c")]);
    return hot;
}

// Runs it until the body ends. Returns what that returned, and the share of hot_seventy() by its own clock.
export async function with_hot(hot, body) {
    const [command, ...words] = [...niced, hot, "100"];
    const child = started(command, words);
    let said = "";

    child.stdout.on("data", (text) => said += text);
    await eventually("the program", () => /^hot \d+\n/.test(said));
    const pid = Number(said.split(/\s/)[1]);
    const found = await body(pid);
    const ended = new Promise((resolve) => child.once("close", resolve));
    process.kill(pid, "SIGTERM");
    await ended;
    const ns = (name) => Number(new RegExp(`(\\d+) ${name}`).exec(said)[1]);
    const seventy = ns("hot_seventy"), thirty = ns("hot_thirty");

    return { found, truth: seventy / (seventy + thirty), cpu_seconds: (seventy + thirty) / 1e9 };
}

export const press = (view, text) => view.page.evaluate((text) => {
    [...document.querySelectorAll("main button")]
        .find((one) => one.offsetParent && one.innerText === text && !one.disabled)
        .click();
}, text);
export const is_recording = (view, wanted) => view.until(`recording: ${wanted}`, (wanted) =>
    document.querySelector("form.controls button.main").disabled === wanted, wanted);
export const samples = (view, least) => view.until(`${least} samples`, (least) =>
    Number(/([\d,]+) samples?/.exec(document.querySelector(".progress").innerText)?.[1].replace(/,/g, "")) >= least,
                                                       least);

// Records to the end.
export async function record(view, seconds = 1) {
    await press(view, "Record");
    await is_recording(view, true);
    await rest(seconds * 1000);
    await is_recording(view, false);
}

// The names of a program come to the daemon a moment after the first stream that it is in.
export const knows = (view, pid) => view.until("names of functions", async (pid) =>
    (await (await fetch(`api/v1/samples?seconds=0.3&frequency=199&pid=${pid}`)).text()).includes("hot_seventy"), pid);

// The frames of the graphs that are shown, a list for each.
export const frames = (view) => view.page.evaluate(async () => {
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return [...document.querySelectorAll("main canvas")].filter((one) => one.offsetParent)
        .map((one) => one.flame.frames());
});
export const widest = (list, name) => Math.max(0, ...list.filter((one) => one.name === name).map((one) => one.width));
export const select = (view, name, value) => view.page.select(`main select[name=${name}]`, value);
export const texts = (view, selector) => view.page.$$eval(selector, (all) => all.map((one) => one.innerText));

// The daemon with another configuration, for one test.
export async function configured(session, words, body) {
    await session.daemon.stop();
    session.daemon.configure(config(words));
    await session.daemon.again();
    try {
        await body();
    } finally {
        await session.daemon.stop();
        session.daemon.configure(config(sampler));
        await session.daemon.again();
    }
}

// The lengths of the runs of one colour in a row of pixels of a screenshot, the longest first.
export async function runs(view, y) {
    const canvas = await view.page.evaluateHandle(() =>
        [...document.querySelectorAll("main canvas")].find((one) => one.offsetParent));
    const picture = await canvas.screenshot({ encoding: "base64" });

    return view.page.evaluate(async (picture, y) => {
        const image = new Image();
        image.src = `data:image/png;base64,${picture}`;
        await image.decode();
        const copy = document.createElement("canvas"), found = [];
        Object.assign(copy, { width: image.width, height: image.height });
        const context = copy.getContext("2d");
        context.drawImage(image, 0, 0);
        const { data } = context.getImageData(0, y, image.width, 1);
        const pixels = new Uint32Array(data.buffer);
        for (let from = 0, x = 1; x <= pixels.length; x++)
            if (pixels[x] !== pixels[from]) {
                found.push(x - from);
                from = x;
            }
        return found.sort((a, b) => b - a);
    }, picture, y);
}
