// SPDX-License-Identifier: Apache-2.0
// The shell of the page: shows the view that the address names, and says what goes wrong.
import { Address } from "./address.js";
import { Client } from "./client.js";
import { Edition, Faults } from "./faults.js";
import { element, plain, replace, write } from "./element.js";
import { Footer, factsOf } from "./footer.js";
import { Visibility } from "./poll.js";
import * as overview from "./overview/overview.js";

// Statuses of a daemon that is not there: no answer, or a proxy's.
const away = [0, 502, 503, 504];
// load() has the module of a view, whose open(root, page) returns {close(), follow(parameters)}. The first one comes with
// the page itself.
const views = [
    { name: "overview", title: "Overview", load: () => overview },
    { name: "services", title: "Services", load: () => import("./services/services.js") },
    { name: "profile", title: "Profile", load: () => import("./profile/profile.js") },
    { name: "health", title: "Health", load: () => import("./health/health.js") },
];
const restMs = 3000; // before the other views are loaded, which then open at once, even if the daemon is gone

// Given to each view.
class Page {
    constructor() {
        this.address = new Address(window, views.map((view) => view.name));
        this.client = new Client(document.baseURI);
        this.visibility = new Visibility(document);
        this.kept = new Map(); // what a view wants to find again when it is opened next, by its name
        const line = document.getElementById("fault"); // it has the sentence of a page that does not start

        line.hidden = true;
        line.classList.remove("late");
        this.faults = new Faults(line, document.getElementById("load"));
        this.tools = document.getElementById("tools"); // a place in the header for what the view has
        this.routes = document.querySelector("noscript").textContent; // the list of what this daemon has
        this.footer = new Footer(document.querySelector("footer"), this.routes);
        this.edition = new Edition(this);
    }

    // The name of the machine, in the header and the title, and what it is.
    machine({ machine, ...status }) {
        write(document.getElementById("machine"), plain(machine.hostname ?? ""));
        write(document.getElementById("facts"), factsOf(machine));
        this.footer.update(status);
        this.title();
    }

    title() {
        const parts = [shown?.view.title, document.getElementById("machine").textContent, "perfcountd"];
        document.title = parts.filter(Boolean).join(" – ");
    }

    // Has readers of the screen say a sentence.
    say(sentence) {
        document.getElementById("notice").textContent = sentence;
    }

    // Shows a sentence until the fault of this source, as a Poll, is over: null. See faults.js.
    fault(sentence, source = "view", action = null) {
        this.faults.set(sentence, source, action);
    }

    // A fault of a Poll is over. A daemon that was away may be another one now.
    recovered(fault) {
        if (away.includes(fault.status))
            this.edition.ask();
    }
}

let shown = null; // {view, opened}
const page = new Page();

function link(view) {
    return element("a", { href: page.address.of(view.name), "data-view": view.name }, view.title);
}

function wanted() {
    return views.find((one) => one.name === page.address.view);
}

// The view before stays until the module of the next one is here.
async function show() {
    const view = wanted();

    if (shown?.view === view) {
        shown.opened.follow?.(page.address.parameters);
        return;
    }
    try {
        const module = await view.load();
        if (view === wanted() && view !== shown?.view)
            open(view, module);
    } catch (error) {
        console.error(error);
        page.fault(`The view ${view.title} could not be loaded.`, "view", "load");
    }
}

function open(view, module) {
    shown?.opened.close();
    page.fault(null);
    const main = document.getElementById("main");
    replace(main);
    replace(page.tools);
    main.dataset.view = view.name;
    main.setAttribute("aria-label", view.title);
    if (shown)
        page.say(`${view.title} is shown.`);
    for (const tab of document.querySelectorAll("#views a"))
        if (tab.dataset.view === view.name)
            tab.setAttribute("aria-current", "page");
        else
            tab.removeAttribute("aria-current");
    shown = { view, opened: module.open(main, page) };
    page.title();
}

// A view that cannot be loaded now is asked for again when it is opened.
function loadOthers() {
    const load = () => Promise.allSettled(views.map((view) => view.load()));
    const forget = page.visibility.onChange(() => {
        forget();
        load();
    });

    if (page.visibility.visible) {
        forget();
        load();
    }
}

replace(document.getElementById("views"), ...views.map(link));
document.getElementById("skip").addEventListener("click", () => document.getElementById("main").focus());
page.address.onChange(show);
show().then(() => page.edition.watch());
setTimeout(loadOthers, restMs);
