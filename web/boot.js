// SPDX-License-Identifier: Apache-2.0
// Starts the page. If the page cannot start, because a file could not be loaded or because the browser lacks a feature,
// the error message in index.html appears at once, with a button to reload.
//
// app.js is imported here, not in index.html. If the page was opened as http://NAME:PASSWORD@HOST/, the URL of a script
// element includes the password, but the URLs of modules that the script imports do not. The views import app.js, too,
// and must do so under the same URL: otherwise the browser would run app.js twice.

const load = document.getElementById("load");

function complain() {
    if (document.getElementById("views").childElementCount > 0)
        return; // already started
    document.getElementById("fault").classList.remove("late");
    load.hidden = false;
}

load.addEventListener("click", () => window.location.reload());
window.addEventListener("error", complain, true);
import("./app.js").catch(complain);
