// SPDX-License-Identifier: Apache-2.0
// Firefox opens each view once, and records once.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { Session, program_of, views } from "./browser.mjs";

const skip = program_of("firefox") ? false : "there is no firefox-esr here";
const session = skip ? null : await Session.open({ browser: "firefox",
    config: "sampler: {enabled: true, event: cpu-clock, allow: everybody}\n" });
after(() => session?.close());

for (const view of views)
    test(`Firefox shows ${view}`, { skip }, async () => {
        await session.see(`#${view}?seconds=1`, async (tab) => {
            await tab.sees(/\w/, "main h2");
            if (view === "profile") {
                await tab.page.click("main button.main");
                await tab.until("a flame graph", () => [...document.querySelectorAll("main canvas")].some((one) =>
                    one.flame?.frames().length > 1));
            }
            assert.deepEqual(await tab.wide(), []);
        });
    });
