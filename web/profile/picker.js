// SPDX-License-Identifier: Apache-2.0
// A box for an event: any text may be typed, and a list below it offers the events of this machine (a combobox, as the
// ARIA practices describe it: the focus stays in the box).
import { element, plain, replace, write } from "../element.js";
import { choices, find } from "./events.js";

const shown_max = 60; // a longer list is searched, not read

export class Picker {
    // `properties` are of the input; onChange() is called when an event was chosen or typed.
    constructor(properties, onChange) {
        this.offers = this.all = [];
        this.options = [];
        this.active = -1;
        this.list = element("ul", { role: "listbox", id: `${properties.id}-list`, "aria-label": "Events" });
        this.count = element("p", { class: "quiet", role: "status" });
        this.popup = element("div", { class: "card events", hidden: true }, this.list, this.count);
        this.input = element("input", {
            ...properties, role: "combobox", "aria-expanded": "false", "aria-controls": this.list.id,
            "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", maxlength: 8000,
            oninput: () => this.open(this.input.value),
            onclick: () => this.open(""),
            onkeydown: (event) => this.key(event),
            onblur: () => this.close(),
            onchange: onChange,
        });
        this.onChange = onChange;
        this.list.addEventListener("mousedown", (event) => event.preventDefault()); // the focus stays
        this.list.addEventListener("click", (event) => this.clicked(event));
        this.root = element("div", { class: "picker" }, this.input, this.popup);
    }

    setEvents(offers) {
        const best = choices(offers), names = new Set(best.map(({ name }) => name));

        this.offers = offers;
        this.all = [...best, ...offers.filter(({ name }) => !names.has(name))];
        if (!this.popup.hidden)
            this.open(this.input.value);
    }

    open(text) {
        const found = text.trim() ? find(this.offers, text) : this.all;

        this.options = found.slice(0, shown_max);
        replace(this.list, ...this.options.map((one, i) => this.option(one, i)));
        const more = found.length > shown_max ? ` The first ${shown_max} are shown: type to search.` : "";
        write(this.count, found.length === 1 ? "1 event." : `${found.length.toLocaleString()} events.${more}`);
        this.show(true);
        this.activate(-1);
    }

    option(one, i) {
        return element("li", { role: "option", id: `${this.list.id}-${i}`, "aria-selected": "false", "data-at": i },
                       element("span", { class: "name" }, plain(one.name)), " ",
                       element("span", { class: "quiet" }, plain(one.note)));
    }

    show(open) {
        this.popup.hidden = !open;
        this.input.setAttribute("aria-expanded", String(open));
    }

    close() {
        this.show(false);
        this.activate(-1);
    }

    activate(at) {
        this.list.children[this.active]?.setAttribute("aria-selected", "false");
        this.active = at;
        const option = this.list.children[at];
        if (!option) {
            this.input.removeAttribute("aria-activedescendant");
            return;
        }
        option.setAttribute("aria-selected", "true");
        option.scrollIntoView({ block: "nearest" });
        this.input.setAttribute("aria-activedescendant", option.id);
    }

    // From the box upwards is the last option, and from the last one downwards the box again.
    move(by) {
        const n = this.options.length;

        if (this.popup.hidden)
            this.open("");
        else if (Math.abs(by) > 1)
            this.activate(Math.min(Math.max(this.active + by, 0), n - 1));
        else
            this.activate((this.active + 1 + by + n + 1) % (n + 1) - 1);
    }

    choose(at) {
        this.input.value = this.options[at].name;
        this.close();
        this.onChange();
    }

    clicked(event) {
        const option = event.target.closest("[data-at]");

        if (option)
            this.choose(Number(option.dataset.at));
    }

    // Enter takes the option, or leaves the text as it is; where the list is closed, it is the form's.
    enter() {
        if (this.active >= 0)
            this.choose(this.active);
        else
            this.close();
    }

    key(event) {
        const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
        const open = !this.popup.hidden;

        if (event.key in steps)
            this.move(steps[event.key]);
        else if (event.key === "Enter" && open)
            this.enter();
        else if (event.key === "Escape" && open)
            this.close();
        else
            return;
        event.preventDefault();
        event.stopPropagation();
    }
}
