// SPDX-License-Identifier: Apache-2.0
// Starts the page, and says so where it does not start: a file of it did not come, as under a limit of requests or
// connections, or the browser does not understand it.
//
// app.js is imported here, not by index.html: in a page from http://NAME:PASSWORD@HOST/ the address of a script has the
// password, and those of modules that it imports have not. What they import from app.js must be the same module.

const load = document.getElementById("load");

function complain() {
    if (document.getElementById("views").childElementCount > 0)
        return; // it has started
    document.querySelector("#fault .text").textContent = "The page could not be loaded whole: the daemon, or " +
        "something before it, has refused a part of it, or this browser is from before 2023.";
    document.getElementById("fault").hidden = load.hidden = false;
}

load.addEventListener("click", () => window.location.reload());
window.addEventListener("error", complain, true);
import("./app.js").catch(complain);
