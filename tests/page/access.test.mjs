// SPDX-License-Identifier: Apache-2.0
// Ways to the page: with passwords, TLS, a proxy with a path of its own, a unix socket, and an address that the browser
// does not trust. An operator may pause by each, and all of the page works.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import test, { after } from "node:test";
import { Session, program_of, views } from "./browser.mjs";
import { Daemon, eventually, rest, scratch, started } from "./daemon.mjs";

const folder = scratch();
chmodSync(folder, 0o755);
// Of "secret" and "other".
const hashes = { secret: "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
                 other: "$2y$06$abcdefghijklmnopqrstuu6FttqYLNXdPO90XO7YlC0uHRd1WxOhm" };
// The file of the web configuration, with further text.
function webConfig(password, more = "") {
    const file = join(folder, "web.yml");

    writeFileSync(file, `basic_auth_users: {alice: ${hashes[password]}}\n${more}`);
    return file;
}
const config = "web: {min_interval: 0s}\nsampler: {enabled: true, event: cpu-clock}\n";
// run.sh gives root a network, which has the loopback alone.
const own = process.getuid() === 0 && Object.keys(networkInterfaces()).every((name) => name === "lo");
if (own)
    execFileSync("ip", ["address", "replace", "192.0.2.1/24", "dev", "lo"]);
const far = own ? ["--web.listen-address=192.0.2.1:0"] : [];
const session = await Session.open({ config,
    flags: [`--web.config.file=${webConfig("secret")}`, `--web.listen-address=unix:${folder}/http.sock`, ...far] });
const { daemon } = session;
let firefox = null;
after(async () => {
    await firefox?.close();
    await session.close();
});

const signed = (url) => url.replace("://", "://alice:secret@");
const headers = { Authorization: `Basic ${btoa("alice:secret")}` };

// Views open, and counting is paused and resumed from the page.
async function works(browser, url, views = []) {
    browser.url = url;
    for (const name of views)
        await browser.see(`#${name}`, (view) =>
            view.until("a view", () => document.querySelector("main > *") !== null));
    await browser.see("#health", async (view) => {
        await view.sees("Counting.", ".operations .state");
        for (const [button, state] of [["Pause…"], ["Pause now", /^Paused: .*\d+ s left/],
            ["Resume counting", "Counting."]]) {
            await view.page.evaluate((text) => [...document.querySelectorAll(".operations button")]
                .find((one) => one.textContent === text && !one.disabled).click(), button);
            if (state)
                await view.sees(state, ".operations .state");
        }
        assert.equal(await view.page.$eval("#fault", (line) => line.hidden), true);
    });
}

test("with a password", () => works(session, signed(daemon.url)));

const without_firefox = program_of("firefox") ? false : "there is no Firefox";
test("with a password, in Firefox", { skip: without_firefox }, async () => {
    firefox = await Session.open({ url: daemon.url, browser: "firefox" });
    await works(firefox, signed(daemon.url));
});

const without_network = own ? false : "there is no network of the test's own";
test("at an address that the browser does not trust", { skip: without_network }, async () => {
    const url = daemon.log.match(/http:\/\/192\.0\.2\.1:\d+/)[0];

    session.url = signed(url);
    assert.equal(await session.see("#now", (view) => view.page.evaluate(() => window.isSecureContext)), false);
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

test("a password that is not right any more is a sentence, and nothing is asked for again", async () => {
    session.url = signed(daemon.url);
    await session.see("#health", async (view) => {
        view.expect(/401/);
        await view.sees("Counting.", ".operations .state");
        webConfig("other");
        await view.sees("The daemon wants a password, or another one than before. Load the page again to be asked " +
            "for it.", "#fault");
        const since = performance.now();
        await rest(6000);
        assert.deepEqual(view.asked(/status|pause/, since), []);
        assert.match(await view.text("#fault"), /Load the page again$/);
    });
    webConfig("secret");
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

// `targets` are those of proxy_pass; returns the URLs of nginx's servers for them.
async function proxy(name, ...targets) {
    const places = join(folder, name), ports = [];

    mkdirSync(places);
    for (let i = 0; i < targets.length; i++)
        ports.push(await freePort());
    writeFileSync(join(places, "nginx.conf"), `daemon off; master_process off; pid ${places}/pid;
        error_log ${places}/error.log; events {} http { access_log off; ${["client_body", "proxy", "fastcgi", "uwsgi",
        "scgi"].map((name) => `${name}_temp_path ${places}/${name};`).join(" ")}
        proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        ${targets.map(([path, target], i) =>
        `server { listen 127.0.0.1:${ports[i]}; location ${path} { proxy_pass ${target}; } }`).join("\n")} }`);
    started("nginx", ["-p", places, "-c", join(places, "nginx.conf")]);
    const urls = ports.map((port, i) => `http://127.0.0.1:${port}${targets[i][0].replace(/\/$/, "")}`);
    for (const url of urls)
        await eventually("nginx", () => fetch(`${url}/`).then(() => true, () => false));
    return urls;
}

test("behind a proxy, below a path of its own, and by the unix socket", async () => {
    const [prefix, socket] = await proxy("ways", ["/boards/7/", `${daemon.url}/`],
        ["/", `http://unix:${folder}/http.sock:`]);

    await works(session, signed(prefix), views);
    await works(session, signed(socket));
});

test("a proxy whose daemon is gone is a sentence", async () => {
    const other = await Daemon.start({ config });
    [session.url] = await proxy("gone", ["/", other.url]);
    await session.see("#health", async (view) => {
        view.expect(/502/);
        await view.sees(/attention|All is well/, "#verdict");
        await other.stop();
        await view.sees("The proxy before the daemon does not reach it.", "#fault");
        await other.again();
        await view.until("the end of the fault", () => document.getElementById("fault").hidden);
    });
    await other.stop();
});

// A key and a certificate of its own for each name, as NAME.key and NAME.pem.
function certify(name, ...more) {
    const [key, certificate] = ["key", "pem"].map((ending) => join(folder, `${name}.${ending}`));

    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", `/CN=${name}`, ...more, "-keyout", key, "-out", certificate], { stdio: "ignore" });
    chmodSync(key, 0o644);
    return { key, certificate };
}

test("over TLS, with a password", async () => {
    const { key, certificate } = certify("localhost", "-addext", "subjectAltName=IP:127.0.0.1");
    const secure = await Daemon.start({ config, flags: [`--web.config.file=${
        webConfig("secret", `tls_server_config: {cert_file: ${certificate}, key_file: ${key}}\n`)}`] });
    await works(session, signed(secure.url));
    await secure.stop();
});

// The profile of a Firefox that has the certificate.
function profile_with({ key, certificate }) {
    const profile = scratch(), bundle = join(folder, "client.p12"), base = ["-d", `sql:${profile}`];

    execFileSync("openssl", ["pkcs12", "-export", "-inkey", key, "-in", certificate, "-out", bundle,
        "-passout", "pass:x"]);
    execFileSync("certutil", ["-N", "--empty-password", ...base]);
    execFileSync("pk12util", ["-i", bundle, "-W", "x", ...base], { stdio: "ignore" });
    return profile;
}

test("with a client certificate, in Firefox", { skip: without_firefox }, async () => {
    const server = certify("server", "-addext", "subjectAltName=IP:127.0.0.1"), client = certify("client");
    const file = join(folder, "certificates.yml");
    writeFileSync(file, `tls_server_config: {cert_file: ${server.certificate}, key_file: ${server.key},
        client_auth_type: RequireAndVerifyClientCert, client_ca_file: ${client.certificate}}\n`);
    const secure = await Daemon.start({ config, flags: [`--web.config.file=${file}`] });
    const preferences = { "security.default_personal_cert": "Select Automatically" };
    const look = { profile: profile_with(client), preferences };
    const known = await Session.open({ url: secure.url, browser: "firefox", look });
    await works(known, secure.url, views);
    await known.close();
    await secure.stop();
});
