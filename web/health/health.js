// SPDX-License-Identifier: Apache-2.0
import { element, replace } from "../element.js";

export const health = {
    name: "health",
    title: "Health",
    // Fills `root`. Returns what the shell calls: close(), and follow(parameters) when the URL was changed.
    open(root, page) {
        replace(root, element("h2", {}, "Health"));
        return { close() {} };
    },
};
