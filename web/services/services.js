// SPDX-License-Identifier: Apache-2.0
import { element, replace } from "../element.js";

export const services = {
    name: "services",
    title: "Services",
    // Fills `root`. Returns what the shell calls: close(), and follow(parameters) when the URL was changed.
    open(root, page) {
        replace(root, element("h2", {}, "Services"));
        return { close() {} };
    },
};
