// SPDX-License-Identifier: Apache-2.0
// The page behind a reverse proxy, below a path: the block of doc/page.md in a real nginx, before a daemon with a
// password.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { accessSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Session, root, views } from "./browser.mjs";
import { Daemon, eventually, scratch, started } from "./daemon.mjs";

const nginx = process.env.PATH.split(":").map((folder) => join(folder, "nginx")).find((path) => {
    try {
        accessSync(path);
        return true;
    } catch {
        return false;
    }
});
const reason = nginx ? process.env.PAGE_URL && "the daemon is not this machine's" : "there is no nginx";
const options = { skip: reason ?? false };
let daemon = null, session = null;

function block() {
    const manual = readFileSync(join(root, "doc/page.md"), "utf8");

    return manual.split("proxy.test.mjs runs this block -->\n")[1].match(/^(?:    .*\n|\n)+/)[0];
}

function free_port() {
    return Number(execFileSync("python3", ["-c",
        "import socket; print(socket.create_server(('127.0.0.1', 0)).getsockname()[1])"]));
}

// bcrypt of "secret", of the least cost.
const hash = "$2y$04$P9YZYwmqn25EsFXoUXppWuXwN2hfQUHJ5rdawLuQyHMpJ6JpoQZz.";

before(async () => {
    if (options.skip)
        return;
    const folder = scratch(), port = free_port();
    writeFileSync(join(folder, "web.yml"), `basic_auth_users: {alice: "${hash}"}\n`);
    daemon = await Daemon.start({ config: "sampler: {enabled: true}\n",
        flags: [`--web.config.file=${join(folder, "web.yml")}`] });
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
    writeFileSync(join(folder, "nginx.conf"), `daemon off; master_process off; pid ${folder}/pid;
        error_log ${folder}/error.log; events {}
        http { access_log off; ${temporary} server { listen 127.0.0.1:${port};
            ${block().replaceAll("127.0.0.1:10298", new URL(daemon.url).host)} } }\n`);
    started(nginx, ["-p", folder, "-c", join(folder, "nginx.conf")]);
    const url = `http://127.0.0.1:${port}/board`;
    await eventually(() => `nginx: ${readFileSync(join(folder, "error.log"), "utf8")}`, () =>
        fetch(`${url}/`).then((answer) => answer.status === 401, () => false));
    session = await Session.open({ url });
});
after(async () => {
    await session?.close();
    await daemon?.stop();
});

async function sign_in(tab) {
    await tab.page.authenticate({ username: "alice", password: "secret" });
}

test("the path without its slash leads to the page", options, async () => {
    const answer = await fetch(session.url, { redirect: "manual" });

    assert.equal(answer.status, 301);
    assert.equal(answer.headers.get("Location"), `${session.url}/`);
});

test("each view works below the path, and asks for nothing outside of it", options, async () => {
    for (const view of views)
        await session.see("", async (tab) => {
            await tab.go(`#${view}`);
            await tab.until("an answer", () => document.querySelector("main h2") !== null);
            assert.ok(tab.asked(/./).every((one) => one.url.startsWith(`${session.url}/`)));
        }, { ready: sign_in });
});

test("who has the password is an operator, through the proxy too", options, async () => {
    await session.see("", async (tab) => {
        const status = (method, path) => tab.page.evaluate(async (method, path) => (await fetch(path, { method,
            headers: { "X-Requested-With": "perfcountd" } })).status, method, path);
        assert.equal(await status("POST", "api/v1/pause?seconds=1"), 200);
        assert.equal(await status("DELETE", "api/v1/pause"), 200);
        assert.equal(await status("GET", "api/v1/samples?seconds=0.1"), 200);
    }, { ready: sign_in });
});
