// SPDX-License-Identifier: Apache-2.0
// How much of a name fits into a frame. Measuring text costs more than all else, so the width of each character is
// measured once, and a text is as wide as its characters.
import { plain } from "../element.js";

const most_characters = 400, most_names = 20000;

export class Labels {
    constructor(context) {
        this.context = context;
        this.widths = new Map();
        this.texts = new Map();
    }

    width(character) {
        let width = this.widths.get(character);

        if (width === undefined) {
            width = this.context.measureText(character).width;
            this.widths.set(character, width);
        }
        return width;
    }

    // The characters of a name, without controls.
    text(name) {
        let text = this.texts.get(name);

        if (text === undefined) {
            if (this.texts.size >= most_names)
                this.texts.clear();
            text = [...plain(name.slice(0, most_characters))];
            this.texts.set(name, text);
        }
        return text;
    }

    // The name, or its beginning with an ellipsis, or "" where less than two characters fit. `end` follows the name
    // where there is room for both.
    fit(name, room, end = "") {
        const text = end ? [...this.text(name), ...end] : this.text(name);
        const dots = this.width("…");
        let width = 0, fits = 0;

        for (let i = 0; i < text.length; i++) {
            width += this.width(text[i]);
            if (width > room)
                return fits < 2 ? "" : `${text.slice(0, fits).join("")}…`;
            if (width + dots <= room)
                fits = i + 1;
        }
        return text.join("");
    }
}
