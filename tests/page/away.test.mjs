// SPDX-License-Identifier: Apache-2.0
// A daemon that is killed and started again while the page is open: the page says so and goes on.
import test, { after } from "node:test";
import { Session, views } from "./browser.mjs";
import { eventually, rest } from "./daemon.mjs";

const session = await Session.open({ config: "sampler: {enabled: true, event: cpu-clock, allow: everybody}\n" });
after(() => session.close());

for (const view of views.filter((name) => name !== "profile"))
    test(`${view} says that the daemon is away, and goes on when it is back`, async () => {
        await session.see(`#${view}`, async (tab) => {
            tab.expect(/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_INCOMPLETE|ERR_SOCKET/);
            await tab.until("requests", () => performance.getEntriesByType("resource").some(({ name }) =>
                name.includes("/api/")));
            await session.daemon.stop("SIGKILL");
            await tab.sees(/cannot be reached|does not answer/);
            await session.daemon.again();
            const back = performance.now();
            await eventually("answers", () => tab.asked(/api/, back).some((one) => one.status === 200), 20);
            await tab.until("no fault", () => !/cannot be reached/.test(document.body.innerText));
        });
    });

test("a recording that breaks off is kept, and the page says so", async () => {
    await session.see("#profile?seconds=20", async (tab) => {
        tab.expect(/ERR_/);
        await tab.page.click("main button.main");
        await tab.until("frames", () => [...document.querySelectorAll("main canvas")].some((one) =>
            one.flame?.frames().length > 1));
        await session.daemon.stop("SIGKILL");
        await tab.sees(/broke off|cannot be reached/);
        await tab.until("frames that are kept", () => [...document.querySelectorAll("main canvas")].some((one) =>
            one.flame?.frames().length > 1));
        await session.daemon.again();
        await rest(200);
        await tab.page.click("main button.main");
        await tab.until("a new recording", () => document.querySelector("main button.main").disabled);
    });
});
