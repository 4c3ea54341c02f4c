// SPDX-License-Identifier: Apache-2.0
// The cgroups that the reader looks for: a part of a name, or a pattern as the daemon's parameter `cgroup` takes it.

// Whether a pattern matches a whole text: * is any characters but /, ** any characters, ? one character but /. It takes
// the product of both lengths at most: after a mismatch it goes on at the last *, or, where that cannot, the last **.
export function glob(pattern, text) {
    let p = 0, t = 0, star = null, stars = null;

    while (t < text.length) {
        if (pattern[p] === "*") {
            const both = pattern[p + 1] === "*";
            p += both ? 2 : 1;
            if (both)
                [stars, star] = [{ p, t }, null];
            else
                star = { p, t };
        } else if (p < pattern.length && (pattern[p] === text[t] || (pattern[p] === "?" && text[t] !== "/"))) {
            p++;
            t++;
        } else {
            const back = star && text[star.t] !== "/" ? star : stars;
            if (!back)
                return false;
            if (back === stars)
                star = null;
            t = ++back.t;
            p = back.p;
        }
    }
    return /^\**$/.test(pattern.slice(p));
}

// A function that says whether a cgroup {path, name, unit, slice, container} is looked for. Without * and ? the text is
// a part of any of them, in upper or lower case; a pattern without / is compared with the names alone.
export function filter_of(text) {
    const wanted = text.trim();

    if (wanted === "")
        return () => true;
    if (!/[*?]/.test(wanted)) {
        const part = wanted.toLowerCase();
        return (one) => [one.path, one.unit, one.slice, one.container]
            .some((name) => name.toLowerCase().includes(part));
    }
    if (wanted.includes("/"))
        return (one) => glob(wanted, one.path);
    return (one) => [one.name, one.unit, one.slice, one.container].some((name) => name !== "" && glob(wanted, name));
}
