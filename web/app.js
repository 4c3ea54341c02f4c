// SPDX-License-Identifier: Apache-2.0
// The shell of the page: shows the view that the URL names, and reports errors.
import { Address } from "./address.js";
import { Client } from "./client.js";
import { Edition, Faults } from "./faults.js";
import { element, plain, replace, write } from "./element.js";
import { Footer, factsOf } from "./footer.js";
import { Visibility } from "./poll.js";
import * as overview from "./overview/overview.js";

// HTTP statuses that mean that the daemon cannot be reached: 0 stands for no answer, the others come from a proxy.
const away = [0, 502, 503, 504];
// load() returns the module of a view, and open(root, page) of this module returns {close(), follow(parameters)}. The
// first view is bundled with app.js.
const views = [
    { name: "overview", title: "Overview", load: () => overview },
    { name: "services", title: "Services", load: () => import("./services/services.js") },
    { name: "profile", title: "Profile", load: () => import("./profile/profile.js") },
    { name: "health", title: "Health", load: () => import("./health/health.js") },
];
// Delay before the other views are preloaded. A preloaded view opens at once, even if the daemon has stopped.
const restMs = 3000;

// The interface that the shell offers to the views.
class Page {
    constructor() {
        this.address = new Address(window, views.map((view) => view.name));
        this.client = new Client(document.baseURI);
        this.visibility = new Visibility(document);
        this.kept = new Map(); // a key that a view chooses → the state that the view keeps until it is opened again
        // Until the page has started, this element contains the error message for a page that cannot start.
        const line = document.getElementById("fault");

        line.hidden = true;
        line.classList.remove("late");
        this.faults = new Faults(line, document.getElementById("load"));
        this.tools = document.getElementById("tools"); // part of the header, filled by the current view
        this.routes = document.querySelector("noscript").textContent; // the list of HTTP paths
        this.footer = new Footer(document.querySelector("footer"), this.routes);
        this.edition = new Edition(this);
    }

    // Shows the machine's name in the header and in the window title, and facts about the machine in the header.
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

    // Has screen readers announce a sentence.
    say(sentence) {
        document.getElementById("notice").textContent = sentence;
    }

    // Shows the error of a source, for example a Poll, until the source sets it to null. See faults.js.
    fault(sentence, source = "view", action = null) {
        this.faults.set(sentence, source, action);
    }

    // Called when a Poll succeeds again. A daemon that was unreachable may have been replaced by another version.
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

// The previous view stays visible until the module of the next view is loaded.
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
        page.fault(`The ${view.title} view could not be loaded.`, "view", "load");
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

// Preloads the other views. A view that fails to load is requested again when it is opened.
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
