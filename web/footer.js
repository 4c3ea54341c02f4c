// SPDX-License-Identifier: Apache-2.0
// The facts about the machine that the header shows, and the footer: the daemon's version and cost, and links to the
// HTTP API.
import { element, plain, replace, write } from "./element.js";
import { bytes, duration, percent } from "./numbers.js";

const daySeconds = 86400;

// Formats the description of the machine in /api/v1/status: "Orange Pi 5 · RK3588S · Linux 5.10.110 · up 12 d". The
// device tree calls this chip "rockchip,rk3588s". If the chip is unknown, the number of CPUs is shown.
export function factsOf({ model, soc, kernel, uptime_seconds: up, cpu_idle_seconds: cpus }) {
    const n = cpus?.length, days = Math.floor(up / daySeconds);
    const chip = soc ? plain(soc).replace(/^.*,/, "").toUpperCase() : n > 0 ? `${n} CPU${n === 1 ? "" : "s"}` : "";
    const since = !(up >= 0) ? "" : `up ${days > 0 ? `${days} d` : duration(up).replace(/ \d+ s$/, "")}`;

    return [plain(model ?? ""), chip, `Linux ${plain(kernel)}`, since].filter(Boolean).join(" · ");
}

export class Footer {
    // `routes` is the list of HTTP paths that index.html contains for browsers without JavaScript.
    constructor(root, routes) {
        this.version = element("span");
        this.cost = element("span", { title: "All processes of perfcountd: CPU time since they started, memory" });
        const link = (href, text) => element("a", { href }, text);
        this.list = element("dl");
        this.api = element("details", { ontoggle: () => this.showRoutes(routes) }, element("summary", {}, "API"),
                           this.list);
        replace(root, this.version, this.cost, link("metrics", "/metrics"),
                element("span", {}, "Manual: ", element("code", {}, "man perfcountd")), this.api);
    }

    // Shows the list of HTTP paths when the user asks for it.
    showRoutes(routes) {
        if (this.list.childElementCount > 0)
            return;
        const list = new DOMParser().parseFromString(routes, "text/html").querySelector("dl");

        for (const one of list?.children ?? []) {
            const href = one.querySelector("a")?.getAttribute("href"), [first] = one.childNodes;
            this.list.append(one.localName === "dt"
                ? element("dt", {}, href ? element("a", { href }, one.textContent) : one.textContent)
                : element("dd", {}, first?.textContent ?? ""));
        }
    }

    update(status) {
        const sum = (value) => status.processes.reduce((all, one) => all + value(one), 0);
        const share = sum((one) => one.cpu_seconds / Math.max(1, status.timestamp - one.start_time));

        write(this.version, `perfcountd ${status.version}`);
        write(this.cost, `${Number.isFinite(share) ? `${percent(share)} of a CPU · ` : ""}` +
              bytes(sum((one) => one.resident_bytes)));
    }
}
