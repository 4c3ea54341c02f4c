// SPDX-License-Identifier: Apache-2.0
// Says so where the page does not start: a file of it did not come, as under a limit of requests or connections, or the
// browser does not understand it. It imports nothing, so that it needs only itself.

const load = document.getElementById("load");

load.addEventListener("click", () => window.location.reload());
window.addEventListener("error", () => {
    if (document.getElementById("views").childElementCount > 0)
        return; // it has started
    document.querySelector("#fault .text").textContent = "The page could not be loaded whole: the daemon, or " +
        "something before it, has refused a part of it, or this browser is from before 2023.";
    document.getElementById("fault").hidden = load.hidden = false;
}, true);
