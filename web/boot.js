// SPDX-License-Identifier: Apache-2.0
// Starts the page. Where it does not start, since a file of it did not come, as under a limit of requests or
// connections, or the browser does not understand it, the sentence of index.html is shown at once and has a button.
//
// app.js is imported here, not by index.html: in a page from http://NAME:PASSWORD@HOST/ the address of a script has the
// password, and those of modules that it imports have not. What they import from app.js must be the same module.

const load = document.getElementById("load");

function complain() {
    if (document.getElementById("views").childElementCount > 0)
        return; // it has started
    document.getElementById("fault").classList.remove("late");
    load.hidden = false;
}

load.addEventListener("click", () => window.location.reload());
window.addEventListener("error", complain, true);
import("./app.js").catch(complain);
