// SPDX-License-Identifier: Apache-2.0
// What all views have in common: each opens without a complaint, and its state is in the URL.
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { Session, views } from "./browser.mjs";
import { rest } from "./daemon.mjs";

const session = await Session.open();
after(() => session.close());

for (const view of views)
    test(`the view ${view} opens without a complaint`, async () => {
        await session.see(`#${view}`, async (tab) => {
            assert.equal(await tab.page.$eval("#views [aria-current=page]", (one) => one.dataset.view), view);
            await rest(2500);
        });
    });

test("a hidden page asks for nothing", async () => {
    await session.see("#now", async (tab) => {
        const show = await tab.hide();
        const hidden = performance.now();

        await rest(3000);
        assert.deepEqual(tab.asked(/./, hidden).map((one) => one.url), []);
        await show();
    });
});
