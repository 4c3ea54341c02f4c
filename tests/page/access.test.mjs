// SPDX-License-Identifier: Apache-2.0
// Tests the ways to reach the page: with a password, over TLS, behind nginx as configured in doc/page.md, through a
// unix socket, and outside a secure context. In each case an operator can pause counting.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { Session, programOf, root, views } from "./browser.mjs";
import { Daemon, eventually, scratch, started } from "./daemon.mjs";

const folder = scratch();
chmodSync(folder, 0o755);
// bcrypt hashes of the passwords "secret" and "other".
const hashes = { secret: "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
                 other: "$2y$06$abcdefghijklmnopqrstuu6FttqYLNXdPO90XO7YlC0uHRd1WxOhm" };
// Writes the web configuration file, with optional extra text.
function webConfig(password, more = "") {
    const file = join(folder, "web.yml");

    writeFileSync(file, `basic_auth_users: {alice: ${hashes[password]}}\n${more}`);
    return file;
}
const config = "web: {min_interval: 0s}\nsampler: {enabled: true, event: cpu-clock}\n";
// As root, run.sh creates a network namespace that has only a loopback interface.
const own = process.getuid() === 0 && Object.keys(networkInterfaces()).every((name) => name === "lo");
if (own)
    execFileSync("ip", ["address", "replace", "192.0.2.1/24", "dev", "lo"]);
const far = own ? ["--web.listen-address=192.0.2.1:0"] : [];
const session = await Session.open({ config,
    flags: [`--web.config.file=${webConfig("secret")}`, `--web.listen-address=unix:${folder}/http.sock`, ...far] });
const { daemon } = session;
after(() => session.close());

const signed = (url) => url.replace("://", "://alice:secret@");
const headers = { Authorization: `Basic ${btoa("alice:secret")}` };

// Opens the views, and pauses and resumes counting from the page.
async function works(browser, url, views = []) {
    browser.url = url;
    for (const name of views)
        await browser.see(`#${name}`, async (view) => {
            await view.answered();
            const asked = view.asked(/^http/).map((one) => one.url.replace(/\/\/.*@/, "//"));
            assert.deepEqual(asked.filter((one) => !one.startsWith(`${url.replace(/\/\/.*@/, "//")}/`)), []);
        });
    await browser.see("#health", async (view) => {
        await view.sees("Counting.", ".operations .state");
        await view.press("Pause…");
        await view.press("Pause now");
        await view.sees(/^Paused: .*\d+ s left/, ".operations .state");
        await view.press("Resume counting");
        await view.sees("Counting.", ".operations .state");
        assert.equal(await view.page.$eval("#fault", (line) => line.hidden), true);
    });
}

test("the page works with a password", () => works(session, signed(daemon.url)));

const withoutFirefox = programOf("firefox") ? false : "firefox-esr";
test("the page works with a password, in Firefox", { skip: withoutFirefox }, async () => {
    const firefox = await Session.open({ url: daemon.url, browser: "firefox" });

    try {
        await works(firefox, signed(daemon.url));
    } finally {
        await firefox.close();
    }
});

const withoutNetwork = own ? false : "a private network namespace";
test("the page works outside a secure context", { skip: withoutNetwork }, async () => {
    const url = daemon.log.match(/http:\/\/192\.0\.2\.1:\d+/)[0];

    session.url = signed(url);
    assert.equal(await session.see("#overview", (view) => view.page.evaluate(() => window.isSecureContext)), false);
    await works(session, signed(url));
    await session.see("#profile?seconds=1&frequency=99", async (view) => {
        const debug = await view.page.createCDPSession(), saved = join(folder, "saved");
        await debug.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: saved });
        for (const [name, begin] of [["profile.pb.gz", "1f8b"], ["perf.data", "5045524649"]]) {
            await view.page.evaluate((name) => document.querySelector(`main a[download="${name}"]`).click(), name);
            await view.sees(`${name} is recorded.`, "#profile-again");
            await eventually(name, () => existsSync(join(saved, name)));
            assert.ok(readFileSync(join(saved, name)).toString("hex").startsWith(begin), name);
        }
    });
});

// After the first 401, for whatever request, Chromium forgets the password. Chromium then prompts for a password at the
// next request, which hangs for ever because there is no window. So the first rejected request must be a poll. All
// other requests have finished by then, except perhaps the one for the icon, which needs no password.
test("after a password change, the page shows an error and sends no more requests", async () => {
    session.url = signed(daemon.url);
    try {
        await session.see("#health", async (view) => {
            view.expect(/401/);
            await view.sees("Counting.", ".operations .state");
            await eventually("the modules of the other views", () => view.asked(/services\.js/).length > 0 &&
                view.asked(/tree\.js/).length > 1);
            await eventually("the end of all requests", () => view.requests.every((one) => one.end));
            webConfig("other", "auth_excluded_paths: [/page/icon.svg]\n");
            await view.sees("The daemon requires a password, or a different one. Load the page again to enter it.",
                "#fault");
            assert.match(await view.text("#fault"), /Load the page again$/);
            await eventually("the end of the simultaneous requests", () =>
                view.requests.every((one) => one.end));
            const since = performance.now(), show = await view.hide();
            await show(); // the polls resume once the tab is visible
            await view.go("#services"); // the Services view sends requests at once
            await view.sees("Load the page again to enter it.", "#fault");
            assert.deepEqual(view.asked(/api\/v1/, since).map(({ url }) => url), []);
        });
    } finally {
        webConfig("secret");
    }
    await eventually("the old password", () => fetch(`${daemon.url}/metrics`, { headers }).then((one) => one.ok));
});

// --- behind nginx

function freePort() {
    return new Promise((resolve) => {
        const server = createServer().listen(0, "127.0.0.1", () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
}

// Starts nginx with the given location blocks, and returns its URL.
async function proxy(name, locations) {
    const places = join(folder, name), port = await freePort(), url = `http://127.0.0.1:${port}`;
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map((name) => `${name}_temp_path ${places}/${name};`).join(" ");

    mkdirSync(places);
    writeFileSync(join(places, "nginx.conf"), `daemon off; master_process off; pid ${places}/pid;
        error_log ${places}/error.log; events {}
        http { access_log off; ${temporary} server { listen 127.0.0.1:${port}; ${locations} } }\n`);
    started("nginx", ["-p", places, "-c", join(places, "nginx.conf")]);
    await eventually(() => `nginx: ${readFileSync(join(places, "error.log"), "utf8")}`, () =>
        fetch(`${url}/`).then(() => true, () => false));
    return url;
}

const passed = "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;";

test("the page works behind a proxy, under a path prefix, with the configuration in doc/page.md", async () => {
    const block = readFileSync(join(root, "doc/page.md"), "utf8")
        .split("access.test.mjs runs this block -->\n")[1].match(/^(?:    .*\n|\n)+/)[0];
    const url = `${await proxy("path", block.replaceAll("127.0.0.1:10298", new URL(daemon.url).host))}/board`;
    const answer = await fetch(url, { redirect: "manual" });

    assert.deepEqual([answer.status, answer.headers.get("Location")], [301, `${url}/`]);
    await works(session, signed(url), views);
    await session.see("#profile?seconds=0.5", async (view) => {
        await view.record();
        await view.frames();
    });
});

test("the page works behind a proxy that uses the unix socket", async () => {
    await works(session, signed(await proxy("socket",
        `location / { proxy_pass http://unix:${folder}/http.sock:; ${passed} }`)));
});

test("the page shows an error if the daemon behind a proxy has stopped", async () => {
    const other = await Daemon.start({ config });
    session.url = await proxy("gone", `location / { proxy_pass ${other.url}; ${passed} }`);
    await session.see("#health", async (view) => {
        view.expect(/502/);
        await view.sees(/attention|All is well/, "#verdict");
        await other.stop();
        await view.sees("The proxy in front of the daemon cannot reach it.", "#fault");
        await other.again();
        await view.until("a hidden error line", () => document.getElementById("fault").hidden);
    });
    await other.stop();
});

test("the page works over TLS, with a password", async () => {
    const [key, certificate] = ["tls.key", "tls.pem"].map((name) => join(folder, name));

    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                 { stdio: "ignore" });
    chmodSync(key, 0o644);
    const secure = await Daemon.start({ config, flags: [`--web.config.file=${
        webConfig("secret", `tls_server_config: {cert_file: ${certificate}, key_file: ${key}}\n`)}`] });
    await works(session, signed(secure.url));
    await secure.stop();
});
